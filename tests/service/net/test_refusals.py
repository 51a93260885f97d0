"""Which share of an address's new connections passes, by how often it is refused."""

from __future__ import annotations

import time

import pytest

from tensorfleet_service.net.refusals import (
    LEAST_SHARE,
    MAX_ADDRESSES,
    MAX_SHED,
    Refusals,
    network_of,
)

HOST, NETWORK = "192.0.2.1", "192.0.2.1/32"


class Watched:
    """Refusals, and a clock for them."""

    def __init__(self, most: float = 100.0) -> None:
        self.refusals = Refusals(most)
        self._now = time.monotonic()

    def second(self, counts: dict[str, int]) -> dict[str, float]:
        """The shares after a second with so many refusals of each address."""
        for host, count in counts.items():
            for _ in range(count):
                self.refusals.note(host)
        self._now += 1.0
        return self.refusals.shares(self._now)


def test_who_is_refused_now_and_then_is_left_alone() -> None:
    watched = Watched()
    for _ in range(5):
        assert watched.second({HOST: 90}) == {}


def test_who_is_refused_again_and_again_is_shed_until_the_refusals_are_few() -> None:
    watched = Watched()
    share = 1.0
    for _ in range(10):
        share = watched.second({HOST: int(10_000 * share)}).get(NETWORK, 1.0)
    assert 0.005 < share < 0.02
    for _ in range(10):
        assert watched.second({HOST: 100_000})[NETWORK] >= LEAST_SHARE
    for _ in range(10):
        shares = watched.second({})
    assert shares == {}


def test_others_are_not_shed_with_it() -> None:
    watched = Watched()
    assert watched.second({HOST: 10_000, "192.0.2.2": 20}).keys() == {NETWORK}


def test_those_who_are_refused_most_share_what_others_leave() -> None:
    shares = Watched(100.0).second({"192.0.2.1": 10, "192.0.2.2": 450, "192.0.2.3": 90})
    assert shares == pytest.approx({"192.0.2.2/32": 0.1, "192.0.2.3/32": 0.5}, rel=0.1)


def test_who_is_let_in_after_its_questions_is_none_of_them() -> None:
    watched = Watched()
    for _ in range(1000):
        watched.refusals.let_in(HOST)
    assert watched.second({HOST: 1000}) == {}


def test_tables_are_bounded() -> None:
    watched = Watched()
    hosts = {f"10.0.{i >> 8}.{i & 255}": 2 for i in range(MAX_ADDRESSES + 100)}
    assert len(watched.second(hosts)) == MAX_SHED
    assert len(watched.second({f"10.1.0.{i}": 200 for i in range(100)})) == MAX_SHED


def test_the_addresses_of_one_network_do_not_fill_the_table() -> None:
    watched = Watched()
    for i in range(MAX_ADDRESSES + 100):
        watched.refusals.note(f"2001:db8::{i:x}")
    assert watched.second({HOST: 10_000}).keys() == {NETWORK, "2001:db8::/64"}


def test_those_who_are_let_in_leave_nothing_to_those_who_are_refused() -> None:
    watched = Watched(100.0)
    for i in range(50):
        for _ in range(100):
            watched.refusals.let_in(f"10.0.0.{i}")
    assert watched.second({HOST: 10_000}) == pytest.approx({NETWORK: 0.01}, rel=0.1)


def test_two_looks_at_the_same_time_are_one() -> None:
    watched = Watched()
    shares = watched.second({HOST: 10_000})
    assert watched.refusals.shares(watched._now + 0.01) == shares


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.1", "192.0.2.1/32"),
        ("::ffff:192.0.2.1", "192.0.2.1/32"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("process 1 of user 2", ""),
        ("", ""),
    ],
)
def test_networks(host: str, network: str) -> None:
    assert network_of(host) == network
