"""The collection of losses and their sum: `tf.losses.add_loss`, `tf.losses.get_total_loss`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.math.add_n import add_n

_LOSSES = GraphKeys.LOSSES


def add_loss(loss: Tensor, loss_collection: Any = _LOSSES) -> None:
    """Adds a loss to the collection, unless that is None (`tf.losses.add_loss`)."""
    if loss_collection:
        framework.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: Any = _LOSSES) -> list[Any]:
    """The losses in the collection (`tf.losses.get_losses`)."""
    return framework.get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses of regularizers (`tf.losses.get_regularization_losses`)."""
    return framework.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses of regularizers, 0 if there are none (`tf.losses.get_regularization_loss`)."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses in the collection (`tf.losses.get_total_loss`).

    Raises:
        ValueError: there are none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return add_n(losses, name=name)
