"""Kernels that compute for much longer than their inputs are large end with their step."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.security.settings import Security
from tensorfleet_service.devices import blas, blocks
from tensorfleet_service.executor import functions
from tensorfleet_service.kernels import common, sparse, values
from tensorfleet_service.kernels.array import ragged, selection
from tensorfleet_service.kernels.functions import function_ops
from tensorfleet_service.kernels.image import boxes, pillow
from tensorfleet_service.kernels.io import audio, summarize
from tensorfleet_service.kernels.linalg import (
    elimination,
    factors,
    linalg,
    matrix_parts,
    reflections,
    solving,
)
from tensorfleet_service.kernels.math import incomplete, scan, special
from tensorfleet_service.kernels.nn import ctc, local, morphology, patches
from tensorfleet_service.kernels.random import bounded, index_shuffle, random_ops, random_rates
from tensorfleet_service.kernels.text import (
    edit_distance,
    hashing,
    regex,
    sparse_cross,
    splitting,
    strings,
    unicode,
)
from tensorfleet_service.kernels.training import training_ops
from tensorfleet_service.server import TaskServer
from tensorfleet_service.threads import running
from tests.security.conftest import MakeTasks
from tests.until import until

SECONDS = 30.0


def fed(value: Any) -> Any:
    """A value that is fed, so that the optimizer does not know it."""
    tensor = tf.placeholder(tf.convert_to_tensor(value).dtype, np.shape(value))
    tf.add_to_collection("fed", (tensor, value))
    return tensor


def feeds() -> dict[Any, Any]:
    return dict(tf.get_collection("fed"))


def row(items: list[Any]) -> tf.SparseTensor:
    indices = [[0, i] for i in range(len(items))]
    return tf.SparseTensor(fed(np.array(indices, np.int64)), fed(items), [1, len(items)])


def logits() -> Any:
    return fed(np.random.default_rng(0).standard_normal((6, 1, 4)).astype(np.float32))


def areas() -> tuple[Any, Any]:
    return fed(np.arange(40, dtype=np.float32).reshape(10, 4)), fed(np.ones(10, np.float32))


FUNCTIONS = """
library {
  function {
    signature {
      name: "less" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_BOOL }
    }
    node_def {
      name: "three" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } }
    }
    node_def {
      name: "found" op: "Less" input: "x" input: "three:output:0" attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "y" value: "found:z:0" }
  }
  function {
    signature {
      name: "more" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT }
    }
    node_def {
      name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } }
    }
    node_def {
      name: "sum" op: "AddV2" input: "x" input: "one:output:0" attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "y" value: "sum:z:0" }
  }
  function {
    signature {
      name: "loop" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT }
    }
    node_def {
      name: "while" op: "While" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } }
      attr { key: "cond" value { func { name: "less" } } }
      attr { key: "body" value { func { name: "more" } } }
    }
    ret { key: "y" value: "while:output:0" }
  }
}
"""
WHILE = """node {
  name: "while" op: "While" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } }
  attr { key: "cond" value { func { name: "less" } } } attr { key: "body" value { func { name: "more" } } }
}"""
CALL = """node {
  name: "call" op: "PartitionedCall" input: "x" attr { key: "f" value { func { name: "loop" } } }
  attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
}"""


def written(node: str, name: str) -> Any:
    """A node as TensorFlow's clients send it, with functions that this client does not make."""
    graph = text_format.Parse(FUNCTIONS + node, tf.GraphDef())
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    return tf.import_graph_def(graph, {"x": fed(0.0)}, [f"{name}:0"])[0]


