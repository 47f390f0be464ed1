"""A principal's rights on names: checked once, by the topic's own name, before existence."""

from __future__ import annotations

from collections import Counter

import pytest

from gateway.acl_model import (
    CLUSTER,
    Operation,
    PatternType,
    Resource,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import Verdict
from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.names import LogicalName
from gateway.views.access import ALTER, CREATE, DELETE, DESCRIBE, READ, WRITE
from gateway.views.authorized_access import ACL_RULE, AuthorizedAccess
from gateway.views.closed_view import ClosedView
from gateway.views.view import View, ViewSettings
from tests.session.allowing import Allowing

MOVED = TopicEntry(
    "old",
    LogicalName("team-a", "orders"),
    aliases=(Alias(LogicalName("", "old"), 1 << 60),),
)
SNAPSHOT = Snapshot.of(["team-a", "team-b"], topics=[MOVED])


class Counting(Allowing):
    """Counts its calls."""

    def __init__(self, *allowed: str) -> None:
        super().__init__(allowed)
        self.asked: Counter[str] = Counter()

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        self.asked[f"{operation.name} {resource}"] += 1
        return super().authorize(principal, host, operation, resource)


def access(
    *allowed: str, home: str = "", closed: bool = False
) -> tuple[AuthorizedAccess, Counting]:
    authorizer = Counting(*allowed)
    view_class = ClosedView if closed else View
    view = view_class(ViewSettings("test", home=home), SNAPSHOT)
    return AuthorizedAccess(view, "User:alice", "10.0.0.1", authorizer), authorizer


def test_nothing_is_asked_twice() -> None:
    alice, authorizer = access("READ TOPIC team-b:x")
    for _ in range(3):
        assert isinstance(alice.to_read(b"team-b:x"), Resolved)
        assert isinstance(alice.to_read(b"team-b..x"), Resolved)
        assert alice.flat_denial(READ, b"team-b..x") is None
        assert isinstance(alice.to_write(b"team-b:x"), Denied)
        assert isinstance(alice.any_topic(WRITE), Denied)
    assert authorizer.asked == {"READ TOPIC team-b:x": 1, "WRITE TOPIC team-b:x": 1}


def test_a_denial_says_what_of_what_and_why() -> None:
    alice, _ = access()
    denied = alice.to_write(b"team-b:x")
    assert isinstance(denied, Denied)
    assert denied == Denied(
        29,
        "User:alice is not allowed to WRITE topic 'team-b:x'.",
        ACL_RULE,
        "WRITE",
        "TOPIC team-b:x",
        "the list",
    )
    cluster = alice.cluster(CREATE)
    assert cluster is not None
    assert (cluster.code, cluster.message) == (31, "User:alice is not allowed to CREATE cluster.")


def test_what_may_not_be_asked_about_is_not_said_to_be_missing() -> None:
    alice, _ = access("READ TOPIC nowhere:x")
    missing, forbidden = alice.to_read(b"nowhere:x"), alice.to_read(b"nowhere:y")
    assert isinstance(missing, Denied)
    assert isinstance(forbidden, Denied)
    assert (missing.code, missing.rule) == (3, "namespace")
    assert (forbidden.code, forbidden.rule) == (29, ACL_RULE)


def test_a_moved_topic_is_asked_about_by_its_own_name() -> None:
    alice, authorizer = access("READ TOPIC team-a:orders")
    for name in (b"old", b"team-a:orders"):
        found = alice.to_read(name)
        assert isinstance(found, Resolved)
        assert found.flat == b"old"
    assert authorizer.asked == {"READ TOPIC team-a:orders": 1}
    named = alice.topic_resource(b"old")
    assert named == Resource(ResourceType.TOPIC, "team-a", "orders")


def test_names_are_namespaces_or_topics_or_nothing() -> None:
    alice, _ = access(home="team-a")
    assert alice.topic_resource(b"x") == Resource(ResourceType.TOPIC, "team-a", "x")
    assert alice.topic_resource(b"sub:") == Resource(ResourceType.TOPIC, "team-a:sub", "")
    assert alice.topic_resource(b":team-b:x") is None


def test_a_name_outside_the_home_is_rejected_as_ever() -> None:
    alice, authorizer = access(home="team-a")
    denied = alice.to_read(b":team-b:x")
    assert isinstance(denied, Denied)
    assert (denied.code, denied.rule) == (3, "names")
    assert not authorizer.asked


def test_groups_and_transactional_ids_belong_to_the_home() -> None:
    at_home, _ = access("READ GROUP team-a:app", "WRITE TRANSACTIONAL_ID team-a:tx", home="team-a")
    from_root, _ = access("READ GROUP team-a:app", "READ GROUP app")
    assert at_home.group(READ, b"app") == b"team-a..app"
    assert at_home.transactional_id(WRITE, b"tx") == b"team-a..tx"
    assert from_root.group(READ, b"team-a..app") == b"team-a..app"
    assert from_root.group(READ, b"team-a:app") == b"team-a:app"
    assert from_root.group(READ, b"app") == b"app"
    denied = at_home.group(READ, b"other")
    assert isinstance(denied, Denied)
    assert (denied.code, denied.resource) == (30, "GROUP team-a:other")
    denied = from_root.transactional_id(WRITE, b"tx")
    assert isinstance(denied, Denied)
    assert (denied.code, denied.resource) == (53, "TRANSACTIONAL_ID tx")


@pytest.mark.parametrize("group", ["app", "a:b", ":", "my app", "x..y", "team-b:x", "é"])
def test_from_the_root_a_homes_ids_are_the_homes(group: str) -> None:
    at_home, _ = access(home="team-a")
    from_root, _ = access()
    prefixed = at_home.view.group_to_broker(group.encode())
    assert isinstance(prefixed, bytes)
    kind = ResourceType.GROUP
    assert from_root.id_resource(kind, prefixed) == at_home.id_resource(kind, group.encode())
    assert at_home.broker_id_resource(kind, prefixed).text == f"team-a:{group}"


def test_whose_an_id_is_depends_on_nothing_that_exists() -> None:
    alice, _ = access()
    for made in (SNAPSHOT, Snapshot.of(["team-a", "new"])):
        there = alice.over(View(ViewSettings("test"), made))
        kind = ResourceType.GROUP
        assert there.id_resource(kind, b"new..app") == Resource(kind, "new", "app")
        assert there.broker_id_resource(kind, b"new..app") == Resource(kind, "new", "app")
        assert there.id_resource(kind, b"no_tier..app") == Resource(kind, "", "no_tier..app")


def test_that_a_namespace_is_being_deleted_is_not_for_everybody() -> None:
    made = SNAPSHOT.apply([Namespace("team-b", deleting=1)], 2)
    told = []
    for rights in ((), ("READ GROUP team-b:app",)):
        alice, _ = access(*rights)
        denied = alice.over(View(ViewSettings("test"), made)).group(READ, b"team-b..app")
        assert isinstance(denied, Denied)
        assert denied.code == 30
        told.append(denied.message)
    assert told == [
        "User:alice is not allowed to READ group 'team-b..app'.",
        "Group 'team-b..app' is being deleted.",
    ]


def test_nor_where_nothing_is_done_by_the_id() -> None:
    """As in a Produce without a transaction, which names a transactional id in vain."""
    made = SNAPSHOT.apply([Namespace("team-b", deleting=1)], 2)
    alice, _ = access()
    there = alice.over(View(ViewSettings("test"), made))
    assert there.transactional_id(0, b"team-b..app") == b"team-b..app"
    alice, _ = access("DESCRIBE TRANSACTIONAL_ID team-b:app")
    there = alice.over(View(ViewSettings("test"), made))
    assert isinstance(there.transactional_id(0, b"team-b..app"), Denied)


def test_a_reserved_group_is_reserved_before_it_is_asked_about() -> None:
    alice, authorizer = access()
    denied = alice.group(READ, b"__kafka_gateway")
    assert isinstance(denied, Denied)
    assert denied.rule == "reserved"
    assert not authorizer.asked


def test_groups_are_listed_by_their_own_right_or_the_clusters() -> None:
    alice, _ = access("DESCRIBE GROUP team-a:app")
    assert [alice.lists_group(group) for group in (b"team-a..app", b"app")] == [True, False]
    operator, _ = access(f"DESCRIBE {CLUSTER}")
    assert operator.lists_group(b"app")


def test_topics_are_made_by_their_own_right_or_the_clusters() -> None:
    in_default = Resource(ResourceType.TOPIC, "", "x")
    in_namespace = Resource(ResourceType.TOPIC, "team-a", "x")
    one, _ = access("CREATE TOPIC x")
    assert one.creation(in_default) is None
    assert isinstance(one.creation(in_namespace), Denied)
    operator, _ = access(f"CREATE {CLUSTER}")
    assert operator.creation(in_default) is None
    # In a namespace the right on the cluster is not enough.
    assert isinstance(operator.creation(in_namespace), Denied)


def test_the_default_namespace_is_the_clusters() -> None:
    alice, authorizer = access("ALTER TOPIC team-a:")
    assert alice.namespace(ALTER, "team-a") is None
    assert isinstance(alice.namespace(ALTER, ""), Denied)
    assert authorizer.asked == {"ALTER TOPIC team-a:": 1, f"ALTER {CLUSTER}": 1}


def test_any_topic() -> None:
    assert access("WRITE TOPIC x")[0].any_topic(WRITE) is None
    denied = access("READ TOPIC x")[0].any_topic(WRITE)
    assert denied is not None
    assert denied.code == 31


@pytest.mark.parametrize("allowed", ["READ TOPIC x", "DESCRIBE GROUP g", "CREATE CLUSTER cluster"])
def test_anything(allowed: str) -> None:
    assert access(allowed)[0].anything()
    assert not access()[0].anything()


def test_whom_a_volume_does_not_trust_is_allowed_nothing() -> None:
    # DESIGN: principals of a listener count in another volume only by trust, default deny. Rights
    # of everybody, as by allow.everyone.if.no.acl.found, are not for them.
    allowed = ("READ TOPIC team-b:x", "ALTER TOPIC team-b:", "WRITE TOPIC x")
    view = View(ViewSettings("test"), SNAPSHOT)
    nobody = AuthorizedAccess(view, "", "10.0.0.1", Allowing(allowed))
    assert (
        AuthorizedAccess(view, "User:a", "", Allowing(allowed)).flat_denial(READ, b"team-b..x")
        is None
    )
    assert nobody.flat_denial(READ, b"team-b..x") is not None
    assert isinstance(nobody.to_read(b"team-b:x"), Denied)
    assert nobody.any_topic(WRITE) is not None
    assert not nobody.anything()
    named = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, "team-b:x")
    assert not nobody.manages(named)


