"""Random generators whose state is a variable: `tf.random.Generator`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import bitcast, cast
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.math.reduction import reduce_prod
from tensorfleet.ops.state.variables import Variable

_STATE = 3
_BITS = 64


class Algorithm(enum.Enum):
    """The algorithms of random numbers (`tf.random.Algorithm`); those of the CPU are PHILOX."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm_number(alg: Any) -> int:
    if isinstance(alg, Algorithm):
        return int(alg.value)
    if isinstance(alg, str):
        found = {"philox": 1, "threefry": 2, "auto_select": 3}.get(alg)
        if found is None:
            raise ValueError(
                f"Argument `alg` got unsupported string value {alg!r}. Supported string values are 'philox' "
                "for the Philox algorithm, 'threefry' for the ThreeFry algorithm, and 'auto_select' for "
                "auto-selection."
            )
        return found
    if isinstance(alg, int):
        return alg
    raise TypeError(f"Can't convert argument `alg` (of value {alg} and type {type(alg)}) to int.")


def _signed(value: int) -> int:
    return value - 2**_BITS if value >= 2 ** (_BITS - 1) else value


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state of a generator from a seed (`tf.random.create_rng_state`), int64 [3].

    Args:
        seed: an integer of up to 192 bits, or a vector of integers; a short one is filled up with zeros at
            the front.
        alg: the algorithm, an Algorithm, its number, or "philox".

    Raises:
        ValueError: an unknown algorithm, or one that no task has.
    """
    number = _algorithm_number(alg)
    if number not in (1, 3):
        raise ValueError(f"Argument `alg` got unsupported value {number}: the tasks' algorithm is Philox, 1.")
    if isinstance(seed, int):
        words = [_signed(seed >> _BITS * i & (2**_BITS - 1)) for i in range(_STATE)]
        return convert_to_tensor(words, dtypes.int64)
    given = (
        [_signed(each) if isinstance(each, int) else each for each in seed]
        if (isinstance(seed, (list, tuple)))
        else seed
    )
    vector = reshape(cast(convert_to_tensor(given), dtypes.int64), [-1])[:_STATE]
    size = vector.dims[0] if vector.dims else None
    missing: Any = _STATE - size if size is not None else _STATE - apply_one("Size", vector)
    state = concat([zeros([missing], dtypes.int64), vector], 0)
    state.set_shape([_STATE])
    return state


class Generator:
    """Random numbers from a state that is kept in a variable (`tf.random.Generator`).

    The variable is among the global ones: it is initialized as they are. Each step goes on where the one
    before has ended.

    Example:
        >>> generator = tf.random.Generator.from_seed(1)
        >>> numbers = generator.normal([2])
        >>> with tf.Session() as session:
        ...     _ = session.run(tf.global_variables_initializer())
        ...     session.run(numbers)
        array([ 0.43842274, -0.53439844], dtype=float32)
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        """Makes a generator of another one's state, or of a state and an algorithm.

        Raises:
            ValueError: neither is given, or a state of another size.
        """
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("`copy_from` cannot be given with `state` or `alg`.")
            alg, state = copy_from.algorithm, copy_from.state.initialized_value()
        elif state is None or alg is None:
            raise ValueError("`state` and `alg` must be given, or `copy_from`.")
        self._alg = _algorithm_number(alg)
        if self._alg == Algorithm.AUTO_SELECT.value:
            self._alg = Algorithm.PHILOX.value
        words = (
            [_signed(each) if isinstance(each, int) else each for each in state]
            if (isinstance(state, (list, tuple)))
            else state
        )
        initial = cast(convert_to_tensor(words), dtypes.int64)
        initial.shape.assert_is_compatible_with([_STATE])
        self._state_var: Any = Variable(
            initial, trainable=False, dtype=dtypes.int64, name="StateVar", use_resource=True
        )

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """A generator with a state: int64 [3], two words of the counter and the key."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """A generator with the state that `create_rng_state` makes of a seed; Philox by default."""
        algorithm = Algorithm.PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, algorithm), alg=algorithm)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator whose state the task draws by chance."""
        state = apply_one("NonDeterministicInts", [_STATE], dtype=dtypes.int64)
        return cls(state=state, alg=Algorithm.PHILOX if alg is None else alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """A generator by the key, a scalar, and the counter, [2]."""
        return cls(state=_joined(key, counter), alg=alg)

    @property
    def state(self) -> Any:
        """The variable with the state."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key: the last word of the state."""
        key: Tensor = self._state_var[-1]
        return key

    def reset(self, state: Any) -> Any:
        """An operation that sets the state."""
        tensor = cast(convert_to_tensor(state), dtypes.int64)
        tensor.shape.assert_is_compatible_with([_STATE])
        return self._state_var.assign(tensor)

    def reset_from_seed(self, seed: Any) -> Any:
        """An operation that sets the state to that of a seed."""
        return self._state_var.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> Any:
        """An operation that sets the state to a key and a counter."""
        return self._state_var.assign(_joined(key, counter))

    def skip(self, delta: Any) -> Tensor:
        """The state, which is then advanced as by `delta` numbers."""
        step = cast(convert_to_tensor(delta), dtypes.uint64)
        return apply_one("RngReadAndSkip", self._state_var.handle, self._alg, step)

    def _drawn(
        self, op_type: str, shape: Tensor, *inputs: Any, name: str | None = None, **attrs: Any
    ) -> Tensor:
        """The numbers of a stateless op, from a part of the stream of their own."""
        words = self.skip(reduce_prod(shape))
        counter, key = bitcast(words[:2], dtypes.uint64), bitcast(words[2:3], dtypes.uint64)
        return apply_one(op_type, shape, key, counter, self._alg, *inputs, name=name, **attrs)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers."""
        return self._scaled("StatelessRandomNormalV2", "stateful_normal", shape, mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """`normal` within two standard deviations."""
        return self._scaled(
            "StatelessTruncatedNormalV2", "truncated_normal", shape, mean, stddev, dtype, name
        )

    def _scaled(
        self, op_type: str, default: str, shape: Any, mean: Any, stddev: Any, dtype: Any, name: str | None
    ) -> Tensor:
        with framework.name_scope(name, default, [shape, mean, stddev]) as scope:
            dims = _shape(shape)
            center = convert_to_tensor(mean, dtype, "mean")
            spread = convert_to_tensor(stddev, dtype, "stddev")
            random = self._drawn(op_type, dims, dtype=dtypes.as_dtype(dtype))
            return apply_one("AddV2", random * spread, center, name=scope)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniform numbers in [minval, maxval); both None for the whole range of an integer dtype.

        Raises:
            ValueError: an integer dtype with one bound.
        """
        kind = dtypes.as_dtype(dtype)
        if kind.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {kind}, minval and maxval must be both `None` or both non-`None`; got "
                f"minval={minval} and maxval={maxval}"
            )
        if not kind.is_integer and maxval is None:
            maxval = 1
        with framework.name_scope(name, "stateful_uniform", [shape, minval, maxval]) as scope:
            dims = _shape(shape)
            if minval is None:
                return self._drawn("StatelessRandomUniformFullIntV2", dims, dtype=kind, name=scope)
            low, high = convert_to_tensor(minval, kind, "min"), convert_to_tensor(maxval, kind, "max")
            if kind.is_integer:
                return self._drawn("StatelessRandomUniformIntV2", dims, low, high, name=scope)
            random = self._drawn("StatelessRandomUniformV2", dims, dtype=kind)
            return apply_one("AddV2", random * (high - low), low, name=scope)

    def uniform_full_int(self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None) -> Tensor:
        """Uniform integers of the whole range of the dtype."""
        with framework.name_scope(name, "stateful_uniform_full_int", [shape]) as scope:
            kind = dtypes.as_dtype(dtype)
            return self._drawn("StatelessRandomUniformFullIntV2", _shape(shape), dtype=kind, name=scope)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = dtypes.int32, name: str | None = None
    ) -> Tensor:
        """Numbers of successes.

        Args:
            shape: the whole shape, which ends with that of `counts` and `probs`.
            counts, probs: the number of trials, and the probability of a success in each.
        """
        with framework.name_scope(name, "binomial", [shape, counts, probs]) as scope:
            trials, kind = convert_to_tensor(counts, name="counts"), dtypes.as_dtype(dtype)
            inputs = self._state_var.handle, self._alg, _shape(shape), trials
            probabilities = convert_to_tensor(probs, name="probs")
            return apply_one("StatefulRandomBinomial", *inputs, probabilities, dtype=kind, name=scope)

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for stateless functions, int64 [2, count], of which the second row is 0."""
        first = self.uniform_full_int([count], dtypes.int64)
        return stack([first, zeros_like(first)])

    def split(self, count: int = 1) -> list[Generator]:
        """Generators with keys that are drawn from this one."""
        keys = unstack(self.uniform_full_int([count], dtypes.int64), count)
        return [Generator(state=_joined(key, [0, 0]), alg=self._alg) for key in keys]


def _shape(shape: Any) -> Tensor:
    return convert_to_tensor(shape, dtypes.int64 if isinstance(shape, (list, tuple)) and not shape else None)


def _joined(key: Any, counter: Any) -> Tensor:
    def words(value: Any) -> Any:
        if isinstance(value, Sequence):
            return [_signed(each) if isinstance(each, int) else each for each in value]
        return _signed(value) if isinstance(value, int) else value

    front = cast(convert_to_tensor(words(counter)), dtypes.int64)
    back = cast(convert_to_tensor(words(key)), dtypes.int64)
    front.shape.assert_is_compatible_with([_STATE - 1])
    back.shape.assert_is_compatible_with([])
    return concat([front, reshape(back, [1])], 0)


_global: tuple[Graph, Generator] | None = None


def get_global_generator() -> Generator:
    """The generator of the default graph (`tf.random.get_global_generator`), made at the first call."""
    global _global
    graph = get_default_graph()
    if _global is None or _global[0] is not graph:
        _global = graph, Generator.from_non_deterministic_state()
    return _global[1]


def set_global_generator(generator: Generator) -> None:
    """Sets what `get_global_generator` gives in the default graph."""
    global _global
    _global = get_default_graph(), generator