KERNELS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "while": (function_ops, lambda: written(WHILE, "while")),
    "while in a function": (function_ops, lambda: written(CALL, "call")),
    "edit_distance": (edit_distance, lambda: tf.edit_distance(row([1, 2, 3]), row([1, 3]))),
    "edit_distance of strings": (sparse, lambda: tf.edit_distance(row(["a", "b"]), row(["b"]))),
    "ctc_loss": (ctc, lambda: tf.nn.ctc_loss(tf.cast(row([1, 2]), tf.int32), logits(), [6])),
    "ctc_beam_search_decoder": (ctc, lambda: tf.nn.ctc_beam_search_decoder(logits(), [6])[1]),
    "non_max_suppression": (boxes, lambda: tf.image.non_max_suppression(*areas(), 5)),
    "padded": (boxes, lambda: tf.image.non_max_suppression_padded(*areas(), 5, 0.5, 0.0, True)[0]),
    "overlaps": (
        boxes,
        lambda: tf.image.non_max_suppression_overlaps(
            fed(np.eye(10, dtype=np.float32)), fed(np.ones(10, np.float32)), 5
        ),
    ),
    "combined": (
        boxes,
        lambda: tf.image.combined_non_max_suppression(
            tf.reshape(areas()[0], [1, 10, 1, 4]), tf.reshape(areas()[1], [1, 10, 1]), 5, 5
        )[0],
    ),
}
OTHERS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "spectrogram": (
        audio,
        lambda: tf.raw_ops.AudioSpectrogram(
            input=fed(np.ones((9, 1), np.float32)), window_size=4, stride=2, magnitude_squared=False
        ),
    ),
    "binomial": (
        bounded,
        lambda: tf.random.stateless_binomial([3], [1, 2], fed(np.full(3, 40.0, np.float32)), 0.5),
    ),
    "few of a binomial": (
        bounded,
        lambda: tf.random.stateless_binomial([3], [1, 2], fed(np.ones(3, np.float32)), 0.5),
    ),
    "truncated": (
        bounded,
        lambda: tf.random.stateless_parameterized_truncated_normal(
            [3], [1, 2], fed(np.zeros(3, np.float32)), 1.0, -1.0, 1.0
        ),
    ),
    "lrn": (local, lambda: tf.nn.lrn(fed(np.ones((1, 8, 8, 80), np.float32)), 70)),
    "decode_gif": (pillow, lambda: tf.image.decode_gif(fed(GIF))),
    "zeta": (common, lambda: tf.math.zeta(fed([2.0, 3.0]), fed([1.0, 2.0]))),
    "igamma": (incomplete, lambda: tf.math.igamma(fed([1.0, 2.0]), fed([1.0, 2.0]))),
    "gamma_grad": (
        special,
        lambda: tf.raw_ops.RandomGammaGrad(alpha=fed([1.0, 2.0]), sample=fed([1.0, 2.0])),
    ),
    "gamma": (random_rates, lambda: tf.random.gamma([3], fed([2.0, 3.0]), seed=1)),
    "multinomial": (random_ops, lambda: tf.random.categorical(fed([[1.0, 2.0]]), 3)),
    "determinant": (elimination, lambda: tf.linalg.det(fed(np.eye(3)))),
    "lu": (elimination, lambda: tf.linalg.lu(fed(np.eye(3)))[0]),
    "qr": (reflections, lambda: tf.linalg.qr(fed(np.eye(3)))[0]),
    "triangular_solve": (
        linalg,
        lambda: tf.linalg.triangular_solve(fed(np.eye(3)), fed(np.ones((3, 1)))),
    ),
    "tridiagonal_solve": (
        solving,
        lambda: tf.linalg.tridiagonal_solve(fed(np.ones((3, 4))), fed(np.ones((4, 1)))),
    ),
    "sqrtm": (factors, lambda: tf.linalg.sqrtm(fed(np.array([[1.0, 1.0], [0.0, 1.0]])))),
    "logsumexp": (scan, lambda: tf.math.cumulative_logsumexp(fed([1.0, 2.0, 3.0]))),
    "ragged_range": (ragged, lambda: tf.ragged.range(fed([3, 4])).values),
    "max_pool": (patches, lambda: tf.nn.max_pool(fed(np.ones((1, 4, 4, 1))), 2, 1, "VALID")),
    "dilation2d": (
        morphology,
        lambda: tf.nn.dilation2d(
            fed(np.ones((1, 4, 4, 1))), np.ones((2, 2, 1)), [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
        ),
    ),
    "set_diag": (matrix_parts, lambda: tf.linalg.diag(fed([1.0, 2.0]), k=1)),
    "product": (blocks, lambda: tf.matmul(fed(np.eye(300)), fed(np.eye(300)))),
    "sparse updates": (training_ops, lambda: repeated_updates()),
    "index_shuffle": (index_shuffle, lambda: shuffled(7)),
    "long index_shuffle": (index_shuffle, lambda: shuffled(1 << 20)),
}


