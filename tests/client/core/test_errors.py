"""The error tree: codes, classes, what an error says about where its operation was made."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

from tensorfleet.core import errors

CODES = {name: value for name, value in vars(errors).items() if name.isupper() and name != "OK"}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_every_code_has_the_class_of_its_name(name: str, code: int) -> None:
    cls = errors.exception_type_from_error_code(code)
    assert cls.__name__ == name.title().replace("_", "") + ("" if name.endswith("ERROR") else "Error")
    assert errors.error_code_from_exception_type(cls) == code
    error = errors.from_code(code, "went wrong")
    assert type(error) is cls
    assert (error.error_code, error.message, str(error), error.op, error.node_def) == (
        code,
        "went wrong",
        "went wrong",
        None,
        None,
    )


def test_there_are_sixteen_codes() -> None:
    assert sorted(CODES.values()) == list(range(1, 17))


def test_unknown_codes() -> None:
    assert type(errors.from_code(77, "m")) is errors.UnknownError
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(77)
    with pytest.raises(KeyError):
        errors.error_code_from_exception_type(errors.OpError)


def test_an_error_names_the_line_that_made_its_operation() -> None:
    op = SimpleNamespace(node_def="the node", definition="train.py:3 in main: x = a / b", device="/job:ps")
    error = errors.from_code(errors.INVALID_ARGUMENT, "bad", op)
    assert str(error) == "bad\nDefined at train.py:3 in main: x = a / b, for /job:ps"
    assert (error.op, error.node_def, error.message) == (op, "the node", "bad")


def test_operations_without_a_known_line_add_nothing() -> None:
    assert (
        str(errors.from_code(errors.ABORTED, "bad", SimpleNamespace(node_def=None, definition=None))) == "bad"
    )


@pytest.mark.parametrize("code", CODES.values())
def test_errors_can_be_pickled(code: int) -> None:
    op = SimpleNamespace(node_def=b"node", definition="here", graph=lambda: None)
    error = errors.exception_type_from_error_code(code)(b"node", op, "bad", {"type": b"payload"})
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error) == "bad\nDefined at here"
    assert (copy.op, copy.node_def, copy.error_code) == (None, b"node", code)
    assert copy.experimental_payloads == {"type": b"payload"}


def test_the_base_class_takes_a_code() -> None:
    assert errors.OpError(None, None, "m").error_code == errors.UNKNOWN
    error = errors.OpError(None, None, "m", errors.DATA_LOSS)
    assert (error.error_code, error.experimental_payloads) == (errors.DATA_LOSS, {})
    assert pickle.loads(pickle.dumps(error)).error_code == errors.DATA_LOSS
