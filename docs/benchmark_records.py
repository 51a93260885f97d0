"""How many Examples, SequenceExamples and records a second TensorFleet and TensorFlow read, by turns.

    python docs/benchmark_records.py [passes]

needs both installed. Each pass is a process of its own; a ratio over 1 means that TensorFleet is ahead.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, FEATURES, RECORDS = 256, 30, 50_000
PIPED = 40 * BATCH
MODULES = {"tensorflow": "tensorflow.compat.v1", "tensorfleet": "tensorfleet"}


def texts(rng: np.random.Generator, n: int, is_word: bool) -> list[bytes]:
    """Words, of which there are 1000 and few are frequent, or names of which there is one each."""
    if is_word:
        return [b"word_%d" % (number % 1000) for number in rng.zipf(1.3, n).tolist()]
    return [b"%012x" % number for number in rng.integers(0, 1 << 48, n).tolist()]


def example(tf: Any, rng: np.random.Generator, varies: bool) -> bytes:
    """Integers, floats and strings (words or names) by turns: 1 to 5 of each, or 4."""
    made = {}
    for i in range(FEATURES):
        n = int(rng.integers(1, 6)) if varies else 4
        if i % 3 == 0:
            value = tf.train.Feature(
                int64_list=tf.train.Int64List(value=rng.integers(0, 100_000, n).tolist())
            )
        elif i % 3 == 1:
            value = tf.train.Feature(float_list=tf.train.FloatList(value=rng.random(n).tolist()))
        else:
            value = tf.train.Feature(bytes_list=tf.train.BytesList(value=texts(rng, n, i % 2 == 0)))
        made[f"feature_{i:02}"] = value
    return bytes(tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString())


def features_of(tf: Any, varies: bool, kinds: tuple[int, ...]) -> dict[str, Any]:
    """The features to read: integers (0), floats (1), strings (2)."""
    types = (tf.int64, tf.float32, tf.string)
    return {
        f"feature_{i:02}": tf.VarLenFeature(types[i % 3]) if varies else tf.FixedLenFeature([4], types[i % 3])
        for i in range(FEATURES)
        if i % 3 in kinds
    }


def ops_of(found: dict[str, Any], varies: bool) -> list[Any]:
    return [(tensor.values if varies else tensor).op for tensor in found.values()]


def session_of(tf: Any) -> Any:
    """A session that runs what it is told to: TensorFlow's rewriter drops ops whose outputs nobody takes."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf.Session(config=config)


def rate(call: Callable[[], Any], count: int) -> float:
    """How many of `count` things a second, at best."""
    best = float("inf")
    for _ in range(15):
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return count / best


def parsed(tf: Any, varies: bool, kinds: tuple[int, ...]) -> float:
    """Examples a second: parse_example of a batch that is fed."""
    rng = np.random.default_rng(0)
    items = np.array([example(tf, rng, varies) for _ in range(BATCH)], object)
    with tf.Graph().as_default(), session_of(tf) as session:
        serialized = tf.placeholder(tf.string, [None])
        found = tf.parse_example(serialized, features_of(tf, varies, kinds))
        step = session.make_callable(tf.group(*ops_of(found, varies)), [serialized])
        return rate(lambda: step(items), BATCH)


def sequence(tf: Any, rng: np.random.Generator, steps: int) -> bytes:
    """A SequenceExample: in each step a number, eight floats and 0 to 4 numbers."""

    def integers(values: Any) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values.tolist()))

    def floats(values: Any) -> Any:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values.tolist()))

    lists = {
        "words": [integers(rng.integers(0, 12_000, 1)) for _ in range(steps)],
        "vectors": [floats(rng.random(8)) for _ in range(steps)],
        "tags": [integers(rng.integers(0, 100, rng.integers(0, 5))) for _ in range(steps)],
    }
    context = {"label": integers(rng.integers(0, 10, 1))}
    made = tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(
            feature_list={name: tf.train.FeatureList(feature=steps) for name, steps in lists.items()}
        ),
    )
    return bytes(made.SerializeToString())


