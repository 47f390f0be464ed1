"""Snapshots: a state after another, and the owner of a name in each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    ClientMetrics,
    Gateway,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from gateway.names import InvalidName, LogicalName

ORDERS_A, ORDERS_B = LogicalName("team-a", "orders"), LogicalName("team-b", "orders")
IDS = [bytes([n]) * 16 for n in range(5)]
READ = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)
WRITE = AclEntry("User:a", "*", Operation.WRITE, Permission.DENY)
PATTERN = pattern_of("TOPIC:PREFIXED:team-a:")


def test_a_namespace_comes_with_every_tier_above_it() -> None:
    assert set(Snapshot.of(["org:apache:kafka"]).namespaces) == {
        "org",
        "org:apache",
        "org:apache:kafka",
    }
    with pytest.raises(InvalidName):
        Snapshot.of(["a::b"])


def test_a_change_makes_a_new_state_and_leaves_the_old_one() -> None:
    before = Snapshot.of(["org"])
    after = before.apply([Namespace("org:apache")], 2)
    assert (set(before.namespaces), before.version) == ({"org"}, 1)
    assert (set(after.namespaces), after.version) == ({"org", "org:apache"}, 2)
    assert after.topics is before.topics, "what does not change is shared"
    gone = after.apply([Removal(("namespace", "org:apache"))], 3)
    assert set(gone.namespaces) == {"org"}
    assert gone.folds_into("org.apache__x") is None
    assert after.folds_into("org.apache__x") == "org:apache"


def test_a_namespace_that_is_being_deleted_is_gone_with_all_below() -> None:
    snapshot = Snapshot.of(["org:apache:kafka", "team-a"])
    snapshot = snapshot.apply([Namespace("org:apache", deleting=5)], 2)
    assert snapshot.missing_tier("org") is None
    assert snapshot.missing_tier("org:apache:kafka") == "org:apache"
    assert snapshot.deleting_tier("org:apache:kafka") == "org:apache"
    assert snapshot.deleting_tier("team-a") is None
    assert snapshot.deleting == {"org:apache"}
    assert snapshot.owner("org.apache..x") == LogicalName("org:apache", "x"), "still its topics"
    back = snapshot.apply([Namespace("org:apache")], 3)
    assert back.deleting == frozenset()
    assert back.missing_tier("org:apache:kafka") is None


def test_what_is_below() -> None:
    snapshot = Snapshot.of(["org:apache:kafka", "organic"])
    assert snapshot.below("org") == ["org:apache", "org:apache:kafka"]
    assert snapshot.below("") == ["org", "org:apache", "org:apache:kafka", "organic"]


def test_configs_are_inherited_down_the_tree() -> None:
    snapshot = Snapshot.of(["org:apache"]).apply(
        [
            Namespace("org", {"retention.ms": "1", "cleanup.policy": "compact"}),
            Namespace("org:apache", {"retention.ms": "2"}),
        ],
        2,
    )
    assert snapshot.effective_configs("org:apache") == {
        "retention.ms": ("2", "org:apache"),
        "cleanup.policy": ("compact", "org"),
    }
    assert snapshot.effective_configs("") == {}


def test_an_entry_holds_its_flat_name_against_every_other_name() -> None:
    snapshot = Snapshot.of(
        ["team-a", "team-b"], topics=[TopicEntry("team-a..orders", ORDERS_B, IDS[1])]
    )
    assert snapshot.flat_of(ORDERS_B) == "team-a..orders"
    assert snapshot.flat_of(ORDERS_A) is None
    assert snapshot.owner("team-a..orders") == ORDERS_B
    assert snapshot.owner("team-b..orders") == ORDERS_B, "by spelling; flat_of says where it is"
    assert snapshot.by_topic_id(IDS[1]) == ("team-a..orders", ORDERS_B)
    assert snapshot.has_topic_ids


def test_a_move_takes_the_name_and_the_id_along() -> None:
    snapshot = Snapshot.of(["team-a", "team-b"])
    there = snapshot.apply([TopicEntry("team-a..orders", ORDERS_B, IDS[1])], 2)
    back = there.apply([TopicEntry("team-a..orders", ORDERS_A, IDS[2])], 3)
    assert back.flat_of(ORDERS_A) == "team-a..orders"
    assert back.flat_of(ORDERS_B) == "team-b..orders"
    assert back.by_topic_id(IDS[1]) is None
    assert back.by_topic_id(IDS[2]) == ("team-a..orders", ORDERS_A)
    released = back.apply([Removal(("topic", "team-a..orders"))], 4)
    assert not released.has_topic_ids
    assert released.entry_of(ORDERS_A) is None


def test_an_alias_reaches_the_topic_and_gives_way_to_one_that_takes_its_name() -> None:
    moved = TopicEntry("team-a..orders", ORDERS_B, IDS[1], (Alias(ORDERS_A, 9, IDS[2]),))
    snapshot = Snapshot.of(["team-a", "team-b"], topics=[moved])
    assert snapshot.flat_of(ORDERS_A) == "team-a..orders"
    assert snapshot.by_topic_id(IDS[2]) == ("team-a..orders", ORDERS_A)
    assert moved.id_under(ORDERS_A) == IDS[2]
    assert not moved.names_under(None)
    taken = snapshot.apply([TopicEntry("fresh", ORDERS_A)], 2)
    assert taken.flat_of(ORDERS_A) == "fresh"
    again = taken.apply([moved], 3)
    assert again.flat_of(ORDERS_A) == "fresh", "whoever is written later"
    assert again.apply([Removal(("topic", "team-a..orders"))], 4).flat_of(ORDERS_A) == "fresh"


def test_acls_credentials_and_homes_go_by_their_keys() -> None:
    acls = ResourceAcls(PATTERN, frozenset({READ}))
    sha256 = ScramCredential("al/ice", "SCRAM-SHA-256", 4096, b"1", b"2", b"3")
    sha512 = ScramCredential("al/ice", "SCRAM-SHA-512", 8192, b"1", b"2", b"3")
    home = PrincipalHome("User:a", "team-a")
    snapshot = Snapshot().apply([acls, sha256, sha512, home], 1)
    assert snapshot.acls == {PATTERN: acls}
    assert snapshot.scram == {
        ("SCRAM-SHA-256", "al/ice"): sha256,
        ("SCRAM-SHA-512", "al/ice"): sha512,
    }
    assert snapshot.homes == {"User:a": "team-a"}
    changed = snapshot.apply([ResourceAcls(PATTERN, frozenset({WRITE}))], 2)
    assert changed.acls[PATTERN].entries == {WRITE}
    assert changed.scram is snapshot.scram
    assert changed.of_kind("home") is snapshot.of_kind("home")
    gone = changed.apply([Removal(key_of(one)) for one in (acls, sha256, home)], 3)
    assert gone.acls == {}
    assert list(gone.scram.values()) == [sha512]
    assert gone.homes == {}


def test_a_pattern_that_changes_keeps_its_place() -> None:
    """A follower of the ACLs compares two states side by side."""
    acls = [ResourceAcls(pattern_of(f"TOPIC:LITERAL:{n}"), frozenset({READ})) for n in range(3)]
    before = Snapshot().apply(acls, 1)
    after = before.apply([ResourceAcls(acls[1].pattern, frozenset({WRITE}))], 2)
    assert list(after.acls) == list(before.acls)
    assert list(after.acls.values())[::2] == acls[::2]


def test_everything_it_holds_makes_it_anew() -> None:
    snapshot = Snapshot.of(["org:apache"], topics=[TopicEntry("x", ORDERS_A, IDS[1])]).apply(
        [
            Seeds(frozenset({"org"})),
            Gateway("g-1", 1, "0.1"),
            CatalogFormat(2),
            ResourceAcls(PATTERN, frozenset({READ, WRITE})),
            ScramCredential("alice", "SCRAM-SHA-256", 4096, b"1", b"2", b"3"),
            PrincipalHome("User:a", "team-a"),
            ClientMetrics("org:lag", {"metrics": "*"}),
        ],
        7,
    )
    again = Snapshot().apply(snapshot.entities(), 7)
    assert again == snapshot
    assert again.flat_of(ORDERS_A) == "x"


tiers = st.sampled_from(["a", "b", "a:b", "a:b:c"])
flats = st.sampled_from(["a..x", "b..x", "a.b..x", "plain"])
logical = st.builds(LogicalName, tiers, st.sampled_from(["x", "y"]))
entries = st.builds(
    TopicEntry,
    flats,
    logical,
    st.sampled_from([None, *IDS]),
    st.lists(st.builds(Alias, logical, st.just(1), st.sampled_from(IDS)), max_size=2).map(tuple),
)
patterns = st.sampled_from([PATTERN, pattern_of("GROUP:LITERAL:*")])
users = st.sampled_from(["a", "b/c"])
changes = st.one_of(
    st.builds(Namespace, tiers, deleting=st.sampled_from([None, 1])),
    st.builds(ResourceAcls, patterns, st.sampled_from([frozenset({READ}), frozenset({WRITE})])),
    st.builds(lambda pattern: Removal(("acl", str(pattern))), patterns),
    st.builds(
        ScramCredential, users, st.just("SCRAM-SHA-256"), st.integers(1, 2), *[st.just(b"")] * 3
    ),
    st.builds(lambda user: Removal(("scram", f"SCRAM-SHA-256/{user}")), users),
    st.builds(PrincipalHome, users, tiers),
    st.builds(lambda user: Removal(("home", user)), users),
    entries,
    st.builds(lambda flat: Removal(("topic", flat)), flats),
    st.builds(lambda path: Removal(("namespace", path)), tiers),
)


@given(st.lists(changes, max_size=30))
def test_one_by_one_or_at_once_the_state_is_the_same(steps: list[Change]) -> None:
    one_by_one = Snapshot()
    for step in steps:
        one_by_one = one_by_one.apply([step], len(steps))
    at_once = Snapshot().apply(steps, len(steps))
    if not steps:
        return
    assert one_by_one == at_once
    latest = {key_of(step): step for step in steps}
    held = {key for key, step in latest.items() if not isinstance(step, Removal)}
    assert {key_of(entity) for entity in at_once.entities()} - {("format", "")} == held
    assert at_once.deleting == {
        path for path, found in at_once.namespaces.items() if found.deleting is not None
    }
    for flat, entry in at_once.topics.items():
        assert at_once.owner(flat) == entry.name


def test_what_says_that_there_is_none_is_not_held() -> None:
    signed = Snapshot().apply([Signing("k1", whole=True), Seeds(frozenset("a"))], 1)
    assert (signed.signing, signed.size) == ("k1", 1)
    assert Signing("k1") in signed.entities()
    for off in (Signing(""), Signing("", whole=True)):
        assert signed.apply([off, Seeds(frozenset()), CatalogFormat(1)], 0) == Snapshot()


# -- subscriptions of client metrics ---------------------------------------------------------------


def concerning(snapshot: Snapshot, namespace: str) -> list[str]:
    return [one.name for one in snapshot.subscriptions_of(namespace)]


def test_subscriptions_concern_their_namespace_and_all_below() -> None:
    names = ["z", "team-a:x", "team-a:sub:y", "team-ab:x", "a:b"]
    snapshot = Snapshot().apply([ClientMetrics(name, {"metrics": "*"}) for name in names], 1)
    assert concerning(snapshot, "") == ["z"]
    assert concerning(snapshot, "team-a") == ["z", "team-a:x"]
    assert concerning(snapshot, "team-a:sub") == ["z", "team-a:x", "team-a:sub:y"]
    assert concerning(snapshot, "team-a:other") == ["z", "team-a:x"]
    assert concerning(Snapshot(), "team-a") == []
    assert [snapshot.tally("subscriptions", tier) for tier in ("", "team-a", None)] == [1, 2, 5]


def test_subscriptions_change_and_go() -> None:
    before = Snapshot().apply([ClientMetrics("a:x", {"interval.ms": "100"})], 1)
    after = before.apply([ClientMetrics("a:x", {"interval.ms": "200"})], 2)
    assert [one.interval_ms for one in before.subscriptions_of("a")] == [100]
    assert [one.interval_ms for one in after.subscriptions_of("a")] == [200]
    gone = after.apply([Removal(("client_metrics", "a:x"))], 3)
    assert (concerning(gone, "a"), gone.tally("subscriptions", "a")) == ([], 0)


def test_a_subscription_that_stays_is_not_compiled_anew() -> None:
    before = Snapshot().apply([ClientMetrics("a:x", {"match": "client_id=.*"})], 1)
    after = before.apply([Namespace("b"), ClientMetrics("b:x", {"metrics": "*"})], 2)
    assert after.subscriptions_of("a")[0] is before.subscriptions_of("a")[0]