_FRAME = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x4c\x01\x00"
GIF = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0xF0, 0, 0) + b"\0\0\0\xff\xff\xff" + 3 * _FRAME + b";"


def shuffled(highest: int) -> Any:
    return tf.raw_ops.RandomIndexShuffle(
        index=fed(np.arange(3)),
        seed=fed(np.array([1, 2, 3], np.int32)),
        max_index=fed(np.int64(highest)),
        rounds=4,
    )


def repeated_updates() -> Any:
    """A sparse update that names one row again."""
    variable = tf.get_variable("updated", [4], initializer=tf.zeros_initializer())
    slot = tf.get_variable("slot", [4], initializer=tf.ones_initializer())
    with tf.control_dependencies([variable.initializer, slot.initializer]):
        return tf.raw_ops.SparseApplyAdagrad(
            var=variable._ref(),
            accum=slot._ref(),
            lr=1.0,
            grad=fed(np.ones(3, np.float32)),
            indices=fed(np.array([1, 1, 2])),
        )


STRINGS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "unique": (sparse, lambda: tf.unique(fed(["a", "b", "a"]))[0]),
    "set_size": (
        sparse,
        lambda: tf.sets.size(tf.SparseTensor(fed(np.array([[0, 0]])), fed(["a"]), [1, 1])),
    ),
    "join": (strings, lambda: tf.strings.join([fed(["a", "b"]), fed(["c", "d"])])),
    "reduce_join": (strings, lambda: tf.reduce_join(fed(["a", "b"]), 0)),
    "lower": (strings, lambda: tf.strings.lower(fed(["A", "B"]))),
    "sort": (selection, lambda: tf.sort(fed([3.0, 1.0, 2.0]))),
    "top_k": (selection, lambda: tf.nn.top_k(fed(np.eye(40)), 40)[1]),
    "split": (values, lambda: tf.string_split(fed(["a b", "c d"])).values),
    "split_v2": (values, lambda: tf.strings.split(fed(["a b", "c d"])).values),
    "ngrams": (splitting, lambda: tf.strings.ngrams(fed(["a", "b", "c"]), 2)),
    "unicode_decode": (values, lambda: tf.strings.unicode_decode(fed(["a", "b"]), "UTF-8").values),
    "unicode_encode": (unicode, lambda: tf.strings.unicode_encode(fed([[65, 66], [67, 68]]), "UTF-8")),
    "regex_replace": (regex, lambda: tf.regex_replace(fed(["aaa", "b"]), "a", "c")),
    "regex_full_match": (values, lambda: tf.strings.regex_full_match(fed(["aaa", "b"]), "a*")),
    "sparse_cross": (sparse_cross, lambda: tf.sparse.cross([fed([["a"]]), fed([["b"]])]).values),
    "format": (summarize, lambda: tf.strings.format("{}", fed([1.0, 2.0]), summarize=-1)),
    "to_hash_bucket": (hashing, lambda: tf.strings.to_hash_bucket_fast(fed(["a", "b"]), 10)),
    "unsorted_segment_join": (
        splitting,
        lambda: tf.strings.unsorted_segment_join(fed(["a", "b"]), [0, 0], 1),
    ),
    "to_number": (values, lambda: tf.string_to_number(fed(["1", "2"]))),
    "substr": (values, lambda: tf.substr(fed(["abc", "def"]), 0, 2)),
}


EVERY = KERNELS | OTHERS | STRINGS


