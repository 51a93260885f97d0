"""Scrapes of a task's metrics."""

from __future__ import annotations

import urllib.error
import urllib.request
from http import HTTPStatus
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tensorfleet_service.server import TaskServer

SECONDS = 10.0


class Sample(NamedTuple):
    name: str
    labels: frozenset[tuple[str, str]]


class Scrape:
    """One scrape: `scrape("tensorfleet_ops_total", op="Add")` is a value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.values = {
            Sample(sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self.values[Sample(name, frozenset(labels.items()))]

    def labels(self, name: str, label: str) -> set[str]:
        """All values of a label."""
        return {dict(sample.labels)[label] for sample in self.values if sample.name == name}


def scrape(source: TaskServer | CollectorRegistry) -> Scrape:
    """The samples that a task would answer with now; pass its registry where it is scraped more than once."""
    registry = source.registry() if isinstance(source, TaskServer) else source
    return Scrape(generate_latest(registry).decode())


class Page(NamedTuple):
    status: int
    kind: str
    text: str


def get(url: str, accept: str = "*/*", method: str = "GET") -> Page:
    """A page by HTTP, whatever its status."""
    request = urllib.request.Request(url, headers={"Accept": accept}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return Page(answer.status, answer.headers["Content-Type"], answer.read().decode())
    except urllib.error.HTTPError as e:
        with e:
            return Page(HTTPStatus(e.code), e.headers["Content-Type"], e.read().decode())
