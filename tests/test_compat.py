"""The names of cuPyNumeric and Legate, and the programs and commands of `seeds/` as they were printed."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy
import pytest

from .commands import BIN, environment, python, run, tool

SEEDS = Path(__file__).parent / "seeds"
NO_RANKS = "runs of more than one rank are not there yet"

pytest.importorskip("cupynumeric", reason="python/compat is not installed")
pytestmark = pytest.mark.skipif(not (BIN / "legate").exists(), reason="python/compat is not installed")


def test_cupynumeric_is_numloom():
    code = """
import cupynumeric as np, cupynumeric.random, cupynumeric.linalg as la, numloom
from cupynumeric.fft import fftfreq
from cupynumeric import *
assert np.ndarray is numloom.ndarray and la is np.linalg and cupynumeric.random is np.random
assert la.norm is numloom.linalg.norm and np.random.rand is numloom.random.rand
assert set(dir(la)) > set(numloom.linalg.__all__) and set(dir(np.random)) > set(numloom.random.__all__)
import cupynumeric.random.mtrand, cupynumeric.lib.stride_tricks
assert np.add is numloom.add and set(dir(np)) >= set(numloom.__all__) and fftfreq is numloom.fft.fftfreq
for missing in ("np.nosuch", "la.nosuch", "__import__('cupynumeric.nosuch')"):
    try:
        eval(missing)
    except (AttributeError, ModuleNotFoundError) as error:
        print(error)
print(np.ones(3) + 1)
"""
    assert python(code) == (
        0,
        "module 'cupynumeric' has no attribute 'nosuch'\nmodule 'cupynumeric.linalg' has no attribute 'nosuch'\n"
        "No module named 'cupynumeric.nosuch'\n[2. 2. 2.]\n",
        "",
    )


def test_the_names_of_legate():
    code = """
import cupynumeric as np
from legate.core import StoreTarget, get_legate_runtime, offload_to
x = np.ones(100_000) * 2
get_legate_runtime().issue_execution_fence()
get_legate_runtime().issue_execution_fence(block=True)
print([t.name for t in StoreTarget], float(x.sum()))
"""
    ended = python(code)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == "['SYSMEM', 'FBMEM', 'ZCMEM', 'SOCKETMEM'] 200000.0\n"


@pytest.mark.parametrize(
    ("flags", "machine"),
    [
        ("--cpus 1 --gpus 0", "CPU 0 1 (0, 1) 1 0"),
        ("--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64", "GPU 2 2 (0, 1) 2 2"),
    ],
)
def test_the_machine_is_the_one_that_runs(flags, machine):
    code = """
from legate.core import LEGATE_MAX_DIM, TaskTarget, get_legate_runtime, get_machine
from cupynumeric.runtime import runtime
m = get_machine()
assert m is get_legate_runtime().machine and len(m) == m.count(m.preferred_target) and not m.empty
assert m.get_processor_range(TaskTarget.OMP).empty and TaskTarget.OMP not in m.valid_targets
assert m.get_processor_range(TaskTarget.CPU).count == m.count(TaskTarget.CPU)
assert (get_legate_runtime().node_id, get_legate_runtime().node_count, LEGATE_MAX_DIM) == (0, 1, 6)
counts = m.count(TaskTarget.GPU), m.count(TaskTarget.CPU), m.get_node_range()
print(m.preferred_target.name, *counts, runtime.num_procs, runtime.num_gpus)
"""
    assert python(code, NUMLOOM_CONFIG=flags) == (0, machine + "\n", "")


def test_the_machine_knows_the_commands_flags(tmp_path):
    (tmp_path / "prog.py").write_text("from legate.core import *\nprint(get_machine().count(TaskTarget.CPU))\n")
    for count in ("1", "2"):
        assert run(str(BIN / "legate"), "--cpus", count, "--gpus", "0", "prog.py", cwd=tmp_path).out == count + "\n"


def test_info_starts_nothing_unless_asked():
    code = """
import sys
from legate.util.has_started import runtime_has_started
from legate.util.info import info
facts = info(start_runtime=False)
assert not runtime_has_started() and "numloom" not in sys.modules and isinstance(facts["Machine"], str)
assert facts["Package versions"]["numpy"] == __import__("numpy").__version__
facts = info()
print(runtime_has_started(), facts["Machine"]["CPU"], facts["Legate runtime configuration"]["window-size"])
"""
    assert python(code, NUMLOOM_CONFIG="--cpus 1 --window-size 512 --profile=0") == (0, "True 1 512\n", "")


def test_cupynumerics_settings():
    code = """
