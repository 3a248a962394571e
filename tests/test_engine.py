"""What the engine promises beyond results: deferral, fusion, what is never materialised, and errors at sync points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import warnings

import numpy
import pytest

from .commands import python
from .counters import Counted, counters, explained
from .oracle import agree, needs_engine, np

pytestmark = needs_engine
LARGE = 400_000


def run(code: str, config: str = "") -> str:
    """Runs a program of its own: configuration is read once a process."""
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_rows_are_counted_through_all_tiles_of_a_chain():
    def counted(np):
        x = np.arange(LARGE)
        return [
            x[:, None].astype(float),
            x[:, None] * np.ones((1, 2)),
            x.astype(float)[:, None] + np.arange(2),
            (x[:, None] + np.zeros((LARGE, 3))) / (1.0 + x[:, None]),
        ]

    for got, want in zip(counted(np), counted(numpy), strict=True):
        agree(got, want)


def test_a_chain_becomes_one_task():
    x = np.ones(LARGE)
    np.sync()
    with Counted() as grew:
        y = (x * 2 + 1) * x - 0.5
        np.sync()
    assert grew["operations"] == 4
    assert grew["tasks"] == 1
    agree(y, numpy.full(LARGE, 2.5))


def test_a_reduction_is_the_tail_of_the_same_task():
    x = np.ones(LARGE)
    np.sync()
    with Counted() as grew:
        total = (x * 2 + 1).sum()
        float(total)
    assert grew["tasks"] <= 2
    # The chain itself is never stored: 3.2 MB.
    assert grew["bytes_written"] < LARGE * 8 / 2


def test_many_small_operations_do_not_wait_for_what_is_recorded():
    out = run(
        """
        import numloom as np
        a = np.ones((300, 100)) * np.arange(100) + np.arange(30_000).reshape(300, 100) % 7
        q = np.zeros_like(a)
        for i in range(20):
            v = a[:, i].copy()
            for j in range(i):
                v -= q[:, j] @ a[:, i] * q[:, j]
            q[:, i] = v / np.sqrt(v @ v)
        stats = np.stats()
        print(stats["inline"], stats["operations"])
        """,
        "--cpus 2",
    )
    inline, operations = map(int, out.split())
    assert inline > operations * 0.8


def test_rounds_of_a_loop_run_while_it_goes_on():
    """Windows end where a round does, so that they are alike: all but the first and the last have their plan."""
    out = run(
        """
        import numloom as np
        def rounds(n):
            u = np.ones(20_000)
            before = u.copy()
            for _ in range(n):
                after = 2 * u - before
                after[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
                before, u = u, after
            return float(u.sum())
        s = np.stats()
        assert rounds(400) == 20_000
        t = np.stats()
        print(t["windows"] - s["windows"], t["plan_hits"] - s["plan_hits"])
        """,
        "--cpus 2 --gpus 0",
    )
    windows, hits = map(int, out.split())
    assert windows >= 8 and hits >= windows - 4


def test_rounds_over_large_arrays_and_slices_stay_together():
    out = run(
        """
        import numloom as np
        s = np.stats()["windows"]
        x = np.ones(1_000_000)
        for _ in range(300):
            x = x * 0.5 + 0.5
        float(x[0])
        t = np.stats()["windows"]
        y, z = np.ones((3000, 9000)), np.zeros((3000, 9000))
        for k in range(3000):
            z[k] = y[k] * 2
        z[0, 0]
        print(t - s, np.stats()["tasks"] < 100)
        """,
        "--cpus 2 --gpus 0",
    )
    assert out.split() == ["1", "True"]


def test_long_work_does_not_wait_for_the_rest_of_the_recording():
    out = run(
        """
        import numloom as np
        a, p = np.ones((1100, 1100)) / 1100, np.ones(1100)
        np.sync()
        before = np.stats()["windows"]
        for _ in range(30):
            q = a @ p
            p = q / np.sqrt(q @ q)
        print(np.stats()["windows"] - before)
        assert abs(float((p * p).sum()) - 1) < 1e-12
        """,
        "--cpus 2",
    )
    assert int(out) >= 4


def test_what_a_round_of_a_loop_drops_is_not_stored_for_long_work():
    out = run(
        """
        import numloom as np
        x, w = np.ones((400_000, 16)) / 16, np.zeros(16)
        np.sync()
        before = np.stats()["live_bytes"]
        for _ in range(12):
            p = 1.0 / (1.0 + np.exp(-(x @ w)))
            q = np.sqrt(p)
            w = w - 1e-6 * (x.T @ (p - q))
        p = q = None
        np.sync()
        print((np.stats()["peak_bytes"] - before) / 3_200_000)
        """,
        "--cpus 2",
    )
    # x @ w of this round, p - q of it, and little else: neither p nor q nor p - q of the last one.
    assert float(out) < 3


def test_dropped_temporaries_are_not_materialised():
    out = run("""
        import numloom as np
        n = 2_000_000
        x = np.ones(n)
        y = np.empty(n)
        y[:] = 0
        np.sync()
        stats = np.stats()
        rows = dict(stats.items()) if hasattr(stats, "items") else {r[0]: r[1] for r in stats}
        before = {k.lower(): v for k, v in rows.items()}
        y[:] = ((x * 2 + 1) * x - 0.5) * (x + x) + x * x * x
        np.sync()
        stats = np.stats()
        rows = dict(stats.items()) if hasattr(stats, "items") else {r[0]: r[1] for r in stats}
        after = {k.lower(): v for k, v in rows.items()}
        print(after["peak_bytes"] - before["live_bytes"], after["bytes_written"] - before["bytes_written"])
    """)
    peak, written = map(int, out.split())
    assert peak < 2_000_000 * 8, "a temporary of the chain had memory"
    assert written <= 2_000_000 * 8 * 1.1


def tasks_of(text):
    return [line for line in text.splitlines() if line.startswith("task ")]


def rolled(z, m=np):
    return m.roll(z, 1, 0) + m.roll(z, -1, 0) + m.roll(m.roll(z, 1, 1), 3, 0) - 4 * m.concatenate([z[7:], z[:7]])


def test_rolled_and_joined_arrays_are_read_where_they_come_from():
    values = numpy.arange(512 * 300.0).reshape(512, 300)
    z = np.asarray(values)
    with Counted() as grew:
        made = rolled(z)
        assert len(tasks_of(explained(made))) == 1, explained(made)
        np.sync()
    assert grew["bytes_written"] == made.nbytes
    assert (numpy.asarray(made) == rolled(values, numpy)).all()


def test_what_is_read_in_pieces_is_as_it_was_when_it_was_put_together():
    values = numpy.arange(300_000.0)
    for change in (lambda z: z.__iadd__(1), lambda z: z.__setitem__(slice(None, 5), 7), lambda z: None):
        results = []
        for module in np, numpy:
            z = module.array(values)
            moved = module.roll(z, 1)
            change(z)
            results.append(moved * 2 + z)
            del moved
        assert (results[0] == results[1]).all()


def test_a_round_of_a_loop_computes_nothing_for_the_next():
    a, b = (np.asarray(numpy.random.default_rng(k).random((600, 600))) for k in (1, 2))
    np.sync()
    for _ in range(3):
        product = a * b * b
        a, b = a + 0.1 * rolled(a) - product + 0.06 * (1 - a), b + 0.1 * rolled(b) + product - 0.12 * b
    del product
    text = explained(b)
    written = [int(re.search(r"writes (\d+) bytes", line)[1]) for line in tasks_of(text)]
    assert written == [2 * a.nbytes] * 3, text


def test_a_result_takes_over_the_memory_of_what_is_read_last():
    values = numpy.random.default_rng(4).random(400_000)
    x, index = np.asarray(values), np.asarray(numpy.random.default_rng(5).permutation(400_000))
    np.sync()
    for made, expected in (
        (lambda: x[index] - x, lambda: values[numpy.asarray(index)] - values),
        (lambda: np.sort(x) * 2 + np.sort(x), lambda: numpy.sort(values) * 3),
        (lambda: np.cumsum(index).reshape(400, 1000).T + 1, lambda: numpy.cumsum(index).reshape(400, 1000).T + 1),
    ):
        result = made()
        agree(result, expected(), ulps=4)
    # What others still read, or hold, is left alone.
    gathered = x[index]
    view = gathered[::2]
    changed = gathered * 2
    del gathered
    agree(changed, values[numpy.asarray(index)] * 2)
    agree(view, values[numpy.asarray(index)][::2])


def test_calls_return_before_the_work_is_done():
    with Counted() as grew:
        x = np.ones(LARGE)
        for _ in range(10):
            x = x * 1.0001
        inline = counters()["syncs"]
    assert grew["syncs"] == 0
    assert inline is not None
    agree(x.shape, (LARGE,))


def test_small_work_runs_inline():
    x = np.ones(10)
    with Counted() as grew:
        for _ in range(100):
            x = x + 1
    assert grew["inline"] == 100
    assert grew["tasks"] == 0


def test_a_sum_does_not_wait_but_its_print_does():
    x = np.ones(LARGE)
    with Counted() as grew:
        total = np.sum(x * 3)
        twice = total * 2
    assert grew["syncs"] == 0
    assert float(twice) == 6.0 * LARGE


def test_packed_arrays_stay_deferred():
    x = np.arange(LARGE) / LARGE
    np.sync()
    with Counted() as grew:
        mask = x > 0.5
        part = x[mask]
        part = part * 2 + 1
        x[mask] = part
    assert grew["syncs"] == 0
    e = numpy.arange(LARGE) / LARGE
    e[e > 0.5] = e[e > 0.5] * 2 + 1
    agree(x, e)
    with Counted() as grew:
        x[x > 2] += 1
        x[np.nonzero(x < 0.25)] *= 0.5
    assert grew["syncs"] == 0
    e[e > 2] += 1
    e[e < 0.25] *= 0.5
    agree(x, e)


def test_a_masked_update_is_one_pass():
    x = np.arange(LARGE) / LARGE
    np.sync()
    with Counted() as grew:
        x[x > 0.5] = np.sqrt(x[x > 0.5])
        np.sync()
    assert grew["tasks"] <= 2
    e = numpy.arange(LARGE) / LARGE
    e[e > 0.5] = numpy.sqrt(e[e > 0.5])
    agree(x, e)


def test_adjacent_slices_are_merged():
    x = np.ones(LARGE)
    np.sync()
    with Counted() as grew:
        for i in range(0, LARGE, 4096):
            x[i : i + 4096] = x[i : i + 4096] * 2 + 1
        np.sync()
    assert grew["tasks"] < LARGE // 4096
    agree(x, numpy.full(LARGE, 3.0))


def test_explain_shows_fused_tasks_with_lines():
    x = np.ones(LARGE)
    np.sync()
    y = x * 2 + 1  # the line that explain must name
    text = explained(y)
    assert "multiply" in text
    assert "add" in text
    assert "test_engine.py" in text
    agree(y, numpy.full(LARGE, 3.0))


def test_a_repeated_window_is_planned_once():
    x = np.ones(LARGE)

    def body(x):
        y = x * 0.5 + 1
        return np.maximum(y, x) - 0.25

    for _ in range(3):
        x = body(x)
        np.sync()
    with Counted() as grew:
        for _ in range(5):
            x = body(x)
            np.sync()
    assert grew["kernels"] == 0


def test_the_window_is_flushed_by_its_length():
    out = run(
        """
        import numloom as np
        x = np.ones(100_000)
        np.sync()
        def windows():
            stats = np.stats()
            rows = dict(stats.items()) if hasattr(stats, "items") else {r[0]: r[1] for r in stats}
            return {k.lower(): v for k, v in rows.items()}["windows"]
        before = windows()
        ys = [x + i for i in range(40)]
        np.sync()
        print(windows() - before)
        """,
        "--window-size 4",
    )
    assert int(out) >= 10


@pytest.mark.parametrize("config", ["", "--fuse=0", "--window-size 1", "--cpus 1", "--min-cpu-chunk 16"])
def test_configurations_change_nothing_but_speed(config):
    out = run(
        """
        import numloom as np
        x = np.arange(50_000) / 7
        y = np.sin(x)[::-1] * 2
        y[y > 1] -= 1
        z = y[1:] - y[:-1]
        print(repr(float(np.abs(z).max())), int((z > 0).sum()))
        """,
        config,
    )
    x = numpy.arange(50_000) / 7
    y = numpy.sin(x)[::-1] * 2
    y[y > 1] -= 1
    z = y[1:] - y[:-1]
    largest, count = out.split()
    assert abs(float(largest) - numpy.abs(z).max()) < 1e-12
    assert int(count) == int((z > 0).sum())


def test_a_bad_deferred_index_is_raised_at_the_next_sync_with_its_line():
    x = np.arange(LARGE)
    index = np.arange(LARGE) + 5
    intact = x * 2
    with pytest.raises(IndexError) as caught:
        y = x[index]  # the failing line
        y.tolist()
    words = str(caught.value)
    assert "out of bounds" in words
    agree(intact, numpy.arange(LARGE) * 2)
    agree(x + 1, numpy.arange(LARGE) + 1)


def test_a_deferred_error_names_its_line_and_the_runtime_goes_on():
    out = run("""
        import numloom as np
        x = np.arange(300_000)
        index = x * 2
        good = x + 1
        try:
            bad = x[index]
            after = bad * 2
            print(after.sum())
        except IndexError as e:
            print("caught", "<string>:7" in str(e) or "line 7" in str(e))
        print(int(good.sum()), int((x * 0).sum()))
    """)
    assert out.splitlines() == ["caught True", f"{300_000 * 300_001 // 2} 0"]


def test_stats_count():
    before = counters()
    np.ones(3) + 1
    after = counters()
    assert after["operations"] > before["operations"]
    for name in ("operations", "inline", "tasks", "windows", "kernels", "syncs", "live_bytes", "peak_bytes"):
        assert name in after


def test_memory_is_given_back():
    live = counters()["live_bytes"]
    x = np.ones(1_000_000)
    np.sync()
    assert counters()["live_bytes"] >= live + 8_000_000
    del x
    np.sync()
    assert counters()["live_bytes"] < live + 8_000_000


def sqrt_of_selected(np, x):
    m = x > 0
    x[m] = np.sqrt(x[m])


def sqrt_of_negative(np, x):
    m = x < 0
    x[m] = np.sqrt(x[m])


def pole_left_out(np, x):
    m = x != 1
    x[m] = 1 / (x[m] - 1)


def log_at_zero(np, x):
    m = x > -1
    x[m] = np.log(x[m])


def arcsin_inside(np, x):
    m = abs(x) <= 1
    x[m] = np.arcsin(x[m]) * 2


def infinities_left_out(np, x):
    x[::3] = np.inf
    m = np.isfinite(x)
    x[m] = x[m] - x[m].mean()


def overflow_inside(np, x):
    m = x > 0
    x[m] *= 1e308
    x[m] *= 1e10


def integers_without_zero(np, x):
    k = (x * 10).astype("i8")
    m = k != 0
    k[m] = 100 // k[m]
    x[:] = k


def integers_with_zero(np, x):
    k = (x * 10).astype("i8")
    m = k >= 0
    k[m] = 100 // k[m]
    x[:] = k


MASKED = [
    sqrt_of_selected,
    sqrt_of_negative,
    pole_left_out,
    log_at_zero,
    arcsin_inside,
    infinities_left_out,
    overflow_inside,
    integers_without_zero,
    integers_with_zero,
]


@pytest.mark.parametrize("program", MASKED)
def test_warnings_of_masked_work(program):
    """Masked work is computed everywhere, but only the selected elements may be heard of."""
    heard = {}
    for module in (numpy, np):
        x = module.linspace(-3, 3, 200_001)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program(module, x)
            values = numpy.asarray(x)
        heard[module] = sorted({str(w.message) for w in caught}), values
    assert heard[np][0] == heard[numpy][0]
    numpy.testing.assert_allclose(heard[np][1], heard[numpy][1], rtol=1e-14, atol=1e-15)


def two_divisions(np, x, y):
    return (1 / y) * np.log(x) + x / y.sum()


def only_the_log(np, x, y):
    return (1 / (y * y + 1)) * np.log(x)


def overflow_in_the_second(np, x, y):
    return np.exp(y) + np.exp(x * 1000) * y


def invalid_in_a_difference(np, x, y):
    z = x * np.inf
    return np.sqrt(y * y) - (z - z)


def in_a_chain(np, x, y):
    a = x.reshape(400, 500)
    top = np.exp((a - a.max(axis=1, keepdims=True)) * 1e6)
    return np.log(top) / top.sum(axis=1, keepdims=True)


def cast_of_nan(np, x, y):
    return (x / x).astype("i4") + np.sqrt(y * y + 1).astype("i4")


@pytest.mark.parametrize(
    "program",
    [two_divisions, only_the_log, overflow_in_the_second, invalid_in_a_difference, in_a_chain, cast_of_nan],
)
def test_fused_work_names_the_operation_that_warns(program):
    """Each program fuses several operations that could raise the flag; NumPy knows which did, and so must we."""
    heard = {}
    for module in (numpy, np):
        x = module.array(numpy.maximum(numpy.linspace(-1, 3, 200_000), 0))
        y = module.array(numpy.linspace(0, 2, 200_000))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(program(module, x, y))
        heard[module] = sorted({(str(w.message), w.lineno, w.filename) for w in caught})
    assert heard[np] == heard[numpy]


def test_programs_that_want_every_result_at_once_get_it():
    x = np.arange(20_000.0)
    np.sync()
    for _ in range(20):
        np.sync(x + 1)
    with Counted() as count:
        for k in range(20):
            np.sync(x * k)
    assert count["inline"] == 20
    assert count["tasks"] == 0
    # A loop whose results nobody looks at is deferred again, and becomes one task.
    with Counted() as count:
        y = x
        for _ in range(50):
            y = y * 0.5 + x
        np.sync(y)
    assert count["tasks"] == 1
    assert count["inline"] <= 5


def test_programs_of_short_tasks_run_at_once_after_a_window():
    """In a process of its own: what a program is like is remembered."""
    code = """
        import numpy, numloom as np

        def swept(np, rounds):
            x = np.arange(20_000.0)
            for _ in range(rounds):
                x[1:-1] = 0.5 * (x[:-2] + x[2:])
            return numpy.asarray(x)

        def counted(rounds):
            before = np.stats()
            right = numpy.array_equal(swept(np, rounds), swept(numpy, rounds))
            after = np.stats()
            return right, after["inline"] - before["inline"], after["tasks"] - before["tasks"]

        print(*counted(100), *counted(100))
        # A large array is another matter.
        y = np.arange(1_000_000.0)
        before = np.stats()["inline"]
        for _ in range(5):
            y = y * 0.5 + 1
        np.sync()
        print(np.stats()["inline"] - before)
    """
    said = python(textwrap.dedent(code)).out.split()
    assert said[0] == said[3] == "True"
    assert int(said[2]) >= 100, "recorded, to see"
    assert int(said[4]) >= 290 and int(said[5]) <= 5, "then at once"
    assert said[6] == "0"


def test_light_operations_that_are_waited_for_run_at_once_longer_than_others():
    x = np.ones(150_000)
    for work, tasks in ((lambda: x * 0.5, 0), (lambda: x < x, 0), (lambda: np.exp(x), 30)):
        for _ in range(20):
            np.sync(work())
        with Counted() as count:
            for _ in range(30):
                np.sync(work())
        assert count["tasks"] == tasks


@pytest.mark.parametrize("read", [lambda y: float(y[7]), lambda y: y.argmax(), lambda y: np.linalg.norm(y)])
def test_middling_products_whose_values_are_read_run_at_once(read):
    a, x = np.ones((300, 300)) / 300, np.ones(300)
    for _ in range(20):
        x = a @ x
        read(x)
    with Counted() as count:
        for _ in range(30):
            x = a @ x
            read(x)
    assert count["tasks"] == 0
    agree(x, numpy.ones(300), 100)
    # A matrix that a vector is multiplied with weighs less than its elements, even where nothing is waited for.
    b, y = np.ones((200, 200)) / 200, np.ones(200)
    np.sync()
    with Counted() as count:
        for _ in range(30):
            y = b @ y
    assert count["tasks"] == 0


def test_slices_that_are_waited_for_run_at_once():
    """A sieve: few elements of a large array are written at a time, and one is read before the next."""
    n = 500_000
    s = np.ones(n, dtype=bool)
    s[:2] = False
    with Counted() as count:
        for i in range(2, 708):
            if s[i]:
                s[i * i :: i] = False
    assert int(s.sum()) == 41538
    assert count["tasks"] < 60 and count["inline"] > 80


def test_a_matrix_times_a_vector_runs_at_once():
    a, x = np.array(numpy.ones((150, 150))), np.array(numpy.ones(150))
    np.sync()
    with Counted() as count:
        for _ in range(10):
            x = a @ x / 150
    assert count["tasks"] == 0 and float(x[7]) == 1


def test_a_failure_is_told_once():
    """Whoever waits for the array sees the failure while the task still retires: it must not be told again."""
    x = np.arange(200_000.0)
    places = numpy.array([5, 6, 7] * 50_000)
    places[77] = 10**7
    index = np.array(places)
    for k in range(600):
        y = x * 1.0
        np.sync()
        other = x + k
        y[index] = 2.0
        with pytest.raises(IndexError):
            np.sync(y)
        np.sync()
    assert float(other[0]) == 599


def test_a_mask_that_keeps_all_of_what_nobody_reads_again_copies_nothing():
    out = run("""
        import numloom as np
        n = 1_000_000
        x = np.arange(n, 0, -1.0)
        np.sync()
        before = np.stats()["live_bytes"]
        y = np.sort(x)
        kept = y[y > 0]
        del y
        assert len(kept) == n and kept[0] == 1 and kept[-1] == n
        print((np.stats()["peak_bytes"] - before) / n)
    """)
    # What is sorted, and the mask.
    assert float(out) < 9.5


def test_masks_that_keep_all_keep_the_order_and_what_is_still_read():
    out = run("""
        import numpy
        import numloom as np
        host = numpy.arange(600_000.0).reshape(600, 1000)
        def shuffled():
            return np.sort(np.asarray(host)[::-1], axis=0)
        all_of_it = np.asarray(host) >= 0
        def check(got, want):
            assert (numpy.asarray(got) == want).all()
        check(np.sort(np.asarray(host.T[::-1]).T, axis=1)[all_of_it], numpy.sort(host.T[::-1].T, axis=1).ravel())
        y = np.asfortranarray(shuffled())
        check(y[all_of_it], host.ravel())
        f = np.asfortranarray(shuffled())
        kept = f[all_of_it]
        del f
        check(kept, host.ravel())
        y = shuffled()
        kept = y[all_of_it]
        y[0] = -1
        check(kept, host.ravel())
        assert y[0, 0] == -1 and y[1, 0] == 1000
        view = shuffled()[:, ::-1]
        kept = view[all_of_it]
        del view
        check(kept, host[:, ::-1].ravel())
        part = shuffled()[1:]
        kept = part[all_of_it[1:]]
        del part
        check(kept, host[1:].ravel())
        mask = np.sort(np.asarray(host >= 0), axis=0)
        kept = mask[mask]
        del mask
        assert kept.all() and len(kept) == host.size
        first = shuffled()
        a, b = first[all_of_it], first[all_of_it]
        del first
        a += 1
        check(b, host.ravel())
        check(a, host.ravel() + 1)
        print("fine")
    """)
    assert out.strip() == "fine"


def test_indices_of_large_arrays_are_looked_at_where_they_select_nothing():
    out = run("""
        import numloom as np
        x = np.zeros((3, 0))
        def refused(change):
            try:
                change()
                np.sync()
            except IndexError as e:
                return "index 3 is out of bounds" in str(e)
        print(refused(lambda: x.__setitem__(np.arange(70_000) % 4, 1)))
        x, y = np.zeros((3, 0)), [None]
        print(refused(lambda: y.__setitem__(0, x[np.arange(70_000) % 4])))
    """)
    assert out.split() == ["True", "True"]


def test_of_several_bad_indices_the_first_is_named():
    out = run(
        """
        import numloom as np
        for _ in range(20):
            try:
                np.take(np.arange(300_000), np.arange(900_000)).sum().item()
            except IndexError as e:
                print(str(e).split()[1])
        """,
        "--cpus 4",
    )
    assert set(out.split()) == {"300000"}
