"""Options of the whole suite, and what every test starts from."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import hypothesis
import pytest

import tensorfleet as tf

# A shell's background jobs ignore Ctrl-C, and so would all processes that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of a test: what takes long to make up there is taken.
hypothesis.settings.register_profile(
    "tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--gpu",
        action="store_true",
        help="run tests/gpu on this machine's GPUs, with CuPy, not on a stand-in",
    )
    parser.addoption(
        "--update-missing",
        action="store_true",
        help="write missing_names.txt and missing_methods.txt anew: what is lacking of TensorFlow",
    )


@pytest.fixture(autouse=True)
def default_graph() -> Iterator[None]:
    """Gives each test a default graph of its own: another test may have finalized the global one."""
    with tf.Graph().as_default():
        yield
