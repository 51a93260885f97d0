"""How long a task waits for others, in seconds; what settings decide is in `settings.settings`."""

from __future__ import annotations

# From task to task

PEER_SECONDS = 30.0
"""To connect to a task to which a graph is going to send tensors."""

RECONNECT_SECONDS = 2.0
"""To find a task again whose connection was lost, for the error that says whether it is back."""

REGISTER_SECONDS = 600.0
"""For a task to register a graph: compiling one of millions of nodes takes minutes."""

ASK_SECONDS = 1.0
"""For tasks to say what a late step waits for."""

EARLY_SECONDS = 30.0
"""Until the request to run a step of which tensors have come: masters ask all tasks at the same time."""

# Collectives

COLLECTIVE_SECONDS = 1800.0
"""Until a member of a collective gives up that says no time of its own."""

LEADER_SECONDS = 5.0
"""For one attempt to reach the leader."""

ARRIVAL_SECONDS = 1.0
"""For data that is under way when the leader is lost."""

NEXT_SECONDS = 30.0
"""To reach the next task of a ring, which is known to be there."""

# Clients

ROOM_SECONDS = 30.0
"""For a frame to get memory that other frames have."""

STALL_SECONDS = 60.0
"""Of silence in the middle of a client's frame, which is then given up, and its connection with it."""