def parsed_sequences(tf: Any, batched: bool) -> float:
    """SequenceExamples of 5 to 39 steps a second: a batch of them at once, or one by one."""
    rng = np.random.default_rng(0)
    items = np.array([sequence(tf, rng, int(n)) for n in rng.integers(5, 40, BATCH)], object)
    context = {"label": tf.FixedLenFeature([], tf.int64)}
    steps = {
        "words": tf.FixedLenSequenceFeature([], tf.int64),
        "vectors": tf.FixedLenSequenceFeature([8], tf.float32),
        "tags": tf.VarLenFeature(tf.int64),
    }
    with tf.Graph().as_default(), session_of(tf) as session:
        serialized = tf.placeholder(tf.string, [None] if batched else [])
        parse = tf.io.parse_sequence_example if batched else tf.io.parse_single_sequence_example
        found = parse(serialized, context, steps)
        ops = [found[0]["label"].op, found[1]["words"].op, found[1]["vectors"].op, found[1]["tags"].values.op]
        step = session.make_callable(tf.group(*ops), [serialized])
        if batched:
            return rate(lambda: step(items), BATCH)
        return rate(lambda: [step(item) for item in items], BATCH)


def piped(tf: Any, varies: bool) -> float:
    """Examples a second: from a file of records, in batches that a dataset parses."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/examples"
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(PIPED):
                writer.write(example(tf, rng, varies))
        with tf.Graph().as_default(), session_of(tf) as session:
            features = features_of(tf, varies, (0, 1, 2))
            records = tf.data.TFRecordDataset(path).batch(BATCH)
            batches = records.map(lambda batch: tf.parse_example(batch, features))
            iterator = tf.data.make_initializable_iterator(batches)
            step = session.make_callable(tf.group(*ops_of(iterator.get_next(), varies)))

            def whole() -> None:
                session.run(iterator.initializer)
                for _ in range(PIPED // BATCH):
                    step()

            return rate(whole, PIPED)


def read(tf: Any) -> float:
    """Records a second: a TFRecordDataset in batches of 500, of 200 bytes each on average."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/records"
        with tf.io.TFRecordWriter(path) as writer:
            for size in rng.integers(100, 300, RECORDS).tolist():
                writer.write(bytes(size))
        with tf.Graph().as_default(), session_of(tf) as session:
            batches = tf.data.TFRecordDataset(path).batch(500)
            iterator = tf.data.make_initializable_iterator(batches)
            step = session.make_callable(iterator.get_next().op)

            def whole() -> None:
                session.run(iterator.initializer)
                for _ in range(RECORDS // 500):
                    step()

            return rate(whole, RECORDS)


def measure(library: str) -> dict[str, float]:
    tf = importlib.import_module(MODULES[library])
    return {
        "records/parse_20_varying_numbers": parsed(tf, True, (0, 1)),
        "records/parse_10_varying_strings": parsed(tf, True, (2,)),
        "records/parse_30_varying": parsed(tf, True, (0, 1, 2)),
        "records/parse_20_fixed_numbers": parsed(tf, False, (0, 1)),
        "records/parse_10_fixed_strings": parsed(tf, False, (2,)),
        "records/parse_30_fixed": parsed(tf, False, (0, 1, 2)),
        "records/parse_sequences": parsed_sequences(tf, True),
        "records/parse_single_sequences": parsed_sequences(tf, False),
        "records/pipeline_30_varying": piped(tf, True),
        "records/pipeline_30_fixed": piped(tf, False),
        "records/read": read(tf),
    }


def main(passes: int) -> None:
    found: dict[str, list[dict[str, float]]] = {library: [] for library in MODULES}
    for _ in range(passes):
        for library, figures in found.items():
            command = [sys.executable, __file__, library]
            environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"}
            made = subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
            figures.append(json.loads(made.stdout.splitlines()[-1]))
    for name in found["tensorfleet"][0]:
        theirs, ours = ([figures[name] for figures in found[library]] for library in MODULES)
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        print(
            f"| {name} | k/s | {statistics.median(theirs) / 1e3:.4g} | {statistics.median(ours) / 1e3:.4g} | "
            f"{statistics.median(ratios):.2f} | {min(ratios):.2f}..{max(ratios):.2f} | {passes} | |"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in MODULES:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
