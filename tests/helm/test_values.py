"""The chart's values: described, in the schema, tested; and no others."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML: `./run test` installs it")

HELM = Path(__file__).parents[2] / "helm"
VALUES = yaml.safe_load((HELM / "tensorfleet" / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((HELM / "tensorfleet" / "values.schema.json").read_text(encoding="utf-8"))
ROLES = ("ps", "worker", "chief", "evaluator", "client", "check")
# What a role has in the schema beside its own values, which are those of `defaults`.
TASK = set(VALUES["defaults"])
CLIENT = set(list(VALUES["defaults"])[: list(VALUES["defaults"]).index("drainSeconds")]) | {"image"}


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_readme", HELM / "generate_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


READMES = generator()
LEAVES = READMES.leaves(VALUES)


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the definition that it refers to."""
    name = schema.get("$ref", "").removeprefix("#/definitions/")
    found: dict[str, Any] = SCHEMA["definitions"][name] if name else schema
    return found


def schema_at(path: str) -> dict[str, Any]:
    """The schema of a value; KeyError if it has none."""
    schema: dict[str, Any] = SCHEMA
    for key in path.split("."):
        schema = resolve(schema["properties"][key])
    return schema


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas of objects below a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_readme_has_every_value_as_it_is() -> None:
    page = (HELM / "tensorfleet" / "README.md").read_text(encoding="utf-8")
    assert READMES.readme(page) == page, "run python helm/generate_readme.py"
    assert page.count("\n| `") == len(LEAVES)


@pytest.mark.parametrize("path", [path for path, _ in LEAVES])
def test_schema_has_the_value(path: str) -> None:
    schema_at(path)


def test_schema_has_no_others() -> None:
    def compare(values: dict[str, Any], schema: dict[str, Any], path: str) -> None:
        known = set(schema["properties"])
        extra = TASK - {"gpu"} if path == "ps" else CLIENT if path in ("client", "check") else TASK
        assert known - set(values) == (extra - set(values) if path in ROLES else set()), path
        for key, value in values.items():
            part = resolve(schema["properties"][key])
            below = f"{path}.{key}".lstrip(".")
            # `ps.persistence` and the like hold only what differs from `defaults` or from `image`.
            partial = below == "defaults.image" or (path in ROLES and key in TASK)
            if isinstance(value, dict) and "properties" in part and not partial:
                compare(value, part, below)

    compare(VALUES, SCHEMA, "")


def test_a_pool_takes_what_a_role_takes() -> None:
    own = {"name", "jobName", "replicas", "slots"}
    assert set(SCHEMA["definitions"]["pool"]["properties"]) == own | TASK


def test_objects_are_closed() -> None:
    """But for `global`, which other charts share, and for what Kubernetes defines."""
    open_objects = [schema for schema in objects(SCHEMA) if schema.get("additionalProperties", True) is True]
    assert all("$comment" in schema or schema == {"type": "object"} for schema in open_objects)
    assert len([schema for schema in open_objects if "properties" in schema]) == 1


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"wroker": {"replicas": 3}}, "wroker"),
        ({"worker": {"replica": 3}}, "replica"),
        ({"workerPools": [{"name": "a", "replicas": 1, "gpus": 1}]}, "gpus"),
        ({"workerPools": [{"replicas": 1}]}, "name"),
        ({"worker": {"replicas": "three"}}, "replicas"),
        ({"worker": {"replicas": -1}}, "replicas"),
        ({"ps": {"gpu": {"enabled": True}}}, "gpu"),
        ({"client": {"drainSeconds": 1}}, "drainSeconds"),
        ({"log": {"format": "xml"}}, "format"),
        ({"image": {"digest": "sha256:12"}}, "digest"),
        ({"ps": {"persistence": {"retentionPolicy": {"whenDeleted": "Recycle"}}}}, "whenDeleted"),
        ({"commonLabels": {"a": 1}}, "commonLabels"),
    ],
)
def test_schema_refuses(
    template: Callable[..., subprocess.CompletedProcess[str]], values: dict[str, Any], named: str
) -> None:
    done = template(values)
    assert done.returncode != 0
    assert "schema" in done.stderr
    assert named in done.stderr


@pytest.mark.parametrize("path", ["worker", "defaults.readinessProbe", "metrics.podMonitor", "image"])
def test_null_in_place_of_a_map_is_a_sentence(
    template: Callable[..., subprocess.CompletedProcess[str]], path: str
) -> None:
    values: Any = None
    for key in reversed(path.split(".")):
        values = {key: values}
    done = template(values)
    assert done.returncode != 0
    assert f"{path} is null or no map, and the chart needs it" in done.stderr


