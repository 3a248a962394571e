"""`python -m tests.gpu`: the whole test-suite and the fuzzer with every array on the GPU, and a sample of it under
compute-sanitizer. For a machine with a GPU; ends with a line for each part."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "--gpus 1 --min-gpu-chunk 64"

# What these look at is not there on a GPU, or is the driver's business.
LEFT_OUT = [
    "test_fuzz.py", "test_driver.py", "test_config.py", "test_compat.py", "test_memory.py", "test_devices.py",
    "test_namespace.py", "test_peak_memory.py", "test_named_warnings.py",
]  # fmt: skip

SAMPLE = """
import numpy, numloom as np
h = numpy.random.default_rng(0).random((300, 400))
x = np.array(h)
y = np.sqrt(x) * 2 + x.T.sum(axis=1)
m = y > 1
y[m] -= 1
a = (y @ y.T, np.cumsum(y, axis=1), y.sum(), y.max(axis=0), y[::2, ::-1] + 1, y.astype("f2").max())
assert all(numpy.isfinite(numpy.asarray(v)).all() for v in a)
print("good")
"""


def part(name: str, command: list[str], **more: str) -> tuple[str, int, str]:
    environment = {**os.environ, "NUMLOOM_CONFIG": CONFIG, "NUMLOOM_FALLBACK_WARNINGS": "0", **more}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    print(f"== {name}\n{done.stdout[-6000:]}{done.stderr[-3000:]}", flush=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()] or ["nothing"]
    return name, done.returncode, lines[-1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="for the fuzzer")
    given = parser.parse_args()
    python = sys.executable
    ignored = [word for name in LEFT_OUT for word in ("--ignore", f"tests/{name}")]
    parts = [
        part("tests", [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", *ignored]),
        part(
            "fuzzer",
            [python, "-m", "tests.fuzz", "--minutes", str(given.minutes), "--seed", "1", "--no-shrink"]
            + ["--config", "gpu", "--config", "mixed-gpu"],
        ),
    ]
    if shutil.which("compute-sanitizer"):
        parts.append(part("sanitizer", ["compute-sanitizer", "--error-exitcode", "7", python, "-c", SAMPLE]))
    else:
        print("== compute-sanitizer is not here: left out")
    for name, status, last in parts:
        print(f"{name}: {'good' if status == 0 else f'status {status}'}: {last}")
    return max(status for _, status, _ in parts)


if __name__ == "__main__":
    sys.exit(main())
