"""The two sides of the oracle of access over the protocol.

These are a broker that authorizes, and a gateway that does so in front of a broker that does not.
Both get the same requests over connections that stay open.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from devkit.waiting import wait_until
from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from protocol.schema import api_key_of, message_versions
from tests.live.oracle import comparison
from tests.live.oracle.acl_sets import HOSTS, NAMES, USERS
from tests.live.oracle.answers import comparable
from tests.live.oracle.request_parts import TIMEOUT, WITH_MEMBER, Request
from tests.live.oracle.topic_requests import EXISTING, MISSING, SUBSCRIBED
from tests.live.support import authorized, by_hand, clients
from tests.live.support.wire import Wire

_ACLS = 3
"""The version of the ACL APIs that is used here."""
_ANY = {
    "resource_type_filter": ResourceType.ANY,
    "resource_name_filter": None,
    "pattern_type_filter": PatternType.ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": Operation.ANY,
    "permission_type": Permission.ANY,
}
_MEMBER = "member"


PRODUCED_BY_ID = 13
"""The first version of Produce that names topics by their ids (KIP-516)."""


class Side:
    """An address, with connections for each user and host, and another for the administrator."""

    def __init__(self, stack: contextlib.ExitStack, servers: str) -> None:
        self._admin = self._connection(stack, servers, authorized.ADMIN, HOSTS[0])
        # On a connection, a producer names a topic either by name or by id (docs/names.md).
        self._wires = {
            (user, host, by_id): self._connection(stack, servers, user, host)
            for user in USERS
            for host in HOSTS
            for by_id in (False, True)
        }
        self._ids: dict[str, uuid.UUID] = {name: uuid.uuid4() for name in MISSING}
        self._acls: frozenset[AclBinding] = frozenset()
        self._markers = itertools.count()
        by_hand.await_coordinators(
            self._admin, NAMES[ResourceType.GROUP], NAMES[ResourceType.TRANSACTIONAL_ID]
        )
        self.make_topics()
        self._join()

    @staticmethod
    def _connection(stack: contextlib.ExitStack, servers: str, user: str, host: str) -> Wire:
        wire = stack.enter_context(Wire(servers, source=host))
        authorized.prove(wire, user)
        return wire

    # -- requests ---------------------------------------------------------------------------

    def versions(self, api: str) -> set[int]:
        """The versions of an API that this side serves and this test can send."""
        key = api_key_of(f"{api}Request")
        found = (e for e in self._admin.ask("ApiVersions", 0).api_keys if e.api_key == key)
        served = next((range(e.min_version, e.max_version + 1) for e in found), range(0))
        return {version for version in message_versions(f"{api}Request") if version in served}

    def answer(self, user: str, host: str, request: Request) -> Any:
        """The comparable part of the response to a user at a host."""
        name, version = request.api, request.version
        body = comparison.request_body(name, version, request.values, self._ids)
        by_id = name == "Produce" and version >= PRODUCED_BY_ID
        wire = self._wires[user, host, by_id]
        answer = wire.exchange(api_key_of(f"{name}Request"), version, body)
        known = {topic_id: topic for topic, topic_id in self._ids.items()}
        parsed = comparison.response(name, version, answer)
        if name == "DeleteTopics":
            self.make_topics()
        return comparable(parsed, known)

    def ask(self, user: str, api: str, version: int, **values: object) -> Any:
        """The response to a user at the first host, whatever the request changes."""
        return self._wires[user, HOSTS[0], False].ask(api, version, **values)

    # -- state ------------------------------------------------------------------------------

    def begin_anew(self, acls: Iterable[AclBinding]) -> None:
        """Reset to exactly these ACLs and the topics of EXISTING."""
        self._acls = self.acls()
        self.set_acls(acls)
        more = [{"name": name} for name in self.topics() - {*EXISTING}]
        if more:
            answered = self._admin.ask("DeleteTopics", 6, topics=more, timeout=TIMEOUT)
            assert {int(each.error_code) for each in answered.responses} == {0}
        self._ids = {name: self._ids[name] for name in MISSING}  # the others were created again
        self.make_topics()
        wait_until(lambda: self.topics() == {*EXISTING}, "topics", clients.SECONDS, poll=0.005)

    def topics(self) -> set[str]:
        """The existing topics, of those that requests name."""
        found = self._admin.ask("Metadata", 12, topics=None).topics
        return {one.name for one in found} & {*NAMES[ResourceType.TOPIC]}

    def make_topics(self) -> None:
        """Create the missing topics of EXISTING, and wait until they can be used."""
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in EXISTING]
        made = self._admin.ask("CreateTopics", 7, topics=topics, timeout=TIMEOUT).topics
        codes = {int(each.error_code) for each in made}
        assert codes <= {0, _TOPIC_ALREADY_EXISTS}
        # If a broker has not applied a deletion yet, it still returns the old topic's id.
        self._ids |= {each.name: each.topic_id for each in made if not each.error_code}
        if 0 in codes or not self._ids.keys() >= {*EXISTING}:
            wait_until(self._serves_topics, "leaders of all topics", clients.SECONDS, poll=0.005)

    def _serves_topics(self) -> bool:
        named = [{"name": name} for name in EXISTING]
        found = self._admin.ask("Metadata", 12, topics=named).topics
        if any(int(each.error_code) for each in found):
            return False
        told = {each.name: each.topic_id for each in found}
        if any(self._ids.get(name, topic_id) != topic_id for name, topic_id in told.items()):
            return False
        self._ids |= told
        partition = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
        topics = [{"name": name, "partitions": [partition]} for name in EXISTING]
        answered = self._admin.ask("ListOffsets", 4, replica_id=-1, topics=topics).topics
        return all(int(each.partitions[0].error_code) == 0 for each in answered)

    def forget_groups(self) -> None:
        """Delete every group without members, with its offsets."""
        groups = tuple(name for name in NAMES[ResourceType.GROUP] if name != WITH_MEMBER)
        answered = self._admin.ask("DeleteGroups", 2, groups_names=groups).results
        codes = {int(each.error_code) for each in answered}
        assert codes <= {0, _GROUP_ID_NOT_FOUND}, codes

    def _join(self) -> None:
        """Join the only group with a member, with partitions of two topics.

        The member stays for the group's session timeout.
        """

        def joined() -> Any:
            answer = self._heartbeat(0, SUBSCRIBED, [])
            given = () if answer.assignment is None else answer.assignment.topic_partitions
            return answer if len(given) == len(SUBSCRIBED) else None

        answer = wait_until(joined, "a member with partitions", clients.SECONDS, poll=0.01)
        given = answer.assignment.topic_partitions
        owned = [{"topic_id": each.topic_id, "partitions": each.partitions} for each in given]
        self._heartbeat(answer.member_epoch, None, owned)

    def _heartbeat(self, epoch: int, topics: Sequence[str] | None, owned: list[Any]) -> Any:
        answer = self._admin.ask(
            "ConsumerGroupHeartbeat",
            1,
            group_id=WITH_MEMBER,
            member_id=_MEMBER,
            member_epoch=epoch,
            rebalance_timeout=TIMEOUT,
            subscribed_topic_names=None if topics is None else tuple(topics),
            topic_partitions=owned,
        )
        assert int(answer.error_code) == 0, answer.error_message
        return answer

    # -- ACLs ---------------------------------------------------------------------------------

    def set_acls(self, acls: Iterable[AclBinding]) -> None:
        """Replace all ACLs by these, and wait until this side applies them."""
        wanted = frozenset(acls)
        gone, new = self._acls - wanted, wanted - self._acls
        if gone:
            answered = self._admin.ask("DeleteAcls", _ACLS, filters=[_as_filter(a) for a in gone])
            assert {int(each.error_code) for each in answered.filter_results} == {0}
        if new:
            answered = self._admin.ask("CreateAcls", _ACLS, creations=[creation(a) for a in new])
            assert {int(each.error_code) for each in answered.results} == {0}
        self._acls = wanted
        wait_until(lambda: self.acls() == wanted, "these ACLs", clients.SECONDS, poll=0.002)

    def await_changes(self) -> None:
        """Wait until this side applies all changes so far, which it does after its response.

        A new ACL, about nothing else, is applied only after the changes before it.
        """
        name = f"marker-{next(self._markers)}"
        pattern = ResourcePattern(ResourceType.TRANSACTIONAL_ID, PatternType.LITERAL, name)
        entry = AclEntry("User:nobody", "*", Operation.WRITE, Permission.ALLOW)
        marker = AclBinding(pattern, entry)
        answered = self._admin.ask("CreateAcls", _ACLS, creations=[creation(marker)])
        assert {int(each.error_code) for each in answered.results} == {0}
        wait_until(lambda: marker in self.acls(), "the last ACL", clients.SECONDS, poll=0.005)

    def acls(self) -> frozenset[AclBinding]:
        """The ACLs that this side lists."""
        return frozenset(bindings(self._admin.ask("DescribeAcls", _ACLS, **_ANY)))


_TOPIC_ALREADY_EXISTS = 36
_GROUP_ID_NOT_FOUND = 69


def creation(acl: AclBinding) -> dict[str, object]:
    """An ACL as an item of CreateAcls."""
    pattern, entry = acl.pattern, acl.entry
    return {
        "resource_type": pattern.type,
        "resource_name": pattern.name,
        "resource_pattern_type": pattern.pattern_type,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission,
    }


def _as_filter(acl: AclBinding) -> Mapping[str, object]:
    pattern, entry = acl.pattern, acl.entry
    return {
        "resource_type_filter": pattern.type,
        "resource_name_filter": pattern.name,
        "pattern_type_filter": pattern.pattern_type,
        "principal_filter": entry.principal,
        "host_filter": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission,
    }


def bindings(answer: Any) -> Iterator[AclBinding]:
    """The ACLs of a DescribeAcls response."""
    assert int(answer.error_code) == 0, answer.error_message
    for found in answer.resources:
        pattern = ResourcePattern(
            ResourceType(found.resource_type), PatternType(found.pattern_type), found.resource_name
        )
        for each in found.acls:
            operation, permission = Operation(each.operation), Permission(each.permission_type)
            yield AclBinding(pattern, AclEntry(each.principal, each.host, operation, permission))
