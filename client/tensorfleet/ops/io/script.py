"""Python functions as operations: `tf.py_func`, `tf.numpy_function`.

The functions stay in the client's process, in a table by token, so only a session whose tasks run in that
same process can call them.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable
from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


op(
    "PyFunc(input: list(Tin)) -> (output: list(Tout))",
    "token: string",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    shape=_unknown,
    stateful=True,
)
op(
    "PyFuncStateless(input: list(Tin)) -> (output: list(Tout))",
    "token: string",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    shape=_unknown,
)

Function = Callable[..., Any]

_functions: dict[str, Function] = {}
_numbers = itertools.count()
# A graph from another process, run by a server in this one, must not call functions by guessing tokens.
_SECRET = secrets.token_hex(8)
_lock = threading.Lock()


def register(function: Function) -> str:
    """Keeps a function for the life of the process; returns its token."""
    with _lock:
        token = f"pyfunc_{next(_numbers)}_{_SECRET}"
        _functions[token] = function
    return token


def function_of(token: str) -> Function | None:
    """The function with this token; None if it was registered in another process."""
    return _functions.get(token)


def py_func(func: Function, inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """The results of `func`, called with the inputs' values (`tf.py_func`).

    The values are NumPy arrays and scalars, and bytes for a single string.

    Args:
        func: returns one array, or a list or tuple of them, of the dtypes `Tout`.
        inp: a list of tensors.
        Tout: one dtype for one result; a list of dtypes for a list of results.
        stateful: whether equal inputs may give different results.

    Returns:
        Tensors as in `Tout`; for an empty list the Operation, which runs `func` for its side effects.

    Raises:
        ValueError: `func` is not callable.
        UnimplementedError: in a run on a task outside of the client's process.
        InvalidArgumentError: in a run, where the results do not fit `Tout`.

    Example:
        >>> tf.Session().run(tf.py_func(lambda x: x.sum(), [tf.constant([1.0, 2.0])], tf.float32))
        np.float32(3.0)
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func!r} of type {type(func)}.")
    is_list = isinstance(Tout, (list, tuple))
    types = list(Tout) if is_list else [Tout]
    token = register(func)
    results = apply_op(
        "PyFunc" if stateful else "PyFuncStateless", list(inp), token=token, Tout=types, name=name
    )
    return results if is_list or isinstance(results, Operation) else results[0]


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """`tf.py_func` under its newer name (`tf.numpy_function`)."""
    return py_func(func, inp, Tout, stateful, name)
