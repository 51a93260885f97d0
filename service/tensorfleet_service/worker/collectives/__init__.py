"""Collectives between devices, of one task or of several.

    call.py      what a member asks for, and what the members must agree on
    leader.py    finds the members of each collective; on one task of the cluster
    ring.py      the data of one collective on one task
    sender.py    the way of that data to the next task
    service.py   a task's part: its members, its messages, and its failures
    member.py    what it keeps about each of them

Every member tells the leader that it has come. When the group is complete, the leader numbers the round and
tells each task its place in the ring; the data then goes from task to task without the leader. A task that
has its results says so. Until all have, the leader knows whom to tell if a member is lost, leaves, or is
late.
"""
