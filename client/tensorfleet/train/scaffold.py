"""The standard operations of a model: `tf.train.Scaffold`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import logging
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state import variable_collections
from tensorfleet.train import parts

_Feeds = dict[Any, Any] | None


class Scaffold:
    """The ops and objects that initialize, check, summarize and save a model (`tf.train.Scaffold`).

    `finalize` takes missing ones from the graph's collections, or makes them.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: dict[Any, Any] | None = None,
    ) -> None:
        """Makes a scaffold.

        Args:
            init_op, init_feed_dict: the operation that initializes the global variables, and its feeds.
            init_fn: a function that is called with the scaffold and the session after `init_op`.
            ready_op: a tensor of the names of variables that are not initialized.
            ready_for_local_init_op: a tensor of the names of such variables that `local_init_op` needs.
            local_init_op, local_init_feed_dict: the operation that initializes local variables and tables in
                each new session, and its feeds.
            summary_op: the operation that computes the summaries.
            saver: the Saver of checkpoints.
            copy_from_scaffold: a scaffold with the values of arguments that are not given.

        Raises:
            TypeError: `copy_from_scaffold` is not a Scaffold.
        """
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def given(value: Any, attribute: str) -> Any:
            return value if value is not None or other is None else getattr(other, attribute)

        self._user_init_fn = given(init_fn, "_user_init_fn")
        self._init_op = given(init_op, "init_op")
        self._init_feed_dict: _Feeds = given(init_feed_dict, "init_feed_dict")
        self._ready_op = given(ready_op, "ready_op")
        self._ready_for_local_init_op = given(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op = given(local_init_op, "local_init_op")
        self._local_init_feed_dict: _Feeds = given(local_init_feed_dict, "local_init_feed_dict")
        self._summary_op = given(summary_op, "summary_op")
        self._saver = given(saver, "saver")

    def finalize(self) -> Scaffold:
        """Completes the scaffold and finalizes the graph.

        Raises:
            RuntimeError: a collection has several items where one is needed.
        """
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = self.get_or_default(
                "ready_op", GraphKeys.READY_OP, variable_collections.report_uninitialized_variables
            )
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, _default_ready_for_local_init_op
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, parts.merge_all)
        if self._saver is None:
            self._saver = self.get_or_default("saver", GraphKeys.SAVERS, parts.default_saver)
        self._saver.build()
        framework.get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The initializing function, which takes the session alone."""
        function = self._user_init_fn
        return (lambda session: function(self, session)) if function else None

    @property
    def init_op(self) -> Any:
        """The op that initializes the model if there is no checkpoint."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """A tensor of the names of variables that are not initialized yet."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor of the names of variables that `local_init_op` still waits for."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """The op by which every worker initializes its local variables and tables."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> dict[Any, Any] | None:
        """The feeds of `local_init_op`."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The summaries of the graph, merged."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver of checkpoints."""
        return self._saver

    @property
    def init_feed_dict(self) -> dict[Any, Any] | None:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @staticmethod
    def get_or_default(arg_name: str, collection_key: Any, default_constructor: Callable[[], Any]) -> Any:
        """The only item of a collection; if there is none, a new one from `default_constructor` is added.

        Raises:
            RuntimeError: the collection has several items.
        """
        elements = framework.get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use '
                f"by passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            framework.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """An operation that initializes the local variables and the tables."""
        return group(
            variable_collections.local_variables_initializer(), variable_collections.tables_initializer()
        )


def _default_init_op() -> Any:
    return group(
        variable_collections.global_variables_initializer(),
        framework.get_collection("saved_model_initializers"),
    )


def _default_ready_for_local_init_op() -> Any:
    return variable_collections.report_uninitialized_variables(variable_collections.global_variables())
