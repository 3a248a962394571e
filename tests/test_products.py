"""Products against NumPy: dtypes, batches, layouts; Einstein's sums in every spelling."""

import fractions
import math

import numpy
import pytest

import numloom
from tests.test_functions import agree, data

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SIZES = {"a": 2, "b": 3, "c": 4, "i": 3, "j": 4, "k": 5, "l": 2, "m": 6}

SUMS = """
i-> ii-> ii->i ij->ji ij->j ij-> iij->ij iji->j ij,jk->ik ij,jk ij,kj->ik ji,jk->ki i,i-> i,i->i i,j->ij i,j->ji
ij,j->i ij,ij-> ij,ij->ij ij,ij->j bij,bjk->bik bij,bkj->bik bij,bjk->ik bij,jk->bik bij,bij->b aij,ajk->ak ij,jk,kl
ij,jk,kl->il ij,jk,ki-> i,j,k->kji ij,k->kij abc,bcj,ck->ajk ijk,jkl->il ijk,ijk->ijk ijj,jk->ik ii,ij->j
ij,ij,ij->ij a,b,c,i,j->ab ij,jk,kl,lm->im ij,jk,kl,lm,ma->ia
""".split()


@pytest.mark.parametrize("text", SUMS)
def test_sums(text):
    terms = text.partition("->")[0].split(",")
    sizes = dict(SIZES, j=3) if any(len(set(t)) < len(t) for t in terms) else SIZES
    for dtype in DTYPES:
        if dtype == "float16" and len(terms) > 2:
            continue
        arrays = [data(dtype, tuple(sizes[x] for x in t), i) for i, t in enumerate(terms)]
        if dtype == "float16":
            arrays = [(a * 4).round().astype(dtype) / numpy.float16(4) for a in arrays]
        agree(lambda np, *xs: np.einsum(text, *xs), *arrays)


@pytest.mark.parametrize(
    "text", ["...ij,...jk->...ik", "i...->...i", "...,...", "...i,i->...", "...", "i...,j...->ij...", "ij..."]
)
def test_dots(text):
    terms = text.partition("->")[0].split(",")
    for extra in [(), (2,), (3, 2), (1,)]:
        shapes = []
        for t in terms:
            head, _, tail = t.partition("...")
            hidden = extra if "..." in t else ()
            shapes.append((*[SIZES[x] for x in head], *hidden, *[SIZES[x] for x in tail]))
        agree(lambda np, *xs: np.einsum(text, *xs), *[data("float64", s, i) for i, s in enumerate(shapes)])
    agree(lambda np, x, y: np.einsum("...i,...i->...", x, y), data("float64", (3, 1, 4)), data("float64", (2, 4)))


def test_other_spellings():
    a, b = data("float64", (3, 4)), data("float64", (4, 5))
    agree(lambda np, x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), a, b)
    agree(lambda np, x, y: np.einsum(x, [0, 1], y, [1, 2]), a, b)
    agree(lambda np, x, y: np.einsum(x, [0, Ellipsis], y, [Ellipsis, 2][::-1]), a, data("float64", (5, 4)))
    agree(lambda np, x, y: np.einsum(" i j , j k -> i k ", x, y), a, b)
    for optimize in (True, False, "greedy", "optimal", ["einsum_path", (0, 1)]):
        agree(lambda np, x, y, optimize=optimize: np.einsum("ij,jk", x, y, optimize=optimize), a, b)
    agree(lambda np, x, y: np.einsum("ij,jk", x, y, dtype=complex), a, b)
    agree(lambda np, x, y: np.einsum("ij,jk->ki", x, y, order="C"), a, b)
    agree(lambda np, x, y: np.einsum("ij,jk", x, y, out=np.zeros((3, 5))), a, b)
    agree(lambda np, x, y: np.einsum("ij,jk", x, y, out=np.zeros((3, 5), dtype=int)), a, b)
    agree(lambda np, x, y: np.einsum("ij,ij->ij", x[:1], y), data("float64", (3, 4)), a)
    agree(lambda np, x, y: np.einsum("ij,ij->i", x[:, :1], y), data("float64", (3, 4)), a)
    agree(lambda np, x, y: np.einsum_path("ij,jk->ik", x, y)[0], a, b)