def test_a_stale_catalog_answers_for_everything() -> None:
    alice, authorizer = access("READ TOPIC team-b:x", closed=True)
    denied = alice.to_read(b"team-b:x")
    assert isinstance(denied, Denied)
    assert denied.rule == "stale"
    assert not authorizer.asked


def test_without_an_operation_nothing_is_asked() -> None:
    alice, authorizer = access()
    assert isinstance(alice.topic(0, b"team-b:x"), Resolved)
    assert alice.flat_denial(0, b"team-b..x") is None
    assert alice.group(0, b"app") == b"app"
    assert not authorizer.asked


def test_operations_are_told_apart() -> None:
    alice, _ = access("DESCRIBE TOPIC x")
    assert alice.flat_denial(DESCRIBE, b"x") is None
    assert isinstance(alice.flat_denial(DELETE, b"x"), Denied)


def test_a_moved_topics_own_name_is_told_to_nobody_who_knows_its_alias_only() -> None:
    for alice in (access()[0], access(home="")[0]):
        denied = alice.to_read(b"old")
        assert isinstance(denied, Denied)
        assert denied.message == "User:alice is not allowed to READ topic 'old'."
        assert denied.resource == "TOPIC team-a:orders"


def test_by_its_id_a_topics_name_is_not_found_out() -> None:
    denied = access()[0].flat_denial(READ, b"team-b..x")
    assert denied is not None
    assert denied.message == "User:alice is not allowed to READ this topic."
    assert denied.resource == "TOPIC team-b:x"


def test_denials_name_what_clients_write() -> None:
    alice, _ = access(home="team-a")
    for spelled in (b"x", b"sub:x", b"sub..x"):
        denied = alice.to_read(spelled)
        assert isinstance(denied, Denied)
        assert f"topic '{spelled.decode()}'." in denied.message
    group = alice.group(READ, b"app")
    assert isinstance(group, Denied)
    assert group.message == "User:alice is not allowed to READ group 'app'."


def test_names_that_are_longer_than_any_are_not_kept() -> None:
    alice, authorizer = access()
    long = b"x" * 5000
    for _ in range(2):
        assert isinstance(alice.to_read(long), Denied)
        assert isinstance(alice.to_write(long), Denied)
        assert isinstance(alice.group(READ, long), Denied)
    kept = [alice._reads, alice._writes, alice._verdicts, alice._flats]
    assert not any(kept)
    assert max(authorizer.asked.values()) == 2