import warnings
from cupynumeric.settings import settings
from legate.util.settings import SettingBase
held = [getattr(settings, name) for name in dir(settings)]
values = {setting.name: setting() for setting in held if isinstance(setting, SettingBase)}
assert len(values) == 20 and values["numpy_compat"] is True and settings.bounds_check_enabled("take")
print(settings.min_cpu_chunk(), settings.fast_math(), settings.warn(), settings.matmul_cache_size(), settings.test())
settings.warn = True
import numloom
assert numloom.set_fallback_warnings(False) and not settings.warn()
print(settings.take_default(), settings.take_default("task"), settings.doctor_filename())
settings.take_default = "index"
print(settings.take_default())
settings.take_default.unset_value()
print(settings.take_default(None, "other"))
for name, value in (("fast_math", True), ("numpy_compat", False), ("test", True), ("doctor_format", "xml")):
    try:
        setattr(settings, name, value)
        print(settings.doctor_format())
    except (AttributeError, ValueError) as error:
        print(error)
"""
    ended = python(
        code, NUMLOOM_CONFIG="--min-cpu-chunk 4321 --tf32", LEGATE_TEST="1", CUPYNUMERIC_TAKE_DEFAULT="variable"
    )
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "4321 True False 4096 True",
        "variable task None",
        "index",
        "variable",
        "--tf32 sets fast_math, before the program starts",
        "numpy_compat is always True",
        "only the environment variable LEGATE_TEST sets test",
        "doctor_format is plain, json or csv, not 'xml'",
    ]


BENCHMARK = """
from legate.util.benchmark import BenchmarkLog, BenchmarkLogFromFilename, benchmark_log
log = benchmark_log("my bench", ["n", "time (ms)"], metadata={"Subject": {"one": 1, "second": 2}})
assert isinstance(log, (BenchmarkLog, BenchmarkLogFromFilename))
with log as b:
    b.log(**{"n": 3, "time (ms)": 0.5})
    b.log(n="a,b")
"""


def test_a_benchmarks_table(tmp_path):
    ended = python(BENCHMARK)
    assert (ended.status, ended.err) == (0, "")
    assert python(BENCHMARK, LEGATE_BENCHMARK_OUT=str(tmp_path))[:2] == (0, "")
    (file,) = tmp_path.glob("mybench_*.0.csv")
    for text in (ended.out, file.read_text()):
        head, table = text.rsplit("#" * 80 + "\n", 1)
        assert table == 'n,time (ms)\n3,0.5\n"a,b",(missing)\n'
        assert "\n# Subject   :\n#   one    : 1\n#   second : 2\n" in head and "#   Name  : my bench\n" in head


def test_a_benchmarks_head_is_the_run_unless_given(tmp_path):
    code = """
import io, os
from legate.util.benchmark import BenchmarkLog, benchmark_log
out = io.StringIO()
with benchmark_log("b", ["n"], out=out):
    pass
assert "Machine" in out.getvalue() and "CPU" in out.getvalue()

class Rows(BenchmarkLog):
    def _log_metadata(self, metadata):
        print(metadata.count("Name"))
    def _log_columns(self, columns):
        print(columns)
    _log_row = _log_columns

try:
    with Rows("b", 0, ["n", "m"], os.devnull, {}) as rows:
        rows.log(n=1, m=2)
        raise ValueError("not held back")
except ValueError as error:
    print(error)
