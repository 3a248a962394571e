"""The names of cuPyNumeric and Legate, and the programs and commands of `seeds/` as they were printed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

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
assert np.ndarray is numloom.ndarray and la is numloom.linalg and cupynumeric.random is numloom.random
assert np.add is numloom.add and set(dir(np)) >= set(numloom.__all__) and fftfreq is numloom.fft.fftfreq
for missing in ("np.nosuch", "__import__('cupynumeric.nosuch')"):
    try:
        eval(missing)
    except (AttributeError, ModuleNotFoundError) as error:
        print(error)
print(np.ones(3) + 1)
"""
    assert python(code) == (
        0,
        "module 'cupynumeric' has no attribute 'nosuch'\nNo module named 'cupynumeric.nosuch'\n[2. 2. 2.]\n",
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
