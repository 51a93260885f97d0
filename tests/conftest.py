"""Options of the whole suite."""

from __future__ import annotations

import signal

import pytest

# A shell's background jobs ignore Ctrl-C, and so would all processes that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-missing",
        action="store_true",
        help="write tests/compat/missing_names.txt anew: the names of TensorFlow that are lacking",
    )
