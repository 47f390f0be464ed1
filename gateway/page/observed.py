"""A worker's observations of a second, sent while the page is open, and their form in JSON.

All of it is limited in number and length, because names come from clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

MAX_TEXT: Final = 300
"""Characters that are kept of a client's text; a topic's name has 249 at most."""

Buckets: TypeAlias = Mapping[int, int]
"""A latency histogram: counts by the numbers of ``gateway.flows.LATENCY_BUCKETS``."""

Item: TypeAlias = Mapping[str, Any]
"""A JSON object for the page: its fields by name."""


class TrafficKey(NamedTuple):
    """A client and a topic. ``namespace`` is absolute in a tree, or None if no topic is named.
    ``topic`` is the name within the namespace. Keys beyond a limit are ``(other)``."""

    cluster: str
    namespace: str | None
    topic: str
    listener: str
    principal: str
    client_id: str
    software: str


class Traffic(NamedTuple):
    """Counts of a :class:`TrafficKey`."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    records_in: int = 0
    records_out: int = 0
    errors: int = 0
    denials: int = 0

    def plus(self, more: Traffic) -> Traffic:
        """The sums of both."""
        return Traffic(*map(int.__add__, self, more))


class Latency(NamedTuple):
    """The histograms of an API: time in the gateway, and at brokers."""

    gateway: Buckets
    broker: Buckets


@dataclass(frozen=True, slots=True)
class Observed:
    """A worker's observations of ``seconds``.

    ``latency`` is by API key; ``form`` is ``compiled`` or ``pure``. ``denials`` and ``logins``
    (failed) are the latest, also older than ``seconds``, newest first. ``clusters`` is None unless
    the supervisor requested clusters of this worker.
    """

    seconds: float
    traffic: Sequence[tuple[TrafficKey, Traffic]] = field(default_factory=list)
    latency: Mapping[int, Latency] = field(default_factory=dict)
    denials: Sequence[Item] = field(default_factory=list)
    logins: Sequence[Item] = field(default_factory=list)
    clusters: Sequence[Item] | None = None
    form: str = ""

    def halved(self) -> Observed:
        """The same with half of the rows, for names so long that the message is too long."""
        if not (self.traffic or self.denials or self.logins):
            return Observed(self.seconds, form=self.form)
        return replace(
            self,
            traffic=self.traffic[: len(self.traffic) // 2],
            denials=self.denials[: len(self.denials) // 2],
            logins=self.logins[: len(self.logins) // 2],
        )

    def to_json(self) -> dict[str, Any]:
        """The observations as plain lists and mappings."""
        content: dict[str, Any] = {
            "seconds": self.seconds,
            "form": self.form,
            "traffic": [[*key, *counts] for key, counts in self.traffic],
            "latency": [
                [api, _pairs(one.gateway), _pairs(one.broker)] for api, one in self.latency.items()
            ],
            "denials": list(self.denials),
            "logins": list(self.logins),
        }
        if self.clusters is not None:
            content["clusters"] = list(self.clusters)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Observed:
        """The observations of :meth:`to_json`. Raises ValueError for anything else."""
        width = len(TrafficKey._fields)
        try:
            return cls(
                float(content["seconds"]),
                [(TrafficKey(*row[:width]), Traffic(*row[width:])) for row in content["traffic"]],
                {
                    int(api): Latency(_buckets(gateway), _buckets(broker))
                    for api, gateway, broker in content["latency"]
                },
                [dict(one) for one in content["denials"]],
                [dict(one) for one in content["logins"]],
                content.get("clusters"),
                str(content["form"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"an observation that is none: {error}") from error


def add_traffic(sums: dict[TrafficKey, Traffic], key: TrafficKey, traffic: Traffic) -> None:
    """Add counts to the sums of their key."""
    before = sums.get(key)
    sums[key] = traffic if before is None else before.plus(traffic)


def cut(text: str) -> str:
    """A text of a client, not longer than :data:`MAX_TEXT`."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _pairs(buckets: Buckets) -> list[int]:
    return [number for pair in buckets.items() for number in pair]


def _buckets(pairs: Sequence[int]) -> Buckets:
    return dict(zip(map(int, pairs[::2]), map(int, pairs[1::2]), strict=True))
