"""`settings`: cuPyNumeric's settings. Those that Numloom has too answer with its own values; the rest do nothing."""

from __future__ import annotations

from typing import Any

from legate.core._configuration import number
from legate.util.settings import EnvOnlySetting, PrioritizedSetting, SettingBase, Settings, convert_bool, convert_int

import numloom
from numloom import _fallback

__all__ = ["settings"]

_CHECKED = ("indexing", "put", "take", "take_along_axis")


class _Numlooms(SettingBase[Any]):
    """A setting under Numloom's name for it; flags and NUMLOOM_CONFIG set it."""

    def __init__(self, name: str, flag: str, kind: type, help: str) -> None:
        super().__init__(name, help=f"{help} (--{flag})")
        self._flag = flag
        self._kind = kind

    def __call__(self) -> Any:
        return self._kind(number(self._flag))

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"--{self._flag} sets {self.name}, before the program starts")


class _Always(SettingBase[Any]):
    """A choice that Numloom leaves to nobody."""

    def __set__(self, instance: object, value: object) -> None:
        if value != self():
            raise AttributeError(f"{self.name} is always {self()}")


class _Warnings(SettingBase[bool]):
    """Whether functions that go through NumPy say so."""

    def __call__(self) -> bool:
        return _fallback._warnings_on

    def __set__(self, instance: object, value: bool | str) -> None:
        numloom.set_fallback_warnings(convert_bool(value))


def _doctor_format(value: str) -> str:
    value = value.lower()
    if value not in ("plain", "json", "csv"):
        raise ValueError(f"doctor_format is plain, json or csv, not {value!r}")
    return value


class CuPyNumericSettings(Settings):
    """The settings by name. A call answers the value: `settings.warn()`."""

    warn = _Warnings("warn", help="warn where a function goes through NumPy (NUMLOOM_FALLBACK_WARNINGS)")
    fast_math = _Numlooms("fast_math", "tf32", bool, "let GPUs round float32 factors of matrix products")
    min_gpu_chunk = _Numlooms("min_gpu_chunk", "min-gpu-chunk", int, "smallest tile worth a GPU")
    min_cpu_chunk = _Numlooms("min_cpu_chunk", "min-cpu-chunk", int, "smallest tile worth a worker")
    min_omp_chunk = _Numlooms("min_omp_chunk", "min-omp-chunk", int, "no effect, there are no OpenMP groups")
    numpy_compat = _Always("numpy_compat", True, help="NumPy's results in every case")
    disable_bounds_checking = _Always("disable_bounds_checking", "none", help="indices are always checked")
    test = EnvOnlySetting("test", "LEGATE_TEST", False, convert=convert_bool, help="other defaults, for tests")

    # `numloom doctor program` is what there is here.
    doctor = PrioritizedSetting("doctor", "CUPYNUMERIC_DOCTOR", False, convert_bool)
    doctor_format = PrioritizedSetting("doctor_format", "CUPYNUMERIC_DOCTOR_FORMAT", "plain", _doctor_format)
    doctor_filename = PrioritizedSetting[str | None]("doctor_filename", "CUPYNUMERIC_DOCTOR_FILENAME", None)
    doctor_traceback = PrioritizedSetting("doctor_traceback", "CUPYNUMERIC_DOCTOR_TRACEBACK", False, convert_bool)

    # How that system works inside.
    preload_cudalibs = PrioritizedSetting("preload_cudalibs", "CUPYNUMERIC_PRELOAD_CUDALIBS", False, convert_bool)
    fallback_stacktrace = EnvOnlySetting(
        "fallback_stacktrace", "CUPYNUMERIC_FALLBACK_STACKTRACE", False, convert=convert_bool
    )
    ufunc_native = EnvOnlySetting("ufunc_native", "CUPYNUMERIC_UFUNC_NATIVE", False, convert=convert_bool)
    matmul_cache_size = EnvOnlySetting(
        "matmul_cache_size", "CUPYNUMERIC_MATMUL_CACHE_SIZE", 1 << 27, 1 << 12, convert=convert_int
    )
    take_default = PrioritizedSetting("take_default", "CUPYNUMERIC_TAKE_DEFAULT", "auto")
    use_nccl_gather = PrioritizedSetting("use_nccl_gather", "CUPYNUMERIC_USE_NCCL_GATHER", True, convert_bool)
    use_nccl_scatter = PrioritizedSetting("use_nccl_scatter", "CUPYNUMERIC_USE_NCCL_SCATTER", True, convert_bool)
    all2all_staging_factor = PrioritizedSetting(
        "all2all_staging_factor", "CUPYNUMERIC_ALL2ALL_STAGING_FACTOR", 1.1, float
    )

    def bounds_check_enabled(self, operation: str) -> bool:
        if operation not in _CHECKED:
            raise ValueError(f"{operation!r} is none of {', '.join(_CHECKED)}")
        return True


settings = CuPyNumericSettings()
