"""`slim.nets.inception`: the tables of the Inceptions' layers.

A line is a layer, or a mixed one: its name and, after bars, the layers of its branches, whose outputs are
joined. A layer is `channels:scope:kernel`, with `max` or `avg` for pooling; of scopes the beginning
(`Conv2d_`, `MaxPool_`, `AvgPool_`) and the end (the kernel) are left out. `/2` is a stride, `v` and `s` are
the paddings VALID and SAME, `a&b` two layers with the same input, whose outputs are joined.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class LayerSpec(NamedTuple):
    """A convolution, or a pooling layer.

    Attributes:
        channels: None for a pooling layer.
        kind: "Conv2d", "MaxPool" or "AvgPool".
        padding: None for that of the network.
    """

    channels: int | None
    kind: str
    scope: str
    kernel: tuple[int, int]
    stride: int
    padding: str | None


class MixedSpec(NamedTuple):
    """A mixed layer: branches of steps, each of one layer, or of several with the same input."""

    scope: str
    branches: list[list[list[LayerSpec]]]


_LAYER = re.compile(r"(\w+):(\w+):(\d)x(\d)(?:/(\d))?([vs]?)")
_KINDS = {"max": "MaxPool", "avg": "AvgPool"}


def layer_of(text: str) -> LayerSpec:
    """A layer from its text."""
    found = _LAYER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no layer")
    depth, tag, rows, columns, stride, padding = found.groups()
    kind = _KINDS.get(depth, "Conv2d")
    scope = tag if "_" in tag else f"{kind}_{tag}_{rows}x{columns}"
    return LayerSpec(
        int(depth) if kind == "Conv2d" else None,
        kind,
        scope,
        (int(rows), int(columns)),
        int(stride or 1),
        {"v": "VALID", "s": "SAME", "": None}[padding],
    )


def read(table: str) -> list[LayerSpec | MixedSpec]:
    """The layers of a table."""
    specs: list[LayerSpec | MixedSpec] = []
    for line in table.strip().replace("\n    ", " ").splitlines():
        name, *branches = line.split(" | ")
        if branches:
            steps = [[list(map(layer_of, step.split("&"))) for step in b.split()] for b in branches]
            specs.append(MixedSpec(name, steps))
        else:
            specs.append(layer_of(name))
    return specs


V1 = """\
64:1a:7x7/2
max:2a:3x3/2
64:2b:1x1
192:2c:3x3
max:3a:3x3/2
Mixed_3b | 64:0a:1x1 | 96:0a:1x1 128:0b:3x3 | 16:0a:1x1 32:0b:3x3 | max:0a:3x3 32:0b:1x1
Mixed_3c | 128:0a:1x1 | 128:0a:1x1 192:0b:3x3 | 32:0a:1x1 96:0b:3x3 | max:0a:3x3 64:0b:1x1
max:4a:3x3/2
Mixed_4b | 192:0a:1x1 | 96:0a:1x1 208:0b:3x3 | 16:0a:1x1 48:0b:3x3 | max:0a:3x3 64:0b:1x1
Mixed_4c | 160:0a:1x1 | 112:0a:1x1 224:0b:3x3 | 24:0a:1x1 64:0b:3x3 | max:0a:3x3 64:0b:1x1
Mixed_4d | 128:0a:1x1 | 128:0a:1x1 256:0b:3x3 | 24:0a:1x1 64:0b:3x3 | max:0a:3x3 64:0b:1x1
Mixed_4e | 112:0a:1x1 | 144:0a:1x1 288:0b:3x3 | 32:0a:1x1 64:0b:3x3 | max:0a:3x3 64:0b:1x1
Mixed_4f | 256:0a:1x1 | 160:0a:1x1 320:0b:3x3 | 32:0a:1x1 128:0b:3x3 | max:0a:3x3 128:0b:1x1
max:5a:2x2/2
Mixed_5b | 256:0a:1x1 | 160:0a:1x1 320:0b:3x3 | 32:0a:1x1 128:0a:3x3 | max:0a:3x3 128:0b:1x1
Mixed_5c | 384:0a:1x1 | 192:0a:1x1 384:0b:3x3 | 48:0a:1x1 128:0b:3x3 | max:0a:3x3 128:0b:1x1
"""
V2 = """\
max:2a:3x3/2
64:2b:1x1
192:2c:3x3
max:3a:3x3/2
Mixed_3b | 64:0a:1x1 | 64:0a:1x1 64:0b:3x3 | 64:0a:1x1 96:0b:3x3 96:0c:3x3 | avg:0a:3x3 32:0b:1x1
Mixed_3c | 64:0a:1x1 | 64:0a:1x1 96:0b:3x3 | 64:0a:1x1 96:0b:3x3 96:0c:3x3 | avg:0a:3x3 64:0b:1x1
Mixed_4a | 128:0a:1x1 160:1a:3x3/2 | 64:0a:1x1 96:0b:3x3 96:1a:3x3/2 | max:1a:3x3/2
Mixed_4b | 224:0a:1x1 | 64:0a:1x1 96:0b:3x3 | 96:0a:1x1 128:0b:3x3 128:0c:3x3 | avg:0a:3x3 128:0b:1x1
Mixed_4c | 192:0a:1x1 | 96:0a:1x1 128:0b:3x3 | 96:0a:1x1 128:0b:3x3 128:0c:3x3 | avg:0a:3x3 128:0b:1x1
Mixed_4d | 160:0a:1x1 | 128:0a:1x1 160:0b:3x3 | 128:0a:1x1 160:0b:3x3 160:0c:3x3 | avg:0a:3x3 96:0b:1x1
Mixed_4e | 96:0a:1x1 | 128:0a:1x1 192:0b:3x3 | 160:0a:1x1 192:0b:3x3 192:0c:3x3 | avg:0a:3x3 96:0b:1x1
Mixed_5a | 128:0a:1x1 192:1a:3x3/2 | 192:0a:1x1 256:0b:3x3 256:1a:3x3/2 | max:1a:3x3/2
Mixed_5b | 352:0a:1x1 | 192:0a:1x1 320:0b:3x3 | 160:0a:1x1 224:0b:3x3 224:0c:3x3 | avg:0a:3x3 128:0b:1x1
Mixed_5c | 352:0a:1x1 | 192:0a:1x1 320:0b:3x3 | 192:0a:1x1 224:0b:3x3 224:0c:3x3 | max:0a:3x3 128:0b:1x1
"""
V3 = """\
32:1a:3x3/2
32:2a:3x3
64:2b:3x3s
max:3a:3x3/2
80:3b:1x1
192:4a:3x3
max:5a:3x3/2
Mixed_5b | 64:0a:1x1 | 48:0a:1x1 64:0b:5x5 | 64:0a:1x1 96:0b:3x3 96:0c:3x3 | avg:0a:3x3 32:0b:1x1
Mixed_5c | 64:0a:1x1 | 48:0b:1x1 64:Conv_1_0c_5x5:5x5 | 64:0a:1x1 96:0b:3x3 96:0c:3x3
    | avg:0a:3x3 64:0b:1x1
