"""Settings as objects: called, each answers its value."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = [
    "EnvOnlySetting",
    "PrioritizedSetting",
    "SettingBase",
    "Settings",
    "convert_bool",
    "convert_int",
    "convert_str",
    "convert_str_seq",
]

T = TypeVar("T")
_UNSET: Any = object()


def convert_str(value: str) -> str:
    return value


def convert_int(value: str | int) -> int:
    return int(value)


def convert_bool(value: str | bool) -> bool:
    """`1` is true; `0` and nothing are false."""
    if isinstance(value, bool):
        return value
    if value not in ("0", "1", ""):
        raise ValueError(f"a switch is 0 or 1, not {value!r}")
    return value == "1"


def convert_str_seq(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(value.split(",") if isinstance(value, str) else value)


class Settings:
    """What holds settings as attributes."""


class SettingBase(Generic[T]):
    """A named value. An attribute of a `Settings` class, it is itself, not its value."""

    def __init__(
        self, name: str, default: T = _UNSET, convert: Callable[[Any], Any] | None = None, help: str = ""
    ) -> None:
        self.name = name
        self.default = default
        self.help = help
        self._convert = convert or convert_str

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self

    def __call__(self) -> T:
        return self._first(self.default)

    def _first(self, *values: Any) -> Any:
        """The first of these that is set, converted."""
        for value in values:
            if value is not _UNSET:
                return self._convert(value) if isinstance(value, str) else value
        raise RuntimeError(f"the setting {self.name} has no value")


class PrioritizedSetting(SettingBase[T]):
    """A setting that a program may set: by assignment, over its environment variable, over its default."""

    def __init__(
        self,
        name: str,
        env_var: str | None = None,
        default: T = _UNSET,
        convert: Callable[[Any], Any] | None = None,
        help: str = "",
    ) -> None:
        super().__init__(name, default, convert, help)
        self.env_var = env_var
        self._set: Any = _UNSET

    @overload
    def __call__(self) -> T: ...
    @overload
    def __call__(self, value: T | str | None = ..., default: T = ...) -> T: ...
    def __call__(self, value: T | str | None = None, default: T = _UNSET) -> T:
        """The value: the one given here, unless it is `None`, comes first; this `default` before the setting's own."""
        given = _UNSET if value is None else value
        from_variable = os.environ.get(self.env_var, _UNSET) if self.env_var else _UNSET
        return self._first(given, self._set, from_variable, default, self.default)

    def __set__(self, instance: object, value: T | str) -> None:
        self.set_value(value)

    def set_value(self, value: T | str) -> None:
        self._set = value

    def unset_value(self) -> None:
        self._set = _UNSET


class EnvOnlySetting(SettingBase[T]):
    """A setting that only its environment variable sets, read once; `test_default` counts where LEGATE_TEST is 1."""

    def __init__(
        self,
        name: str,
        env_var: str,
        default: T = _UNSET,
        test_default: T = _UNSET,
        convert: Callable[[Any], Any] | None = None,
        help: str = "",
    ) -> None:
        super().__init__(name, default, convert, help)
        self.env_var = env_var
        self.test_default = test_default
        self._read: Any = _UNSET

    def __call__(self) -> T:
        if self._read is _UNSET:
            testing = convert_bool(os.environ.get("LEGATE_TEST", "0"))
            in_tests = self.test_default if testing else _UNSET
            self._read = self._first(os.environ.get(self.env_var, _UNSET), in_tests, self.default)
        return self._read

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"only the environment variable {self.env_var} sets {self.name}")
