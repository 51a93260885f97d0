"""Collectives between devices, of one task or of several.

    leader.py    brings the members of each collective together, on one task of the cluster
    sender.py    sends the data to the next task
    early.py     chunks that arrive before their collective begins
    service.py   a task's part: its members, its messages, and its failures

and, without I/O, in the room `collectives`:

    collectives/call.py    the request of a member, on which the members must agree
    collectives/ring.py    the data of one collective on one task
    collectives/member.py  a task's records of its devices

Every member tells the leader that it has come. When the group is complete, the leader numbers the round and
tells each task its place in the ring; the data then goes from task to task without the leader. Each task
reports when it has its results. Until all have, the leader knows which tasks to tell if a member is lost,
leaves, or is late.
"""
