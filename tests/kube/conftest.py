"""A fake API server, which the kubeconfig of the test leads to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.fake_api import FakeApi, serving


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with serving(tmp_path) as (fake, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield fake
