"""`python -m tests.numpy_suite [file ...]`: one process a file, a new one after a crash."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .report import PAGE, ROOT, page, read_log, summarise, with_the_rest
from .rewrite import FILES, write_all

LIMIT_S = 20
SILENCE_S = 3 * LIMIT_S

# As NumPy sets them for itself; the last one is newer than its tests.
SETTINGS = """\
[pytest]
filterwarnings =
    error
    ignore:the matrix subclass:PendingDeprecationWarning
    ignore::UserWarning:cpuinfo
    ignore::pytest.PytestRemovedIn10Warning
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_suite", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES, help=f"of {', '.join(FILES)}")
    parser.add_argument("-k", dest="only", default="", help="pytest's -k: only tests that match")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, default=ROOT / "target" / "numpy_suite.json", help="where the results go")
    parser.add_argument("--page", action="store_true", help="write docs/compatibility.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="numpy_suite") as folder:
        write_all(Path(folder), args.files)
        (Path(folder) / "pytest.ini").write_text(SETTINGS)
        with ThreadPoolExecutor(args.jobs) as pool:
            results = dict(
                zip(args.files, pool.map(lambda f: run_file(Path(folder), f, args.only), args.files), strict=True)
            )
    summary = summarise(results)
    args.json.parent.mkdir(exist_ok=True)
    args.json.write_text(json.dumps(summary, indent=1))
    text = page(summary)
    if args.page:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(with_the_rest(text, PAGE.read_text() if PAGE.exists() else ""))
    print(text)
    return 0


def run_file(folder: Path, file: str, only: str) -> dict[str, dict]:
    log = folder / f"{file}.jsonl"
    for _ in range(200):
        code, words = one_process(folder, file, only, log)
        if code in (0, 1, 5):
            break
        current = interrupted(log)
        if current is None:
            print(f"{file}: {words}", file=sys.stderr)
            break
        with log.open("a") as f:
            f.write(
                json.dumps(
                    {"crashed": current, "words": f"{'hung' if code == -9 else 'crashed'} ({code}): {words[-300:]}"}
                )
                + "\n"
            )
    return read_log(log)


def interrupted(log: Path) -> str | None:
    """The test that had begun when the process went away."""
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if rows and "begin" in rows[-1]:
        return rows[-1]["begin"]
    return None


def one_process(folder: Path, file: str, only: str, log: Path) -> tuple[int, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "NUMPY_SUITE_LOG": str(log),
        "NUMPY_SUITE_LIMIT_S": str(LIMIT_S),
        "NPY_AVAILABLE_MEM": "1 GB",
        "NUMLOOM_FALLBACK_WARNINGS": "0",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--maxfail=100000",
        "--tb=line",
        "-p",
        "numpy.conftest",
        "-p",
        "tests.numpy_suite.plugin",
    ]
    command += ["-p", "no:cacheprovider", "-m", "not slow", f"{file}.py"] + (["-k", only] if only else [])
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            time.sleep(0.2)
            if log.exists() and time.time() - log.stat().st_mtime > SILENCE_S:
                process.kill()
                process.wait()
        said.seek(0)
        words = said.read().decode(errors="replace")
        return process.returncode, words[-2000:]


if __name__ == "__main__":
    sys.exit(main())
