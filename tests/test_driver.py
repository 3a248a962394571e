"""The command `numloom`: what it runs, and how like Python that is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy
import pytest

from .commands import environment, numloom, run, shown, tool

PROGRAM = """
import sys, os
print(sys.argv, sys.path[0], __name__, __file__, __spec__, __builtins__, os.environ.get("NUMLOOM_CONFIG"))
"""
# Every way a program can end.
ENDINGS = {
    "returns": "print('end')",
    "exit": "import sys; sys.exit(7)",
    "exit with a word": "raise SystemExit('no')",
    "exception": "def f():\n    1 / 0\nf()",
    "exception from import": "import json\njson.loads('x')",
    "syntax": "print('x'\n",
    "chained": "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e",
    "own hook": "import sys\nsys.excepthook = lambda t, e, tb: print('hook', t, tb.tb_frame.f_code.co_name)\n1 / 0",
    "interrupt": "import os, signal, atexit\natexit.register(print, 'bye')\nos.kill(os.getpid(), signal.SIGINT)",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "main": "import __main__, sys\nprint(__main__.__dict__ is globals())",
    "encoding": "# -*- coding: latin-1 -*-\nprint('\xe9')",
}


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "prog.py"
    file.write_text(PROGRAM)
    return file


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_script_ends_as_under_python(tmp_path, ending):
    (tmp_path / "prog.py").write_text(ENDINGS[ending], encoding="latin-1")
    assert numloom("prog.py", cwd=tmp_path) == run(sys.executable, "prog.py", cwd=tmp_path)


def test_a_script_sees_what_python_shows_it(program):
    words = ("a", "--cpus", "3", "-m", "")
    assert numloom("prog.py", *words, cwd=program.parent) == run(sys.executable, "prog.py", *words, cwd=program.parent)
    path = str(program)
    assert numloom(path, cwd=program.parent) == run(sys.executable, path, cwd=program.parent)


def test_a_module_sees_what_python_shows_it(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(PROGRAM.replace(", __spec__", ", __spec__.name") + "1 / 0")
    for words in (["-m", "package", "a", "--help"], ["-m", "no.such"]):
        assert numloom(*words, cwd=tmp_path) == run(sys.executable, *words, cwd=tmp_path)


def test_multiprocessing_starts_from_the_script(tmp_path):
    code = """
    import multiprocessing, numloom
    def f(x):
        return x + 1
    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(f, [1, 2]))
    """
    (tmp_path / "prog.py").write_text("\n".join(line[4:] for line in code.splitlines()))
    assert numloom("--profile", "prog.py", cwd=tmp_path).out == "[2, 3]\n"


def test_flags_reach_the_runtime(tmp_path):
    (tmp_path / "prog.py").write_text(
        "import numloom as np\nx = np.ones(100_000) + 1\nnp.sync()\nprint(np.stats()['tasks'])"
    )
    fused = numloom("prog.py", cwd=tmp_path)
    apart = numloom("--fuse=0", "prog.py", cwd=tmp_path, NUMLOOM_CONFIG="--fuse=1")
    assert int(fused.out) < int(apart.out)


def test_an_interpreter_when_there_is_no_program():
    ended = numloom("--cpus", "1", stdin="import os; print(os.environ['NUMLOOM_CONFIG'])")
    assert ended == (0, "--cpus=1\n", "")


def test_flags_in_the_environment_are_the_commands_too(tmp_path):
    (tmp_path / "prog.py").write_text("import numloom")
    for wrapper in ([], ["--wrapper", "env"]):
        ended = numloom(*wrapper, "prog.py", cwd=tmp_path, LEGATE_CONFIG="--timing --profile")
        said = ended.err.splitlines()
        assert any(line.startswith("numloom: the program took ") for line in said)
        assert any("the profile is in numloom_0.prof" in line for line in said)


def test_executables(tmp_path):
    tool(tmp_path, "exe", 'echo "$NUMLOOM_CONFIG" "$@"; exit 5')
    assert numloom("--cpus", "2", "./exe", "a b", "%%LEGATE_GLOBAL_RANK%%", cwd=tmp_path) == (5, "--cpus=2 a b 0\n", "")
    assert numloom("--run-mode", "exec", "exe", cwd=tmp_path).status == 5
    assert numloom("echo", "x").out == "x\n"


def test_wrappers_and_profilers(program):
    tool(program.parent, "outer", 'echo outer; exec "$@"')
    tool(program.parent, "inner", 'echo inner "$1"; shift; exec "$@"')
    ended = numloom("--wrapper", "./outer", "--wrapper-inner", "./inner 'a b'", "prog.py", "x", cwd=program.parent)
    assert ended.status == 0
    assert ended.out.startswith("outer\ninner a b\n['prog.py', 'x'] ")
    ended = numloom("--cprofile", "--logdir", str(program.parent), "prog.py", cwd=program.parent)
    assert (ended.status, (program.parent / "numloom_0.cprof").exists()) == (0, True)


def test_timing(program):
    for words in (["prog.py"], ["echo", "x"]):
        ended = numloom("--timing", *words, cwd=program.parent)
        assert ended.status == 0 and ended.err.startswith("numloom: the program took 0.")


def test_dry_run_and_verbose(program):
    ended = numloom("--dry-run", "--cpus", "2", "--cpu-bind", "0", "prog.py", "a b", cwd=program.parent)
    assert ended.out == (
        f"Command (in this process):\n  {sys.executable} prog.py 'a b'\n"
        "Environment:\n  NUMLOOM_CONFIG=--cpus=2\nBinding:\n  cores 0\n"
    )
    ended = numloom("--verbose", "echo", "x")
    assert ended == (0, "x\n", "Command:\n  echo x\n")


def test_binding_holds_for_the_program(tmp_path):
    core = min(os.sched_getaffinity(0))
    (tmp_path / "prog.py").write_text("import os; print(os.sched_getaffinity(0))")
    for words in ([], ["--wrapper", "env"]):
        ended = numloom(*words, "--cpu-bind", str(core), "--bind-detail", "prog.py", cwd=tmp_path)
        assert ended == (0, f"{{{core}}}\n", f"bound to cores {core}\n")
    ended = numloom("--cpu-bind", "60000", "prog.py", cwd=tmp_path)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("numloom: cannot bind to cores 60000: ")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP"])
def test_signals_are_handed_on(tmp_path, name):
    tool(tmp_path, "exe", f"trap 'echo got; exit 3' {name[3:]}\necho ready\nwhile true; do sleep 0.05; done")
    process = subprocess.Popen(
        [sys.executable, "-m", "numloom", "--timing", "./exe"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell runs in the background ignores some of them, and so would everything below.
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (3, "got\n")


OPEN_MPI = """
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.6"; exit; fi
while [ "$1" != "$PYTHON" ]; do shift; done
OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 exec "$@"
"""


def test_launchers(program):
    tool(program.parent, "mpirun", OPEN_MPI)
    world = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHON": sys.executable}
    ended = numloom(
        "--launcher", "mpirun", "--cpus", "1", "prog.py", "%%NUMLOOM_GLOBAL_RANK%%", cwd=program.parent, **world
    )
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("['prog.py', '0'] ")
    flags = ["--launcher", "mpirun", "--nodes", "2", "--ranks-per-node", "2", "--cpu-bind", "0/1"]
    ended = numloom(*flags, "prog.py", cwd=program.parent, **world)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("numloom: this would start 4 ranks, and runs of more than one rank are not there yet")
    ended = numloom(*flags, "--dry-run", "prog.py", cwd=program.parent, **world)
    assert "mpirun -n 4 --map-by ppr:2:node --bind-to none -x " in ended.out
    assert f"{sys.executable} -m numloom --launcher=none --cpu-bind=0/1 prog.py\n" in ended.out


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--nodes", "2", "x"], 2, "--nodes 2: 2 nodes need a launcher; give --launcher mpirun, srun, jsrun or aprun"),
        (
            ["--launcher", "srun", "x"],
            1,
            "--launcher srun: there is no srun on the PATH; load its module or install it",
        ),
        (["missing.py"], 2, "missing.py: there is no such file"),
        (["-m", ""], 2, "-m: the name of a module is missing"),
        (
            ["--profile", "--logdir", "/dev/null", "program.py"],
            2,
            "--profile: /dev/null/numloom_0.prof cannot be written: File exists (see --logdir and --profile-name)",
        ),
        (
            ["--cprofile", "--logdir", "/dev/null", "program.py"],
            2,
            "--logdir /dev/null: the directory cannot be made: File exists (os error 17)",
        ),
        (["--sysmem", "lots"], 1, "--sysmem lots: a whole number of MiB is needed, such as --sysmem 4"),
        (
            ["--cpu-bind", "0/1", "x"],
            2,
            "--cpu-bind 0/1 has 2 groups, and a node has 1 rank: give one group for each rank",
        ),
    ],
)
def test_nonsense_is_refused(tmp_path, words, status, sentence):
    tool(tmp_path, "x", "echo must not run")
    (tmp_path / "program.py").write_text("print('must not run')")
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ended = numloom(*words, cwd=tmp_path, **path)
    assert ended == (status, "", f"numloom: {sentence}\n")


def test_ranks_of_a_node_must_fit_in_it(tmp_path):
    tool(tmp_path, "srun", "echo must not run")
    most = int(shown(numloom("--show-config").out)["sysmem"].partition(" ")[0].replace(",", "")) >> 20
    words = ["--launcher", "srun", "--ranks-per-node", "2", "--sysmem", str(most), "echo"]
    ended = numloom(*words, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (ended.status, ended.out) == (1, "")
    assert "in each of the node's 2 ranks is more than the " in ended.err


def test_arguments_that_are_not_text():
    done = subprocess.run([sys.executable, "-m", "numloom", b"\xff.py"], env=environment(), capture_output=True)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    ended = subprocess.run(
        [sys.executable, "-c", "import numloom"],
        env={**environment(), "NUMLOOM_CONFIG": "--\udcff"},
        capture_output=True,
    )
    assert ended.returncode == 1


def test_a_reader_that_goes_away(tmp_path):
    (tmp_path / "prog.py").write_text("")
    for words in ("--help", "--show-config prog.py"):
        line = f"{sys.executable} -m numloom {words} | true; echo ${{PIPESTATUS[0]}}"
        assert run("bash", "-c", line, cwd=tmp_path) == (0, "0\n", "")


def test_what_is_only_said():
    import numloom as package

    assert numloom("--version") == (0, f"numloom {package.__version__}\n", "")
    assert numloom("--help").out.startswith("usage: numloom [flags] [program [arguments]]\n")
    assert f"- python: {sys.executable}\n" in numloom("--info").out
    assert "- sysmem = 41,943,040 (40 MiB)" in numloom("--sysmem", "40", "--show-config").out


def test_results_under_the_command_are_numpys(tmp_path):
    (tmp_path / "prog.py").write_text("import numloom as np\nprint(float((np.arange(100_000) * 0.5).sum()))")
    assert float(numloom("--cpus", "2", "prog.py", cwd=tmp_path).out) == (numpy.arange(100_000) * 0.5).sum()
