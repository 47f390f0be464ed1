"""What a worker tells its supervisor of clients' metrics, when it is asked: a message for each
client, in the form of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.telemetry.store import Kept
from gateway.telemetry.telemetry import instance_text


@dataclass(frozen=True, slots=True)
class TellClients:
    """Order: tell what clients have pushed. The messages for it have the same number."""

    number: int


@dataclass(frozen=True, slots=True)
class ClientTold:
    """What a client has pushed; see :class:`gateway.telemetry.store.Kept`. ``key`` is the same in
    every worker that has metrics of the client."""

    number: int
    key: tuple[str, ...]
    labels: Mapping[str, str]
    families: Mapping[str, str]
    pushed_at: float

    @classmethod
    def of(cls, number: int, kept: Kept) -> ClientTold:
        """The message for what is kept of a client."""
        owner, instance_id = kept.key
        key = (*owner, instance_text(instance_id))
        families = {family: text.decode() for family, text in kept.families.items()}
        return cls(number, key, kept.labels, families, kept.pushed_at)

    def to_json(self) -> dict[str, Any]:
        """The message as a JSON object."""
        return {
            "number": self.number,
            "key": list(self.key),
            "labels": dict(self.labels),
            "families": dict(self.families),
            "pushed_at": self.pushed_at,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ClientTold:
        """The reverse of :meth:`to_json`. Raises ValueError for anything else."""
        match content:
            case {
                "number": int(number),
                "key": list(key),
                "labels": dict(labels),
                "families": dict(families),
                "pushed_at": float(pushed_at),
            } if _are_texts([*key, *labels.values(), *families.values()]):
                return cls(number, tuple(key), labels, families, pushed_at)
        raise ValueError("a line that is no client's metrics")


@dataclass(frozen=True, slots=True)
class ClientsTold:
    """The worker has told of all its clients."""

    number: int


def _are_texts(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)
