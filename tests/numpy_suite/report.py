"""What the runs say: a JSON file with every failure, and docs/compatibility.md with the counts and the reasons."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter, defaultdict
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "compatibility.md"

# (title, why, what to look for in the test's name, what to look for in the error's words); the first that fits is it.
GROUPS = [
    (
        "Crashes",
        "NumPy's C test code takes what it is given for a `numpy.ndarray`, unseen.",
        None,
        r"^crashed|^hung",
    ),
    ("Too slow", "", None, r"^TooSlow"),
    (
        "Subclasses of `ndarray`",
        "`x.view(Subclass)` and what follows from it: a Numloom array has one class. Subclasses stay with NumPy.",
        r"(?i)subclass|subok|ArrayFinalize|TestKron::test_return_type",
        r"array of references|is derived from numloom",
    ),
    (
        "Signatures and documentation",
        "Some functions are Python's where NumPy's are built in, and the other way round: those cannot be inspected. "
        "The docstrings of ufuncs are NumPy's and cannot be set.",
        r"(?i)signature|newdoc|docstring",
        r"_ParameterKind|__text_signature__",
    ),
    (
        "Other dtypes",
        "Structured, string, object, datetime, extended precision and swapped bytes stay NumPy arrays; what these "
        "tests expect of `np.array`, `np.ndarray(...)` or a cast is the few places where that shows.",
        r"(?i)(?<!con)struct|void|record|string|object|datetime|timedelta|longdouble|unicode|bytes|rational|field"
        r"|dtype_from_|metadata|test_fraction|test_exotic|non_aligned|various_alignments|TestIndexing::test_scalar_return",
        r"float128|dtype\('O'\)|dtype\('<?[UMm]|longdouble|datetime|timedelta|dtype is not supported|dtype object",
    ),
    (
        "NumPy's C API and private modules",
        "Code that looks inside a `numpy.ndarray` object in memory, or at NumPy's private modules. Such code gets "
        "`numpy.asarray(x)`, which shares the memory.",
        r"(?i)refcount|elide|capi|NeighborhoodIter|WritebackIfCopy|AsCArray|LowlevelAPI|MemoryPolicy|SizeOf|leak"
        r"|TestLerp|_replace_nan",
        r"bad argument to internal function|needs ndarray input|must be numpy\.|_resolve_dtypes|_get_strided_loop"
        r"|argument must be an array or void scalar",
    ),
    (
        "`__array_ufunc__`, `__array_wrap__`, `__array__` of other classes",
        "`__array__` of an object inside a list may not answer with a Numloom array.",
        r"(?i)override|_wrap|array_ufunc|priority|default_prepare|test_dispatch",
        r"__array__ method not producing an array",
    ),
    (
        "Functions in a class body",
        "`array = np.array` in a class: NumPy's is a builtin, ours a function, which becomes a method there.",
        None,
        r"multiple values for argument 'dtype'|Field elements must be 2- or 3-tuples",
    ),
    (
        "Scalars that are still to come",
        "The type of a 0-d result is `numloom.Scalar` until its value is there.",
        r"test_result_types",
        None,
    ),
    (
        "Generators that NumPy made",
        "A pickle of NumPy's generator, and NumPy's own global state, stay NumPy's objects.",
        r"legacy_pickle|hot_swap|coercion_RandomState",
        None,
    ),
    (
        "The line a warning names",
        "The warning comes from inside NumPy, one call further down.",
        r"untyped_warning",
        None,
    ),
    (
        "Warnings on write",
        "`broadcast_arrays` gives read-only views; the flag that would warn first is private to NumPy.",
        r"test_warnonwrite|readonly_flag_protocols|stride_tricks.*test_writeable|TestUfunc::test_broadcast|^test_writeable",
        r"_warn_on_write",
    ),
    (
        "Last places",
        "Transforms and ranks that hang on a rounding error, and functions of single numbers, which are NumPy's own.",
        r"identity_long_short|TestLstsq::test_rcond|memoverlap_accumulate_symmetric",
        None,
    ),
    (
        "Floating-point errors in products",
        "Products of matrices raise no floating-point flags.",
        r"dot_errstate",
        None,
    ),
    (
        "Pickles",
        "The base of an unpickled array is the NumPy array, not the bytes of the pickle.",
        r"(?i)pickl",
        r"(?i)pickl",
    ),
    (
        "Memory that others made",
        "An array made of a NumPy array is a copy, so that work on it can be deferred. Buffers are shared both ways, "
        "by way of a NumPy array: that is what `memoryview(x).obj` and `x.ctypes` refer to, not x.",
        r"set_stridesattr|BufferProtocol|FromBuffer|interface|CTypes|buffercallback|PEP3118|CopyArgument",
        r"owndata|\.base\b|holds? onto a reference",
    ),
    ("`resize` in place", "It needs memory that nobody else holds.", r"Resize|resize", r"cannot resize"),
    (
        "Memory order of results",
        "The result has the right values in another order in memory (`flags.f_contiguous`).",
        r"round_copies|memory_order|LikeFuncs",
        None,
    ),
    (
        "Shapes given as arrays",
        "`np.ones(a)` with an integer Numloom array for the shape.",
        None,
        r"only integer scalar arrays can be converted to a scalar index",
    ),
    (
        "Deferred warnings",
        "These divide integers in arrays of ten thousand elements, which is deferred: the `RuntimeWarning` comes at "
        "the next read, not in the call.",
        r"DivisionIntegerOverflows",
        None,
    ),
    ("The flat iterator", "`x.flat` and its rarer ways of indexing.", r"(?i)flat", None),
    ("Other warnings", "Missing, or too many.", None, r"(?i)DID NOT WARN|len\(w_at\)|^\w*Warning"),
    ("Raises another exception, or none", "", None, r"DID NOT RAISE|not raised|pattern did not match|does not match"),
    ("Missing attribute or keyword", "", None, r"AttributeError|unexpected keyword|positional argument"),
    ("Other values", "", None, r"(?i)mismatched elements|not equal|not almost equal|max ulp|Arrays are not"),
    ("Internal errors", "", None, r"PanicException|panicked|RuntimeError|SystemError|RecursionError"),
]
OTHER = "Everything else"

# What differs on purpose, or is left open by NumPy, found by the tests here and by the fuzzer.
DIFFERENCES = """\
## What differs on purpose

