"""How an API lists brokers in its responses, and brokers as messages have them."""

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
    """How an API lists brokers in its responses. Each function is given the version and the body of
    a response, and raises ProtocolError."""

    replaced: Callable[[int, bytes, Iterable[Broker], str | None, int], bytes]
    """The response with these brokers, cluster id and controller."""

    extended: Callable[[int, bytes, Iterable[Broker]], bytes]
    """The response with these brokers behind its own."""

    node_ids: Callable[[int, bytes], set[int]] | None = None
    """The ids of the brokers that a response lists beside partitions, which may have leaders that
    are new."""


def made_brokers(response_class: type, id_field: str, brokers: Iterable[Broker]) -> list[object]:
    """Brokers as a response of this class has them; ``id_field`` is the field of their ids."""
    element = element_class(response_class, "brokers")
    return [make(element, values) for values in _values(id_field, brokers)]


def _values(id_field: str, brokers: Iterable[Broker]) -> Iterable[dict[str, object]]:
    for each in brokers:
        yield {id_field: each.node_id, "host": each.host, "port": each.port, "rack": each.rack}