def test_a_sum_of_one_operand_is_a_view():
    x = numloom.arange(9.0).reshape(3, 3)
    numloom.einsum("ii->i", x)[:] = 0
    numloom.einsum("ij->ji", x)[0, 1] = 7
    want = numpy.arange(9.0).reshape(3, 3)
    numpy.einsum("ii->i", want)[:] = 0
    numpy.einsum("ij->ji", want)[0, 1] = 7
    numpy.testing.assert_array_equal(numpy.asarray(x), want)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.einsum("ij,jk", x),
        lambda np, x: np.einsum("ij", x, x),
        lambda np, x: np.einsum("i", x),
        lambda np, x: np.einsum("ijk", x),
        lambda np, x: np.einsum("ii", x),
        lambda np, x: np.einsum("ij,jk", x, x),
        lambda np, x: np.einsum("ij->k", x),
        lambda np, x: np.einsum("ij->ii", x),
        lambda np, x: np.einsum("i%", x),
        lambda np, x: np.einsum("i...->i", x),
        lambda np, x: np.einsum(),
        lambda np, x: np.einsum("ij"),
        lambda np, x: np.einsum("ij", x, out=np.zeros((2, 2))),
        lambda np, x: np.einsum("ij", x, casting="strange"),
        lambda np, x: np.einsum("ij", x, dtype=int),
    ],
)
def test_mistakes(call):
    agree(call, data("float64", (3, 4)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_two(dtype):
    a, b, v, w = (data(dtype, s, i) for i, s in enumerate([(3, 4), (4, 5), (4,), (3,)]))
    deep = data(dtype, (2, 3, 4), 5)
    if dtype == "float16":
        a, b, v, w, deep = ((x * 4).round() / numpy.float16(4) for x in (a, b, v, w, deep))
    for call in (
        lambda np, a, b, v, w, d: np.dot(a, b),
        lambda np, a, b, v, w, d: np.dot(d, b),
        lambda np, a, b, v, w, d: np.inner(a, d),
        lambda np, a, b, v, w, d: np.vdot(a, a),
        lambda np, a, b, v, w, d: np.outer(v, w),
        lambda np, a, b, v, w, d: np.tensordot(a, b, 1),
        lambda np, a, b, v, w, d: np.tensordot(d, a, ([1, 2], [0, 1])),
        lambda np, a, b, v, w, d: np.tensordot(v, w, 0),
        lambda np, a, b, v, w, d: np.kron(a, b),
        lambda np, a, b, v, w, d: np.kron(v, a),
        lambda np, a, b, v, w, d: np.cross(b[:3].T, w),
        lambda np, a, b, v, w, d: np.matvec(d, v),
        lambda np, a, b, v, w, d: np.vecmat(w, d),
        lambda np, a, b, v, w, d: np.vecdot(d, v),
        lambda np, a, b, v, w, d: np.linalg.vecdot(d, w[:, None], axis=1),
        lambda np, a, b, v, w, d: np.linalg.matmul(d, b),
        lambda np, a, b, v, w, d: np.linalg.trace(d),
        lambda np, a, b, v, w, d: np.linalg.matrix_power(a[:, :3], 3),
    ):
        agree(call, a, b, v, w, deep)


@pytest.mark.parametrize("text", ["ij,j->i", "i,ij->j", "i,i->", " ij , j -> i", "ii,i->i", "ij,i->j", "i,i->i"])
def test_products_with_a_vector_that_are_spelled_out(text):
    terms = text.replace(" ", "").partition("->")[0].split(",")
    for side, last in ((90, 90), (90, 1)):
        shapes = [(side,) * len(terms[0]), (*(side,) * (len(terms[1]) - 1), last)]
        a, b = (data("float64", shape, seed) for seed, shape in enumerate(shapes))
        agree(lambda np, a, b: np.einsum(text, a, b), a, b)
        agree(lambda np, a, b: np.einsum(text, a[..., ::-1], b), a, b)


def test_sums_do_not_wait():
    before = numloom.stats()["syncs"]
    x = numloom.ones((300, 300)) * 2.0
    y = numloom.einsum("ij,jk,kl->il", x, x, x)
    assert numloom.stats()["syncs"] == before
    assert float(y[0, 0]) == 300.0**2 * 8.0


@pytest.mark.parametrize(
    "text", ["ij,kl->ki", "ij,kj,kl->il", "ij,jk", "bij,bjk->bik", "ijk->ki", "i,j->ji", "abc,bd->dca"]
)
def test_einsum_lies_in_memory_as_numpys(text):
    """Otherwise `ravel` is a view where NumPy's is a copy."""
    sizes = dict(zip("abcdijkl", range(2, 10)))
    ins = [numpy.random.default_rng(1).random([sizes[x] for x in t]) for t in text.partition("->")[0].split(",")]
    for order in "CF":
        want = numpy.einsum(text, *[numpy.array(a, order=order) for a in ins])
        got = numloom.einsum(text, *[numloom.array(a, order=order) for a in ins])
        assert got.strides == want.strides and numpy.allclose(numpy.asarray(got), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
def test_sums_along_the_memory(dtype):
    a, b = data(dtype, (4, 30, 40)), data(dtype, (4, 30, 40), 1)
    for text in ("ijk,ijk->i", "ijk,ijk->ij", "ijk,ijk->", "ijk,ijk->k", "kij,kij->ij", "ijk,ikj->i"):
        right = b.swapaxes(1, 2).copy() if text == "ijk,ikj->i" else b
        for x in (a, a.transpose(0, 2, 1).copy().transpose(0, 2, 1), numpy.repeat(a, 2, axis=2)[..., ::2]):
            got = numpy.asarray(numloom.einsum(text, numloom.array(x), numloom.array(right)))
            want = numpy.einsum(text, x, right)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (20, 4), (6, 6)])
@pytest.mark.parametrize("text", ["ij,kj,kl->il", "ij,kj,kl->li", "ij,kj->ik", "ij,ij->ij"])
@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
def test_sums_lie_in_memory_as_numpys(text, shape, optimize):
    """With `optimize` NumPy's result lies as its last product leaves it: whether `ravel` is a view hangs on that."""
    x = numpy.random.default_rng(3).random(shape)
    count = text.count(",") + 1
    expected = numpy.einsum(text, *[x] * count, optimize=optimize)
    assert numloom.einsum(text, *[numloom.array(x)] * count, optimize=optimize).strides == expected.strides


@pytest.mark.parametrize("text", ["ij,kl->ki", "ij,kl->", "ij->", "ij->i", "ij,ij->", "ij,ij->i", "ij,ij,ij->"])
@pytest.mark.parametrize("step", [1, -3])
def test_sums_are_no_less_accurate_than_numpys(text, step):
    """Of equal terms: added one after another, all of them would be rounded the same way."""
    x = numpy.full((1, 669), 0.8414709848078965)[:, ::step]
    of = [x] * (text.count(",") + 1)
    summed = set(text.partition("->")[0]) - set(text.partition("->")[2]) - set(",i" if "->i" in text else ",")
    n = math.prod({"i": 1, "j": x.shape[1], "k": 1, "l": x.shape[1]}[label] for label in summed)
    exact = n * fractions.Fraction(float(x[0, 0])) ** len(of)
    got, numpys = (fractions.Fraction(float(np.einsum(text, *map(np.array, of)).ravel()[0])) for np in (numloom, numpy))
    assert abs(got - exact) <= max(2 * abs(numpys - exact), exact * fractions.Fraction(64, 2**53))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
@pytest.mark.parametrize("lengths", [(3, 1), (1, 3), (1000, 1), (3, 2)])
@pytest.mark.parametrize("name", ["dot", "inner", "vdot", "matmul"])
def test_vectors_of_other_lengths_have_no_product(name, lengths, dtype):
    """One element is not repeated, as it is in a sum."""
    with pytest.raises(ValueError) as theirs:
        getattr(numpy, name)(*(numpy.ones(n, dtype) for n in lengths))
    with pytest.raises(ValueError) as ours:
        getattr(numloom, name)(*(numloom.ones(n, dtype) for n in lengths))
    assert str(ours.value) == str(theirs.value)
