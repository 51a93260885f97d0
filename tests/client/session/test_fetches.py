"""Structures of fetches: what a session asks the master for, and in which form the answer comes back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.session import fetches
from tensorfleet.session.fetches import register_session_run_conversion_functions
from tests.client.session.fake_transport import FakeTransport

Pair = namedtuple("Pair", ["first", "second"])


class Attrs:
    """As a class of the attrs library looks."""

    class _Field:
        def __init__(self, name: str) -> None:
            self.name = name

    __attrs_attrs__ = (_Field("left"), _Field("right"))

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right


@pytest.fixture
def a(master: FakeTransport) -> Any:
    master.values["a:0"] = np.float32(1)
    return tf.constant(1.0, name="a")


@pytest.fixture
def b(master: FakeTransport) -> Any:
    master.values["b:0"] = np.array([2, 3])
    return tf.constant([2, 3], name="b")


def test_structures_come_back_as_they_went(a: Any, b: Any) -> None:
    session = tf.Session()
    for _ in range(2):
        assert session.run(a) == 1
        assert session.run([a, a.op]) == [1, None]
        assert session.run((a, a)) == (1, 1)
        assert session.run(Pair(a, [a])) == Pair(1, [1])
        assert session.run({"k": a, 3: a.op}) == {"k": 1, 3: None}
        assert session.run([a, [{"x": (a, ["a:0", "a"])}]]) == [1, [{"x": (1, [1, None])}]]
        assert session.run([]) == []
        assert session.run({}) == {}
        ordered = session.run(OrderedDict([("z", a), ("y", a)]))
        assert (type(ordered), list(ordered)) == (OrderedDict, ["z", "y"])
        default = session.run(defaultdict(list, k=a))
        assert (type(default), default["k"], default["other"]) == (defaultdict, 1, [])
        attrs = session.run(Attrs(a, [b]))
        assert type(attrs) is Attrs
        assert (attrs.left, attrs.right[0].tolist()) == (1, [2, 3])


def test_elements_are_asked_for_once_in_the_order_of_their_appearance(
    master: FakeTransport, a: Any, b: Any
) -> None:
    tf.Session().run([b, {"k": [a, b.op, b]}, "a:0", a.op])
    assert master.prepared == [((), ("b:0", "a:0"), ("b", "a"))]


def test_changed_list_is_another_signature(a: Any, b: Any) -> None:
    session = tf.Session()
    wanted = [a, a]
    assert session.run(wanted) == [1, 1]
    wanted[1] = a.op
    assert session.run(wanted) == [1, None]
    wanted.append(a)
    assert session.run(wanted) == [1, None, 1]


def test_rank_0_is_a_scalar_and_text_is_bytes(master: FakeTransport) -> None:
    text = tf.constant("t", name="text")
    number = tf.constant(2, name="number")
    for name, value in (("text:0", b"t"), ("number:0", np.int32(2))):
        kind = object if isinstance(value, bytes) else None
        master.values[name] = np.array(value, kind)
    session = tf.Session()
    for result in (
        session.run(text),
        session.run([text])[0],
        session.run({"t": [text]})["t"][0],
        session.run([text, text.op])[0],
    ):
        assert type(result) is bytes
    assert type(session.run(number)) is np.int32
    assert type(session.run([[number]])[0][0]) is np.int32


@pytest.mark.parametrize(
    ("fetch", "error", "text"),
    [
        (None, TypeError, 'Argument `fetch` = None has invalid type "NoneType". Cannot be None'),
        (
            5,
            TypeError,
            'Argument `fetch` = 5 has invalid type "int" must be a string or Tensor. '
            "(Can not convert a int into a Tensor or Operation.)",
        ),
        ("nope:0", ValueError, "Argument `fetch` = nope:0 cannot be interpreted as a Tensor. ("),
        ("nope", ValueError, "Argument `fetch` = nope cannot be interpreted as a Tensor. ("),
    ],
)
def test_errors_are_tensorflows(a: Any, fetch: Any, error: type[Exception], text: str) -> None:
    session = tf.Session()
    for structure in (fetch, [a, fetch], {"k": (fetch,)}):
        with pytest.raises(error) as caught:
            session.run(structure)
        assert str(caught.value).startswith(text)


def test_elements_of_another_graph_are_refused(a: Any) -> None:
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.Session().run(other)


def test_what_may_not_be_fetched_is_refused(a: Any, graph: tf.Graph) -> None:
    graph.prevent_fetching(a.op)
    with pytest.raises(ValueError, match="Operation 'a' has been marked as not fetchable"):
        tf.Session().run(a)


class Two:
    """Stands for two tensors."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetches, "_expansions", list(fetches._expansions))
    register_session_run_conversion_functions(
        Two,
        lambda two: ([two.first, two.second], lambda values: ("two", *values)),
        lambda two, value: [(two.first, value[0]), (two.second, value[1])],
        lambda two: [two.first, two.second],
    )


@pytest.mark.usefixtures("registered")
def test_registered_types_are_fetched_and_fed(master: FakeTransport, a: Any) -> None:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.int32, name="y")
    session = tf.Session()
    assert session.run([Two(a, a.op)]) == [("two", 1, None)]
    assert session.run(a, {Two(x, y): (1.5, 2)}) == 1
    assert master.steps[-1] == {"x:0": 1.5, "y:0": 2}
    session.partial_run_setup(a, [Two(x, y)])
    assert master.calls[-1] == ("partial_run_setup", ("x:0", "y:0"), ("a:0",), ())
    with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf\.Tensor object"):
        session.run(a, {Two(x, y): (a, 2)})


@pytest.mark.usefixtures("registered")
def test_a_type_is_registered_once() -> None:
    with pytest.raises(ValueError, match="has already been registered"):
        register_session_run_conversion_functions(Two, lambda two: ([two], lambda values: values[0]))