class Gate:
    """Stands in a kernel's way at its first look whether its step has ended, until that is so."""

    def __init__(self) -> None:
        self.closed = True
        self.reached = threading.Event()
        self.raised: list[BaseException] = []

    def check(self) -> None:
        step = running.RUNNING.step
        if self.closed and step is not None:  # not while constants are folded
            self.reached.set()
            until(self._has_ended, SECONDS)
        try:
            running.check()
        except errors.OpError as e:
            self.raised.append(e)
            raise

    def _has_ended(self) -> bool:
        try:
            running.check()
        except errors.OpError:
            return True
        return False


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Gate]:
    made = Gate()
    module, _ = EVERY[request.getfixturevalue("kind")]
    monkeypatch.setattr(module, "check_step", made.check)
    monkeypatch.setattr(selection, "SORTED_AT_ONCE", 1)
    monkeypatch.setattr(common, "BLOCK", 1)
    monkeypatch.setattr(linalg, "MOST_WORK", 1)
    monkeypatch.setattr(blas, "thread_count", lambda: 2)  # on one core, products are not divided
    yield made
    made.closed = False


@pytest.fixture
def task(tasks: MakeTasks) -> TaskServer:
    return tasks({"worker:0": Security()})["worker:0"]


def answers(task: TaskServer) -> None:
    with tf.Graph().as_default(), tf.Session(task.target) as other:
        assert other.run(tf.constant(2.0) + 1.0) == 3.0


@pytest.mark.parametrize("kind", EVERY)
def test_a_step_that_is_late_ends_what_computes_for_it(task: TaskServer, gate: Gate, kind: str) -> None:
    fetch = EVERY[kind][1]()
    with tf.Session(task.target) as session:

        def is_late() -> bool:
            with pytest.raises(errors.DeadlineExceededError):
                session.run(fetch, feeds(), tf.RunOptions(timeout_in_ms=200))
            return gate.reached.is_set()

        until(is_late, SECONDS)  # a step may be over on a busy machine before its kernel begins
        answers(task)
        until(lambda: gate.raised, SECONDS)
        gate.closed = False
        session.run(fetch, feeds())


@pytest.mark.parametrize("kind", EVERY)
def test_a_session_that_is_closed_ends_what_computes_for_it(task: TaskServer, gate: Gate, kind: str) -> None:
    """Without a limit on the step; and also where this is known to be short from former steps."""
    fetch = EVERY[kind][1]()
    session = tf.Session(task.target)
    gate.closed = False
    feed = feeds()
    for _ in range(3):
        session.run(fetch, feed)
    gate.closed = True
    failed: list[BaseException] = []

    def run() -> None:
        try:
            session.run(fetch, feed)
        except errors.OpError as e:
            failed.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    assert gate.reached.wait(SECONDS)
    answers(task)
    session.close()
    until(lambda: gate.raised, SECONDS)
    thread.join(SECONDS)
    assert failed


@pytest.mark.parametrize("ahead", [False, True])
def test_a_loop_in_the_function_of_a_dataset_ends(
    task: TaskServer, monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    """With its step, or behind `prefetch` with its session."""
    ended: list[BaseException] = []

    class Noting(functions._CallSender):
        @property
        def error(self) -> errors.OpError | None:  # type: ignore[override]
            found = super().error
            ended.extend([] if found is None else [found])
            return found

    monkeypatch.setattr(functions, "_CALL", Noting(0, functions._push))
    data = tf.data.Dataset.range(3).map(lambda x: tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [x]))
    take = tf.data.make_one_shot_iterator(data.prefetch(2) if ahead else data).get_next()
    session = tf.Session(task.target)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(take, options=tf.RunOptions(timeout_in_ms=200))
    answers(task)
    if ahead:
        assert not ended
        session.close()
    until(lambda: ended, SECONDS)
    if not ahead:
        with pytest.raises(errors.DeadlineExceededError):  # that of its own step, which has no end either
            session.run(take, options=tf.RunOptions(timeout_in_ms=200))
    session.close()


