"""Settings for all tests: the session's fused kernels are printed for GPUs, and compiled by the last tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

import pytest

os.environ.setdefault("NUMLOOM_FALLBACK_WARNINGS", "0")

# Read once, when the first array is made. Programs that tests start with settings of their own print nothing.
PRINTED = tempfile.mkdtemp(prefix="numloom-kernels-")
OURS = os.getpid()
os.environ["NUMLOOM_CONFIG"] = f"{os.environ.get('NUMLOOM_CONFIG', '')} --print-kernels {PRINTED}".strip()


@atexit.register
def remove_printed() -> None:
    if os.getpid() == OURS:
        shutil.rmtree(PRINTED, ignore_errors=True)


@pytest.fixture
def printed_kernels() -> str:
    return PRINTED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name == "test_printed_kernels.py")  # stable: they come last
