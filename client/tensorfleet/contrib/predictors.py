"""Models of SavedModels, and of estimators, as functions: `tf.contrib.predictor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.fitted_estimator import FittedEstimator
from tensorfleet.contrib.serving_inputs import InputFnOps
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.graph.graph import Graph
from tensorfleet.saved_model import signature_constants, tag_constants
from tensorfleet.saved_model.loading import load
from tensorfleet.session.session import Session
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.session_creator import ChiefSessionCreator

# The only name that 1.15 has for what InputFnOps feed.
_DEFAULT_INPUTS = "default_input_alternative"


class Predictor:
    """A model that gives outputs for inputs, by their names in a signature.

    Attributes:
        feed_tensors, fetch_tensors: the inputs and outputs by name.
    """

    def __init__(self, graph: Graph, session: Any, feeds: dict[str, Any], fetches: dict[str, Any]) -> None:
        self._graph, self._session = graph, session
        self.feed_tensors, self.fetch_tensors = feeds, fetches

    @property
    def graph(self) -> Graph:
        """The model's graph."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session that runs the model; for an estimator a MonitoredSession."""
        return self._session

    def __repr__(self) -> str:
        return f"Predictor with feed tensors {self.feed_tensors} and fetch_tensors {self.fetch_tensors}"

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """The outputs for inputs.

        Raises:
            ValueError: there is no input of a name.
        """
        if unknown := sorted(input_dict.keys() - self.feed_tensors.keys()):
            raise ValueError(
                f"Got unexpected keys in input_dict: {', '.join(unknown)}. The model takes "
                f"{', '.join(sorted(self.feed_tensors))}."
            )
        feeds = {self.feed_tensors[name]: value for name, value in input_dict.items() if value is not None}
        found: dict[str, Any] = self._session.run(self.fetch_tensors, feeds)
        return found

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: dict[str, str] | None = None,
    output_names: dict[str, str] | None = None,
    tags: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """A model from a SavedModel (`tf.contrib.predictor.from_saved_model`).

    Args:
        export_dir: its directory.
        signature_def_key: the signature, by default "serving_default".
        signature_def: a signature to use instead.
        input_names, output_names: names of tensors by those of inputs and outputs, instead of a signature.
        tags: the tags of the graph, with commas between them; by default "serve".
        graph: where to load it, by default a new graph.
        config: of the session.

    Raises:
        ValueError: several of signature_def_key, signature_def and names are given, or one kind of names,
            or there is no such signature.
        OpError: the model cannot be read.
    """
    if bool(input_names) != bool(output_names):
        raise ValueError("input_names and output_names must both be given, or neither.")
    if sum(map(bool, (signature_def_key, signature_def, input_names))) > 1:
        raise ValueError("Give one of signature_def_key, signature_def, and input_names with output_names.")
    graph = graph or Graph()
    with graph.as_default():
        session = Session(graph=graph, config=config)
        try:
            chosen = (tags or tag_constants.SERVING).split(",")
            meta_graph = load(session, [tag.strip() for tag in chosen], export_dir)
            if input_names and output_names:
                names = dict(input_names), dict(output_names)
            else:
                key = signature_def_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
                signature = signature_def or _signature(meta_graph, key)
                names = (
                    {name: info.name for name, info in signature.inputs.items()},
                    {name: info.name for name, info in signature.outputs.items()},
                )
            tensors = [
                {name: graph.get_tensor_by_name(text) for name, text in part.items()} for part in names
            ]
        except Exception:
            session.close()
            raise
    return Predictor(graph, session, *tensors)


def from_estimator(
    estimator: Estimator,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """The model of an estimator, with its newest checkpoint (`tf.contrib.predictor.from_estimator`).

    Args:
        estimator: of `tf.estimator`; without a checkpoint the model has its initial values.
        serving_input_receiver_fn: to a ServingInputReceiver, whose receiver tensors are the inputs.
        output_key: which of the model's `export_outputs`, by default "serving_default".
        graph: where the model is built, by default a new graph.
        config: of the session.

    Raises:
        TypeError: the estimator is one of `tf.contrib.learn`.
        KeyError: there is no such output.
    """
    if isinstance(estimator, FittedEstimator):
        raise TypeError(
            "Expected estimator to be of type tf.estimator.Estimator, but got type "
            "tf.contrib.learn.Estimator. You likely want to call from_contrib_estimator."
        )
    key = output_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    graph = graph or Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        outputs = spec.export_outputs or {}
        if key not in outputs:
            raise KeyError(f"output_key must be one of {list(outputs)}; got {key}")
        signature = outputs[key].as_signature_def(receiver.receiver_tensors)
        # The session finalizes the graph.
        tensors = [
            {name: graph.get_tensor_by_name(info.name) for name, info in part.items()}
            for part in (signature.inputs, signature.outputs)
        ]
        return Predictor(graph, _restored(estimator, config), *tensors)


def from_contrib_estimator(
    estimator: FittedEstimator,
    prediction_input_fn: Callable[[], InputFnOps],
    input_alternative_key: str | None = None,
    output_alternative_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """The model of an estimator of `tf.contrib.learn`, with its newest checkpoint
    (`tf.contrib.predictor.from_contrib_estimator`).

    Args:
        estimator: of `tf.contrib.learn`.
        prediction_input_fn: to InputFnOps, whose default inputs are the inputs.
        input_alternative_key: "default_input_alternative" or None: there is no other.
        output_alternative_key: which of the model's `output_alternatives`; by default the only one, or the
            model's predictions where it has none.
        graph: where the model is built, by default a new graph.
        config: of the session.

    Raises:
        TypeError: the estimator is one of `tf.estimator`.
        KeyError: there is no such input.
        ValueError: there is no such output, or several and no key.
    """
    if not isinstance(estimator, FittedEstimator):
        raise TypeError(
            "Expected estimator to be of type tf.contrib.learn.Estimator, but got type "
            "tf.estimator.Estimator. You likely want to call from_estimator."
        )
    if input_alternative_key not in (None, _DEFAULT_INPUTS):
        raise KeyError(f"input_alternative_key must be {_DEFAULT_INPUTS!r}; got {input_alternative_key!r}")
    graph = graph or Graph()
    with graph.as_default():
        given = prediction_input_fn()
        outputs = estimator.outputs(given.features, output_alternative_key)
        return Predictor(graph, _restored(estimator, config), dict(given.default_inputs), outputs)


def _restored(estimator: Any, config: Any) -> MonitoredSession:
    """A session of the default graph with the newest checkpoint of an estimator."""
    return MonitoredSession(ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir))


def _signature(meta_graph: Any, key: str) -> Any:
    if key not in meta_graph.signature_def:
        found = ", ".join(sorted(meta_graph.signature_def)) or "none"
        raise ValueError(f"Got signature_def_key {key!r}. Available signatures are {found}.")
    return meta_graph.signature_def[key]
