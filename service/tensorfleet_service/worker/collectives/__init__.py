"""Collectives between devices, of one task or of several.

    leader.py    finds the members of each collective; on one task of the cluster
    sender.py    the way of the data to the next task
    service.py   a task's part: its members, its messages, and its failures

and without I/O, in the room `collectives`:

    collectives/call.py    what a member asks for, and what the members must agree on
    collectives/ring.py    the data of one collective on one task
    collectives/member.py  what a task keeps about its devices

Every member tells the leader that it has come. When the group is complete, the leader numbers the round and
tells each task its place in the ring; the data then goes from task to task without the leader. A task that
has its results says so. Until all have, the leader knows whom to tell if a member is lost, leaves, or is
late.
"""
