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
    """A metric's name for Prometheus, and its type, ``GAUGE`` or ``COUNTER``."""

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

    ``most``: the most series. ``dropped``: reason -> series that are not kept.
    ``of_client``: the labels that all series of the client have.
    """

    most: int
    families: dict[Family, dict[Labels, float]] = field(default_factory=dict)
    of_client: dict[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    count: int = 0

    def add(self, name: str, labels: Labels, value: float, *, monotonic_sum: bool) -> None:
        """Add a point; of two points of one series the later one counts."""
        kind = COUNTER if monotonic_sum else GAUGE
        shown = metric_name(name, monotonic_sum=monotonic_sum)
        if not shown:
            self.dropped[NAME] += 1
            return
        family = Family(kind, shown)
        points = self.families.get(family)
        if points is None or labels not in points:
            if self.count >= self.most:
                self.dropped[TOO_MANY] += 1
                return
            self.count += 1
        if points is None:
            points = self.families[family] = {}
        points[labels] = value

    def written(self) -> dict[str, str]:
        """The families as texts, as far as ``MAX_KEPT_BYTES`` allow."""
        texts: dict[str, str] = {}
        left = MAX_KEPT_BYTES
        for family, points in paced(self.families.items(), 1):
            text = _write(points)
            left -= len(text.encode())
            if left < 0:
                self.dropped[TOO_MANY] += len(points)
                left += len(text.encode())
                continue
            texts[str(family)] = text
        return texts


def _write(points: Mapping[Labels, float]) -> str:
    """Series as JSON: a list of their labels' names and values, and the value, for each."""
    items = [
        [[text for label in labels for text in label], value] for labels, value in points.items()
    ]
    return json.dumps(items, separators=(",", ":"), ensure_ascii=False)


def read(text: str) -> Iterator[tuple[dict[str, str], float]]:
    """The series of a family: labels and value. Raises ValueError for another text."""
    for names_and_values, value in json.loads(text):
        labels = dict(zip(names_and_values[::2], names_and_values[1::2], strict=True))
        yield labels, float(value)