def nothing() -> dict[str, Any]:
    """The chart's value for null, by path; null where it needs a value."""
    helper = (HELM / "tensorfleet" / "templates" / "_prepare.tpl").read_text("utf-8")
    text = helper.partition('"tensorfleet.nothing" -}}')[2].partition("{{- end")[0]
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def with_null(values: dict[str, Any], path: str) -> dict[str, Any]:
    *above, key = path.split(".")
    place = values
    for name in above:
        place = place.setdefault(name, {})
    place[key] = None
    return values


@pytest.mark.parametrize("path", [path for path, value in nothing().items() if value is None])
def test_null_is_refused_where_a_value_is_needed(
    template: Callable[..., subprocess.CompletedProcess[str]], path: str
) -> None:
    done = template(with_null({}, path))
    assert done.returncode != 0
    assert f"{path} is null, and the chart needs a value" in done.stderr


def test_null_is_nothing_elsewhere(template: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    values: dict[str, Any] = {
        "client": {"deployment": {"enabled": True}, "job": {"enabled": True, "script": "1"}}
    }
    for path, value in nothing().items():
        if value is not None:
            with_null(values, path)
    done = template(values)
    assert done.returncode == 0, done.stderr
    assert not re.search(r": null$|<nil>|<no value>|%!", done.stdout, re.M)


def test_null_is_refused_for_every_map_that_templates_look_into() -> None:
    def maps(values: dict[str, Any], prefix: str) -> Iterator[str]:
        for key, value in values.items():
            path = f"{prefix}{key}"
            # A role's own maps only say what differs from `defaults`.
            differs = key in TASK and any(path.startswith(f"{role}.") for role in ROLES)
            if isinstance(value, dict) and "properties" in schema_at(path) and not differs:
                yield path
                yield from maps(value, f"{path}.")

    helper = (HELM / "tensorfleet" / "templates" / "_prepare.tpl").read_text("utf-8")
    text = helper.partition('"tensorfleet.maps" -}}')[2].partition("{{- end")[0]
    assert set(yaml.safe_load(text)) == set(maps(VALUES, ""))


def test_every_template_prepares_the_values() -> None:
    """Any of them may be the first that Helm renders."""
    for file in (HELM / "tensorfleet" / "templates").rglob("*"):
        if file.suffix in (".yaml", ".txt"):
            assert file.read_text("utf-8").startswith('{{- include "tensorfleet.prepare" . -}}\n'), file


def test_global_values_of_a_parent_chart_are_let_through(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert template({"global": {"storageClass": "fast"}}).returncode == 0


def set_paths() -> set[str]:
    """The path of every value that a unit test sets."""
    found = set()

    def walk(prefix: str, value: Any) -> None:
        found.add(prefix)
        if isinstance(value, dict):
            for key, part in value.items():
                walk(f"{prefix}.{key}", part)

    for file in (HELM / "tensorfleet" / "tests").glob("*_test.yaml"):
        suite = yaml.safe_load(file.read_text(encoding="utf-8"))
        for test in suite["tests"]:
            for path, value in test.get("set", {}).items():
                walk(path, value)
    return found


def test_a_unit_test_sets_every_value() -> None:
    paths = set_paths()
    missing = [
        path for path, _ in LEAVES if path not in paths and not any(p.startswith(path + ".") for p in paths)
    ]
    assert not missing


PAGES = [HELM / "tensorfleet" / "README.md", HELM.parent / "docs" / "kubernetes.md"]
EXAMPLES = [b for p in PAGES for b in re.findall(r"^```yaml\n(.*?)^```$", p.read_text("utf-8"), re.M | re.S)]


@pytest.mark.parametrize("text", EXAMPLES)
def test_values_in_the_pages_are_right(
    template: Callable[..., subprocess.CompletedProcess[str]], text: str
) -> None:
    done = template(yaml.safe_load(text))
    assert done.returncode == 0, done.stderr


def test_values_in_commands_of_the_pages_exist() -> None:
    paths = {path for path, _ in LEAVES}
    for page in PAGES:
        text = page.read_text("utf-8")
        assert set(re.findall(r"--set(?:-file|-string)? ([\w.]+)=", text)) <= paths


def test_units(helm_unittest: str, chart: Path) -> None:
    done = subprocess.run([helm_unittest, str(chart)], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_lint(request: pytest.FixtureRequest, chart: Path, program: str) -> None:
    done = subprocess.run(
        [request.getfixturevalue(program), "lint", "--strict", str(chart)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
