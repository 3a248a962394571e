"""The bit generators. State and stepping are Rust's; the base class is NumPy's, so that whatever takes a NumPy
bit generator, through its capsule, `ctypes` or `cffi`, takes ours, and draws from the same state."""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.random.bit_generator import ISeedSequence, ISpawnableSeedSequence

from numloom._core import BitStream, Scalar, Unsupported, adopt_numpy, draw_raw, is_ours, to_numpy
from numloom.random._seeding import SeedSequence, counted

__all__ = ["MT19937", "PCG64", "PCG64DXSM", "SFC64", "Philox"]


def stream_of(bit_generator: Any) -> BitStream:
    """The stream of any bit generator."""
    if isinstance(bit_generator, _OurBitGenerator):
        return bit_generator._stream
    return BitStream.of(bit_generator)


def _integer_words(value: Any, name: str, count: int) -> list[int]:
    """An integer, or an array of words, as `count` 64-bit words, least significant first."""
    value = numpy.asarray(value)
    if value.shape != ():
        words = value.astype(numpy.uint64)
        if words.shape != (count,):
            raise ValueError(f"{name} must have {count} elements when using array form")
        return [int(word) for word in words]
    number = int(value)
    if not 0 <= number < 2 ** (64 * count):
        raise ValueError(f"{name} must be positive and less than 2**{64 * count}.")
    return [number >> 64 * i & 0xFFFFFFFFFFFFFFFF for i in range(count)]


def _remade(made: type) -> Any:
    return made()


def _array(words: Any, dtype: Any = numpy.uint64) -> Any:
    """Words of a state as one of our arrays."""
    return adopt_numpy(numpy.array(words, dtype=dtype))


def _numbers(words: Any, count: int) -> list[int]:
    """The first `count` words of an array of a state that was given."""
    words = to_numpy(words) if is_ours(words) else words
    return [int(words[i]) for i in range(count)]


