"""Sums of products, transforms and systems of equations; only what is well conditioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step

if TYPE_CHECKING:
    from ..generator import Generator

SIZE = 2000


def is_tame(v: numpy.ndarray) -> bool:
    """Small, finite, and far from overflow in sums of its squares; halves are summed in another order."""
    fits = 0 < v.size <= SIZE and v.dtype != numpy.float16
    return bool(fits and numpy.isfinite(v).all() and numpy.abs(v.astype(complex)).max() < 1e6)


def sum_of_products(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim == 2 and is_tame(v))
    if name is None:
        return None
    texts = ["ij->j", "ij->ji", "ij,ij->i", "ij,kj->ik", "ij,ik->kj", "ij,kj,kl->il", "ij,kl->ki", "ij,ij->"]
    text = g.rng.choice(texts)
    operands = ", ".join([name] * (1 + text.count(",")))
    new = g.fresh()
    inexact = g.scope[name].dtype.kind in "fc"
    return Step("einsum", f"{new} = np.einsum({text!r}, {operands})", (name,), defines=new, approx=inexact)


def product(g: Generator) -> Step | None:
    """Products of two, by their many names; of integers they are exact."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "iufc" and is_tame(v) and v.size <= 400)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(v.ndim)
    options = [
        f"np.tensordot({name}, {name}, axes=([{axis}], [{axis}]))",
        f"np.kron({name}.ravel()[:9], {name}.ravel()[-7:])",
        f"np.inner({name}, {name})",
        f"np.atleast_1d(np.vdot({name}, {name}))",
        f"np.vecdot({name}, {name}, axis={axis})",
        f"np.cross(np.resize({name}, (4, 3)), np.resize({name}, 3) + 1)",
        f"np.einsum('...i,...i->...', {name}, {name})",
        f"np.einsum('...i->...', {name})",
    ]
    if v.ndim == 2:
        options += [
            f"np.matvec({name}, {name}[0])",
            f"np.linalg.multi_dot([{name}, {name}.T, {name}])" if v.size <= 60 else f"np.matvec({name}, {name}[0])",
            f"np.einsum('ij,kj,kl->il', {name}, {name}, {name}, optimize=True)",
        ]
    code = f"np.atleast_1d({rng.choice(options)})"
    return Step("product", f"{new} = {code}", (name,), defines=new, approx=v.dtype.kind in "fc")


def transform(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "fc" and is_tame(v))
    if name is None:
        return None
    v, rng, new = g.scope[name], g.rng, g.fresh()
    axis = rng.randrange(v.ndim)
    options = [f"np.fft.fft({name}, axis={axis})", f"np.fft.ifft({name}, n=12, axis={axis})"]
    options += [f"np.fft.fftn({name}, norm='ortho')", f"np.fft.irfft({name}, n=9, axis={axis})"]
    options += [f"np.fft.ifftn({name})", f"np.fft.irfftn({name})" if min(v.shape) > 1 else f"np.fft.fftshift({name})"]
    options += [f"np.fft.hfft({name}, n=8, axis={axis})", f"np.fft.ifftshift({name})"]
    if v.ndim >= 2:
        options += [f"np.fft.fft2({name})", f"np.fft.ifft2({name})", f"np.fft.irfft2({name}, s=(4, 6))"]
    if v.dtype.kind != "c":
        options += [f"np.fft.rfft({name}, axis={axis})", f"np.fft.rfftn({name})", f"np.fft.ihfft({name}, axis={axis})"]
        options += [f"np.fft.rfft2({name})" if v.ndim >= 2 else "np.fft.fftfreq(9)", "np.fft.rfftfreq(8)"]
    # A frequency that is not there is zero or a rounding error, as the implementation has it: measured by all of them.
    code = f"np.abs({rng.choice(options)}) + (1 + np.abs({name}).sum())"
    return Step("fft", f"{new} = {code}", (name,), defines=new, approx=True)


def system(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim == 2 and v.dtype == numpy.float64 and is_tame(v) and v.shape[0] <= 40)
    if name is None:
        return None
    n, new = g.scope[name].shape[0], g.fresh()
    matrix = f"{name} @ {name}.T + np.eye({n}) * (1 + np.abs({name}).sum())"
    # Of small values next to a large one only so much is right, and later statements may pick them alone.
    size = f" + np.abs({matrix}).sum()"
    options = [
        f"np.linalg.solve({matrix}, np.ones({n}))",
        f"np.linalg.inv({matrix}) + 1",
        f"np.linalg.cholesky({matrix}) + 1",
    ]
    options += [
        f"np.linalg.svdvals({matrix}){size}",
        f"np.linalg.eigvalsh({matrix}){size}",
        f"np.linalg.norm({name}, 'nuc')",
    ]
    options += [
        f"np.linalg.lstsq({matrix}, np.ones({n}), rcond=None)[0]",
        f"np.linalg.pinv({matrix}) + 1",
        f"np.atleast_1d(np.linalg.slogdet({matrix})[1])",
        # The determinant has the n-th power of the sum's rounding.
        f"np.atleast_1d(np.abs(np.linalg.det(({matrix}) / (1 + np.abs({name}).sum()) ** 2)) ** (1 / {n}))",
        f"np.abs(np.linalg.qr({matrix})[1]) + 1",
        f"np.sort(np.linalg.eigvals({matrix}).real){size}",
        f"np.linalg.matrix_power(({matrix}) / (1 + np.abs({name}).sum()) ** 2, 3) + 1",
        f"np.linalg.solve(np.stack([{matrix}, 2 * ({matrix})]), np.ones((2, {n}, 1)))",
        f"np.linalg.eigh({matrix})[0]{size}",
        f"np.sort(np.linalg.eig({matrix})[0].real){size}",
        f"(lambda u, s, v: (u * s) @ v)(*np.linalg.svd({matrix}))",
        f"np.atleast_1d(np.linalg.cond({matrix}))",
        f"np.atleast_1d(np.linalg.matrix_rank({matrix})) + 0.5",
        f"np.linalg.tensorsolve(({matrix}).reshape({n}, 1, 1, {n}), np.ones(({n}, 1)))",
        f"np.linalg.tensorinv(({matrix}).reshape({n}, 1, {n}, 1)) + 1",
        f"np.atleast_1d(np.linalg.vector_norm({name})) + np.linalg.matrix_norm({name}) + np.linalg.trace({matrix})",
        f"np.linalg.matrix_transpose({matrix}) + 0.5",
    ]
    return Step("linalg", f"{new} = {g.rng.choice(options)}", (name,), defines=new, approx=True)
