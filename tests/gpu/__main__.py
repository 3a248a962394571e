"""`python -m tests.gpu`: the whole test-suite and the fuzzer with every array on the GPU, and a sample of it under
compute-sanitizer. For a machine with a GPU. Test files run side by side, each in a process with some of the GPU's
memory; a line for each says what came of it. `--only` runs a part, for when time is short."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "--gpus 1 --min-gpu-chunk 64 --background-compile=0 --cpus 2 --fbmem 6144"

# What these look at is not there on a GPU, or is the driver's business, or a browser's.
LEFT_OUT = {
    "test_fuzz.py", "test_driver.py", "test_config.py", "test_compat.py", "test_memory.py", "test_devices.py",
    "test_namespace.py", "test_peak_memory.py", "test_named_warnings.py", "test_viewer.py", "test_viewer_build.py",
    "test_viewer_files.py", "test_viewer_runs.py", "test_printed_kernels.py",
}  # fmt: skip

# What these ask for a GPU does otherwise, as docs/gpu.md says: it raises no floating-point flags, adds float32 in an
# order of its own and in the precision of the fold, multiplies in parts that may overflow, is soon through with work
# that takes a CPU long, leaves host memory alone, runs nothing at once on the CPU, makes what is rolled, and children
# of a fork cannot read what lies there; what is too large for the host's pool goes to the GPU's. What a profile finds
# in programs of a CPU's size is that a GPU does little in them.
DIFFERENT = [
    "test_files.py::test_a_file_larger_than_memory_goes_through_tile_by_tile",
    "test_ufuncs.py::test_floating_point_warnings", "test_ufuncs.py::test_errstate_ignore_and_raise",
    "test_engine.py::test_warnings_of_masked_work", "test_engine.py::test_fused_work_names_the_operation_that_warns",
    "test_engine.py::test_many_small_operations_do_not_wait_for_what_is_recorded",
    "test_engine.py::test_programs_that_want_every_result_at_once_get_it",
    "test_engine.py::test_programs_of_short_tasks_run_at_once_after_a_window",
    "test_engine.py::test_slices_that_are_waited_for_run_at_once",
    "test_engine.py::test_light_operations_that_are_waited_for_run_at_once_longer_than_others",
    "test_engine.py::test_middling_products_whose_values_are_read_run_at_once",
    "test_reductions.py::test_sums_are_the_same_at_once_deferred_and_fused",
    "test_reductions.py::test_sums_of_long_tables_are_the_same_whatever_shares_their_task",
    "test_reductions.py::test_a_product_of_parts_is_the_one_from_the_left",
    "test_calls.py::test_a_call_is_numpys[((np.arange(200000)*7919%50021)*1.).astype('f2').prod()]",
    "test_calls.py::test_a_call_is_numpys[np.nanprod(np.where((np.arange(200000)*7919%50021)%3==1",
    "test_calls.py::test_a_call_is_numpys[np.isnan(np.prod((np.arange(200000)",
    "test_calls.py::test_a_call_is_numpys[np.cumsum(np.ones(200000,bool), dtype='f2')]",
    "test_ufuncs.py::test_integers_too_large_for_a_half_float_are_told",
    "test_process.py::test_ctrl_c_ends_a_program_with_work_pending",
    "test_engine.py::test_a_mask_that_keeps_all_of_what_nobody_reads_again_copies_nothing",
    "test_reductions.py::test_errors_in_long_tables_are_heard",
    "test_engine.py::test_rolled_and_joined_arrays_are_read_where_they_come_from",
    "test_engine.py::test_a_round_of_a_loop_computes_nothing_for_the_next",
    "test_engine.py::test_memory_is_given_back", "test_profile_findings.py::test_a_fault_is_found_on_its_line",
    "test_profile_findings.py::test_nothing_is_said_against_a_clean_program[logistic regression]",
    "test_profile_findings.py::test_the_efficient_program_of_the_seeds",
    "test_process.py::test_fork_with_work_pending", "test_process.py::test_forks_in_a_row",
    "test_reductions.py::test_sizes_and_layouts[cumsum]", "test_reductions.py::test_sizes_and_layouts[cumprod]",
]  # fmt: skip

# These take longest, so they begin first.
LONG = [
    "test_slices.py",
    "test_reductions.py",
    "test_ufunc_methods.py",
    "test_profile_findings.py",
    "test_regressions.py",
]

SAMPLE = """
import numpy, numloom as np
h = numpy.random.default_rng(0).random((300, 400))
x = np.array(h)
y = np.sqrt(x) * 2 + x.T.sum(axis=1)
m = y > 1
y[m] -= 1
a = (y @ y.T, np.cumsum(y, axis=1), y.sum(), y.max(axis=0), y[::2, ::-1] + 1, y.astype("f2").max())
s = (h.astype("f4") - 0.5).ravel()
z = np.array(s)
b = (np.log(z / (z + 2)), np.sqrt(z), np.sort(z), np.argmax(z), z[z > 0], np.cumsum(z))
i, j = np.array(numpy.arange(3000) * 7 % 300), np.array(numpy.arange(3000) * 11 % 400)
w = np.array(h)
w[i, j] = w[j % 300, i]
w[:, j[:5]] = 3.0
rows = z.reshape(3, -1)
c = (w[i, :, None][:9], np.sort(w), np.argsort(w, axis=0), np.sort(rows), np.argsort(rows), np.median(w, 0))
assert all(numpy.asarray(v) is not None for v in c)
assert all(numpy.isfinite(numpy.asarray(v)).all() for v in a)
assert all(numpy.asarray(v) is not None for v in b)
print("good")
"""


@dataclass
class Part:
    name: str
    command: list[str]
    config: str = CONFIG


@dataclass
class Outcome:
    part: Part
    status: int
    said: str
    seconds: float

    @property
    def last(self) -> str:
        lines = [line for line in self.said.splitlines() if line.strip()] or ["nothing"]
        counts = [line for line in lines if re.search(r"\d+ (passed|failed|skipped|error|programs)", line)]
        return (counts or lines)[-1].strip("= ")


def run(part: Part, limit: float) -> Outcome:
    settings = {"NUMLOOM_CONFIG": part.config, "NUMLOOM_FALLBACK_WARNINGS": "0", "OPENBLAS_NUM_THREADS": "1"}
    begun = time.monotonic()
    process = subprocess.Popen(
        part.command, cwd=ROOT, env={**os.environ, **settings},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[0] + f"\nnot over after {limit:.0f} s"
    return Outcome(part, process.returncode, said, time.monotonic() - begun)


def parts(jobs: int, minutes: float) -> list[Part]:
    files = sorted(f for f in (ROOT / "tests").glob("test_*.py") if f.name not in LEFT_OUT)
    files.sort(key=lambda f: LONG.index(f.name) if f.name in LONG else len(LONG))
    files += sorted((ROOT / "tests" / "gpu").glob("test_*.py"))
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--no-header"]
    different = [f"--deselect=tests/{name}" for name in DIFFERENT]
    all = [Part(f.stem, [*pytest, *different, str(f.relative_to(ROOT))]) for f in files]
    fuzzer = [sys.executable, "-m", "tests.fuzz", "--minutes", str(minutes), "--no-shrink"]
    both = ["--config", "gpu", "--config", "mixed-gpu"]
    all += [Part(f"fuzzer {k}", [*fuzzer, "--seed", str(k), *both]) for k in range(1, max(jobs // 4, 1) + 1)]
    if shutil.which("compute-sanitizer"):
        for tool in ("memcheck", "racecheck"):
            watch = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "7", sys.executable, "-c", SAMPLE]
            all.append(Part(f"sanitizer {tool}", watch))
    else:
        print("compute-sanitizer is not here: left out")
    return all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="for the fuzzer")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 4, 16), help="processes at a time")
    parser.add_argument("--limit", type=float, default=1800, help="seconds a part may take")
    parser.add_argument("--only", action="append", help="parts whose names contain this")
    given = parser.parse_args()
    chosen = [
        p for p in parts(given.jobs, given.minutes) if not given.only or any(word in p.name for word in given.only)
    ]
    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = []
        for done in pool.map(lambda p: run(p, given.limit), chosen):
            outcomes.append(done)
            print(
                f"{done.part.name:<32}{'good' if done.status == 0 else f'status {done.status}':<12}{done.last}",
                flush=True,
            )
    bad = [o for o in outcomes if o.status]
    for o in bad:
        print(f"== {o.part.name}\n{o.said[-5000:]}", flush=True)
    count = {
        word: sum(int(n) for o in outcomes for n in re.findall(rf"(\d+) {word}", o.last))
        for word in ("passed", "failed", "skipped")
    }
    print(", ".join(f"{n} {word}" for word, n in count.items()), f"in {len(outcomes)} parts, {len(bad)} of them bad")
    return max((o.status for o in outcomes), key=abs, default=1)


if __name__ == "__main__":
    sys.exit(main())
