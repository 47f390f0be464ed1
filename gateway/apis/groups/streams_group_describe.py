"""StreamsGroupDescribe (API 89, KIP-1071): groups of Kafka Streams with their topologies.

It needs DESCRIBE on each group; a group with a topic that the client may not describe is
TOPIC_AUTHORIZATION_FAILED. Names are restored, and the marks of internal topics
(``streams_topology``) are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gateway.apis import generic
from gateway.apis.groups import streams_topology as topologies
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs, ToldOperations
from gateway.views.access import Access
from protocol import messages
from protocol.messages import changed, make
from protocol.pausing import eased
from protocol.splice import Edit

_HIDDEN: Final = "The described group uses topics that the client is not authorized to describe."


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names, without the marks of internal topics; withhold groups with topics that the
    client may not describe."""
    plan = exchange.plan
    described = messages.parse("StreamsGroupDescribeResponse", plan.version, buf[start:end])
    groups = tuple(_described(state.access, group) for group in eased(described.groups))
    body = messages.write(replace(described, groups=groups))
    return generic.restored_body(state, exchange, body)


def _described(access: Access, group: Any) -> Any:
    """A group as KafkaApis shows it to a client: with all of its topics, or as an error."""
    topology = group.topology
    if topology is None or topology.subtopologies is None:
        return group
    parts = []
    for part in eased(topology.subtopologies):
        internal = (*part.repartition_source_topics, *part.state_changelog_topics)
        names = (*part.source_topics, *part.repartition_sink_topics)
        flats = (*names, *(topic.name for topic in internal))
        if any(access.shown(name.encode()) is None for name in eased(flats)):
            values = {"group_id": group.group_id, "authorized_operations": NOT_ASKED}
            error = {"error_code": TOPIC_AUTHORIZATION_FAILED, "error_message": _HIDDEN}
            return make(type(group), {**values, **error})
        fields = ("repartition_source_topics", "state_changelog_topics")
        parts.append(
            changed(
                part,
                {name: tuple(map(topologies.without_mark, getattr(part, name))) for name in fields},
            )
        )
    return replace(group, topology=replace(topology, subtopologies=tuple(parts)))


API = Api(
    "StreamsGroupDescribe",
    (0, 0),
    Do.REWRITE,
    needs=Needs(group=DESCRIBE),
    items=(ItemShape("group_ids", (), "groups", ("group_id",)),),
    operations=ToldOperations(
        ("include_authorized_operations",), "groups", "group_id", "authorized_operations"
    ),
    response=response,
)
