"""`tf.test.Benchmark`: how long steps take, and `tf.test.main`, which runs tests or benchmarks."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import logging
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.operation import Operation
from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig
from tensorfleet.session.timeline import Timeline

_classes: list[type[Benchmark]] = []


class Benchmark:
    """A set of benchmarks (`tf.test.Benchmark`): its methods named benchmark….

    `tf.test.main` runs those whose names match `--benchmarks=REGEX`, as `Class.method`. Each reports itself.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether it has no benchmarks of its own."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in the default session.

        Raises:
            ValueError: there is no default session.
        """
        session = get_default_session()
        if session is None:
            raise ValueError("evaluate() needs a default session: call it in a `with tf.Session()` block")
        return session.run(tensors)

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: dict[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs an op many times, and reports the median of the steps' times.

        Args:
            sess: the session.
            op_or_tensor: what is run; the values of tensors are not fetched.
            feed_dict: what is fed.
            burn_iters: steps before those that are measured.
            min_iters: measured steps.
            store_trace: add the trace of one more step, as Chrome's, to what is reported.
            store_memory_usage: ignored: there is no account of it for a step.
            name: of the benchmark, by default the class's and the method's.
            extras: more to report.
            mbs: the megabytes that a step moves, for the throughput.

        Returns:
            What was reported: `iters`, `wall_time` in seconds, `throughput` in MB/s, `extras`, `name`.
        """
        target = op_or_tensor if isinstance(op_or_tensor, Operation) else op_or_tensor.op
        for _ in range(burn_iters):
            sess.run(target, feed_dict)
        times = []
        for _ in range(max(min_iters, 1)):
            begin = time.perf_counter()
            sess.run(target, feed_dict)
            times.append(time.perf_counter() - begin)
        extras = dict(extras or {})
        if store_trace:
            metadata = RunMetadata()
            sess.run(target, feed_dict, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
            extras["full_trace_chrome_format"] = Timeline(metadata.step_stats).generate_chrome_trace_format()
        median = float(np.median(times))
        extras["wall_time_mean"] = float(np.mean(times))
        extras["wall_time_stdev"] = float(np.std(times))
        reported: dict[str, Any] = {
            "iters": len(times),
            "wall_time": median,
            "throughput": mbs / median if median else 0.0,
            "extras": extras,
            "name": name or self._get_name(),
        }
        self.report_benchmark(**reported)
        return reported

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        """Prints a line of what was measured.

        With the environment variable TEST_REPORT_FILE_PREFIX, it goes to a file as well: that prefix and the
        benchmark's name, as a JSON object.

        Args:
            iters: the number of steps.
            cpu_time, wall_time: seconds.
            throughput: MB/s.
            extras: more, by name.
            name: of the benchmark, by default the class's and the method's.
            metrics: dictionaries with `name` and `value`, and maybe `min_value` and `max_value`.

        Raises:
            ValueError: a metric lacks its name or value.
        """
        for metric in metrics or ():
            if not {"name", "value"} <= metric.keys():
                raise ValueError(f"A metric has a name and a value; got {metric}")
        name = name or self._get_name()
        said = {
            "name": name,
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": extras,
            "metrics": list(metrics) if metrics else None,
        }
        said = {key: value for key, value in said.items() if value is not None}
        shown = {key: value for key, value in said.items() if key not in ("name", "extras")}
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in shown.items()))
        prefix = os.environ.get("TEST_REPORT_FILE_PREFIX")
        if prefix:
            with open(prefix + name.replace("/", "__"), "w", encoding="utf-8") as file:
                json.dump(said, file, default=str)

    def _get_name(self) -> str:
        """The class and the method that reports."""
        for frame in inspect.stack():
            if frame.function.startswith("benchmark") and frame.frame.f_locals.get("self") is self:
                return f"{type(self).__name__}.{frame.function}"
        raise ValueError("A benchmark has no name: report it from a method named benchmark…, or give `name`")


def _chosen(pattern: str) -> Iterator[tuple[type[Benchmark], str]]:
    regex = re.compile(pattern if pattern != "all" else ".*")
    for cls in _classes:
        for method in sorted(name for name in dir(cls) if name.startswith("benchmark")):
            if regex.search(f"{cls.__name__}.{method}"):
                yield cls, method


def run_benchmarks(pattern: str) -> int:
    """Runs the benchmarks whose names a pattern is found in ("all" for all); their number."""
    chosen = list(_chosen(pattern))
    for cls, method in chosen:
        getattr(cls(), method)()
    return len(chosen)


def benchmark_config() -> ConfigProto:
    """A configuration for benchmarks: without optimizations that drop work (`tf.test.benchmark_config`)."""
    config = ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = RewriterConfig.OFF
    return config


def main(argv: Sequence[str] | None = None) -> Any:
    """Runs the tests of the program, and exits (`tf.test.main`).

    With `--benchmarks=REGEX` it runs the benchmarks whose names match instead ("all" for all).

    Args:
        argv: the program's name and its arguments, by default those of the command line.
    """
    from absl.testing import absltest

    arguments = list(sys.argv if argv is None else argv)
    for argument in arguments[1:]:
        option, _, pattern = argument.lstrip("-").partition("=")
        if option in ("benchmarks", "benchmark_filter") and argument.startswith("-"):
            number = run_benchmarks(pattern or "all")
            logging.info("%d benchmarks were run.", number)
            sys.exit(0 if number else 1)
    return absltest.main(argv=arguments)
