"""What Keras keeps beside a graph: settings, the learning phase, names of layers, the session."""

from __future__ import annotations

import json
import os
import weakref
from collections import defaultdict
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.framework import get_collection_ref
from tensorfleet.graph.graph import Graph, get_default_graph, reset_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.init_scope import init_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import ops
from tensorfleet.ops.state.variables import Variable
from tensorfleet.session.session import Session

_KEY = ("__keras",)
"""The key of the collection that keeps a graph's `GraphState`; no string, so that nothing exports it."""


class GraphState:
    """What Keras knows of one graph.

    Attributes:
        uids: how often a prefix of names was used.
        learning_phase: a value or tensor, None while nobody has asked.
        variables: those that Keras made, which `get_session` initializes.
        initialized: how many of the variables were found initialized, by session.
        tables: how many of the graph's tables were initialized, by session.
        session: that Keras made for the graph, or was given.
        checks: for each variable the tensor that says whether it is initialized, by the variable.
        setters: a placeholder and an assignment for each variable that was set, by the variable.
    """

    def __init__(self) -> None:
        self.uids: dict[str, int] = defaultdict(int)
        self.learning_phase: Any = None
        self.variables: list[Any] = []
        self.initialized: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.tables: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.session: Any = None
        self.checks: dict[Any, Tensor] = {}
        self.setters: dict[Any, tuple[Tensor, Any]] = {}


class _Settings:
    """Settings of the process."""

    floatx = "float32"
    epsilon = 1e-7
    image_data_format = "channels_last"
    manual_initialization = False


def _read_configuration() -> None:
    """Takes the settings of the file keras.json, if there is one, as Keras does."""
    directory = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    try:
        with open(os.path.join(directory, "keras.json")) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return
    if not isinstance(found, dict):
        return
    if found.get("floatx") in ("float16", "float32", "float64"):
        _Settings.floatx = found["floatx"]
    if isinstance(found.get("epsilon"), float):
        _Settings.epsilon = found["epsilon"]
    if found.get("image_data_format") in ("channels_last", "channels_first"):
        _Settings.image_data_format = found["image_data_format"]


_read_configuration()


def graph_state(graph: Graph | None = None) -> GraphState:
    """The state of a graph, by default of the default graph."""
    held = get_collection_ref(_KEY) if graph is None else graph.get_collection_ref(_KEY)
    if not held:
        held.append(GraphState())
    state: GraphState = held[0]
    return state


def backend() -> str:
    """The name of Keras's backend: "tensorflow", whose graphs these are."""
    return "tensorflow"


def floatx() -> str:
    """The default dtype of floats, by name."""
    return _Settings.floatx


def set_floatx(value: str) -> None:
    """Sets the default dtype of floats: "float16", "float32" or "float64"."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}. Give float16, float32 or float64.")
    _Settings.floatx = value


def cast_to_floatx(x: Any) -> Any:
    """A tensor, or values as an array, with the default dtype of floats."""
    if isinstance(x, (Tensor, Variable)):
        return ops.cast(x, floatx())
    return np.asarray(x, dtype=floatx())


def epsilon() -> float:
    """The small number that keeps quotients and logarithms finite."""
    return _Settings.epsilon


def set_epsilon(value: float) -> None:
    """Sets the small number of `epsilon()`."""
    _Settings.epsilon = value


def image_data_format() -> str:
    """ "channels_last" or "channels_first", the default of layers for images."""
    return _Settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Sets the default order of dimensions of images: "channels_last" or "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}. Give channels_last or channels_first.")
    _Settings.image_data_format = data_format


def get_uid(prefix: str = "") -> int:
    """A number from 1 on, a new one at each call with that prefix in the default graph."""
    uids = graph_state().uids
    uids[prefix] += 1
    return uids[prefix]


def reset_uids() -> None:
    """Lets `get_uid` count from 1 again in the default graph."""
    graph_state().uids.clear()


def unique_name(base: str, zero_based: bool = True) -> str:
    """`base` for the first layer of that name in the default graph, then base_1, base_2, …"""
    number = get_uid(base)
    if not zero_based:
        return f"{base}_{number}"
    return base if number == 1 else f"{base}_{number - 1}"


def learning_phase() -> Any:
    """Whether the graph trains: a bool tensor that is False unless it is fed, or the value that was set."""
    with init_scope():
        state = graph_state()
        if state.learning_phase is None:
            state.learning_phase = ops.placeholder_with_default(
                convert_to_tensor(False), shape=[], name="keras_learning_phase"
            )
        return state.learning_phase


def set_learning_phase(value: Any) -> None:
    """Sets whether the default graph trains: 0 or 1, for what is built after it."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    graph_state().learning_phase = int(value)


def clear_session() -> None:
    """Forgets Keras's session and the default graph; the next layer begins a new one."""
    held = graph_state().session
    if held is not None:
        held.close()
    reset_default_graph()


def get_session(op_input_list: Any = ()) -> Any:
    """The default session, or one that Keras makes; variables of layers, and the tables of feature columns,
    are initialized in it."""
    graph = get_default_graph()
    session = get_default_session()
    if session is None or session.graph is not graph:
        state = graph_state(graph)
        if state.session is None:
            state.session = Session(graph=graph)
        session = state.session
    if not _Settings.manual_initialization:
        initialize_variables(session)
        _initialize_tables(session)
    return session


