"""ConsumerGroupDescribe (API 69, KIP-848): the members of consumer groups, and their partitions."""

from __future__ import annotations

from gateway.apis import generic
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules import consumer_group_describe
from gateway.rules.declaration import DESCRIBE, Do, ItemShape, Needs, ToldOperations
from protocol.splice import Edit


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; groups of topics that may not be described are not told."""
    access, version = state.access, exchange.plan.version
    if not access.authorizes:
        return generic.response(state, exchange, buf, start, end)
    body = consumer_group_describe.withhold(
        version, buf[start:end], lambda flat: access.flat(DESCRIBE, flat) is not None
    )
    return generic.restored_body(state, exchange, body)


API = declare(
    Api(
        "ConsumerGroupDescribe",
        (0, 1),
        Do.REWRITE,
        needs=Needs(group=DESCRIBE),
        items=(ItemShape("group_ids", (), "groups", ("group_id",)),),
        seen=(
            ("groups", "members", "subscribed_topic_names"),
            ("groups", "members", "assignment", "topic_partitions"),
            ("groups", "members", "target_assignment", "topic_partitions"),
        ),
        operations=ToldOperations(
            ("include_authorized_operations",), "groups", "group_id", "authorized_operations"
        ),
        response=response,
    )
)