- `np.asarray(a)` of a NumPy array copies, where NumPy answers the same object. Writes to one are not seen in the other.
- An assignment between overlapping views reads everything first. NumPy does so too, except for 1-d views with different
  strides, boolean assignment and `copyto` through a mask that overlaps the target: there it reads what it has just
  written.
- With `where=` and an `out=` that overlaps an operand, unselected elements of the output keep their values. NumPy casts
  them to the loop's dtype and back when that is another.
- `reduce` and `reduceat` of `power`, `float_power`, `arctan2` and `ldexp` fold all elements, from the left. On machines
  with AVX-512, NumPy's vector loops for floats skip all but the last along contiguous axes:
  `power.reduce([2., 3., 2.])` is 4 there instead of 64.
- Sums of halves, and products of up to 512 of them, are accumulated in single precision everywhere; NumPy does so for
  contiguous axes only.
- Products of more than 512 elements under a mask (`where=`), and those on a GPU, are made of parts. Where one part is
  zero and another beyond the range, the product is NaN; NumPy, which multiplies from the left, gives zero if the zero
  comes first.
- A 0-d result that is still to come is a `numloom.Scalar`, in which C code finds no `float`: `time.sleep(x)`,
  `datetime.timedelta(seconds=x)`, `decimal.Decimal(x)` and `numpy.timedelta64(x, "D")` want `float(x)` or `int(x)`.
  `memoryview(x)` is of a copy, which may be written. Its arithmetic warns as that of arrays does ("in divide", not "in
  scalar divide"), and not about integers that overflow.
- Matrices with NaN or infinity: `svd`, `eigh` and what is made of them raise `LinAlgError` or give NaN, where LAPACK at
  times leaves finite numbers; so do `qr` of infinities, `inv` and `slogdet`. Products of matrices warn of overflow
  as NumPy's do, `einsum` of nothing.
- Fourier transforms of infinities: which elements come out infinite and which NaN, and what warns, depends on the order
  of additions.
- Stacks of matrices in Fortran order: what `det`, `slogdet`, `inv`, `solve`, `qr`, `eigvals` and `pinv` make of them
  lies in C order; so do `kron`, the views of `einsum`, and quantiles that leave out NaN.
- `einsum(..., optimize=True)` adds booleans up as numbers where NumPy first takes whether any of them is true.
- `x.real = v` and `x.imag = v` cast `v` whatever it is, as NumPy 2.4 does; 2.5 refuses what an assignment refuses.
- Of equal indices the last one in the order of the index array wins; NumPy goes through index arrays that all lie the
  other way round from their end.
- A weight that is NaN spoils its own bin of a `histogram`; NumPy adds them up first, and those behind it are NaN, too.
- The arrays that `nonzero` for several axes and `unravel_index` give are dense ones of their own; NumPy's are columns
  of one.
- Words about the names and the number of arguments of a method are Python's own for a class in Rust:
  `ndarray.copy() got an unexpected keyword argument`.
- Sums, products, elementary functions and complex products may differ in the last places, because they are computed
  in another order or by other algorithms. Errors are a few units in the last place, as NumPy's are.
- Every sort is stable, whatever `kind` says: `argsort` and the inverse of `unique` tell equal elements apart by where
  they stand, where NumPy's answer for its default kind depends on its vector loops. (NumPy 2.4's default sort of long
  float16 arrays with AVX-512 is at times out of order; its stable one agrees with ours.) What `partition` leaves around
  the wanted places is in another order. `searchsorted` in an array that is not sorted gives other places.
