"""Conditionals and loops: `tf.cond`, `tf.while_loop`, `tf.case`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tensorfleet.core import dtypes, logging as tf_logging, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework, functional_flow
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.control_flow import control_flow_ops  # noqa: F401  the ops register themselves
from tensorfleet.ops.control_flow.control_flow_contexts import CondContext
from tensorfleet.ops.control_flow.control_flow_nodes import merge, switch
from tensorfleet.ops.control_flow.while_context import WhileContext
from tensorfleet.ops.data_flow import stacks  # noqa: F401  the ops register themselves
from tensorfleet.ops.data_flow.tensor_array import with_flow

_WHOLE_PARTS = structures.Nesting(composites=False)


def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """The result of `true_fn` if `pred` holds, else that of `false_fn` (`tf.cond`).

    Only ops that are made inside of the functions belong to a branch and run only if it is taken. With
    control flow v2 (`tf.enable_control_flow_v2`) the functions become those of an If, and what they return
    keeps its structure.

    Args:
        pred: bool, rank 0.
        true_fn, false_fn: return tensors in the same nested structure, of the same dtypes.
        strict: whether a list or tuple of one tensor is returned as it is, instead of the tensor.
        fn1, fn2: older names of `true_fn` and `false_fn`.

    Raises:
        TypeError: an argument is of the wrong type, or the results differ in type.
        ValueError: a function returns nothing, or the results differ in structure or dtype.

    Example:
        >>> x = tf.constant(3)
        >>> tf.Session().run(tf.cond(x > 2, lambda: x * 10, lambda: -x))
        np.int32(30)
    """
    true_fn, false_fn = _one_of(true_fn, fn1, "true_fn", "fn1"), _one_of(false_fn, fn2, "false_fn", "fn2")
    with framework.name_scope(name, "cond", [pred]) as scope:
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        if functional_flow.is_used():
            return functional_flow.builders().cond(pred, true_fn, false_fn, scope)
        graph = get_default_graph()
        dead_if_true, dead_if_false = switch(pred, pred)
        pivot_t = identity(dead_if_false, name="switch_t")
        pivot_f = identity(dead_if_true, name="switch_f")
        pred = identity(pred, name="pred_id")
        for tensor in (dead_if_false, dead_if_true, pivot_t, pivot_f, pred):
            graph.prevent_fetching(tensor.op)
        returned_t, result_t, context_t = _branch(pred, pivot_t, 1, true_fn, "true_fn")
        returned_f, result_f, context_f = _branch(pred, pivot_f, 0, false_fn, "false_fn")
        if not strict:
            returned_t, returned_f = _unpack_single(returned_t), _unpack_single(returned_f)
        _check_alike(returned_t, returned_f)
        flat_t, flat_f = structures.flatten(result_t), structures.flatten(result_f)
        if not flat_t:
            raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
        for position in _indices_of_slices(returned_t):
            if flat_t[position].dtype is not flat_f[position].dtype:
                flat_t[position] = cast(flat_t[position], dtypes.int64)
                flat_f[position] = cast(flat_f[position], dtypes.int64)
        for x, y in zip(flat_t, flat_f, strict=True):
            if x.dtype.base is not y.dtype.base:
                raise ValueError(
                    "Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                    f"Received {x.dtype.name} from 'true_fn' and {y.dtype.name} from 'false_fn'."
                )
        merges = [merge(pair)[0] for pair in zip(flat_f, flat_t, strict=True)]
        merges = [with_flow(v, m) for v, m in zip(structures.flatten(returned_t), merges, strict=True)]
        if context_t.outer_context is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_t)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_f)
        packed = structures.pack(returned_t, merges)
        return packed if strict else _unpack_single(packed)


def _one_of(function: Any, older: Any, name: str, older_name: str) -> Callable[[], Any]:
    if older is not None:
        if function is not None:
            raise TypeError(f"cond(): '{name}' and '{older_name}' may not be set simultaneously.")
        function = older
    elif function is None:
        raise TypeError(f"cond(): '{name}' argument required")
    if not callable(function):
        raise TypeError(f"'{name}' must be callable.")
    chosen: Callable[[], Any] = function
    return chosen


def _branch(
    pred: Tensor, pivot: Tensor, branch: int, function: Callable[[], Any], name: str
) -> tuple[Any, Any, CondContext]:
    context = CondContext(pred, pivot, branch)
    context.Enter()
    try:
        returned, result = context.BuildCondBranch(get_default_graph()._keeping_effects(function))
        if returned is None:
            raise ValueError(f"'{name}' must have a return value.")
        context.ExitResult(result)
    finally:
        context.Exit()
    return returned, result, context


def _check_alike(first: Any, second: Any) -> None:
    try:
        structures.assert_same_structure(first, second)
    except TypeError as e:
        raise TypeError(f"Incompatible return types of 'true_fn' and 'false_fn': {e}") from None
    except ValueError as e:
        raise ValueError(f"Incompatible return values of 'true_fn' and 'false_fn': {e}") from None


def _indices_of_slices(structure: Any) -> list[int]:
    """Where the leaves of a structure are indices of IndexedSlices, which branches may have in two dtypes."""
    found, count = [], 0
    for whole in _WHOLE_PARTS.flatten(structure):
        leaves = structures.flatten(whole)
        if isinstance(whole, IndexedSlices):
            found += [count + i for i, leaf in enumerate(leaves) if leaf is whole.indices]
        count += len(leaves)
    return found


def _unpack_single(result: Any) -> Any:
    return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result


def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """The values of `loop_vars` when `cond` no longer holds (`tf.while_loop`).

    Args:
        cond, body: functions of the loop variables: `cond` returns a bool tensor of rank 0, `body` the next
            values of the variables.
        loop_vars: tensors and TensorArrays, in a list or tuple that may be nested.
        shape_invariants: in the same structure, the shapes that the variables keep in all iterations; by
            default, those of their first values.
        parallel_iterations: the number of iterations that may run at the same time.
        maximum_iterations: the greatest number of iterations, after which the loop ends.
        return_same_structure: whether a single variable is returned in its list, instead of alone.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: `body` returns another structure, or a variable's shape changes.

    Example:
        >>> i, total = tf.while_loop(lambda i, _: i < 5, lambda i, total: (i + 1, total + i), [0, 0])
        >>> tf.Session().run(total)
        np.int32(10)
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    with framework.name_scope(name, "while", structures.flatten(loop_vars)) as scope:
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        if functional_flow.is_used():
            return functional_flow.builders().while_loop(
                cond,
                body,
                loop_vars,
                shape_invariants,
                parallel_iterations,
                maximum_iterations,
                return_same_structure,
                scope,
            )
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            single = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _counted(cond, body, loop_vars, maximum_iterations, single)
            if shape_invariants is not None:
                shape_invariants = (TensorShape([]), shape_invariants[0] if single else shape_invariants)
        context = WhileContext(
            maximum_iterations=maximum_iterations,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        if context.outer_context is None:
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        body = get_default_graph()._keeping_effects(body)
        result = context.BuildLoop(cond, body, loop_vars, shape_invariants, return_same_structure)
        return result if maximum_iterations is None else result[1]


def _counted(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Tensor, single: bool
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """A loop that also counts its iterations and ends after `limit` of them."""
    from tensorfleet.graph.convert import constant
    from tensorfleet.ops.math.comparison import logical_and

    if limit.dims is not None and limit.dims != ():
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    counter = constant(0, dtype=limit.dtype, name="iteration_counter")
    if single:
        return (
            lambda i, value: logical_and(i < limit, cond(value)),
            lambda i, value: (i + 1, body(value)),
            (counter, loop_vars[0]),
        )
    return (
        lambda i, values: logical_and(i < limit, cond(*values)),
        lambda i, values: (i + 1, _as_sequence(loop_vars, body(*values))),
        (counter, loop_vars),
    )


def _as_sequence(wanted: Any, given: Any) -> Any:
    """In functions a tuple may stand for a list of loop variables, as in TensorFlow's."""
    plain = {type(wanted), type(given)} == {list, tuple}
    return type(wanted)(given) if plain and get_default_graph().building_function else given


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the function of the first condition that holds (`tf.case`).

    Args:
        pred_fn_pairs: a list or dict of pairs of a bool tensor of rank 0 and a function.
        default: the function to call if no condition holds; by default that is an error.
        exclusive: whether it is an error if several conditions hold.

    Raises:
        TypeError: an argument is of the wrong type.
        InvalidArgumentError: in a run, too few or too many conditions hold.

    Example:
        >>> x = tf.constant(3)
        >>> tf.Session().run(tf.case([(x < 2, lambda: x), (x < 5, lambda: x * 10)], default=lambda: -x))
        np.int32(30)
    """
    predicates, actions = _pairs(pred_fn_pairs, exclusive, name)
    with framework.name_scope(name, "case", predicates):
        if default is None:
            default, predicates, actions = _last_as_default(predicates, actions)
        function = default
        for predicate, action in reversed(list(zip(predicates, actions, strict=True))):
            function = partial(cond, predicate, true_fn=action, false_fn=function, strict=strict)
        if not exclusive:
            return function()
        with framework.control_dependencies([_at_most(predicates, 1, "Input error: exclusive=True")]):
            return function()


def _pairs(given: Any, exclusive: bool, name: str) -> tuple[list[Tensor], list[Callable[[], Any]]]:
    from collections import OrderedDict

    if not isinstance(given, (list, tuple, dict)):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(given)}")
    if isinstance(given, OrderedDict):
        given = list(given.items())
    elif isinstance(given, dict):
        given = sorted(given.items(), key=lambda item: item[0].name)
        if not exclusive:
            tf_logging.warn(
                "%s: An unordered dictionary of predicate/fn pairs was provided, but exclusive=False. The "
                "order of conditional tests is deterministic but not guaranteed.",
                name,
            )
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, action = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype is not dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    return [pair[0] for pair in given], [pair[1] for pair in given]


def _last_as_default(
    predicates: list[Tensor], actions: list[Callable[[], Any]]
) -> tuple[Callable[[], Any], list[Tensor], list[Callable[[], Any]]]:
    from tensorfleet.ops.array.joining import stack
    from tensorfleet.ops.io.logging import Assert

    *others, last = predicates

    def default() -> Any:
        message = (
            "Implementation error: selected default action "
            f"#{len(others)} was called, but some of other predicates are True: "
        )
        data = ("Input error: None of conditions evaluated as True:", stack(predicates, name="preds_c"))
        with framework.control_dependencies([_at_most(others, 0, message), Assert(last, data=data)]):
            return actions[-1]()

    return default, others, actions[:-1]


def _at_most(predicates: list[Tensor], count: int, message: str) -> Any:
    from tensorfleet.graph.convert import constant
    from tensorfleet.ops.array.casting import cast
    from tensorfleet.ops.array.joining import stack
    from tensorfleet.ops.io.logging import Assert
    from tensorfleet.ops.math.comparison import less_equal
    from tensorfleet.ops.math.reduction import reduce_sum

    stacked = stack(predicates, name="preds_c")
    number = reduce_sum(cast(stacked, dtypes.int32), name="num_true_conds")
    condition = less_equal(number, constant(count, name="n_true_conds"))
    names = ", ".join(predicate.name for predicate in predicates)
    text = f"{message}: more than {count} conditions ({names}) evaluated as True:"
    return Assert(condition, data=[text, stacked], summarize=len(predicates))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = "switch_case"
) -> Any:
    """The result of the function number `branch_index` (`tf.switch_case`).

    Only the ops of the branch that is taken run. The graph has a chain of conditionals, or with control flow
    v2 one Case.

    Args:
        branch_index: an int32 of rank 0.
        branch_fns: functions in the order of their numbers, or pairs of a number and a function, or a dict.
        default: the function for all other numbers; by default the one with the greatest number.

    Raises:
        TypeError: `branch_fns` is of another type.
        ValueError: the numbers are not 0, 1, …, or there is no function.
    """
    listed = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if not listed:
        raise ValueError("Argument `branch_fns` must have at least one function.")
    if all(callable(item) for item in listed):
        listed = list(enumerate(listed))
    pairs: list[tuple[int, Any]] = []
    for item in listed:
        if not (
            isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], int) and callable(item[1])
        ):
            raise TypeError(
                f"`branch_fns` must be functions, or pairs of an int and a function, not {item!r}"
            )
        pairs.append(item)
    pairs.sort(key=lambda pair: pair[0])
    numbers = [number for number, _ in pairs]
    if numbers != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{set(numbers)}"
        )
    with framework.name_scope(name, "switch_case", [branch_index]) as scope:
        if functional_flow.is_used():
            functions = [function for _, function in pairs]
            functions += [] if default is None else [default]
            return functional_flow.builders().switch_case(branch_index, functions, scope)
        index = convert_to_tensor(branch_index, "int32", "branch_index")
        from tensorfleet.ops.math.comparison import equal

        last = pairs[-1][1] if default is None else default
        rest = pairs[:-1] if default is None else pairs
        if not rest:
            return last()
        return case([(equal(index, number), fn) for number, fn in rest], default=last)