class _OurBitGenerator(numpy.random.BitGenerator):
    """What the five have in common."""

    _noun = "RNG"
    _stream: BitStream
    _seeds: Any

    def __init__(self, seed: Any = None) -> None:
        self._begin(seed)
        self._stream = BitStream(type(self)._kind(), self._words(), self.capsule, self.lock)

    def _begin(self, seed: Any) -> None:
        self._seeds = seed if isinstance(seed, ISeedSequence) else SeedSequence(seed)
        super().__init__(self._seeds)

    @property
    def seed_seq(self) -> Any:
        return self._seeds

    _seed_seq = seed_seq

    def spawn(self, n_children: int) -> list[Any]:
        n_children = counted(n_children)
        if not isinstance(self._seeds, ISpawnableSeedSequence):
            raise TypeError("The underlying SeedSequence does not implement spawning.")
        return [type(self)(seed=seeds) for seeds in self._seeds.spawn(n_children)]

    def __getstate__(self) -> Any:
        return self.state, self._seeds

    def __setstate__(self, state: Any) -> None:
        # A state alone is what older pickles hold.
        if isinstance(state, dict):
            self.state = state
        else:
            self.state, self._seeds = state

    def __reduce__(self) -> Any:
        return _remade, (type(self),), self.__getstate__()

    @classmethod
    def _kind(cls) -> str:
        return next(base.__name__ for base in cls.__mro__ if base.__module__ == "numloom.random")

    def _words(self) -> Any:
        raise NotImplementedError

    def random_raw(self, size: Any = None, output: Any = True) -> Any:
        if output and size is None:
            return self._stream.raw()
        if output:
            try:
                return draw_raw(self._stream, size)
            except Unsupported:
                pass
        return super().random_raw(size, output)

    def _checked(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator", "") != type(self).__name__:
            raise ValueError(f"state must be for a {type(self).__name__} {self._noun}")
        return value

    def _jumped(self, steps: int) -> Any:
        made: Any = type(self)()
        made.state = self.state
        return made.advance(steps)


class _Pcg(_OurBitGenerator):
    def _words(self) -> Any:
        return [int(word) for word in self.seed_seq.generate_state(4, numpy.uint64)]

    @property
    def state(self) -> Any:
        state, inc, (has, half) = self._stream.get()
        return {
            "bit_generator": type(self).__name__,
            "state": {"state": state, "inc": inc},
            "has_uint32": has,
            "uinteger": half,
        }

    @state.setter
    def state(self, value: Any) -> None:
        value = self._checked(value)
        words, half = value["state"], (value["has_uint32"], value["uinteger"])
        self._stream.set((int(words["state"]), int(words["inc"]), half))

    def advance(self, delta: int) -> Any:
        self._stream.advance([*_integer_words(int(delta & (2**128 - 1)), "step", 2), 0, 0])
        return self

    def jumped(self, jumps: int = 1) -> Any:
        return self._jumped(0x9E3779B97F4A7C15F39CC0605CEDC835 * int(jumps))


class PCG64(_Pcg):
    __module__ = "numloom.random"


class PCG64DXSM(_Pcg):
    __module__ = "numloom.random"


class SFC64(_OurBitGenerator):
    __module__ = "numloom.random"

    def _words(self) -> Any:
        return [int(word) for word in self.seed_seq.generate_state(3, numpy.uint64)]

    @property
    def state(self) -> Any:
        words, (has, half) = self._stream.get()
        return {
            "bit_generator": type(self).__name__,
            "state": {"state": _array(words)},
            "has_uint32": has,
            "uinteger": half,
        }

    @state.setter
    def state(self, value: Any) -> None:
        value = self._checked(value)
        words = numpy.empty(4, dtype=numpy.uint64)
        words[:] = value["state"]["state"]
        self._stream.set((_numbers(words, 4), (value["has_uint32"], value["uinteger"])))


class Philox(_OurBitGenerator):
    __module__ = "numloom.random"
    _noun = "PRNG"

    def __init__(self, seed: Any = None, counter: Any = None, key: Any = None) -> None:
        if seed is not None and key is not None:
            raise ValueError("seed and key cannot be both used")
        self._begin(seed)
        if key is not None:
            key = _integer_words(key, "key", 2)
            self._seeds = None
        else:
            key = [int(word) for word in self.seed_seq.generate_state(2, numpy.uint64)]
        counter = _integer_words(0 if counter is None else counter, "counter", 4)
        self._stream = BitStream("Philox", (key, counter), self.capsule, self.lock)

    @property
    def state(self) -> Any:
        counter, key, buffer, at, (has, half) = self._stream.get()
        return {
            "bit_generator": type(self).__name__,
            "state": {"counter": _array(counter), "key": _array(key)},
            "buffer": _array(buffer),
            "buffer_pos": at,
            "has_uint32": has,
            "uinteger": half,
        }

    @state.setter
    def state(self, value: Any) -> None:
        value = self._checked(value)
        counter, key = _numbers(value["state"]["counter"], 4), _numbers(value["state"]["key"], 2)
        buffer = _numbers(value["buffer"], 4)
        half = (value["has_uint32"], value["uinteger"])
        self._stream.set((counter, key, buffer, value["buffer_pos"], half))

    def advance(self, delta: int) -> Any:
        self._stream.advance(_integer_words(int(delta & (2**256 - 1)), "step", 4))
        return self

    def jumped(self, jumps: int = 1) -> Any:
        return self._jumped(jumps * 2**128)


class MT19937(_OurBitGenerator):
    __module__ = "numloom.random"
    _noun = "PRNG"

    def _words(self) -> Any:
        return [int(word) for word in self.seed_seq.generate_state(624, numpy.uint32)]

    def _legacy_seeding(self, seed: Any) -> None:
        """Seeds as `RandomState` does: with a number below 2**32, an array of them, or entropy."""
        if seed is None:
            words = SeedSequence().generate_state(624)
            words[0] = 0x80000000
            self._stream.set((words.tolist(), self._stream.get()[1]))
        elif is_ours(seed) or isinstance(seed, Scalar):
            self._legacy_seeding(to_numpy(seed)[()])
            return
        else:
            try:
                number = operator.index(seed.squeeze() if hasattr(seed, "squeeze") else seed)
            except TypeError:
                self._stream.seed_twister(self._seed_array(seed), False)
            else:
                if not 0 <= number < 2**32:
                    raise ValueError("Seed must be between 0 and 2**32 - 1")
                self._stream.seed_twister([number], True)
        self._seeds = None

    @staticmethod
    def _seed_array(seed: Any) -> list[int]:
        seeds = numpy.asarray(seed)
        if seeds.size == 0:
            raise ValueError("Seed must be non-empty")
        seeds = seeds.astype(numpy.int64, casting="safe")
        if seeds.ndim != 1:
            raise ValueError("Seed array must be 1-d")
        if ((seeds > 2**32 - 1) | (seeds < 0)).any():
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        return seeds.tolist()

    @property
    def state(self) -> Any:
        key, at = self._stream.get()
        words = _array(numpy.frombuffer(key, dtype=numpy.uint32), numpy.uint32)
        return {"bit_generator": type(self).__name__, "state": {"key": words, "pos": at}}

    @state.setter
    def state(self, value: Any) -> None:
        if isinstance(value, tuple):
            if value[0] != "MT19937" or len(value) not in (3, 5):
                raise ValueError("state is not a legacy MT19937 state")
            value = {"bit_generator": "MT19937", "state": {"key": value[1], "pos": value[2]}}
        value = self._checked(value)
        self._stream.set((_numbers(value["state"]["key"], 624), value["state"]["pos"]))

    def jumped(self, jumps: int = 1) -> MT19937:
        # NumPy has the polynomial of the jump.
        theirs = numpy.random.MT19937()
        state: Any = {**self.state, "bit_generator": "MT19937"}
        theirs.state = state
        made = type(self)()
        made.state = {**theirs.jumped(jumps).state, "bit_generator": type(self).__name__}
        return made


for _class in (PCG64, PCG64DXSM, SFC64, Philox, MT19937):
    _class.__doc__ = getattr(numpy.random, _class.__name__).__doc__
