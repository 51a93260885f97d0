"""How long a task waits for others, in seconds; what settings decide is in `settings.settings`."""

from __future__ import annotations

EARLY_SECONDS = 30.0
"""Until the request to run a step of which tensors have come: masters ask all tasks at the same time."""
