"""The tests that docs/reliability.md names exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.test_readme import ROOT

PAGE = (ROOT / "docs" / "reliability.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:tests|helm)/[\w./-]+\.(?:py|yaml)::[^`]+)`", PAGE)))


def test_every_row_names_a_test() -> None:
    """A row of a table whose head has a column for it."""
    column = None
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            column = None
        elif "test" in cells:
            column = cells.index("test")
        elif column is not None and not line.startswith("|---"):
            assert "::" in cells[column], line
    assert len(NAMED) > 100


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|helm)/[\w./-]+\.(?:py|yaml))", PAGE))))
def test_named_tests_exist(path: str) -> None:
    text = (ROOT / path).read_text()
    names = [name.partition("::")[2] for name in NAMED if name.partition("::")[0] == path]
    if path.endswith(".yaml"):
        for name in names:
            assert f"it: {name}\n" in text, name
        return
    functions = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    for name in names:
        function, _, parameter = name.rstrip("]").partition("[")
        assert function in functions, name
        if parameter:  # a program of the folder beside the test
            programs = (ROOT / path).parent / "meaning"
            assert any(f"def {parameter}(" in file.read_text() for file in programs.glob("*.py")), name
