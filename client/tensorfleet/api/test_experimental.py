"""`tf.test.experimental`: what tests of devices need."""

import typing as _typing

from tensorfleet.api.test import sync_devices as sync_devices

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
