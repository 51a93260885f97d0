"""RegexFullMatch and StaticRegexFullMatch, by RE2."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.compat import as_bytes
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.text.regex import compiled
from tensorfleet_service.kernels.values import array_kernel, string_array


def _matches(x: Any, pattern: bytes) -> Any:
    regex = compiled(pattern)
    found = (regex.fullmatch(text) is not None for text in string_array(x).reshape(-1).tolist())
    return np.fromiter(found, np.bool_, x.size).reshape(x.shape)


@array_kernel("RegexFullMatch")
def regex_full_match(node: KernelNode) -> Kernel:
    return lambda x, pattern: _matches(x, string_array(pattern).item())


@array_kernel("StaticRegexFullMatch")
def static_regex_full_match(node: KernelNode) -> Kernel:
    pattern = as_bytes(node.attrs["pattern"])
    return lambda x: _matches(x, pattern)
