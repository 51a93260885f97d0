"""`tensorflow.python.util.protobuf.compare`: whether messages are equal, as their texts say it."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)


def _parsed(text: Any, like: Message) -> Message:
    if not isinstance(text, (str, bytes)):
        return text  # type: ignore[no-any-return]
    message: Message = text_format.Parse(text, type(like)())
    return message


def NormalizeNumberFields(pb: Message) -> Message:
    """Rounds the message's floating-point numbers, in place, to seven digits; returns it."""
    for field, value in pb.ListFields():
        repeated = isinstance(value, (list, tuple)) or hasattr(value, "append") or hasattr(value, "MergeFrom")
        if field.cpp_type in _FLOATS:
            if repeated and not isinstance(value, float):
                value[:] = [round(number, 7) for number in value]
            else:
                setattr(pb, field.name, round(value, 7))
        elif isinstance(value, Message):
            NormalizeNumberFields(value)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            for part in value.values():
                if isinstance(part, Message):
                    NormalizeNumberFields(part)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            for part in value:
                NormalizeNumberFields(part)
    return pb


def assertProtoEqual(
    self: Any,
    a: Any,
    b: Message,
    check_initialized: bool = True,
    normalize_numbers: bool = False,
    msg: Any = None,
) -> None:
    """Asserts that two messages are equal; fails with the difference of their texts.

    Args:
        self: the test.
        a: a message, or the text of one.
        b: the other message, or its text.
        check_initialized: whether fields that are required have to be set.
        normalize_numbers: whether to compare floating-point numbers by seven digits.
    """
    both = _parsed(a, b), _parsed(b, a)
    for message in both:
        if check_initialized and not message.IsInitialized():
            self.fail(f"Initialization errors: required fields are not set: {message}")
        if normalize_numbers:
            NormalizeNumberFields(message)
    texts = (text_format.MessageToString(message) for message in both)
    self.assertMultiLineEqual(*texts, msg=msg)  # noqa: PT009 - a unittest.TestCase's


def ProtoEq(a: Any, b: Any) -> bool:
    """Whether two values are equal: messages by the fields that are set."""
    if not isinstance(a, Message) or not isinstance(b, Message):
        return bool(a == b)
    return text_format.MessageToString(a) == text_format.MessageToString(b)


class ProtoAssertions:
    """`assertProtoEqual` as a method, to be mixed into tests."""

    def assertProtoEqual(self, *args: Any, **kwargs: Any) -> None:
        """As the function of this name."""
        assertProtoEqual(self, *args, **kwargs)
