"""Groups are listed, described and deleted: DescribeGroups, ListGroups, DeleteGroups (APIs 15, 16
and 42), ConsumerGroupDescribe and ShareGroupDescribe (69 and 77).

Group ids are rewritten and restored. Describing needs DESCRIBE on each group, deleting needs
DELETE, and each denied group gets an error. For classic groups, the members' topic names are
restored if the client may describe the topics. A group of the consumer protocol (KIP-848), or a
share group (KIP-932), is TOPIC_AUTHORIZATION_FAILED if it has an assignment of a topic that the
client may not describe. A request to list groups is forwarded unchanged, and its response is cut to
the view's groups that the client may describe; while the catalog is out of date, the response is
COORDINATOR_LOAD_IN_PROGRESS, so that clients list again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import count_errors
from gateway.apis.groups.classic_members import GROUP_ID
from gateway.apis.groups.member_mark import with_expressions, without_marks
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS, TOPIC_AUTHORIZATION_FAILED
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Plan
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.rules.declaration import (
    DELETE,
    DESCRIBE,
    Do,
    ItemShape,
    Needs,
    Shadows,
    ToldOperations,
)
from gateway.rules.restore import ResponseRenamer
from gateway.views.access import Access
from protocol import messages
from protocol.messages import make
from protocol.pausing import eased, paced
from protocol.splice import Edit

_ASSIGNMENTS: Final = ("assignment", "target_assignment")
"""The fields of a member that hold its topics; a member of a share group has the first."""

_MESSAGE: Final = "The group has described topic(s) that the client is not authorized to describe."


def list_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Drop the groups outside the view and groups that the client may not describe; restore the
    others. A view that is out of date shows no group, which an empty list would say of all."""
    plan, access = exchange.plan, state.access
    if access.view.closed:
        count_errors(exchange, [COORDINATOR_LOAD_IN_PROGRESS])
        values = {"error_code": COORDINATOR_LOAD_IN_PROGRESS}
        return messages.made("ListGroupsResponse", plan.version, values)
    spans = walking.response_spans(plan, buf, start, end)
    hidden = {
        value
        for kind, _, _, value in eased(spans)
        if kind == GROUP_ID
        and (access.view.id_to_client(value) is None or not access.lists_group(value))
    }
    if not hidden:
        renamer = ResponseRenamer(access, state.worker.cluster.index, plan.flexible, None)
        renamer.add(spans)
        count_errors(exchange, renamer.errors)
        return renamer.edits
    body = without_groups(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def without_groups(version: int, body: bytes, hidden: Collection[bytes]) -> bytes:
    """A ListGroupsResponse without the ``hidden`` ids (UTF-8). Raises ProtocolError."""
    response = messages.parse("ListGroupsResponse", version, body)
    groups = tuple(each for each in paced(response.groups) if each.group_id.encode() not in hidden)
    return messages.write(replace(response, groups=groups))


def list_in_tree(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """The groups of the listener's volume, because Admin clients request every broker's groups: the
    other volumes' nodes respond with no groups."""
    return None if mount == tree.own else Answer(_no_groups(plan.version))


def list_at_gateway_node(exchange: Exchange, body: bytes) -> Outcome:
    """The response of a gateway's node, which coordinates no group."""
    return Answer(_no_groups(exchange.plan.version))


def _no_groups(version: int) -> bytes:
    return messages.made("ListGroupsResponse", version, {})


def describe_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names, and the expressions of members that subscribed through a gateway; withhold
    groups that read topics which the client may not describe."""
    access, plan, version = state.access, exchange.plan, exchange.plan.version
    body, expressions = without_marks(plan.name, version, buf[start:end])
    if access.authorizes:
        body = withhold(plan.name, version, body, _hidden(access))
    shown = generic.restored_body(state, exchange, body)
    return with_expressions(version, shown, expressions) if expressions else shown


def describe_share_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; withhold groups that read topics which the client may not describe. Their
    members have no expressions."""
    plan, sent = exchange.plan, buf[start:end]
    body, _ = without_marks(plan.name, plan.version, sent)
    if state.access.authorizes:
        body = withhold(plan.name, plan.version, body, _hidden(state.access))
    elif body == sent:
        return generic.response(state, exchange, buf, start, end)
    return generic.restored_body(state, exchange, body)


def withhold(api: str, version: int, body: bytes, hidden: Callable[[bytes], bool]) -> bytes:
    """The response to describe groups of members with assignments (flat names; ``api`` is Kafka's
    name), in which a group with an assignment of a ``hidden`` topic has
    TOPIC_AUTHORIZATION_FAILED and nothing else, as in KafkaApis. Raises ProtocolError."""
    response = messages.parse(f"{api}Response", version, body)
    groups = tuple(_shown(group, hidden) for group in eased(response.groups))
    return messages.write(replace(response, groups=groups))


def _hidden(access: Access) -> Callable[[bytes], bool]:
    """Whether the view has the topic of a flat name, but the client may describe it under none of
    its names. A topic that the view does not have is left out of the group instead, as a broker
    leaves out topics that do not exist."""
    return lambda flat: access.view.spell(flat) is not None and access.shown(flat) is None


def _shown(group: Any, hidden: Callable[[bytes], bool]) -> Any:
    topics = {
        topic.topic_name
        for member in group.members
        for name in _ASSIGNMENTS
        if (assignment := getattr(member, name, None)) is not None
        for topic in assignment.topic_partitions
    }
    if not any(hidden(name.encode()) for name in eased([*topics])):
        return group
    values = {"group_id": group.group_id, "authorized_operations": NOT_ASKED}
    error = {"error_code": TOPIC_AUTHORIZATION_FAILED, "error_message": _MESSAGE}
    return make(type(group), {**values, **error})


_OPERATIONS: Final = ToldOperations(
    ("include_authorized_operations",), "groups", "group_id", "authorized_operations"
)

DESCRIBE_GROUPS = Api(
    "DescribeGroups",
    (0, 6),
    Do.REWRITE,
    needs=Needs(group=DESCRIBE, empty_group=True),
    items=(ItemShape("groups", (), "groups", ("group_id",)),),
    operations=_OPERATIONS,
    shadows=Shadows.NAMED,
)
LIST_GROUPS = Api(
    "ListGroups",
    (0, 5),
    Do.ABSENT,
    null=Do.FILTER,
    response=list_response,
    in_tree=list_in_tree,
    at_gateway_node=list_at_gateway_node,
)
DELETE_GROUPS = Api(
    "DeleteGroups",
    (0, 2),
    Do.REWRITE,
    needs=Needs(group=DELETE, empty_group=True),
    items=(ItemShape("groups_names", (), "results", ("group_id",)),),
)
CONSUMER_GROUP_DESCRIBE = Api(
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
    operations=_OPERATIONS,
    response=describe_response,
    shadows=Shadows.NAMED,
)
SHARE_GROUP_DESCRIBE = Api(
    "ShareGroupDescribe",
    (1, 1),
    Do.REWRITE,
    needs=Needs(group=DESCRIBE),
    items=(ItemShape("group_ids", (), "groups", ("group_id",)),),
    seen=(
        ("groups", "members", "subscribed_topic_names"),
        ("groups", "members", "assignment", "topic_partitions"),
    ),
    operations=_OPERATIONS,
    response=describe_share_response,
)
