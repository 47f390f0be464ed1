"""The brokers in every response of a listener in a tree, in place of one cluster's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Protocol

from protocol import messages
from protocol.kinds import Kind
from protocol.messages import element_class, make
from protocol.walkers import Span, walker

_METADATA: Final = "MetadataResponse"
_CLUSTER: Final = "DescribeClusterResponse"
_COUNTS: Final = frozenset({Kind.COUNT})


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
        "brokers": tuple(
            make(element_class(type(response), "brokers"), values)
            for values in _values("broker_id", brokers)
        ),
        "cluster_id": cluster_id or response.cluster_id,
        "controller_id": controller_id,
    }
    return messages.write(replace(response, **changes))


def node_ids(version: int, body: bytes) -> set[int]:
    """The ids of the brokers in a MetadataResponse, whose topics are not read. Raises
    ProtocolError."""
    nothing = messages.write(messages.build(messages.message_class(_METADATA, version)))
    without_topics = body[: _topics_at(version, body)] + nothing[_topics_at(version, nothing) :]
    return {each.node_id for each in messages.parse(_METADATA, version, without_topics).brokers}


def _made(response_class: type, id_field: str, brokers: Iterable[Broker]) -> list[object]:
    element = element_class(response_class, "brokers")
    return [make(element, values) for values in _values(id_field, brokers)]


def _values(id_field: str, brokers: Iterable[Broker]) -> Iterable[dict[str, object]]:
    for each in brokers:
        yield {id_field: each.node_id, "host": each.host, "port": each.port, "rack": each.rack}


def _topics_at(version: int, body: bytes) -> int:
    """The position at which the array of topics begins."""
    spans: list[Span] = []
    walker(_METADATA, version, _COUNTS)(body, 0, len(body), spans)
    return spans[0][1]
