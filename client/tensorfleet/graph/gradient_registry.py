"""The gradient table: from an op type to the rule that differentiates it.

A rule takes the operation and the gradient that arrived at each of its outputs, and returns the gradient of
each input, None where there is none; one value stands for a list of one.

    @gradient("Sin")
    def _sin(op: Operation, grad: Tensor) -> Tensor:
        return grad * apply_one("Cos", op.inputs[0])

    not_differentiable("Shape", "Rank")

The rules of an op family are in `<family>_grad.py`. These modules are imported when the first gradient is
asked for, since a program that only runs graphs needs none of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tensorfleet.graph.function_calls import GRADIENT_RULE

if TYPE_CHECKING:
    from tensorfleet.graph.operation import Operation

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)

_rules: dict[str, Rule | None] = {}
_dense: set[Rule] = set()
_without_rule: set[str] = set()
_loaded = False
_begun = False
_load_rules: Callable[[], None] | None = None
_more_rules: list[Callable[[], None]] = []
_gradients: Callable[..., list[Any]] | None = None
_loading = threading.RLock()  # modules that are loaded may ask for rules themselves


def gradient(*op_types: str, slices: bool = False) -> Callable[[R], R]:
    """Registers a rule for op types; a rule that is there already raises KeyError.

    Args:
        slices: the rule can do something better with an IndexedSlices than have it made a tensor.
    """

    def register(rule: R) -> R:
        if not slices:
            _dense.add(rule)
        for op_type in op_types:
            _add(op_type, rule)
        return rule

    return register


def not_differentiable(*op_types: str) -> None:
    """Says that op types have no gradient: their inputs count as constants."""
    for op_type in op_types:
        _add(op_type, None)


def no_rule(*op_types: str) -> None:
    """Says that op types have no rule, as in TensorFlow: gradients through them raise LookupError.

    For ops whose derivative is not zero, so that a silent None would be wrong.
    """
    _without_rule.update(op_types)


def without_rule() -> frozenset[str]:
    """The op types of which `no_rule` was said."""
    load()
    return frozenset(_without_rule)


def _add(op_type: str, rule: Rule | None) -> None:
    if op_type in _rules:
        previous = _rules[op_type]
        where = "as not differentiable"
        if previous is not None:
            code = getattr(previous, "__code__", None)
            where = f"in {previous.__module__}" + (f":{code.co_firstlineno}" if code is not None else "")
        raise KeyError(f"Registering two gradient with name '{op_type}'! (Previous registration was {where})")
    _rules[op_type] = rule


class RegisterGradient:
    """The decorator that registers a gradient function for an op type (`tf.RegisterGradient`).

    The function takes the Operation and one gradient per output, and returns one gradient per input.

    Raises:
        TypeError: the op type is not a string.
        KeyError: the op type has a gradient function, or is declared not to have one.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: R) -> R:
        load()
        _add(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Declares that an op type has no gradient (`tf.NotDifferentiable`).

    Raises:
        TypeError: the op type is not a string.
        KeyError: the op type has a gradient function, or is declared already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    load()
    _add(op_type, None)


NoGradient = no_gradient = NotDifferentiable


def lookup(op_type: str) -> Rule | None:
    """The rule of an op type; None if it is declared not differentiable.

    Raises:
        LookupError: neither is the case.
    """
    if op_type not in _rules:
        load()
    try:
        return _rules[op_type]
    except KeyError:
        raise LookupError(f"gradient registry has no entry for: {op_type}") from None


def rule_of(op: Operation) -> Rule | None:
    """The rule of an operation: its type's, unless `Graph.gradient_override_map` named another.

    A call of a function has the one that the function brings, or else that of all calls.

    Raises:
        LookupError: there is none, nor a declaration that there is none.
    """
    if not op.inputs:
        return None
    override = op.attrs.get("_gradient_op_type")
    if override is not None:
        return lookup(override.decode())
    if op.graph._is_function(op.type):
        own = op.graph._get_function(op.type)
        return lookup(GRADIENT_RULE) if own is None or not own.python_grad_func else own.python_grad_func
    return lookup(op.type)


def takes_slices(rule: Rule) -> bool:
    """Whether an IndexedSlices may be passed to the rule; users' own get them, as in TensorFlow."""
    return rule not in _dense


def registered() -> dict[str, Rule | None]:
    """All rules, and None for each op type that is declared not differentiable."""
    load()
    return dict(_rules)


def serve(load_rules: Callable[[], None], gradients: Callable[..., list[Any]]) -> None:
    """Registers what imports the rules of all op families, and `tf.gradients`; called by backpropagation."""
    global _load_rules, _gradients
    _load_rules, _gradients = load_rules, gradients


def serve_more(load_rules: Callable[[], None]) -> None:
    """Registers what imports rules that lie above backpropagation, as they call it themselves."""
    _more_rules.append(load_rules)


def gradients_within(ys: Any, xs: Any, **options: Any) -> list[Any]:
    """`tf.gradients`, for a rule that differentiates operations which it makes itself."""
    assert _gradients is not None
    return _gradients(ys, xs, **options)


def load() -> None:
    """Imports the rules of all op families, once."""
    global _loaded, _begun
    if _loaded:
        return
    with _loading:  # other threads wait until all rules are there
        if _begun:
            return
        assert _load_rules is not None, "import tensorfleet first"
        _begun = True
        _load_rules()
        for more in _more_rules:
            more()
        _loaded = True
