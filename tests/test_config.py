"""Settings from the environment, read once at import."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from .commands import environment, numloom, python, shown

IMPORT = "import numloom; print('imported')"


def test_values_and_where_they_came_from():
    ended = python(
        IMPORT,
        LEGATE_CONFIG="--cpus 3 --sysmem=41 --fuse=No",
        NUMLOOM_CONFIG="--show-config --sysmem 39 --sysmem '40' --jit=f --jit=T",
    )
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("Numloom configuration:\n") and ended.out.endswith("imported\n")
    values = shown(ended.out)
    assert values["cpus"] == "3 [LEGATE_CONFIG]"
    assert values["sysmem"] == "41,943,040 (40 MiB) [NUMLOOM_CONFIG]"
    assert values["fuse"] == "0 [LEGATE_CONFIG]"
    assert values["jit"] == "1 [NUMLOOM_CONFIG]"
    assert values["zcmem"] == "134,217,728 (128 MiB) [default]"


@pytest.mark.parametrize("variable", ["NUMLOOM_CONFIG", "LEGATE_CONFIG"])
def test_no_auto_configuration(variable):
    values = shown(python(IMPORT, **{variable: "--auto-config=0 --show-config"}).out)
    assert values["cpus"] == "1 [default]"
    assert values["gpus"] == "0 [default]"
    assert values["sysmem"] == "268,435,456 (256 MiB) [default]"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("--sysmem lots", "--sysmem lots (in {}): a whole number of MiB is needed, such as --sysmem 4"),
        ("--sysmem 0", "--sysmem 0 (in {}): a whole number of MiB, 1 or more, is needed"),
        ("--sysmem=-5", "--sysmem=-5 (in {}): a whole number of MiB, 1 or more, is needed"),
        ("--fuse 'x", "--fuse 'x (in {}): a ' is opened and never closed"),
        ("--jit=maybe", "--jit=maybe (in {}): 1/t/true/y/yes or 0/f/false/n/no is needed"),
        ("--cpus", "--cpus (in {}): a value is needed (N)"),
    ],
)
@pytest.mark.parametrize("variable", ["NUMLOOM_CONFIG", "LEGATE_CONFIG"])
def test_bad_values_are_one_sentence(variable, text, sentence):
    ended = python(IMPORT, **{variable: text})
    assert ended == (1, "", f"numloom: {sentence.format(variable)}\n")


def test_a_pool_bigger_than_the_machine():
    ended = python(IMPORT, NUMLOOM_CONFIG="--sysmem 1000000000")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("numloom: --sysmem 1000000000 (in NUMLOOM_CONFIG): 953.67 TiB is more than the ")
    assert "this process may use; give --sysmem " in ended.err and ended.err.count("\n") == 1


def test_a_place_to_spill_must_be_there():
    ended = python(IMPORT, NUMLOOM_CONFIG="--spill /no/where")
    sentence = "--spill /no/where (in NUMLOOM_CONFIG): there is no such directory; make it, or give another"
    assert ended == (1, "", f"numloom: {sentence}\n")


def test_an_unknown_flag_prints_the_usage():
    ended = python(IMPORT, LEGATE_CONFIG="--sysmen 4")
    assert (ended.status, ended.out) == (1, "")
    first, *rest = ended.err.splitlines()
    assert first == "numloom: --sysmen (in LEGATE_CONFIG): there is no such flag; is --sysmem meant?"
    assert rest[0].startswith("usage: ")


def test_help_lists_and_ends():
    ended = python(IMPORT, LEGATE_CONFIG="--help")
    assert (ended.status, ended.err) == (0, "")
    assert "--sysmem MIB" in ended.out and "imported" not in ended.out


def test_what_does_not_exist_here_is_said_once():
    code = "import subprocess, sys, numloom; subprocess.run([sys.executable, '-c', 'import numloom'], check=True)"
    ended = python(code, NUMLOOM_CONFIG="--omps 2 --consensus=0 --launcher mpirun")
    assert ended.status == 0
    assert ended.err.splitlines() == [
        "numloom: --launcher: only the numloom command acts on it; going on without it",
        "numloom: --omps: there are no OpenMP groups here; --cpus sets the number of workers; going on without it",
    ]


def test_settings_are_read_once():
    code = (
        "import os, numloom as np; os.environ['NUMLOOM_CONFIG'] = {!r}; "
        "x = np.ones(100_000) + 1; np.sync(); print(np.stats()['tasks'])"
    )
    late, never = python(code.format("--fuse=0")), python(code.format(""))
    assert late == never and late.status == 0
    assert python(code.format("--nonsense")) == never


@pytest.mark.parametrize(
    ("variables", "launcher"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, "Open MPI"),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, "PMI"),
        ({"MV2_COMM_WORLD_SIZE": "2", "MV2_COMM_WORLD_RANK": "1"}, "MVAPICH2"),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}, "SLURM"),
    ],
)
def test_one_of_several_ranks_is_refused(variables, launcher):
    ended = python(IMPORT, **variables)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"numloom: this process is rank 1 of 2 ({launcher}), and runs of more than one rank")
    assert python(IMPORT, **variables, NUMLOOM_CONFIG="--disable-mpi").out == "imported\n"


def test_a_rank_alone_and_a_batch_script_are_not():
    assert python(IMPORT, OMPI_COMM_WORLD_SIZE="1", OMPI_COMM_WORLD_RANK="0").out == "imported\n"
    assert python(IMPORT, SLURM_NTASKS="4", SLURM_PROCID="0", SLURM_TASKS_PER_NODE="4").out == "imported\n"


def test_ranks_of_a_node_share_its_memory():
    one = numloom("--show-config").out
    ranks = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
    four = numloom("--show-config", "--disable-mpi", **ranks).out
    sizes = [int(shown(out)["sysmem"].partition(" ")[0].replace(",", "")) for out in (one, four)]
    assert abs(sizes[0] / 4 - sizes[1]) <= 2 << 20


def test_a_limit_on_the_address_space_counts():
    limit = 8 << 30
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        env=environment(NUMLOOM_CONFIG="--show-config"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
    )
    assert int(shown(done.stdout)["sysmem"].partition(" ")[0].replace(",", "")) <= limit * 8 // 10


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    ended = numloom("--completion", shell)
    assert (ended.status, ended.err) == (0, "")
    assert "sysmem" in ended.out and "mpirun" in ended.out


def test_bash_takes_its_completion():
    script = numloom("--completion", "bash").out
    words = 'COMP_WORDS=(numloom --sys); COMP_CWORD=1; _numloom; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{words}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "--sysmem\n", "")
