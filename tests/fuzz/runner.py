"""Starts workers, one a configuration, watches them, and collects what failed."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .program import Program

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120

CONFIGS = {
    "default": "",
    "window-1": "--window-size 1",
    "window-7": "--window-size 7 --min-cpu-chunk 16",
    "unfused": "--fuse=0 --window-size 1000",
    "one-worker": "--cpus 1 --window-size 1000",
    "tiny-tiles": "--cpus 2 --min-cpu-chunk 16 --window-size 1000",
    "cut-windows": "--cpus 2 --min-cpu-chunk 1 --window-size 1000",  # at library operations on 64 elements
    "unfused-tiny-tiles": "--cpus 2 --fuse=0 --min-cpu-chunk 16",
    "large-tiles": "--cpus 2 --min-cpu-chunk 1000000 --window-size 50",
    # A pool so small that arrays move to the file all the time.
    "spilling": f"--cpus 2 --sysmem 1 --spill {tempfile.gettempdir()}",
    # Simulated devices, for everything. The last two have so little memory that arrays are moved out all the time.
    "device": "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1 --inline-size 0",
    "mixed-devices": "--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64 --min-gpu-chunk 64",
    "full-device": "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 4 --min-gpu-chunk 1 --inline-size 0",
    "full-devices": "--cpus 2 --gpus 3 --gpu-backend sim --fbmem 4 --zcmem 1 --sysmem 4 --min-gpu-chunk 8 "
    f"--inline-size 16 --window-size 7 --spill {tempfile.gettempdir()}",
}

# On a machine with a GPU: everything there, and only what is worth it.
GPU_CONFIGS = {
    "gpu": "--gpus 1 --min-gpu-chunk 1 --inline-size 0 --background-compile=0",
    "mixed-gpu": "--gpus 1 --min-gpu-chunk 256 --window-size 50",
}
EVERY = {**CONFIGS, **GPU_CONFIGS}


@dataclass
class Failure:
    config: str
    index: int
    wrong: str
    program: Program


@dataclass
class Tally:
    programs: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def environment(config: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "NUMLOOM_CONFIG": EVERY[config], "NUMLOOM_FALLBACK_WARNINGS": "0", "PYTHONPATH": path}


def run_config(
    config: str,
    seed: int,
    start: int,
    stride: int,
    count: int,
    seconds: float = 0,
    report: Callable[[str, Tally], None] = lambda c, t: None,
    most_failures: int = 20,
) -> Tally:
    """Runs `count` programs under a configuration, with a new worker after each crash."""
    tally = Tally()
    begun = time.monotonic()
    done = 0
    while done < count and len(tally.failures) < most_failures:
        left = max(0.1, seconds - (time.monotonic() - begun)) if seconds else 0
        if seconds and left <= 0.1:
            break
        numbers = (seed, start + done * stride, stride, count - done, left)
        ran, finished = watch(config, numbers, tally, report, most_failures)
        done += ran
        tally.seconds = time.monotonic() - begun
        if finished:
            break
    tally.seconds = time.monotonic() - begun
    return tally


def watch(config: str, numbers: tuple, tally: Tally, report, most_failures: int) -> tuple[int, bool]:
    """One worker's life. Answers how many programs it began, and whether it came to its end."""
    command = [sys.executable, "-m", "tests.fuzz.worker", "run", *map(str, numbers)]
    with tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment(config), cwd=ROOT)
        began, current, finished, hung = 0, None, False, False
        for message in messages(worker):
            if message is None:
                hung = True
                worker.kill()
                break
            if "begin" in message:
                began, current = began + 1, message["begin"]
                tally.programs += 1
                if began % 100 == 0:
                    report(config, tally)
            elif "fail" in message:
                tally.failures.append(
                    Failure(config, message["fail"], message["wrong"], Program.from_json(message["program"]))
                )
                report(config, tally)
                if len(tally.failures) >= most_failures:
                    worker.kill()
                    finished = True
                    break
            else:
                finished = True
        code = worker.wait()
        if finished and (code == 0 or len(tally.failures) >= most_failures):
            return began, True
        errors.seek(0)
        words = errors.read().decode(errors="replace")[-1500:]
        if current is None:
            raise RuntimeError(f"the worker did not start:\n{words}")
        wrong = f"hung for {PATIENCE_S} s" if hung else f"worker ended with code {code}"
        if finished:
            wrong = f"worker ended with code {code} after its last program"
        program = regenerate(numbers[0], current)
        if program is None:
            wrong = f"NumPy itself crashes in this program; {wrong}"
            program = Program(numbers[0], current)
        tally.failures.append(Failure(config, current, f"{wrong}\n{words}", program))
        return began, finished


def regenerate(seed: int, index: int) -> Program | None:
    """A program written down in a process of its own: writing runs it under NumPy, which may crash too."""
    command = [sys.executable, "-m", "tests.fuzz.worker", "generate", str(seed), str(index)]
    run = subprocess.run(command, capture_output=True, env=environment("default"), cwd=ROOT)
    return Program.from_json(json.loads(run.stdout)["program"]) if run.returncode == 0 else None


def messages(worker: subprocess.Popen):
    """The worker's JSON lines; None when it has been silent for too long."""
    selector = selectors.DefaultSelector()
    selector.register(worker.stdout, selectors.EVENT_READ)
    rest = b""
    while True:
        if not selector.select(PATIENCE_S):
            yield None
            return
        block = os.read(worker.stdout.fileno(), 1 << 16)
        if not block:
            return
        *lines, rest = (rest + block).split(b"\n")
        yield from map(json.loads, lines)


class Checker:
    """Answers whether a program fails under a configuration; survives crashes."""

    def __init__(self, config: str) -> None:
        self.config = config
        self.worker: subprocess.Popen | None = None

    def wrong(self, program: Program) -> str | None:
        if self.worker is None or self.worker.poll() is not None:
            command = [sys.executable, "-m", "tests.fuzz.worker", "check"]
            self.worker = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(self.config),
                cwd=ROOT,
            )
        assert self.worker.stdin and self.worker.stdout
        try:
            self.worker.stdin.write((json.dumps(program.to_json()) + "\n").encode())
            self.worker.stdin.flush()
            message = next(messages(self.worker))
        except (StopIteration, BrokenPipeError):
            return f"worker ended with code {self.worker.wait()}"
        if message is None:
            self.worker.kill()
            self.worker.wait()
            return "hung"
        return message["wrong"]

    def close(self) -> None:
        if self.worker and self.worker.poll() is None:
            self.worker.stdin.close()
            self.worker.wait()
