"""The broker itself, with nothing between."""

from __future__ import annotations

from bench.targets.target import Target, port_of


class Direct(Target):
    """The broker without a proxy, which latencies are compared with."""

    name = "direct"
    title = "direct"

    def __init__(self) -> None:
        self._port = 0

    def start(self, broker: str) -> None:
        """Nothing to start."""
        self._port = port_of(broker)

    def stop(self) -> None:
        """Nothing to stop."""

    @property
    def port(self) -> int:
        """The broker's."""
        return self._port

    def processes(self) -> list[int]:
        """None: there is no proxy."""
        return []
