"""tf.keras.applications: layers and weights of the networks, images, and files of weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

applications = tf.keras.applications

ODD = {"input_shape": (101, 85, 3), "classes": 7}
WITHOUT_TOP = {"include_top": False, "pooling": "max", "input_shape": (96, 96, 3)}
SMALL = {"input_shape": (96, 96, 3), "classes": 7}

# Of TensorFlow 1.15.5: the model's name, the number of its layers and of its weights' elements, and the
# beginning of the SHA-256 of what `digest` makes.
EXPECTED: list[tuple[str, dict[str, Any], tuple[str, int, int, str]]] = [
    ("DenseNet121", ODD, ("densenet121", 429, 7044679, "ef833ceab0f2f279")),
    ("InceptionResNetV2", ODD, ("inception_resnet_v2", 782, 54347495, "6c46dcf1b4a415a6")),
    ("InceptionV3", ODD, ("inception_v3", 313, 21817127, "a737f72e4735f08b")),
    ("MobileNet", ODD, ("mobilenet_1.00_101", 93, 3236039, "c95a7fbddfe3807d")),
    ("MobileNetV2", ODD, ("mobilenetv2_1.00_101", 157, 2266951, "2110ff86dfc2043e")),
    ("ResNet50", WITHOUT_TOP, ("resnet50", 176, 23587712, "bcaef23b977e7975")),
    ("ResNet50V2", ODD, ("resnet50v2", 192, 23579143, "cbf2e7fd9f5f9941")),
    ("VGG16", {}, ("vgg16", 23, 138357544, "f64871526058c5f6")),
    ("Xception", ODD, ("xception", 134, 20875823, "133d44755bff7a84")),
]


def digest(model: Any) -> str:
    """The names of the layers, their kinds, the shapes of their weights and outputs, hashed."""
    described = [
        [
            layer.name,
            type(layer).__name__,
            [weight.shape.as_list() for weight in layer.weights],
            list(layer.output_shape[0] if isinstance(layer.output_shape, list) else layer.output_shape),
        ]
        for layer in model.layers
    ]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: f"{case[0]}")
def test_layers_and_weights_are_those_of_tensorflow(case: Any) -> None:
    kind, settings, expected = case
    model = getattr(applications, kind)(weights=None, **settings)
    assert (model.name, len(model.layers), model.count_params(), digest(model)) == expected


def mobile(**settings: Any) -> Any:
    return applications.MobileNet(alpha=0.25, input_shape=(32, 32, 3), classes=5, **settings)


def test_a_network_trains_and_reads_a_file_of_weights(tmp_path: Path) -> None:
    generator = np.random.RandomState(0)
    images = generator.uniform(-1, 1, (8, 32, 32, 3)).astype("float32")
    model = mobile(weights=None)
    model.compile("adam", "sparse_categorical_crossentropy")
    before = model.get_weights()
    model.train_on_batch(images, np.arange(8) % 5)
    assert any((old != new).any() for old, new in zip(before, model.get_weights(), strict=True))
    path = tmp_path / "weights.h5"
    model.save_weights(str(path))
    again = mobile(weights=str(path))
    np.testing.assert_allclose(again.predict(images), model.predict(images), rtol=1e-4, atol=1e-6)


def test_weights_of_imagenet_come_from_a_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    settings: dict[str, Any] = {"alpha": 0.25, "input_shape": (128, 128, 3), "include_top": False}
    with pytest.raises(
        FileNotFoundError, match=r"mobilenet_2_5_128_tf_no_top.h5: TensorFleet downloads nothing"
    ):
        applications.MobileNet(**settings)
    (tmp_path / "models").mkdir()
    model = applications.MobileNet(weights=None, **settings)
    model.save_weights(str(tmp_path / "models" / "mobilenet_2_5_128_tf_no_top.h5"))
    read = applications.MobileNet(**settings)
    for mine, theirs in zip(read.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_network_on_a_tensor_of_other_layers() -> None:
    given = tf.keras.Input((64, 64, 1))
    colours = tf.keras.layers.Concatenate()([given, given, given])
    model = applications.VGG16(weights=None, include_top=False, input_tensor=colours, pooling="avg")
    assert model.inputs == [given]
    assert tf.keras.utils.get_source_inputs(model.output) == [given]
    assert model.output_shape == (None, 512)
    two = [tf.keras.Input((3,)), tf.keras.Input((3,))]
    total = tf.keras.layers.Add()([tf.keras.layers.Dense(3)(two[0]), two[1], two[0]])
    assert tf.keras.utils.get_source_inputs(total) == two


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": "no file"}, "a file of weights that exists"),
        ({"weights": "imagenet", "classes": 7}, "`classes` must be 1000"),
        ({"weights": None, "input_shape": (31, 40, 3)}, "at least 32x32"),
        ({"weights": None, "input_shape": (None, 40, 3)}, "static `input_shape`"),
        ({"weights": None, "input_shape": (40, 40)}, "tuple of three"),
        ({"weights": "imagenet", "input_shape": (40, 40, 3)}, r"should be \(224, 224, 3\)"),
        ({"weights": "imagenet", "input_shape": (40, 40, 1), "include_top": False}, "must have 3 channels"),
    ],
)
def test_settings_that_do_not_go_together(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        applications.VGG16(**settings)


@pytest.mark.parametrize(
    ("module", "expected"),
    # Of TensorFlow 1.15.5 for red 10, green 100, blue 250.
    [
        ("vgg16", [250 - 103.939, 100 - 116.779, 10 - 123.68]),
        ("mobilenet", [10 / 127.5 - 1, 100 / 127.5 - 1, 250 / 127.5 - 1]),
        (
            "densenet",
            [(10 / 255 - 0.485) / 0.229, (100 / 255 - 0.456) / 0.224, (250 / 255 - 0.406) / 0.225],
        ),
    ],
)
def test_images_are_prepared(module: str, expected: list[float]) -> None:
    prepare = getattr(applications, module).preprocess_input
    pixels = np.full((2, 4, 5, 3), [10, 100, 250], np.uint8)
    first = np.moveaxis(pixels, -1, 1)
    wide = np.broadcast_to(expected, pixels.shape)
    np.testing.assert_allclose(prepare(pixels), wide, rtol=1e-5)
    np.testing.assert_allclose(prepare(pixels[0]), wide[0], rtol=1e-5)
    np.testing.assert_allclose(
        prepare(first, data_format="channels_first"), np.moveaxis(wide, -1, 1), rtol=1e-5
    )
    with tf.Session() as session:
        tensors = [
            prepare(tf.constant(pixels, tf.float32)),
            tf.transpose(prepare(tf.constant(first, tf.float32), data_format="channels_first"), [0, 2, 3, 1]),
        ]
        for found in session.run(tensors):
            np.testing.assert_allclose(found, wide, rtol=1e-4)
    floats = pixels.astype(np.float32)
    if module != "vgg16":  # which returns a view in the other order
        assert prepare(floats) is floats
    with pytest.raises(ValueError, match="Unknown data_format"):
        prepare(pixels, data_format="rows_first")


def test_classes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    scores = np.zeros((2, 1000), np.float32)
    scores[0, [3, 7]], scores[1, 999] = [0.25, 0.75], 1
    with pytest.raises(FileNotFoundError, match=r"imagenet_class_index\.json"):
        applications.vgg16.decode_predictions(scores)
    with pytest.raises(ValueError, match="samples, 1000"):
        applications.imagenet_utils.decode_predictions(scores[:, 1:])
    names = {str(i): [f"n{i:08}", f"kind {i}"] for i in range(1000)}
    (tmp_path / "models").mkdir()
    path = tmp_path / "models" / "imagenet_class_index.json"
    path.write_text(json.dumps(names))
    # ImageNet's own names are not in this repository: the file is another one, and is told so.
    with pytest.raises(ValueError, match="not c2c37ea517e94d9795004a39431a14cb"):
        applications.imagenet_utils.decode_predictions(scores)
    monkeypatch.setattr(
        "tensorfleet.keras.networks.imagenet.CLASS_INDEX_HASH", hashlib.md5(path.read_bytes()).hexdigest()
    )
    first, second = applications.imagenet_utils.decode_predictions(scores, top=2)
    assert first == [("n00000007", "kind 7", 0.75), ("n00000003", "kind 3", 0.25)]
    assert second[0] == ("n00000999", "kind 999", 1.0)
