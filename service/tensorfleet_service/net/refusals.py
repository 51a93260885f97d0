"""Refusals: how often strangers are refused, by address, and which share of its new connections passes.

To refuse a call is cheap, but gRPC reads and queues all calls of a connection before the task hears of the
first one, and drops calls, no matter whose, while too many wait. So an address that is refused more often
than the task can bear has only a share of its new connections let through (by `syn_filter`), small enough
that the refusals stay within the limit. The share grows again as soon as they do.
"""

from __future__ import annotations

import heapq
import ipaddress
import threading
import time
from collections import Counter
from functools import lru_cache

MAX_REFUSED = 200.0
"""Limit on the refusals per second, of all addresses that exceed their part of it."""

MAX_ADDRESSES = 4096
"""Limit on the networks that are counted at a time; what is refused to others is not counted."""

MAX_SHED = 64
"""Limit on the addresses whose connections are shed: of more, those that are refused most often."""

LEAST_SHARE = 1 / 256
LEAST_SECONDS = 0.2  # between two looks, as a rate over less says little
_GROWTH = 2.0


class Refusals:
    """Counts refusals. Safe to use from several threads.

    Args:
        most: limit on the refusals per second.
    """

    def __init__(self, most: float = MAX_REFUSED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._since = time.monotonic()
        self._shares: dict[str, float] = {}

    @property
    def shed(self) -> int:
        """The number of networks of which not all new connections pass."""
        return len(self._shares)

    def note(self, host: str) -> None:
        """Counts one refusal, or one call that anybody may make."""
        self._count(host, 1)

    def let_in(self, host: str) -> None:
        """Notes that somebody of an address was let in, who may have made such a call before."""
        self._count(host, -1)

    def _count(self, host: str, by: int) -> None:
        # By network: the addresses of one would fill the table, and others would not be counted.
        network = network_of(host)
        if not network:
            return
        with self._lock:
            if network in self._counts or len(self._counts) < MAX_ADDRESSES:
                self._counts[network] += by

    def shares(self, now: float | None = None) -> dict[str, float]:
        """The shares of new connections that pass, by network (`network_of`); all connections of others pass.

        Each call but those soon after another one judges what was refused since the last one.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            seconds = now - self._since
            if seconds < LEAST_SECONDS:
                return self._shares
            counts, self._counts, self._since = self._counts, Counter(), now
        # One from which more are let in than refused leaves no room for the refusals of others.
        rates = {network: max(count, 0) / seconds for network, count in counts.items()}
        busiest = heapq.nlargest(MAX_SHED, rates, key=lambda network: rates[network])
        part = self._part([rates[network] for network in busiest])
        shares: dict[str, float] = {}
        for network in dict.fromkeys((*busiest, *self._shares)):
            share, rate = self._shares.get(network, 1.0), rates.get(network, 0.0)
            if rate > part:
                share = max(share * part / rate, LEAST_SHARE)
            elif rate <= part / _GROWTH:
                share *= _GROWTH
            if share < 1 and len(shares) < MAX_SHED:
                shares[network] = share
        self._shares = shares
        return shares

    def _part(self, rates: list[float]) -> float:
        """The most that each may have so that all together have no more than the limit."""
        left = self._most
        for i, rate in enumerate(reversed(rates)):
            part = left / (len(rates) - i)
            if rate > part:
                return part
            left -= rate
        return self._most


@lru_cache(MAX_ADDRESSES)
def network_of(host: str) -> str:
    """The network that a host's address stands for: itself, or 64 bits of it by IPv6; "" for none."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    if address.version == 6:
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return f"{address}/32"
