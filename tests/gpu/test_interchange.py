"""Arrays on a GPU, to and from CuPy, JAX and PyTorch, without copies. Run by `python -m tests.gpu`, with a GPU."""

from __future__ import annotations

import numpy
import pytest

import numloom as np

N = 1 << 21

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)


@pytest.fixture
def x():
    a = np.array(numpy.arange(N, dtype="f4"))
    np.offload_to(a, np.StoreTarget.FBMEM)
    return a * 2


def test_cupy_sees_the_same_memory(x):
    cupy = pytest.importorskip("cupy")
    theirs = cupy.asarray(x)
    assert theirs.data.ptr == x.__cuda_array_interface__["data"][0]
    assert bool((theirs == cupy.arange(N, dtype="f4") * 2).all())
    theirs[5] = -1
    theirs *= 3
    assert float(x[5]) == -3 and float(x[7]) == 42
    x += 1
    assert float(theirs[7]) == 43


def test_cupy_by_dlpack_and_back(x):
    cupy = pytest.importorskip("cupy")
    theirs = cupy.from_dlpack(x)
    assert x.__dlpack_device__() == (2, 0)
    theirs += 1
    ours = np.from_dlpack(theirs)
    assert ours.__cuda_array_interface__["data"][0] == theirs.data.ptr
    ours *= 2
    assert float(theirs[3]) == 14
    strided = np.from_dlpack(theirs.reshape(2, -1)[:, ::2])
    assert numpy.array_equal(numpy.asarray(strided), cupy.asnumpy(theirs).reshape(2, -1)[:, ::2])


def test_an_array_of_cupy_is_an_argument():
    cupy = pytest.importorskip("cupy")
    theirs = cupy.arange(N, dtype="f8")
    ours = np.asarray(theirs)
    total = np.sqrt(ours * ours).sum()
    assert float(total) == N * (N - 1) / 2
    assert ours.__cuda_array_interface__["data"][0] == theirs.data.ptr


def test_work_of_both_in_turn(x):
    cupy = pytest.importorskip("cupy")
    theirs = cupy.asarray(x)
    want = numpy.arange(N, dtype="f4") * 2
    for _ in range(20):
        theirs *= 0.5
        x += 3
        want = want * numpy.float32(0.5) + numpy.float32(3)
    assert numpy.allclose(numpy.asarray(x), want)


def test_jax_by_dlpack(x):
    jax = pytest.importorskip("jax")
    theirs = jax.dlpack.from_dlpack(x)
    assert float(theirs[7]) == 14
    made = jax.numpy.arange(N, dtype="f4") + 1
    ours = np.from_dlpack(made)
    assert float((ours * 2)[9]) == 20


def test_torch_by_dlpack_and_back(x):
    torch = pytest.importorskip("torch")
    theirs = torch.from_dlpack(x)
    assert theirs.data_ptr() == x.__cuda_array_interface__["data"][0]
    theirs += 1
    assert float(x[3]) == 7
    x *= 2
    assert float(theirs[3]) == 14
    made = torch.arange(N, dtype=torch.float32, device="cuda").reshape(2, -1)[:, ::2]
    for ours in (np.from_dlpack(made), np.asarray(made)):
        assert ours.__cuda_array_interface__["data"][0] == made.data_ptr()
        assert numpy.array_equal(numpy.asarray(ours), made.cpu().numpy())


def test_work_of_torch_on_a_stream_of_its_own(x):
    torch = pytest.importorskip("torch")
    want = numpy.arange(N, dtype="f4") * 2
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            theirs = torch.from_dlpack(x)
            made = theirs * 0.5 + 3
            x = np.from_dlpack(made) * 1
            want = want * numpy.float32(0.5) + numpy.float32(3)
    assert numpy.allclose(numpy.asarray(x), want)


def test_an_array_at_home_has_no_such_interface():
    y = np.arange(10)
    assert not hasattr(y, "__cuda_array_interface__") and y.__dlpack_device__() == (1, 0)
