"""The times that a session waits, in seconds; those of single steps are in the session's configuration."""

from __future__ import annotations

DEFAULT_CONNECT_SECONDS = 30.0
"""Limit for making a session, if the configuration has no `operation_timeout_in_ms`."""

CONNECT_SECONDS = 10.0
"""Limit for opening one stream connection to the master."""

ROUTE_SECONDS = 3.0
"""Limit for a possible route of the stream to answer, which a firewall that drops packets never does."""

CLOSE_SECONDS = 10.0
"""Limit for closing a session."""

GRACE_SECONDS = 5.0
"""Added to a step's own timeout, which the server watches: its error says what the step waits for."""

# Messages of a session that waits

FIRST_SECONDS = 2.0
"""From the start of a wait to the first message."""

AGAIN_SECONDS = 10.0
"""Between two messages."""

UNKNOWN_NAME_SECONDS = 5.0
"""Limit for a host name to appear, as that of a container that is being started does after a moment."""
