"""Device names: parsing, merging, matching, and the spec that programs use."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from tensorfleet.core.device import DeviceSpec, ParsedDevice, parse

# `tensorfleet.device` the attribute is `tf.device`.
device = importlib.import_module("tensorfleet.core.device")

numbers = st.none() | st.integers(0, 9)
names = st.none() | st.sampled_from(["worker", "ps"])


@st.composite
def devices(draw: st.DrawFn) -> ParsedDevice:
    kind = draw(st.none() | st.sampled_from(["CPU", "GPU"]))
    return ParsedDevice(draw(names), draw(numbers), draw(numbers), kind, draw(numbers) if kind else None)


@given(devices())
def test_names_are_parsed_back(parsed: ParsedDevice) -> None:
    assert parse(str(parsed)) == parsed
    assert DeviceSpec.from_string(str(parsed)).to_string() == str(parsed)


@given(devices(), devices())
def test_merging_lets_the_second_win_and_fills_the_rest(a: ParsedDevice, b: ParsedDevice) -> None:
    merged = a.merge(b)
    assert b.matches(merged)
    assert merged.merge(b) == merged
    for part in ("job", "replica", "task", "type", "index"):
        wanted = getattr(b, part)
        assert getattr(merged, part) == (getattr(a, part) if wanted is None else wanted)


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("/cpu:0", "/device:CPU:0"),
        ("cpu:0", "/device:CPU:0"),
        ("/gpu:1", "/device:GPU:1"),
        ("gpu", "/device:GPU:*"),
        ("/GPU:*", "/device:GPU:*"),
        ("/device:gpu:2", "/device:GPU:2"),
        ("/device:XLA_GPU:0", "/device:XLA_GPU:0"),
        ("/job:ps", "/job:ps"),
        ("job:a/task:1", "/job:a/task:1"),
        ("/task:1/job:a", "/job:a/task:1"),
        ("/job:a/replica:0/task:2/device:GPU:3", "/job:a/replica:0/task:2/device:GPU:3"),
        ("", ""),
        (None, ""),
    ],
)
def test_all_forms_lead_to_the_full_one(spec: str | None, canonical: str) -> None:
    assert str(parse(spec)) == device.canonical_name(spec) == canonical


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "/jobb:worker",
            "Unknown attribute 'jobb' is encountered while parsing the device spec: '/jobb:worker'.",
        ),
        (
            "/device:GPU",
            "Unknown attribute 'device' is encountered while parsing the device spec: '/device:GPU'.",
        ),
        (
            "/gpu:0/cpu:1",
            "Multiple device types are not allowed while parsing the device spec: /gpu:0/cpu:1.",
        ),
        ("/task:a", "invalid literal for int() with base 10: 'a'"),
    ],
)
def test_bad_names(spec: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        parse(spec)
    assert str(caught.value) == message


def test_partial_names_match_full_ones() -> None:
    full = parse("/job:worker/replica:0/task:1/device:GPU:0")
    for partial in ("", "/job:worker", "/gpu:*", "/task:1/device:GPU:0", str(full)):
        assert parse(partial).matches(full)
    for other in ("/job:ps", "/task:0", "/cpu:0", "/gpu:1", "/replica:1"):
        assert not parse(other).matches(full)


def test_specs_change_in_place() -> None:
    spec = DeviceSpec(job="ps", device_type="gpu")
    spec.task, spec.replica, spec.device_index = 1, "0", 2  # type: ignore[assignment]
    assert spec.to_string() == "/job:ps/replica:0/task:1/device:GPU:2"
    spec.merge_from(DeviceSpec(job="worker", device_type="CPU"))
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("worker", 1, "CPU", 2)
    assert spec.parse_from_string("/task:3") is spec
    assert spec == DeviceSpec(task=3)
    spec.job, spec.device_type = "a", "cpu"
    assert spec.to_string() == "/job:a/task:3/device:CPU:*"


def test_specs_make_new_ones() -> None:
    spec = DeviceSpec(job="ps", task=1)
    merged = spec.make_merged_spec(DeviceSpec(task=2, device_type="CPU", device_index=0))
    assert merged.to_string() == "/job:ps/task:2/device:CPU:0"
    assert spec.replace(job=None, device_type="GPU").to_string() == "/task:1/device:GPU:*"
    assert spec.to_string() == "/job:ps/task:1"
    assert len({spec, DeviceSpec(job="ps", task=1)}) == 1
    assert repr(spec) == "<DeviceSpec(job=ps, replica=None, task=1, device_type=None, device_index=None)>"


def test_inner_scopes_win() -> None:
    spec = DeviceSpec(job="ps", device_type="CPU", device_index=0)
    outer = device.merge_device(spec)
    spec.job = "changed later"
    op = SimpleNamespace(device="/task:1/device:GPU:0")
    assert outer.shortcut_string_merge(op) == outer(op).to_string() == "/job:ps/task:1/device:GPU:0"
    assert device.merge_device(outer) is outer
    assert device.merge_device("").is_null_merge
    assert not outer.is_null_merge
    with pytest.raises(ValueError, match="Unknown attribute"):
        device.merge_device("/nonsense:0")
