"""What public namespaces have in common: modules and names that are imported at their first use, and what
is said about a name that TensorFlow has and this library lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, resources
from types import ModuleType
from typing import Any

_ROOT = "tensorfleet"
_MISSING = "missing_names.txt"


class _NoNames:
    """The object of an AttributeError to whose message Python shall add no guess ("Did you mean: …?")."""

    def __dir__(self) -> list[str]:
        return []


def namespace(
    name: str, modules: tuple[str, ...] = (), names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a public namespace.

    Args:
        name: the module that is the namespace.
        modules: the namespaces in it; those that it does not import itself are imported at their first use.
        names: names in it that are imported at their first use, with the modules that define them.
    """
    lazy = dict(names or {})
    own = vars(sys.modules[name])

    def getattribute(attribute: str) -> Any:
        if attribute in modules:
            return import_module(f"{name}.{attribute}")
        if attribute in lazy:
            value = own[attribute] = getattr(import_module(lazy[attribute]), attribute)
            return value
        raise _no_attribute(name, attribute)

    def directory() -> list[str]:
        # Beside these lie the modules of the implementation.
        listed = {key for key, value in own.items() if not isinstance(value, ModuleType) and _is_listed(key)}
        return sorted({*listed, *modules, *lazy})

    return getattribute, directory


def _is_listed(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name not in ("__getattr__", "__dir__"))


def _no_attribute(namespace: str, attribute: str) -> AttributeError:
    full_name = f"{namespace}.{attribute}".removeprefix(_ROOT + ".")
    if not attribute.startswith("_") and full_name in missing_names():
        return AttributeError(
            f"tf.{full_name} is not part of TensorFleet; see docs/missing.md", name=attribute, obj=_NoNames()
        )
    if (now := older_name(full_name)) is not None:
        return AttributeError(
            f"tf.{full_name} has been renamed to tf.{now} in TensorFlow 1.0", name=attribute, obj=_NoNames()
        )
    # Python itself adds the name, and a guess.
    return AttributeError(f"module {namespace!r} has no attribute {attribute!r}")


_OLDER = {
    "scalar_summary": "summary.scalar",
    "histogram_summary": "summary.histogram",
    "image_summary": "summary.image",
    "audio_summary": "summary.audio",
    "merge_summary": "summary.merge",
    "merge_all_summaries": "summary.merge_all",
    "train.SummaryWriter": "summary.FileWriter",
    "train.SummaryWriterCache": "summary.FileWriterCache",
    "listdiff": "setdiff1d",
    "nn.rnn": "nn.static_rnn",
    "nn.bidirectional_rnn": "nn.static_bidirectional_rnn",
    "nn.state_saving_rnn": "nn.static_state_saving_rnn",
    "nn.seq2seq": "contrib.legacy_seq2seq",
    "batch_cholesky": "cholesky",
    "batch_cholesky_solve": "cholesky_solve",
    "batch_fft": "fft",
    "batch_fft2d": "fft2d",
    "batch_fft3d": "fft3d",
    "batch_ifft": "ifft",
    "batch_ifft2d": "ifft2d",
    "batch_ifft3d": "ifft3d",
    "batch_matrix_band_part": "matrix_band_part",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_set_diag": "matrix_set_diag",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_solve_ls": "matrix_solve_ls",
    "batch_matrix_transpose": "matrix_transpose",
    "batch_matrix_triangular_solve": "matrix_triangular_solve",
    "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_svd": "svd",
}
"""Names of TensorFlow 0.x, and what they have been called since 1.0."""


def older_name(name: str) -> str | None:
    """What a name of TensorFlow 0.x, such as `scalar_summary`, is called now; None for other names."""
    return _OLDER.get(name)


@cache
def missing_names() -> frozenset[str]:
    """The names of TensorFlow that this library lacks, such as `keras` and `nn.ctc_loss`.

    Of a namespace that is absent as a whole there is only its own name.
    """
    return frozenset(resources.files(__package__).joinpath(_MISSING).read_text().split())