"""
    assert python(code) == (0, "1\n['n', 'm']\n['1', '2']\nnot held back\n", "")


def convolution(a, v, mode):
    """By the definition: every element of `v` times `a`, moved, and the part that SciPy's `mode` names."""
    if a.ndim == 1:
        return numpy.convolve(a, v, mode)
    whole = numpy.zeros([n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)], numpy.result_type(a, v))
    for j in numpy.ndindex(v.shape):
        whole[tuple(slice(k, k + n) for k, n in zip(j, a.shape, strict=True))] += a * v[j]
    within = [abs(n - m) + 1 for n, m in zip(a.shape, v.shape, strict=True)]
    shape = {"full": whole.shape, "same": a.shape, "valid": within}[mode]
    return whole[tuple(slice((w - n) // 2, (w - n) // 2 + n) for w, n in zip(whole.shape, shape, strict=True))]


@pytest.mark.parametrize(
    ("a", "v"),
    [
        ((7,), (3,)),
        ((3,), (8,)),
        ((6, 7), (3, 2)),
        ((3, 2), (6, 7)),
        ((5, 1, 6), (2, 1, 4)),
        ((2, 1), (1, 1)),
        ((9, 8, 7), (4, 4, 4)),
        ((3, 3, 3, 3), (2, 2, 2, 2)),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "int32", "uint8", "bool"])
def test_convolutions(a, v, dtype):
    import cupynumeric

    rng = numpy.random.default_rng(7)
    x, y = ((rng.random(shape) * 9 + 1j * rng.random(shape)).real.astype(dtype) for shape in (a, v))
    if dtype == "complex64":
        x, y = x + 1j * x[::-1], y - 2j * y
    close = {"float64": 1e-12, "float32": 1e-5, "complex64": 1e-5, "float16": 2e-3}.get(dtype, 0)
    for mode, method in product(("full", "same", "valid"), ("auto", "direct", "fft")):
        made = cupynumeric.convolve(cupynumeric.array(x), cupynumeric.array(y), mode, method=method)
        wanted = convolution(x, y, mode)
        assert isinstance(made, cupynumeric.ndarray) and made.dtype == wanted.dtype
        assert made.shape == wanted.shape
        numpy.testing.assert_allclose(made, wanted, rtol=close, atol=close * numpy.abs(wanted).max())


def test_a_convolution_of_sequences_is_numpys_own():
    import cupynumeric

    a = cupynumeric.random.rand(3000)
    assert (cupynumeric.convolve(a, a) == cupynumeric.convolve(a, a, method="direct")).all()
    assert cupynumeric.convolve(3, [1, 2], method="fft").tolist() == [3, 6]
    # Where there are many sums, transforms are taken; what is not a number is then everywhere.
    a, v = cupynumeric.ones((64, 64)), cupynumeric.ones((32, 32))
    a[0, 0] = numpy.nan
    assert cupynumeric.isnan(cupynumeric.convolve(a, v)).all()
    assert not cupynumeric.isnan(cupynumeric.convolve(a, v, method="direct")).all()


@pytest.mark.parametrize(
    ("a", "v", "how", "said"),
    [
        ((3, 3), (3,), {}, "a has 2 dimensions and v 1"),
        ((3, 4), (4, 3), {"mode": "valid"}, r"one of the shapes \(3, 4\) and \(4, 3\) must hold the other"),
        ((3, 3), (2, 2), {"mode": "wrap"}, "mode must be"),
        ((3,), (2,), {"method": "fast"}, "method must be"),
        ((3, 0), (2, 2), {}, r"nothing to convolve in the shapes \(3, 0\) and \(2, 2\)"),
        ((0,), (2,), {"method": "fft"}, "a cannot be empty"),
    ],
)
def test_convolutions_that_are_refused(a, v, how, said):
    import cupynumeric

    with pytest.raises(ValueError, match=said):
        cupynumeric.convolve(cupynumeric.ones(a), cupynumeric.ones(v), **how)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((4000, 5), "float64"), ((2600, 20), "complex128"), ((3000, 12), "float32"), ((10, 10), "float64")],
)
def test_tall_singular_values(shape, dtype):
    import cupynumeric

    a = numpy.random.default_rng(3).standard_normal(shape).astype(dtype)
    a[:, 1] = a[:, 0]
    if dtype == "complex128":
        a[:, 2:] *= 1 - 2j
    u, s, vh = (numpy.asarray(x) for x in cupynumeric.linalg.tssvd(cupynumeric.array(a)))
    assert u.shape == shape and u.dtype == dtype and vh.shape == (shape[1],) * 2
    eps = numpy.finfo(dtype).eps * 100 * s[0]
    numpy.testing.assert_allclose((u * s) @ vh, a, atol=eps)
    numpy.testing.assert_allclose(u.conj().T @ u, numpy.eye(shape[1]), atol=eps)
    numpy.testing.assert_allclose(s, numpy.linalg.svd(a, compute_uv=False), atol=eps)
    with pytest.raises(ValueError, match="takes a matrix"):
        cupynumeric.linalg.tssvd(cupynumeric.ones(3))


def test_exponentials_by_a_named_method():
    from cupynumeric import array, linalg

    turn = array([[0.0, -numpy.pi / 2], [numpy.pi / 2, 0.0]])
    for made in (linalg.expm(turn), linalg.expm(turn, "pade"), linalg.expm(a=turn, method="taylor")):
        numpy.testing.assert_allclose(made, [[0, -1], [1, 0]], atol=1e-15)
    with pytest.raises(ValueError, match="'pade' or 'taylor', not 'series'"):
        linalg.expm(turn, method="series")


def test_generators_over_named_bits():
    from cupynumeric import random

    assert (random.default_rng(random.XORWOW(5)).random(9) == random.default_rng(5).random(9)).all()
    for bits in (random.XORWOW, random.MRG32k3a, random.PHILOX4_32_10):
        drawn = random.Generator(bits(seed=1)).uniform(1, 3, size=8, dtype="float32")
        assert drawn.dtype == numpy.float32
        assert (drawn == random.Generator(bits(seed=1)).uniform(1, 3, 8).astype("float32")).all()
    rng = random.default_rng(1)
    assert random.default_rng(rng) is rng and isinstance(rng, random.Generator)
    assert rng.poisson(3.0, 4, dtype="uint32").dtype == numpy.uint32
    assert random.default_rng(2).normal() == numpy.random.default_rng(2).normal()


@pytest.mark.parametrize("name", sorted(f.stem for f in SEEDS.glob("*.py")))
def test_programs_run_as_printed(name):
    ended = run(str(BIN / "legate"), f"{name}.py", cwd=SEEDS)
    assert (ended.status, ended.err) == (0, "")


LAUNCHER = """
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.6"; exit; fi
count=1
while [ $# -gt 0 ]; do
  case "$1" in
    -n) count=$2; shift 2 ;;
    -N) nodes=$2; shift 2 ;;
    --ntasks-per-node=*) count=$((nodes * ${1#*=})); shift ;;
    -npernode|--bind-to|-x|--map-by|-C) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
[ $count = 1 ] || OMPI_COMM_WORLD_SIZE=$count OMPI_COMM_WORLD_RANK=0 exec "$@"
exec "$@"
"""


@pytest.fixture
def folder(tmp_path):
    """A directory with the programs that the printed commands name, and launchers that start one process."""
    for name in ("myprog.py", "prog.py"):
        (tmp_path / name).write_text("import cupynumeric as np\nprint(np.ones(3).sum())\n")
    (tmp_path / "myprog").write_text(f"#!{BIN}/python\nimport cupynumeric as np\nprint(np.ones(3).sum())\n")
    (tmp_path / "myprog").chmod(0o755)
    shutil.copy(SEEDS / "oom.py", tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copy(tmp_path / "prog.py", tmp_path / "examples" / "cg.py")
    tool(tmp_path, "mpirun", LAUNCHER)
    tool(tmp_path, "srun", LAUNCHER)
    return tmp_path


def shell(line: str, folder: Path) -> tuple[int, str, str]:
    env = environment()
    env["PATH"] = f"{folder}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, timeout=60, input=""
    )
    return done.returncode, done.stdout, done.stderr


RUN = [
    "legate --cpus 8 --sysmem 4000 --profile myprog.py",
    "legate --gpus 1 --profile myprog.py",
    'LEGATE_CONFIG="--cpus 8 --sysmem 4000 --profile" python ./myprog.py',
    "legate --gpus 4 --sysmem 1000 --fbmem 15000 myprog.py",
    'LEGATE_CONFIG="--gpus 4 --sysmem 1000 --fbmem 15000" legate myprog.py',
    'LEGATE_CONFIG="--gpus 4 --sysmem 1000 --fbmem 15000" python myprog.py',
    'LEGATE_CONFIG="--gpus 4 --sysmem 1000 --fbmem 15000" ./myprog',
    "legate --launcher mpirun --verbose prog.py",
    "legate --profile myprog.py",
    "legate --gpus 2 --nsys --profile examples/cg.py  -n 235",
]


@pytest.mark.parametrize("line", RUN)
def test_commands_run_as_printed(folder, line):
    status, out, err = shell(line, folder)
    assert (status, out) == (0, "3.0\n"), err
    said = [text for text in err.splitlines() if "going on" in text]
    assert len(said) == len(set(said))
    assert "--profile" not in line or (folder / "legate_0.prof").exists() or (folder / "numloom_0.prof").exists()


@pytest.mark.parametrize(
    "line",
    [
        "LEGATE_TEST=1 legate --cpus 1 --gpus 0 --sysmem 40 oom.py",
        "LEGATE_TEST=1 legate --cpus 2 --gpus 1 --fbmem 40 --sysmem 512 oom.py",
        "LEGATE_TEST=1 legate --gpus 0 --cpus 1 --sysmem 128 oom.py",
        "LEGATE_TEST=1 legate --gpus 1 --cpus 2 --fbmem 128 --sysmem 512 oom.py",
        "legate --gpus 4 --sysmem 1000 --fbmem 15000",
    ],
)
def test_commands_end_well_as_printed(folder, line):
    status, out, _ = shell(line, folder)
    assert (status, out) == (0, "")


def test_a_pool_too_small_gives_the_account(folder):
    status, _, err = shell("LEGATE_TEST=1 legate --cpus 1 --gpus 0 --sysmem 16 oom.py", folder)
    assert status == 1
    assert "OutOfMemoryError" in err and "SYSTEM_MEM" in err


def test_the_configuration_is_shown_as_printed(folder):
    line = """legate --cpus 1 --gpus 0 --sysmem 40 --show-config \\
   && LEGATE_TEST=1 legate --cpus 1 --gpus 0 --sysmem 40 oom.py"""
    status, out, err = shell(line, folder)
    assert (status, err) == (0, "")
    assert "- sysmem = 41,943,040 (40 MiB)" in out and "- cpus = 1 " in out
    assert "- sysmem = " in shell("legate --show-config                  # pools per rank match intent?", folder)[1]
    for line in ("LEGATE_CONFIG='--help' ./myprog", 'LEGATE_CONFIG="--help" ./myprog', "legate --help"):
        status, out, _ = shell(line, folder)
        assert (status, "--sysmem MIB" in out) == (0, True)


@pytest.mark.parametrize(
    "line",
    [
        "srun -n 4 --mpi=pmix legate --gpus 1 --profile myprog.py",
        """srun -N 2 --ntasks-per-node=4 \\
        --gpus-per-task=1 --gpu-bind=single:1 \\
        --mpi=pmix -C gpu \\
     legate --gpus 1 --profile myprog.py""",
        "legate --nodes 2 --launcher mpirun --cpus 4 --gpus 1 myprog.py",
        "mpirun -n 2 -npernode 1 legate --cpus 4 --gpus 1 myprog.py",
        'LEGATE_CONFIG="--cpus 4 --gpus 1" mpirun -n 2 -npernode 1 -x LEGATE_CONFIG python myprog.py',
        "legate --ranks-per-node 2 --launcher mpirun myprog.py",
        "legate --ranks-per-node 2 --launcher mpirun --cpus 4 --sysmem 1000 myprog.py",
        "legate --ranks-per-node 2 --launcher mpirun --cpus 4 --sysmem 1000 --cpu-bind 0-15/16-32 myprog.py",
        "mpirun -n 2 -npernode 2 --bind-to socket legate --cpus 4 --sysmem 1000 myprog.py",
    ],
)
def test_several_ranks_are_refused_and_not_copied(folder, line):
    status, out, err = shell(line, folder)
    assert (status, out) == (1, "")
    assert NO_RANKS in err


def test_slurms_nodes_are_filled(folder):
    line = "SLURM_NNODES=2 SLURM_TASKS_PER_NODE='1(x2)' legate --launcher mpirun --verbose prog.py"
    assert NO_RANKS in shell(line, folder)[2]
    assert "mpirun -n 2 --map-by ppr:1:node" in shell(line.replace("--verbose", "--dry-run"), folder)[1]


def test_the_profilers_commands(folder):
    shell("legate --cpus 2 --profile myprog.py", folder)
    status, out, err = shell("legate_prof statistics legate_0.prof", folder)
    assert (status, err) == (0, "") and "Lanes" in out
    assert shell("legate_prof trace legate_0.prof -o trace.json", folder)[0] == 0
    assert "traceEvents" in json.loads((folder / "trace.json").read_text())
    assert json.loads(shell("legate_prof dump legate_0.prof", folder)[1])[0]["small"]
    for name in ("view", "serve", "archive"):
        status, out, err = shell(f"legate_prof {name} /path/to/legate_0.prof", folder)
        assert (status, out, err.count("\n")) == (1, "", 1)


def test_messages_have_the_commands_name(folder):
    status, _, err = shell("legate --sysmem lots myprog.py", folder)
    assert (status, err) == (1, "legate: --sysmem lots: a whole number of MiB is needed, such as --sysmem 4\n")
    assert shell("legate --version", folder)[1].startswith("legate ")
