"""`tf.contrib.session_bundle.gc`: which exports to keep."""

import typing as _typing

from tensorfleet.contrib.export_choices import (
    Path as Path,
    get_paths as get_paths,
    largest_export_versions as largest_export_versions,
    mod_export_version as mod_export_version,
    negation as negation,
    one_of_every_n_export_versions as one_of_every_n_export_versions,
    union as union,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
