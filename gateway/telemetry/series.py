"""The series of one push, as they are kept and sent to the supervisor.

A family's series are a JSON text, so that a client's metrics take little memory and are read again
only when somebody wants to see them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gateway.telemetry.limits import MAX_KEPT_BYTES
from gateway.telemetry.prometheus_names import metric_name
from protocol.pausing import paced

GAUGE: Final = "g"
COUNTER: Final = "c"
UNKNOWN: Final = "u"

Labels = tuple[tuple[str, str], ...]

OWN_LABELS: Final = frozenset(
    {"client_id", "client_instance_id", "listener", "namespace", "principal"}
)
"""The labels that the gateway gives every series; a client's own of these names are left out."""

OF_CLIENT: Final = frozenset({"client_rack", "group_id", "group_instance_id", "transactional_id"})
"""The attributes of a client itself that are labels of all its series (KIP-714). Its member id is
none, because it changes with every join."""

TOO_MANY: Final = "series"
"""Why series are dropped: the client has more than ``client_telemetry.max_series_per_client``, or
more than ``MAX_KEPT_BYTES`` would be kept of it."""

OTHER_TYPE: Final = "type"
"""Why series are dropped: they are neither a gauge nor a cumulative sum of numbers."""

NOT_REQUESTED: Final = "not_requested"
"""Why series are dropped: no subscription requests the metric."""

NAME: Final = "name"
"""Why series are dropped: the name of the metric is too long, or has no letter and no digit."""


class Family(NamedTuple):
    """A metric's name for Prometheus, and its type: ``GAUGE``, ``COUNTER``, or ``UNKNOWN`` if the
    client has metrics of both types that have one name for Prometheus."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def of(cls, text: str) -> Family:
        """The reverse of ``str``."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


@dataclass(slots=True)
class Gathered:
    """The series of one push while it is read.

    ``most``: the most series. ``families``: a metric's name for Prometheus -> its series, whatever
    their types, because Prometheus rejects a page that has a series twice. ``kinds``: the types by
    that name. ``dropped``: reason -> series that are not kept.
    ``of_client``: the labels that all series of the client have.
    """

    most: int
    families: dict[str, dict[Labels, float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    of_client: dict[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    count: int = 0
    points: int = 0
    """Points that were read, or left out because they are too many."""

    def add(self, name: str, labels: Labels, value: float, *, monotonic_sum: bool) -> None:
        """Add a point; of two points of one series the later one counts."""
        kind = COUNTER if monotonic_sum else GAUGE
        shown = metric_name(name, monotonic_sum=monotonic_sum)
        if not shown:
            self.dropped[NAME] += 1
            return
        points = self.families.get(shown)
        if points is None or labels not in points:
            if self.count >= self.most:
                self.dropped[TOO_MANY] += 1
                return
            self.count += 1
        if points is None:
            points = self.families[shown] = {}
        if self.kinds.setdefault(shown, kind) != kind:
            self.kinds[shown] = UNKNOWN
        points[labels] = value

    def written(self) -> dict[str, bytes]:
        """The families as texts in UTF-8, as far as ``MAX_KEPT_BYTES`` allow. As ``str`` a single
        character beyond 16 bits would make each of a text take four bytes."""
        texts: dict[str, bytes] = {}
        left = MAX_KEPT_BYTES
        for name, points in paced(self.families.items(), 1):
            family, text = str(Family(self.kinds[name], name)), _write(points)
            size = len(family) + len(text)
            if size > left:
                self.dropped[TOO_MANY] += len(points)
                continue
            left -= size
            texts[family] = text
        return texts


def _write(points: Mapping[Labels, float]) -> bytes:
    """Series as JSON: a list of their labels' names and values, and the value, for each."""
    items = [
        [[text for label in labels for text in label], value] for labels, value in points.items()
    ]
    return json.dumps(items, separators=(",", ":"), ensure_ascii=False).encode()


def read(text: str | bytes) -> Iterator[tuple[dict[str, str], float]]:
    """The series of a family: labels and value. Raises ValueError for another text."""
    for names_and_values, value in json.loads(text):
        labels = dict(zip(names_and_values[::2], names_and_values[1::2], strict=True))
        yield labels, float(value)
