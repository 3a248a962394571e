"""The kinds of statements a program is made of. Each function writes one, or gives up with None."""

import os

from .algebra import product, sum_of_products, system, transform
from .arrays import assign, clip, convert, copy, create, create_more, view
from .beyond import function, helper, shared_with_numpy
from .draws import draw, shuffle
from .elementwise import binary, chain, chunks, in_place, operator, stencil, unary
from .families import exact_family, file, rounded_family
from .folds import cumulate, join, matmul, reduce, ufunc_reduce
from .indices import gather, gather_by_array, scatter
from .masks import mask_read, mask_write, select
from .observe import drop, error, read
from .operations import DTYPES, python_scalar
from .order import order, sort_in_place
from .patchwork import patchwork, patchwork_by_hand
from .statistics import percentile, statistic

# How often each is tried.
WEIGHTS = {
    create_more: 4,
    view: 12,
    unary: 9,
    binary: 12,
    operator: 10,
    chain: 8,
    in_place: 10,
    stencil: 4,
    chunks: 4,
    assign: 7,
    convert: 3,
    copy: 2,
    clip: 3,
    mask_read: 5,
    mask_write: 8,
    select: 4,
    gather: 4,
    gather_by_array: 2,
    scatter: 4,
    reduce: 9,
    ufunc_reduce: 2,
    cumulate: 2,
    join: 3,
    matmul: 2,
    sum_of_products: 1,
    transform: 1,
    product: 1,
    system: 1,
    statistic: 2,
    percentile: 1,
    exact_family: 3,
    rounded_family: 2,
    file: 1,
    draw: 2,
    shuffle: 1,
    function: 4,
    helper: 2,
    patchwork: 4,
    patchwork_by_hand: 2,
    order: 4,
    sort_in_place: 1,
    shared_with_numpy: 2,
    read: 5,
    drop: 6,
    error: 1,
}

# `--without`: kinds left out while a known defect in them would drown the others.
LEFT_OUT = set(filter(None, os.environ.get("NUMLOOM_FUZZ_WITHOUT", "").split(",")))
WEIGHTS = {kind: weight for kind, weight in WEIGHTS.items() if kind.__name__ not in LEFT_OUT}

__all__ = ["DTYPES", "WEIGHTS", "create", "drop", "python_scalar"]
