"""The pytest side: a time limit for every test, and a line in a file when one begins and ends."""

from __future__ import annotations

import json
import os
import signal

import pytest

from . import stand_ins

stand_ins.register()

LOG = os.environ["NUMPY_SUITE_LOG"]
LIMIT_S = float(os.environ.get("NUMPY_SUITE_LIMIT_S", "20"))


class TooSlow(BaseException):
    """Not an Exception, so that a test's own handlers do not swallow it."""


def log(**message) -> None:
    with open(LOG, "a") as f:
        f.write(json.dumps(message) + "\n")


def finished() -> set[str]:
    if not os.path.exists(LOG):
        return set()
    with open(LOG) as f:
        rows = [json.loads(line) for line in f]
    return {r["begin"] for r in rows if "begin" in r} | {r["end"] for r in rows if "end" in r}


def pytest_collection_modifyitems(config, items):
    """After a crash the rest of the file goes on where it stopped."""
    done = finished()
    left = [i for i in items if i.nodeid.split("::", 1)[1] not in done]
    config.hook.pytest_deselected(items=[i for i in items if i not in left])
    items[:] = left


def pytest_collectreport(report):
    if report.failed:
        log(broken=str(report.longrepr)[-2000:])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    log(begin=item.nodeid.split("::", 1)[1])

    def ring(*_):
        raise TooSlow(f"took longer than {LIMIT_S:.0f} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    name = item.nodeid.split("::", 1)[1]
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "skipped" if outcome == "skipped" else "passed"
        words = ""
        if outcome == "failed":
            error = call.excinfo
            words = f"{error.typename}: {error.value}"[:600]
            place = [e for e in error.traceback if "test_" in str(e.path)]
            if place:
                words += f"\n  {str(place[-1].statement).strip()[:200]}"
        log(end=name, outcome=outcome, words=words)
    return report