@pytest.mark.parametrize("kind", ["non_max_suppression"])
def test_constants_are_not_folded_by_what_may_last(task: TaskServer, gate: Gate, kind: str) -> None:
    fetch = tf.image.non_max_suppression(np.ones((3, 4), np.float32), np.ones(3, np.float32), 2)
    with tf.Session(task.target) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(fetch, options=tf.RunOptions(timeout_in_ms=200))
        until(lambda: gate.raised, SECONDS)


def test_the_case_of_long_texts_is_changed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "WORDS_PART", 16)
    text = "Ärger ÜBER ΟΔΥΣΣΕΥΣ und ΣΑΣ, ohneleerzeichenÄÖÜÄÖÜÄÖÜßundweiter ÉCOLE"
    lower = strings._by_words(lambda part: part.decode().lower().encode())
    assert lower(text.encode()) == text.lower().encode()
    sizes: list[int] = []
    strings._by_words(lambda part: sizes.append(len(part)) or part)(text.encode())  # type: ignore[func-returns-value]
    assert len(sizes) > 3
    assert max(sizes) <= 16


def test_strings_have_numbers_and_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "PART", 3)
    items = np.array([b"%d" % (i * 7 % 13) for i in range(40)], object)
    (numbers,) = sparse.numbered(items.reshape(4, 10))
    assert numbers.tolist()[0] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [(a == b) for a in numbers.reshape(-1) for b in numbers.reshape(-1)] == [
        a == b for a in items for b in items
    ]
    found, places = sparse.ranked(items)
    expected = np.unique(items, return_inverse=True)
    assert found.tolist() == expected[0].tolist()
    assert places.tolist() == expected[1].tolist()


@pytest.mark.parametrize("shape", [(97,), (6, 9), (2, 40), (3, 1), (2, 3, 7)])
def test_sorting_in_pieces_gives_the_same_order(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "SORTED_AT_ONCE", 10)
    x = np.random.default_rng(0).integers(0, 5, shape).astype(np.float32)
    x[x == 4] = np.nan
    assert selection._ascending(np, x).tolist() == np.argsort(x, axis=-1, kind="stable").tolist()


@pytest.mark.parametrize("kind", ["a-b", "b-a", "intersection", "union", "size", "setdiff1d"])
def test_numbers_are_compared_without_the_interpreter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's hash table of the different values keeps it as long as that takes."""

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("NumPy's hash table is used")

    monkeypatch.setattr(np.lib._arraysetops_impl, "_unique_hash", refuse)  # type: ignore[attr-defined]
    random = np.random.default_rng(0)
    a, b = random.integers(0, 50, (2, 30)), random.integers(0, 50, (2, 40))
    with tf.Session() as session:
        if kind == "setdiff1d":
            values, places = session.run(tf.setdiff1d(fed(a[0]), fed(b[0])), feeds())
            assert values.tolist() == [x for x in a[0] if x not in b[0]]
            assert a[0][places].tolist() == values.tolist()
            assert session.run(tf.setdiff1d(fed(a[0]), fed(b[0][:0])), feeds())[0].tolist() == a[0].tolist()
            return
        if kind == "size":
            rows = tf.SparseTensor(
                fed(np.stack([np.arange(30) // 15, np.arange(30) % 15], 1)), fed(a[0]), [2, 15]
            )
            assert session.run(tf.sets.size(rows), feeds()).tolist() == [len({*a[0, :15]}), len({*a[0, 15:]})]
            return
        operate = {
            "a-b": lambda x, y: tf.sets.difference(x, y),
            "b-a": lambda x, y: tf.sets.difference(x, y, aminusb=False),
            "intersection": tf.sets.intersection,
            "union": tf.sets.union,
        }[kind]
        found = session.run(operate(fed(a), fed(b)), feeds())
    expected = {
        "a-b": lambda x, y: x - y,
        "b-a": lambda x, y: y - x,
        "intersection": lambda x, y: x & y,
        "union": lambda x, y: x | y,
    }[kind]
    for i in (0, 1):
        assert found.values[found.indices[:, 0] == i].tolist() == sorted(expected({*a[i]}, {*b[i]}))
