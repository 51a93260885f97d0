"""Collectives between devices, of one task or of several.

    leader.py           brings the members of each collective together, on one task of the cluster
    led_rounds.py       its records of them
    service.py          a task's part: what kernels, connections and the leader ask of it, and its failures
    records.py          the task's members and rounds, and the lock that keeps them in order
    connections.py      the ways of messages to the other tasks
    leader_link.py      the way to the leader, which may have to be found first
    host_rounds.py      rounds whose data goes by the hosts' memory
    sender.py           sends that data to the next task
    early.py            chunks that arrive before their round begins
    gpu_rounds.py       rounds among GPUs, one after the other
    nccl.py             such a round
    standing_rounds.py  rounds that begin without the leader
    undone_rounds.py    rounds that have counted for some members, and not for another one's step

and, without I/O, in the room `collectives`:

    collectives/call.py    the request of a member, on which the members must agree
    collectives/chunked.py  the data of one collective on one task, in chunks that go by
                           `ring.py` around all tasks, or by `exchange.py` to each
    collectives/member.py  a task's records of its devices

Every member tells the leader that it has come. When the group is complete, the leader numbers the round and
tells each task its place in the ring; the data then goes from task to task without the leader. Each task
reports when it has its results. Until all have, the leader knows which tasks to tell if a member is lost,
leaves, or is late.
"""
