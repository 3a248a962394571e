"""Times on a GPU in profiles. Run by `python -m tests.gpu`, or alone:
`NUMLOOM_CONFIG="--gpus 1" python -m pytest -q -s tests/gpu/test_profile.py`, on a machine with a GPU."""

from __future__ import annotations

import json
import time

import pytest

import numloom as np
from tests.commands import numloom

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)

N = 1 << 27
TURNS = 20
PROGRAM = f"""
import numloom as np
x = np.ones({N}, dtype=np.float32)
for k in range({TURNS}):
    x = np.sin(x) + 1.0
    np.sync(x)
m = np.ones((4096, 4096), dtype=np.float32)
print(float((m @ m).sum()))
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "prog.py").write_text(PROGRAM)
    # No kernel was ever compiled there.
    ended = numloom("--gpus", "1", "--profile", "prog.py", cwd=folder, XDG_CACHE_HOME=str(folder / "cache"))
    assert ended.status == 0, ended.err
    print(numloom("prof", "stats", "numloom_0.prof", cwd=folder).out)
    (read,) = json.loads(numloom("prof", "dump", "numloom_0.prof", cwd=folder).out)
    return read


def device_spans(profile):
    (gpu,) = [p["id"] for p in profile["processors"] if p["lane"] == "GPU Device"]
    return [s for s in profile["spans"] if s["processor"] == gpu]


def test_every_turn_has_a_box_on_the_device_of_a_plausible_length(profile):
    tasks = {t["id"]: t for t in profile["tasks"]}
    turns = [s for s in device_spans(profile) if tasks[s["subject"]]["line"] == "prog.py:5"]
    assert len(turns) >= TURNS - 1  # the first is fused with `ones`, and has that line
    # A gibibyte is moved: no GPU does that in 20 µs, and none needs 50 ms for it.
    lengths = sorted(s["ran"] for s in turns)
    assert 20_000 < lengths[len(lengths) // 2] < 50_000_000, lengths
    assert any(tasks[s["subject"]]["name"] == "matmul" for s in device_spans(profile))


def test_a_box_is_the_kernels_and_not_its_compilers(profile):
    """NVRTC takes tens of milliseconds for a kernel that was never seen; its first box is as short as others."""
    tasks = {t["id"]: t for t in profile["tasks"]}
    fused = [s for s in device_spans(profile) if tasks[s["subject"]]["line"] in ("prog.py:3", "prog.py:5")]
    assert fused[0]["ran"] < 3_000_000, fused[0]
    first = tasks[fused[0]["subject"]]
    assert first["stopped"] - first["started"] > 10 * fused[0]["ran"], (first, fused[0])


def test_boxes_follow_each_other_and_the_host_asked_for_them_before(profile):
    tasks = {t["id"]: t for t in profile["tasks"]}
    until = 0
    for s in device_spans(profile):
        assert until <= s["started"] and s["started"] + s["ran"] <= profile["length"]
        until = s["started"] + s["ran"]
        # The device's clock is set by the host's to within some tens of microseconds.
        assert s["started"] >= tasks[s["subject"]]["started"] - 100_000


def test_what_marks_cost(tmp_path):
    """Told, not asserted: a thousand small tasks with and without a profile."""
    x = np.ones(1 << 20, dtype=np.float32)
    np.offload_to(x, np.StoreTarget.FBMEM)

    def turns() -> float:
        nonlocal x
        np.sync(x)
        began = time.perf_counter()
        for _ in range(1000):
            x = x * 1.0001
            np.sync(None)
        return time.perf_counter() - began

    turns()
    off, on = [], []
    for k in range(5):
        off.append(turns())
        with np.profile(tmp_path / f"{k}.prof"):
            on.append(turns())
    print(f"a task on the GPU: {min(off) * 1e3:.2f} µs, with a profile {min(on) * 1e3:.2f} µs")
