"""Models of SavedModels as functions: `tf.contrib.predictor`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.graph import Graph
from tensorfleet.saved_model import signature_constants, tag_constants
from tensorfleet.saved_model.loading import load
from tensorfleet.session.session import Session


class Predictor:
    """A model that gives outputs for inputs, by their names in a signature.

    Attributes:
        feed_tensors, fetch_tensors: the inputs and outputs by name.
    """

    def __init__(
        self, graph: Graph, session: Session, feeds: dict[str, Any], fetches: dict[str, Any]
    ) -> None:
        self._graph, self._session = graph, session
        self.feed_tensors, self.fetch_tensors = feeds, fetches

    @property
    def graph(self) -> Graph:
        """The model's graph."""
        return self._graph

    @property
    def session(self) -> Session:
        """The session that runs the model."""
        return self._session

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
        feeds = {self.feed_tensors[name]: value for name, value in input_dict.items()}
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


def _signature(meta_graph: Any, key: str) -> Any:
    if key not in meta_graph.signature_def:
        found = ", ".join(sorted(meta_graph.signature_def)) or "none"
        raise ValueError(f"Got signature_def_key {key!r}. Available signatures are {found}.")
    return meta_graph.signature_def[key]
