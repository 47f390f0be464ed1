"""What every target is to the bench."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

NEWEST_FETCH = 15
"""Fetch 16 puts broker addresses behind the records; the gateway advertises up to 15."""
NEWEST_PRODUCE = 13


@dataclass(frozen=True, slots=True)
class Versions:
    """The newest versions to use with a target; it may serve less."""

    produce: int = NEWEST_PRODUCE
    fetch: int = NEWEST_FETCH


class TargetError(Exception):
    """A target cannot be started; the message says what is missing."""


class Target(ABC):
    """One way from a client to the broker.

    ``name`` is a short key, ``title`` what the tables call it. ``start`` returns when it serves;
    what it starts ends with ``stop`` at the latest.
    """

    name: str
    title: str
    versions = Versions()

    @abstractmethod
    def start(self, broker: str) -> None:
        """Serve the broker at ``host:port``. Raises TargetError."""

    @abstractmethod
    def stop(self) -> None:
        """End what was started. May be called again."""

    @property
    @abstractmethod
    def port(self) -> int:
        """The port that clients are given."""

    @abstractmethod
    def processes(self) -> list[int]:
        """The process ids of the proxy: all that costs something only because it is there."""

    def helpers(self) -> list[int]:
        """Processes that stand on the clients' side: they run where the load generators do."""
        return []

    @property
    def ports(self) -> Sequence[int]:
        """Every port that clients may be led to."""
        return [self.port]

    def topic(self, stem: str) -> str:
        """The name by which a client of this target asks for a topic."""
        return f"{self.name}-{stem}"

    def leader_port(self, advertised: int) -> int:
        """The port of the partition leader that Metadata ``advertised``."""
        return advertised

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def port_of(address: str) -> int:
    """The port in ``host:port``."""
    return int(address.rpartition(":")[2])
