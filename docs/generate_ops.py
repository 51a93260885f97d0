"""Writes docs/ops.md, the list of the op types that TensorFleet has.

python docs/generate_ops.py            writes the page
python docs/generate_ops.py --check    exits with 1 if the page is not what this would write
"""

from __future__ import annotations

import sys
from pathlib import Path

import tensorfleet  # noqa: F401  registers the ops
import tensorfleet_service.kernels  # noqa: F401  registers the kernels
from tensorfleet.graph import op_def
from tensorfleet.graph.op_def import Arg, OpDef
from tensorfleet_service.kernels import registry

PAGE = Path(__file__).parent / "ops.md"
MISSING = Path(__file__).parent / "missing_ops.txt"

HEAD = """# Ops

The op types that TensorFleet has: {count} with a kernel. Names, arguments and attributes are TensorFlow's;
an op type that is not here is answered with `NotFoundError`, one without a kernel with `UnimplementedError`.
Made by `python docs/generate_ops.py`.

| op type | inputs | outputs | |
|---|---|---|---|
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/ops.md is not current: run python docs/generate_ops.py")
        return 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    rows = []
    for name in op_def.registered():
        if name.startswith("_"):
            continue
        opdef = op_def.lookup(name)
        assert opdef is not None
        rows.append(f"| {name} | {arguments(opdef.inputs)} | {arguments(opdef.outputs)} | {remarks(opdef)} |")
    count = sum(registry.has_kernel(name) for name in op_def.registered() if not name.startswith("_"))
    return HEAD.format(count=count) + "\n".join(rows) + "\n" + missing()


MISSING_HEAD = """
## Op types that are missing

What else TensorFlow has registered, and why it is not here; `*` stands for the rest of a name. Made from
[missing_ops.txt](missing_ops.txt), which tests/compat compares with TensorFlow.

| why | op types |
|---|---|
"""


def missing() -> str:
    rows: list[str] = []
    for part in MISSING.read_text().split("\n## ")[1:]:
        reason, *lines = part.strip().splitlines()
        names = ", ".join(f"`{name}`" for name in " ".join(lines).split())
        rows.append(f"| {reason} | {names} |\n")
    return MISSING_HEAD + "".join(rows)


def arguments(args: tuple[Arg, ...]) -> str:
    return ", ".join(f"{arg.name}: {argument_type(arg)}" for arg in args)


def argument_type(arg: Arg) -> str:
    if arg.type_list_attr:
        text = f"list({arg.type_list_attr})"
    else:
        text = arg.type_attr or (arg.dtype.name if arg.dtype is not None else "")
        if arg.number_attr:
            text = f"{arg.number_attr} * {text}"
    return f"Ref({text})" if arg.is_ref else text


def remarks(opdef: OpDef) -> str:
    found = ["stateful"] if opdef.is_stateful else []
    if not registry.has_kernel(opdef.name) and opdef.name not in BY_EXECUTOR:
        found.append("no kernel yet")
    return ", ".join(found)


# Op types that the executor itself carries out.
BY_EXECUTOR = frozenset(
    {
        *("Const", "NoOp", "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit"),
        *("RefExit", "NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger"),
    }
)


if __name__ == "__main__":
    sys.exit(main())
