"""Times for which a task waits for others, in seconds; `settings.settings` has those with flags."""

from __future__ import annotations

from tensorfleet.core.environment import number

# From task to task

PEER_SECONDS = 30.0
"""To connect to a task to which a graph will send tensors."""

RECONNECT_SECONDS = 2.0
"""To find a task after the loss of its connection, for the error that says whether it is back."""

CONNECT_RETRY_SECONDS = 0.2
"""Between attempts to connect to a task."""

REGISTER_SECONDS = 600.0
"""For a task to register a graph: compiling one of millions of nodes takes minutes."""

ASK_SECONDS = 1.0
"""To ask tasks what a late step waits for."""

EARLY_SECONDS = 30.0
"""Between early tensors of a step and the request to run it: masters ask all tasks at the same time."""

# Collectives

COLLECTIVE_SECONDS = 1800.0
"""For a member of a collective without a time of its own, until it gives up."""

LATE_SECONDS = 0.05
"""For the members of a group that has met before, until a member that waits for them tells the leader."""

HEARD_SECONDS = 1.0
"""For the other members to answer that they have heard of a failed step, until its error is reported."""

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

DESCRIPTOR_SECONDS = 0.5
"""Until a task that has no free descriptor tries to accept connections again."""

# Requests by gRPC

REQUEST_ROOM_SECONDS = 30.0
"""For a request to get room within the memory budget."""

REQUEST_SECONDS = 20.0
"""For a request with room to come, while others wait for room: less than they wait."""

UNKNOWN_REQUEST_SECONDS = 1.0
"""For a request of unknown size to get room before it is received alone, as it may be small."""

UNCHECKED_REQUEST_SECONDS = 10.0
"""After that, in which no request of unknown size waits while memory is short."""

REQUEST_RETRY_SECONDS = 0.05
"""Between checks for room, as steps free memory without notice."""

# Sessions

CREATE_SESSION_SECONDS = 30.0
"""For the tasks of a new session to answer, unless its configuration says another time."""

CONNECT_ATTEMPT_SECONDS = 5.0
"""For one attempt to connect to a task, after which its thread checks whether the session still needs it."""

FIRST_NOTICE_SECONDS = 2.0
"""Without an answer, until the log names the tasks that a new session waits for."""

NEXT_NOTICE_SECONDS = 10.0
"""Between further lines about them."""

ORPHAN_SECONDS = 60.0
"""Without a connection of its client, until a session is closed."""

IDLE_SESSION_SECONDS = number("TENSORFLEET_SESSION_IDLE_SECONDS", 86400.0)
"""Without a step, until a session by gRPC is closed, as the end of its client is not noticed."""

QUOTA_IDLE_SECONDS = number("TENSORFLEET_QUOTA_IDLE_SECONDS", 300.0)
"""Without a call, until such a session gives way to a new one of a client that has as many as it may have."""

TOKEN_CHECK_SECONDS = 2.0
"""Between checks whether the tokens of connected clients are still valid."""
