"""Estimators that begin with what others have learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tests.client.estimator import models


def make(folder: Path, **options: Any) -> Any:
    return tf.estimator.Estimator(models.linear, str(folder), params={"rate": 0.0}, **options)


@pytest.mark.parametrize("source", ["directory", "checkpoint", "settings", "saved model"])
def test_estimators_begin_with_what_others_have_learned(source: str, tmp_path: Path) -> None:
    old = tf.estimator.Estimator(models.linear, str(tmp_path / "old")).train(models.train_fn, steps=5)
    given: Any = {
        "directory": lambda: old.model_dir,
        "checkpoint": old.latest_checkpoint,
        "settings": lambda: tf.estimator.WarmStartSettings(old.model_dir, vars_to_warm_start=".*w"),
        "saved model": lambda: old.export_saved_model(str(tmp_path / "e"), models.serving_fn),
    }[source]()
    new = make(tmp_path / "new", warm_start_from=given).train(models.train_fn, steps=2)
    assert new.get_variable_value("line/w") == old.get_variable_value("line/w")
    learned = 0.0 if source == "settings" else old.get_variable_value("line/b")
    assert new.get_variable_value("line/b") == learned
    assert new.get_variable_value("global_step") == 2


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="MUST be set"):
        tf.estimator.WarmStartSettings("")
    with pytest.raises(ValueError, match="must be a string or a WarmStartSettings"):
        make(tmp_path, warm_start_from=3)