- Sums of weights (`bincount`, `histogram`) are made of parts, and differ in the last places.
- A file that is mapped for reading (`np.load(f, mmap_mode="r")`) is read when the work on it runs. Writes through other
  mappings and through NumPy's writers in Numloom's namespace wait for that work; a program that changes the file in yet
  another way calls `numloom.sync()` first. Slices of a `memmap` are plain arrays.
- Signs that NumPy leaves to the hardware: of a NaN, and of the zero that `maximum(0.0, -0.0)` or `sort` picks. Signs
  that LAPACK chooses: of singular vectors and eigenvectors.
- A floating-point warning inside masked work (`x[m] = 1 / (x[m] * 0)`) may come from a number that stands in for the
  unselected elements, where the expression fails for every number. An operation whose result nobody reads does not
  warn.
- `isinstance(x, np.ndarray)` holds for NumPy's arrays too, which arrays of texts, dates, objects and records are. But
  their methods are NumPy's, and do not know our class: `x.view(np.ndarray)` of such an array is `x.view(numpy.ndarray)`
  in full, and what is put into one of their elements is a number (`x[0] = a.item()`), not an array of no dimensions.
- Powers of complex64 by arrays are computed in double precision: where a product on the way is beyond the range of
  singles, NumPy gives NaN, Numloom the power, or infinity.
- NumPy's functions about types (`np.dtype`, `np.can_cast`, `np.promote_types`, `np.finfo`) take an array of ours for
  its type, and refuse one of NumPy's.
- An array made from `x.flat` is a copy; of a contiguous `x`, NumPy gives a view.
- The types `longlong` and `ulonglong` are `long` and `ulong`, which are the same size: `np.zeros(2, 'q').dtype.char` is
  `'l'`.
- Warnings of deferred work come when it is done, under the filters (`warnings.simplefilter`, `catch_warnings`) of when
  it was written: what was ignored stays ignored, what was to be an error is one in the call. A block that collects
  them (`catch_warnings(record=True)`) must read the values, or call `numloom.sync()`, before it ends.
- Errors in values (an index out of bounds in a computed index array, a floating-point warning) may show up at the next
  read instead of in the call; they name the line that recorded the operation.
