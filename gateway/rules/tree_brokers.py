"""How an API lists brokers in its responses, and brokers in the form of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from protocol.messages import element_class, make


class Broker(Protocol):
    """One broker at the gateway's address."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def rack(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class BrokerList:
    """How an API lists brokers in its responses. Each function is called with the version and the
    body of a response, and raises ProtocolError."""

    replaced: Callable[[int, bytes, Iterable[Broker], str | None, int], bytes]
    """The response with the given brokers, cluster id and controller in place of its own."""

    extended: Callable[[int, bytes, Iterable[Broker]], bytes]
    """The response with the given brokers after its own."""

    node_ids: Callable[[int, bytes], set[int]] | None = None
    """The ids of the brokers in a response that lists brokers beside partitions, whose
    leaders may be new."""


def made_brokers(response_class: type, id_field: str, brokers: Iterable[Broker]) -> list[object]:
    """Brokers as elements of a response of this class; ``id_field`` is the field of their ids."""
    element = element_class(response_class, "brokers")
    return [make(element, values) for values in _values(id_field, brokers)]


def _values(id_field: str, brokers: Iterable[Broker]) -> Iterable[dict[str, object]]:
    for each in brokers:
        yield {id_field: each.node_id, "host": each.host, "port": each.port, "rack": each.rack}
