"""Brokers in Metadata and DescribeCluster responses: those of a tree in place of one cluster's,
and more of them behind those."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final, Protocol

from protocol import messages
from protocol.layout import field_end
from protocol.messages import element_class, make
from protocol.schema import message_spec

_METADATA: Final = "MetadataResponse"
_CLUSTER: Final = "DescribeClusterResponse"


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


def in_metadata(
    version: int,
    body: bytes,
    brokers: Iterable[Broker],
    cluster_id: str | None,
    controller_id: int,
) -> bytes:
    """A MetadataResponse with these brokers, cluster id and controller; its topics stay the bytes
    that they are. Raises ProtocolError."""
    response_class = messages.message_class(_METADATA, version)
    values: dict[str, object] = {
        "brokers": _made(response_class, "node_id", brokers),
        "cluster_id": cluster_id,
        "controller_id": controller_id,
    }
    headless = messages.write(make(response_class, values))
    start = _topics_at(version, body)
    return headless[: _topics_at(version, headless)] + body[start:]


def in_description(
    version: int,
    body: bytes,
    brokers: Iterable[Broker],
    cluster_id: str | None,
    controller_id: int,
) -> bytes:
    """A DescribeClusterResponse with these brokers; one that is an error stays as it is."""
    response: Any = messages.parse(_CLUSTER, version, body)
    if response.error_code:
        return body
    changes: dict[str, Any] = {
        "brokers": tuple(_made(type(response), "broker_id", brokers)),
        "cluster_id": cluster_id or response.cluster_id,
        "controller_id": controller_id,
    }
    return messages.write(replace(response, **changes))


def more_in_description(version: int, body: bytes, brokers: Iterable[Broker]) -> bytes:
    """A DescribeClusterResponse with these brokers behind its own; one that is an error stays as it
    is. Raises ProtocolError."""
    response: Any = messages.parse(_CLUSTER, version, body)
    if response.error_code:
        return body
    more = _made(type(response), "broker_id", brokers)
    return messages.write(replace(response, brokers=(*response.brokers, *more)))


def node_ids(version: int, body: bytes) -> set[int]:
    """The ids of the brokers in a MetadataResponse, whose topics are not read. Raises
    ProtocolError."""
    return {each.node_id for each in _without_topics(version, body).brokers}


def more_in_metadata(version: int, body: bytes, brokers: Iterable[Broker]) -> bytes:
    """A MetadataResponse with these brokers behind its own; its topics stay the bytes that they
    are. Raises ProtocolError."""
    response = _without_topics(version, body)
    more = _made(type(response), "node_id", brokers)
    head = messages.write(replace(response, brokers=(*response.brokers, *more)))
    return head[: _topics_at(version, head)] + body[_topics_at(version, body) :]


def _made(response_class: type, id_field: str, brokers: Iterable[Broker]) -> list[object]:
    element = element_class(response_class, "brokers")
    return [make(element, values) for values in _values(id_field, brokers)]


def _values(id_field: str, brokers: Iterable[Broker]) -> Iterable[dict[str, object]]:
    for each in brokers:
        yield {id_field: each.node_id, "host": each.host, "port": each.port, "rack": each.rack}


def _without_topics(version: int, body: bytes) -> Any:
    nothing = messages.write(messages.build(messages.message_class(_METADATA, version)))
    head = body[: _topics_at(version, body)]
    return messages.parse(_METADATA, version, head + nothing[_topics_at(version, nothing) :])


def _topics_at(version: int, body: bytes) -> int:
    """The position at which the array of topics begins, which is not walked. The body has been."""
    spec = message_spec(_METADATA, version).body
    position = 0
    for field in takewhile(lambda each: each.name != "topics", spec.fields):
        position = field_end(body, position, field, spec.flexible)
    return position
