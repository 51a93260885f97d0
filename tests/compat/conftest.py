"""Both libraries in one process, and clusters of our servers for the tests beside TensorFlow."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# By oneDNN, which TensorFlow takes where the processor suits it, it says other sentences, and images of three
# dimensions end its process.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import tensorfleet.ops
from tests.compat.cluster import Cluster, running

# Every family registers its ops at import; a program only imports what it uses.
for _module in pkgutil.walk_packages(tensorfleet.ops.__path__, "tensorfleet.ops."):
    importlib.import_module(_module.name)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two tasks of the job "local"."""
    with running({"local": 2}, tmp_path_factory.mktemp("local")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One ps and two workers."""
    with running({"ps": 1, "worker": 2}, tmp_path_factory.mktemp("fleet")) as cluster:
        yield cluster
