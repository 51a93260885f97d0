"""Shedding: has the kernel drop new connections of those who are refused again and again."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tensorfleet_service.net import syn_filter
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.rpc.callers import own_descriptors

log = logging.getLogger(__name__)


class Shedding:
    """Sheds connections to ports of this process, by what was refused.

    Args:
        ports: at which the process listens.
        refusals: what was refused on all of them.
    """

    def __init__(self, ports: Sequence[int], refusals: Refusals) -> None:
        self._ports = ports
        self._refusals = refusals
        self._shares: dict[str, float] = {}  # in force
        self._told: frozenset[str] = frozenset()  # networks that the log says are shed

    def look(self) -> None:
        """Applies what the refusals since the last look say."""
        shares = self._refusals.shares()
        if shares == self._shares:
            return
        shed = syn_filter.attach(self._ports, own_descriptors(), shares)
        for network in shares.keys() - self._told:
            log.warning(
                "%s is refused too often: %s",
                network,
                "most of its new connections are dropped"
                if shed
                else "this system cannot drop its connections",
            )
        for network in self._told - shares.keys():
            log.info("new connections of %s pass again", network)
        self._told = frozenset(shares)
        if shed or not shares:
            self._shares = shares  # else the next look tries again