"""


def group(name: str, words: str) -> str:
    for title, _, in_name, in_words in GROUPS:
        if (in_name and re.search(in_name, name)) or (in_words and re.search(in_words, words)):
            return title
    return OTHER


def read_log(log: Path) -> dict[str, dict]:
    """Outcome and words by test. A test that began and never ended took its process with it."""
    outcomes: dict[str, dict] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        row = json.loads(line)
        if "end" in row:
            outcomes[row["end"]] = {"outcome": row["outcome"], "words": row["words"]}
        elif "crashed" in row:
            outcomes[row["crashed"]] = {"outcome": "failed", "words": row["words"]}
    return outcomes


def summarise(results: dict[str, dict[str, dict]]) -> dict:
    files = {}
    for file, outcomes in results.items():
        count = Counter(o["outcome"] for o in outcomes.values())
        failures = {n: o["words"] for n, o in outcomes.items() if o["outcome"] == "failed"}
        files[file] = {k: count[k] for k in ("passed", "failed", "skipped")} | {"failures": failures}
    return {"numpy": numpy.__version__, "files": files}


def page(summary: dict) -> str:
    lines = [
        "# Compatibility",
        "",
        f"NumPy {summary['numpy']} ships its own tests. `python -m tests.numpy_suite --page` runs"
        f" {len(summary['files'])} of its files",
        "with Numloom in NumPy's place (`np` is Numloom; NumPy's private modules and `numpy.testing` stay its own) and",
        "writes this page.",
        "",
        "| file | passed | failed | skipped | passed of run |",
        "|---|---:|---:|---:|---:|",
    ]
    total: Counter = Counter()
    for file, row in summary["files"].items():
        total.update({k: row[k] for k in ("passed", "failed", "skipped")})
        lines.append(table_row(f"`{file}.py`", row))
    lines += [
        table_row("**all**", total),
        "",
        "Skipped are tests that NumPy skips too or that need much memory; tests marked slow are left out. A function",
        "that Numloom hands to NumPy passes here as well: `numloom.coverage()` tells which are native.",
        "",
    ]

    grouped: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for file, row in summary["files"].items():
        for name, words in row["failures"].items():
            grouped[group(name, words)].append((file, name, words))
    lines += [DIFFERENCES, "## What fails, by cause", "", "| cause | tests |", "|---|---:|"]
    causes = [(t, why) for t, why, _, _ in GROUPS] + [(OTHER, "")]
    causes = sorted((c for c in causes if grouped[c[0]]), key=lambda c: -len(grouped[c[0]]))
    lines += [f"| {title} | {len(grouped[title])} |" for title, _ in causes] + [""]
    for title, why in causes:
        lines += [f"### {title}: {len(grouped[title])}", ""]
        lines += [*textwrap.wrap(why, 118), ""] if why else []
        lines += [*samples(grouped[title]), ""]
    return "\n".join(lines).rstrip() + "\n"


# From here on the page is written by others: by hand, and by tests.array_api_suite.
REST = "<!-- The rest is not written by tests.numpy_suite. -->"


def with_the_rest(text: str, before: str) -> str:
    """The page, followed by the sections of the present one that this command does not write."""
    _, mark, rest = before.partition(REST)
    return f"{text}\n{mark}{rest}" if mark else text


def table_row(name: str, row) -> str:
    ran = row["passed"] + row["failed"]
    share = f"{100 * row['passed'] / ran:.1f} %" if ran else "none ran"
    return f"| {name} | {row['passed']} | {row['failed']} | {row['skipped']} | {share} |"


def samples(failures: list[tuple[str, str, str]], most: int = 12) -> list[str]:
    """One line a test function, however many parameters failed, most first."""
    functions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, name, words in failures:
        functions[file, name.split("[")[0]].append(words)
    ordered = sorted(functions.items(), key=lambda item: -len(item[1]))
    lines = []
    for (file, name), words in ordered[:most]:
        said = words[0].replace(f"{ROOT}/", "")
        first = next((w for w in said.splitlines() if w.strip()), "")[:140].replace("|", "\\|").replace("`", "'")
        lines.append(f"- `{file}.py::{name}` ({len(words)}): `{first}`")
    if len(ordered) > most:
        lines.append(f"- and {len(ordered) - most} more functions")
    return lines
