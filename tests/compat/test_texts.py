"""Texts taken apart, matched, encoded and compared: beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf
from tensorfleet.graph.apply import apply_op

CASES = r"""
t.string_split(["a b  c", " x", ""])
t.string_split(["a,b;,c"], ",;", skip_empty=False)
t.string_split(["abc"], "")
t.strings.split(["a b  c ", " x", ""])
t.strings.split([" a b  c "], maxsplit=1)
t.strings.split(["a,,b,c", ""], ",", maxsplit=2)
t.strings.split(["a,,b,c,,", ""], ",,")
t.strings.split("a b")
t.strings.split([["a b"]])
t.strings.split(t.placeholder_with_default(["a b"], None))
t.strings.ngrams(["a","b","c"], 2)
t.strings.ngrams([["a","b","c"]], [1,2])
t.strings.ngrams([["a","b","c"]], 2, pad_values=("L","R"))
t.strings.ngrams([["a","b","c"]], 4, preserve_short_sequences=True)
t.strings.ngrams([["a","b","c"]], [3,5], pad_values="x", padding_width=1)
t.strings.ngrams([[["a","b","c"]]], 2)
t.strings.ngrams(t.ragged.constant([["a","b","c"], [], ["d"]]), 2).to_tensor("-")
t.strings.ngrams(t.ragged.constant([[["a","b","c"]], [["d"], []]]), [1,2], pad_values="P").to_tensor("-")
t.strings.to_number(["0x1A", "-0x.8p1", " 0XfP-2 ", "+0x10", "0x1p2000", "-0x1p2000"])
t.strings.to_number(["0x"])
t.strings.to_number(["0x1_0"])
t.string_join([])
t.strings.format("{} and {}", (t.constant([1.5,2]), t.constant("s")))
t.strings.format("x", [])
t.strings.format("{}", t.constant(np.arange(20).reshape(2,10)))
t.strings.format("% %", [1, 2], placeholder="%", summarize=-1)
t.strings.unicode_encode([0x61, 0xD800, 0x110000, 0x1F600], "UTF-8")
t.strings.unicode_encode([[0x61], [0x1F600]], "UTF-16-BE")
t.strings.unicode_encode([[0x61], [0xD800]], "UTF-8", errors="ignore")
t.strings.unicode_encode([[0x61], [0xD800]], "UTF-8", errors="strict")
t.strings.unicode_encode([[0x61], [0xD800]], "UTF-8", replacement_char=63)
t.strings.unicode_transcode(FAULTY, "UTF-8", "UTF-16-BE")
t.strings.unicode_transcode([b"a\xffb\xe2\x82", b"\xc0\x80", b"\xf5\x80"], "UTF-8", "UTF-8")
t.strings.unicode_transcode(CONTROLS, "UTF-8", "UTF-8", errors="ignore", replace_control_characters=True)
t.strings.unicode_transcode(CONTROLS, "UTF-8", "UTF-8", replace_control_characters=True, replacement_char=63)
t.strings.unicode_transcode([b"a\xff"], "UTF-8", "UTF-8", errors="strict")
t.strings.unicode_transcode([b"a\xe9"], "latin1", "UTF-8")
t.strings.unicode_transcode([b"a\xe9"], "US ASCII", "UTF-8")
t.strings.unicode_transcode([b"a\xe9"], "nonsense", "UTF-8")
t.strings.unicode_transcode([b"\x00a\xd8\x00", b"\x00"], "UTF-16-BE", "UTF-8")
t.strings.unsorted_segment_join(["a","b","c"], [1,0,1], 3, ":")
t.strings.unsorted_segment_join([["a","b"],["c","d"]], [1,1], 2)
t.strings.unsorted_segment_join(["a","b","c"], [1,0,9], 3)
t.strings.unsorted_segment_join(["a","b","c"], [1,0,-1], 3)
t.strings.regex_full_match(["abc","ab"], "ab.")
t.strings.regex_full_match(["abc","ab"], t.constant("(ab"))
t.strings.regex_full_match(["abc","ab"], "(ab")
t.edit_distance(WORDS, S([[0,0],[1,0],[2,0],[2,1]],["a","x","c","d"],[3,2]))
t.edit_distance(WORDS, S([[0,0],[1,0],[2,0],[2,1]],["a","x","c","d"],[3,2]), normalize=False)
t.edit_distance(WORDS, S([[0,0],[1,0]],["a","x"],[4,2]), normalize=True)
t.edit_distance(S([[0,0,0],[0,1,0]],[1,2],[2,2,1]), S([[0,0,0],[1,1,0]],[1,1],[2,2,1]))
t.strings.regex_replace(["abc", "b"], "b", "x")
t.strings.regex_replace(["abcb"], t.constant("b"), "x", replace_global=False)
t.strings.split(["a b", "c"]).values
t.strings.unicode_transcode([b"a\xe2\x82b\xf0\x9f\x98"], "UTF-8", "UTF-32-BE")
"""
NOT_BUILT = """
t.string_split(["a"], "b", delimiter="c")
t.string_split("a b")
t.strings.ngrams("a", 2)
t.strings.ngrams(["a"], 0)
t.strings.format("{} {}", [1])
t.edit_distance(S([[0,0]],[1],[2,2]), S([[0,0,0],[1,1,0]],[1,1],[2,2,1]))
"""
DECODED: list[tuple[list[bytes], dict[str, Any]]] = [
    ([b"a\xffb\xe2\x82", b"", b"\xf0\x9f\x98\x80z"], {"input_encoding": "UTF-8"}),
    ([b"a\xffb\x01", b"\xc3\xa9"], {"input_encoding": "UTF-8", "errors": "ignore"}),
    ([b"a\x01\xff"], {"input_encoding": "UTF-8", "replace_control_characters": True, "replacement_char": 63}),
    ([b"\x00a\xd8=\xde\x00\x00b"], {"input_encoding": "UTF-16-BE"}),
    ([b"\x00\x00\x00a\x00\x01\xf6\x00"], {"input_encoding": "UTF-32-BE"}),
    ([b"a\xe9"], {"input_encoding": "ISO-8859-1"}),
    ([b"a\xff"], {"input_encoding": "UTF-8", "errors": "strict"}),
    ([b"a"], {"input_encoding": "UTF-8", "replacement_char": 0x110000}),
    ([b"a"], {"input_encoding": "none"}),
]
SAME_GRAPHS = """
t.string_split(["a b", "c"], ",")
t.strings.split(["a b", "c"])
t.strings.split("a b")
t.strings.regex_full_match(["a"], "b")
t.strings.regex_full_match(["a"], t.constant("b"))
t.strings.regex_replace(["a"], "b", "c")
t.strings.regex_replace(["a"], t.constant("b"), "c")
t.strings.format("{}", t.constant(1.0))
t.strings.unicode_transcode(["a"], "UTF-8", "UTF-16-BE")
t.strings.unsorted_segment_join(["a"], [0], 1)
t.edit_distance(S([[0, 0]], ["a"], [1, 1]), S([[0, 0]], ["b"], [1, 1]))
"""


def _lines(text: str) -> list[str]:
    return text.strip().split("\n")


def _build(t: Any, case: str) -> Any:
    def sparse(indices: Any, values: Any, shape: Any) -> Any:
        return t.SparseTensor(np.array(indices, np.int64), t.constant(values), np.array(shape, np.int64))

    words = sparse([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2])
    faulty = t.constant([b"a\xffb\xe2\x82", b"\xed\xa0\x80z", b"\xf0\x9f\x98\x80\x01\t"])
    controls = t.constant([b"a\x01\n\x1f\x7f", b"a\xffb\x01\n"])
    names = {"WORDS": words, "FAULTY": faulty, "CONTROLS": controls}
    return eval(case, {"t": t, "np": np, "S": sparse, **names})


def _flat(t: Any, made: Any) -> list[Any]:
    return [made.indices, made.values, made.dense_shape] if isinstance(made, t.SparseTensor) else [made]


def _outcome(t: Any, case: str) -> Any:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        made = _flat(t, _build(t, case))
        try:
            found = session.run(made)
        except t.errors.OpError as error:
            return type(error).__name__
        for tensor, value in zip(made, found, strict=True):
            assert tensor.shape.is_compatible_with(np.shape(value)), (tensor, value)
        return found


def _check(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(own, other)
        assert np.asarray(own).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("case", _lines(CASES))
def test_the_same_as_tensorflow(case: str) -> None:
    _check(_outcome(tf, case), _outcome(tensorflow, case))


@pytest.mark.parametrize("case", _lines(NOT_BUILT))
def test_what_is_not_built(case: str) -> None:
    for t in (tf, tensorflow):
        with t.Graph().as_default(), pytest.raises(ValueError, match=r"\w"):
            _build(t, case)


@pytest.mark.parametrize(("texts", "options"), DECODED)
@pytest.mark.parametrize("op_type", ["UnicodeDecode", "UnicodeDecodeWithOffsets"])
def test_code_points(op_type: str, texts: list[bytes], options: dict[str, Any]) -> None:
    def outcome(t: Any, make: Any) -> Any:
        with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
            try:
                return session.run(list(make()))
            except t.errors.OpError as error:
                return type(error).__name__

    ours = outcome(tf, lambda: apply_op(op_type, texts, **options))
    theirs = outcome(tensorflow, lambda: getattr(tensorflow.raw_ops, op_type)(input=texts, **options))
    _check(ours, theirs)


@pytest.mark.parametrize("case", _lines(SAME_GRAPHS))
def test_the_same_graph(case: str) -> None:
    def nodes(t: Any) -> Any:
        with t.Graph().as_default() as graph:
            _build(t, case)
            return [(n.name, n.op, list(n.input)) for n in graph.as_graph_def().node]

    assert nodes(tf) == nodes(tensorflow)