Mixed_5d | 64:0a:1x1 | 48:0a:1x1 64:0b:5x5 | 64:0a:1x1 96:0b:3x3 96:0c:3x3 | avg:0a:3x3 64:0b:1x1
Mixed_6a | 384:Conv2d_1a_1x1:3x3/2v | 64:0a:1x1 96:0b:3x3 96:Conv2d_1a_1x1:3x3/2v | max:1a:3x3/2v
Mixed_6b | 192:0a:1x1 | 128:0a:1x1 128:0b:1x7 192:0c:7x1
    | 128:0a:1x1 128:0b:7x1 128:0c:1x7 128:0d:7x1 192:0e:1x7 | avg:0a:3x3 192:0b:1x1
Mixed_6c | 192:0a:1x1 | 160:0a:1x1 160:0b:1x7 192:0c:7x1
    | 160:0a:1x1 160:0b:7x1 160:0c:1x7 160:0d:7x1 192:0e:1x7 | avg:0a:3x3 192:0b:1x1
Mixed_6d | 192:0a:1x1 | 160:0a:1x1 160:0b:1x7 192:0c:7x1
    | 160:0a:1x1 160:0b:7x1 160:0c:1x7 160:0d:7x1 192:0e:1x7 | avg:0a:3x3 192:0b:1x1
Mixed_6e | 192:0a:1x1 | 192:0a:1x1 192:0b:1x7 192:0c:7x1
    | 192:0a:1x1 192:0b:7x1 192:0c:1x7 192:0d:7x1 192:0e:1x7 | avg:0a:3x3 192:0b:1x1
Mixed_7a | 192:0a:1x1 320:1a:3x3/2v | 192:0a:1x1 192:0b:1x7 192:0c:7x1 192:1a:3x3/2v | max:1a:3x3/2v
Mixed_7b | 320:0a:1x1 | 384:0a:1x1 384:0b:1x3&384:0b:3x1
    | 448:0a:1x1 384:0b:3x3 384:0c:1x3&384:0d:3x1 | avg:0a:3x3 192:0b:1x1
Mixed_7c | 320:0a:1x1 | 384:0a:1x1 384:0b:1x3&384:0c:3x1
    | 448:0a:1x1 384:0b:3x3 384:0c:1x3&384:0d:3x1 | avg:0a:3x3 192:0b:1x1
"""
