"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-missing",
        action="store_true",
        help="write tests/compat/missing_names.txt anew: the names of TensorFlow that are lacking",
    )
