"""How an API lists brokers in its responses, and brokers in the form of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from protocol.messages import element_class, make


class Broker(NamedTuple):
    """A broker of the tree, or a gateway as a node, at the gateway's address. ``node_id`` is the
    one that clients see."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


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
