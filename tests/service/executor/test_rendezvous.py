"""Tensors that wait on their producer."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.executor.rendezvous import Rendezvous


def test_the_error_of_a_failed_step_keeps_no_tensors() -> None:
    rendezvous = Rendezvous()
    arrays: list[weakref.ref[np.ndarray]] = []

    def run() -> None:
        array = np.ones(8)
        arrays.append(weakref.ref(array))
        raise errors.DataLossError(None, None, "as a step fails")

    try:
        run()
    except errors.DataLossError as e:
        rendezvous.fail(7, e)
    gc.collect()
    assert arrays[0]() is None

    found: list[errors.OpError | None] = []
    rendezvous.take(7, 0, lambda error, _: found.append(error))
    assert isinstance(found[0], errors.DataLossError)
    assert found[0].message == "as a step fails"


def test_tensors_of_a_failed_step_are_dropped() -> None:
    rendezvous = Rendezvous()
    rendezvous.put(7, 0, np.ones(8))
    assert len(rendezvous) == 1
    rendezvous.fail(7, errors.AbortedError(None, None, "ended"))
    rendezvous.put(7, 1, np.ones(8))
    assert len(rendezvous) == 0
    with pytest.raises(errors.AbortedError, match="ended"):
        rendezvous.take(7, 1, _raise)


def _raise(error: errors.OpError | None, _: object) -> None:
    assert error is not None
    raise error
