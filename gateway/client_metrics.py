"""Subscriptions of client metrics (KIP-714): which clients they concern, and what these push.

A subscription is a config resource of type ``client-metrics``, kept in the catalog as the client
has set it (``client_metrics_configs``). Pure, no I/O.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from gateway.client_metrics_configs import (
    ALL,
    DEFAULT_INTERVAL_MS,
    INTERVAL,
    MATCH,
    MAX_INSTRUCTIONS,
    METRICS,
    SELECTORS,
    WrongConfig,
    read_interval,
    read_list,
    read_patterns,
)
from gateway.name_regex import LEAST_INSTRUCTIONS, MAX_STEPS, NameRegex
from protocol.pausing import paced, pause_point

MAX_MATCHED: Final = MAX_STEPS // MAX_INSTRUCTIONS
"""Bytes of the longest value that an expression matches, since matching is not interrupted. A
longer client id matches no expression."""

MAX_REQUEST_STEPS: Final = 40 * MAX_STEPS
"""The steps of all matches of a request: some 100 ms. Subscriptions whose expressions would take
more do not concern the client; those of the innermost namespaces are matched last. 200 with three
ordinary expressions each take a tenth of them for values of 30 bytes."""


class Steps:
    """The steps that the matches of a request may still take: not a time, so that every worker and
    gateway finds the same."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_REQUEST_STEPS

    def spend(self, steps: int) -> bool:
        """Whether there are so many steps left, which are spent then. If not, there are none for
        anything that comes later either: it must not match for being cheap."""
        self.left = self.left - steps if steps <= self.left else -1
        return self.left >= 0


@dataclass(frozen=True)
class Client:
    """What subscriptions match of a client (Kafka's ClientMetricsInstanceMetadata).

    - ``instance_id``: the 16 bytes of its client instance id.
    - ``client_id``: None if the request has none; no expression matches it then.
    - ``software_name``, ``software_version``: of its ApiVersions request; brokers take ``unknown``
      for a client that has not sent them.
    - ``source_address``: the IP address as text.
    """

    instance_id: bytes
    client_id: str | None
    software_name: str
    software_version: str
    source_address: str
    source_port: int

    @cached_property
    def selected(self) -> Mapping[str, str | None]:
        """The value of each selector."""
        values = (
            base64.urlsafe_b64encode(self.instance_id).decode().rstrip("="),
            self.client_id,
            self.software_name,
            self.software_version,
            self.source_address,
            str(self.source_port),
        )
        return dict(zip(SELECTORS, values, strict=True))


class Subscription:
    """A subscription of the catalog: its full ``name`` (``team-a:latencies``), the prefixes in
    ``metrics``, and ``interval_ms``. Expressions are compiled when they are first needed."""

    __slots__ = ("_match", "_patterns", "interval_ms", "metrics", "name")

    def __init__(self, name: str, configs: Mapping[str, str]) -> None:
        """``configs`` as ``client_metrics_configs.check`` accepts them. A subscription with other
        configs, which a damaged catalog may have, concerns no client."""
        self.name = name
        self._match = configs.get(MATCH, "")
        self._patterns: Mapping[str, NameRegex] | None = None
        try:
            self.metrics = tuple(read_list(configs.get(METRICS, "")))
            self.interval_ms = read_interval(configs.get(INTERVAL, str(DEFAULT_INTERVAL_MS)))
        except WrongConfig:
            self.metrics, self.interval_ms, self._match = (), DEFAULT_INTERVAL_MS, "="

    def matches(self, client: Client, steps: Steps) -> bool:
        """Whether the subscription concerns this client. May take several slices."""
        if not self._match:
            return True
        if self._patterns is None:
            try:
                self._patterns = read_patterns(self._match)
            except WrongConfig:
                self._patterns = {SELECTORS[0]: _nothing()}
        return all(
            _matches(pattern, client.selected[selector], steps)
            for selector, pattern in self._patterns.items()
        )

    def __repr__(self) -> str:
        return f"Subscription({self.name!r})"


@dataclass(frozen=True)
class Requested:
    """What a client is asked for.

    - ``metrics``: prefixes, sorted; ``("*",)``: all metrics; empty: no metrics.
    - ``interval_ms``: milliseconds between two pushes.
    - ``subscription_id``: an int32 that changes with the other two.
    """

    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int

    def keeps(self, metric: str) -> bool:
        """Whether a metric of this name was asked for."""
        return self.metrics == (ALL,) or metric.startswith(self.metrics)


def requested(subscriptions: Iterable[Subscription], client: Client) -> Requested:
    """What the subscriptions that match a client ask it for, as a broker puts them together
    (ClientMetricsManager.createClientInstance): all prefixes, and the least interval, which is at
    most ``DEFAULT_INTERVAL_MS``.

    The id follows from that and the client's instance id alone, so that every worker and gateway
    computes the same: what their matches may cost is counted in steps, not in time. May take
    several slices.
    """
    steps = Steps()
    matching = tuple(one for one in paced(subscriptions, every=1) if one.matches(client, steps))
    metrics, interval_ms, checksum = _together(matching)
    return Requested(metrics, interval_ms, _signed(checksum ^ _hash_of(client.instance_id)))


def _matches(pattern: NameRegex, value: str | None, steps: Steps) -> bool:
    """Whether an expression matches a value of a client; a pause before it."""
    if value is None or len(value) > MAX_MATCHED:
        return False
    text = value.encode(errors="replace")
    if len(text) > MAX_MATCHED:
        return False
    if not steps.spend(max(pattern.instructions, LEAST_INSTRUCTIONS) * len(text)):
        return False
    pause_point()
    return pattern.matches(text)


@lru_cache(maxsize=1)
def _nothing() -> NameRegex:
    """An expression that matches no value."""
    return NameRegex(r"\z.")


# -- ids -------------------------------------------------------------------------------------------


@lru_cache(maxsize=128)
def _together(matching: tuple[Subscription, ...]) -> tuple[tuple[str, ...], int, int]:
    """The prefixes, the interval and the checksum of both."""
    prefixes: set[str] = set()
    interval_ms = DEFAULT_INTERVAL_MS
    for one in paced(matching):
        prefixes.update(one.metrics)
        interval_ms = min(interval_ms, one.interval_ms)
    metrics = (ALL,) if ALL in prefixes else tuple(sorted(prefixes))
    # As a broker's, whose order of several prefixes is that of Java's hashes.
    text = f"[{', '.join(metrics)}]{interval_ms}"
    return metrics, interval_ms, _crc32c(text.encode())


def _crc32c(content: bytes) -> int:
    """The checksum CRC-32C (RFC 3720)."""
    table, crc = _CRC32C, 0xFFFFFFFF
    for start in paced(range(0, len(content), 4_096), every=1):
        for byte in content[start : start + 4_096]:
            crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC32C: Final = tuple(map(_crc_of, range(256)))


def _hash_of(uuid: bytes) -> int:
    """The hash of Kafka's ``Uuid`` (its two halves by exclusive or, and those of the result)."""
    both = int.from_bytes(uuid[:8], "big") ^ int.from_bytes(uuid[8:], "big")
    return (both >> 32) ^ (both & 0xFFFFFFFF)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
