"""Times for which a task waits for others, in seconds; those that users set are in `settings.settings`."""

from __future__ import annotations

# From task to task

PEER_SECONDS = 30.0
"""To connect to a task to which a graph will send tensors."""

RECONNECT_SECONDS = 2.0
"""To find a task after the loss of its connection, for the error that says whether it is back."""

REGISTER_SECONDS = 600.0
"""For a task to register a graph: compiling one of millions of nodes takes minutes."""

ASK_SECONDS = 1.0
"""To ask tasks what a late step waits for."""

EARLY_SECONDS = 30.0
"""Between early tensors of a step and the request to run it: masters ask all tasks at the same time."""

# Collectives

COLLECTIVE_SECONDS = 1800.0
"""For a member of a collective without a time of its own, until it gives up."""

LEADER_SECONDS = 5.0
"""For one attempt to reach the leader."""

ARRIVAL_SECONDS = 1.0
"""For data that is under way at the loss of the leader."""

NEXT_SECONDS = 30.0
"""To reach the next task of a ring, which has joined the collective."""

# Clients

ROOM_SECONDS = 30.0
"""For a frame to get memory, while other frames have it."""

STALL_SECONDS = 60.0
"""Of silence in the middle of a client's frame, after which the connection is closed."""