def set_session(session: Any) -> None:
    """Makes Keras run the steps of the session's graph in this session, for instance in one on a cluster."""
    graph_state(None if session is None else session.graph).session = session


def manual_variable_initialization(value: bool) -> None:
    """Whether programs initialize the variables of layers themselves."""
    _Settings.manual_initialization = bool(value)


def track_variable(variable: Any) -> None:
    """Adds a variable to those that `get_session` initializes."""
    graph_state(variable.graph).variables.append(variable)


def initialize_variables(session: Any) -> None:
    """Initializes those variables of layers that the session's cluster has not initialized."""
    state = graph_state(session.graph)
    known = state.initialized.get(session, 0)
    pending = state.variables[known:]
    if not pending:
        return
    with session.graph.as_default(), ops.control_dependencies(None):
        for variable in pending:  # another session asks the same nodes
            if variable not in state.checks:
                state.checks[variable] = ops.is_variable_initialized(variable)
        found = session.run([state.checks[variable] for variable in pending])
        missing = [v.initializer for v, is_there in zip(pending, found, strict=True) if not is_there]
        if missing:
            session.run(missing)
    # Not those that another thread has added meanwhile.
    state.initialized[session] = known + len(pending)


def _initialize_tables(session: Any) -> None:
    """Runs the initializers of lookup tables that the session has not run: those of layers of columns are
    made when a model first sees its inputs, which leaves a program no time to run them."""
    state = graph_state(session.graph)
    known = state.tables.get(session, 0)
    initializers = session.graph.get_collection_ref(GraphKeys.TABLE_INITIALIZERS)[known:]
    if initializers:
        session.run(initializers)
        state.tables[session] = known + len(initializers)


def get_value(x: Any) -> Any:
    """The value of a variable or tensor, an array."""
    if not isinstance(x, (Tensor, Variable)):
        return x
    with x.graph.as_default():
        return get_session().run(x)


def batch_get_value(tensors: Any) -> list[Any]:
    """The values of several variables, by one step."""
    if not tensors:
        return []
    with tensors[0].graph.as_default():
        return list(get_session().run(list(tensors)))


def set_value(x: Any, value: Any) -> None:
    """Sets the value of a variable."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Any) -> None:
    """Sets the values of several variables, given as pairs, by one step."""
    feeds, assigned = {}, []
    for variable, value in tuples:
        state = graph_state(variable.graph)
        if variable not in state.setters:
            with variable.graph.as_default(), init_scope(), ops.name_scope(None):
                fed = ops.placeholder(variable.dtype.base, shape=variable.shape)
                state.setters[variable] = fed, ops.assign(variable, fed).op
        fed, assignment = state.setters[variable]
        feeds[fed] = np.asarray(value, dtype=variable.dtype.base.as_numpy_dtype)
        assigned.append(assignment)
    if assigned:
        with assigned[0].graph.as_default():
            get_session().run(assigned, feed_dict=feeds)


def print_tensor(x: Any, message: str = "") -> Any:
    """The same tensor, which prints its value whenever it is computed."""
    return ops.Print(x, [x], message)


def eval(x: Any) -> Any:
    """The value of a variable or tensor, an array."""
    return get_value(convert_to_tensor(x))


def is_placeholder(x: Any) -> bool:
    """Whether a tensor is a placeholder."""
    return isinstance(x, Tensor) and x.op.type == "Placeholder"


def is_keras_tensor(x: Any) -> bool:
    """Whether a tensor is the output of a Keras layer, or a Keras input.

    Raises:
        ValueError: not a tensor at all.
    """
    if not isinstance(x, (Tensor, Variable)) and not hasattr(x, "dense_shape"):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance."
        )
    return getattr(x, "_keras_history", None) is not None


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The static shape as a tuple with None for unknown sizes; None for an unknown rank."""
    shape = getattr(x, "shape", None)
    if shape is None:
        shape = np.shape(x)
    known = TensorShape(shape)
    return None if known.ndims is None else tuple(known.as_list())


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A new variable with that initial value."""
    if hasattr(value, "tocoo"):
        parts = value.tocoo()
        indices = np.stack([parts.row, parts.col], axis=1).astype(np.int64)
        return ops.SparseTensor(indices, parts.data, parts.shape)
    wanted = dtypes.as_dtype(dtype or floatx())
    with init_scope():
        made = Variable(
            value
            if callable(value)
            else np.asarray(value, wanted.as_numpy_dtype)
            if not isinstance(value, (Tensor, Variable))
            else value,
            dtype=wanted,
            name=name,
            constraint=constraint,
            use_resource=True,
        )
    track_variable(made)
    return made


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    """A placeholder of that shape, or of that rank."""
    if shape is None and ndim is not None:
        shape = (None,) * ndim
    make = ops.sparse_placeholder if sparse else ops.placeholder
    return make(dtypes.as_dtype(dtype or floatx()), shape=shape, name=name)
