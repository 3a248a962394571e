"""Every fused kernel that the other tests ran on the CPU is a program for GPUs, too: NVRTC compiles it (no GPU needed).

`conftest.py` has the session print its kernels, and puts this file last.
"""

import ctypes
import glob
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ARCHITECTURES = "sm_90", "sm_75", "sm_100"
OPTIONS = ["--std=c++17", "--fmad=false"]

PROGRAM = """
import numpy, numloom as np
for dtype in "f8", "f4", "i4", "c16", "f2":
    h = numpy.arange(1, 4001).reshape(50, 80).astype(dtype)
    x = np.asarray(h)
    y = np.sqrt(x) * 2 + x.T.sum(axis=1)
    y[::2] -= x[::-2]
    z = np.where(abs(y) > 3, y, x).astype("f8" if dtype != "c16" else "c16").mean(axis=0)
    numpy.asarray(z)
"""


def nvrtc():
    """NVRTC from its wheel or from the system."""
    found = importlib.util.find_spec("nvidia")
    roots = list(found.submodule_search_locations or []) if found else []
    names = [name for root in roots for name in glob.glob(f"{root}/*/lib/libnvrtc.so.*")]
    for name in [*names, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        if "builtins" not in name and "alt" not in name:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
    return None


def compile_with(library, source, architecture):
    """NVRTC's complaint; empty when there is none."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    options = [*OPTIONS, f"--gpu-architecture={architecture}"]
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    code = library.nvrtcCompileProgram(program, len(options), words)
    log = ""
    if code:
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value or 1)
        library.nvrtcGetProgramLog(program, text)
        log = text.value.decode(errors="replace") or f"error {code}"
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log


def complaints(directory):
    """How many programs there are, and what NVRTC says against them."""
    library = nvrtc()
    if library is None:
        pytest.skip("NVRTC is not here: `pip install nvidia-cuda-nvrtc`")
    library.nvrtcCompileProgram.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    library.nvrtcGetProgramLogSize.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.nvrtcGetProgramLog.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    programs = sorted(Path(directory).glob("*.cu"))

    def check(numbered):
        k, text = numbered
        # The oldest and the newest see a part of them each: they differ in code, not in language.
        architecture = ARCHITECTURES[k % 6] if k % 6 in (1, 2) else ARCHITECTURES[0]
        log = compile_with(library, text, architecture)
        return log and f"for {architecture}: {log[:500]}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(check, enumerate(together(p.read_text() for p in programs))))
    return len(programs), [text for text in found if text]


def together(programs):
    """Kernels that use the same device functions as one program, eight at most: much of the time is for those."""
    by_head = {}
    for text in programs:
        head, mark, kernel = text.partition("struct numloom_kernel_arguments")
        by_head.setdefault(head, []).append(mark + kernel)
    for head, kernels in by_head.items():
        for start in range(0, len(kernels), 8):
            some = enumerate(kernels[start : start + 8])
            yield head + "".join(kernel.replace("numloom_kernel", f"kernel_{k}") for k, kernel in some)


def run_printing(directory, program):
    environment = {**os.environ, "NUMLOOM_CONFIG": f"--print-kernels {directory} --inline-size 0"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)


def test_kernels_of_a_program(tmp_path):
    run_printing(tmp_path, PROGRAM)
    many, against = complaints(tmp_path)
    assert many >= 10
    assert not against, against[0]


def test_what_is_no_program_is_found(tmp_path):
    (tmp_path / "a.cu").write_text('extern "C" __global__ void f() { nonsense; }')
    many, against = complaints(tmp_path)
    assert many == 1 and "nonsense" in against[0]


def test_kernels_of_all_tests(printed_kernels):
    many, against = complaints(printed_kernels)
    print(f"{many} kernels compile")
    assert not against, f"{len(against)} of {many}: {against[0]}"
