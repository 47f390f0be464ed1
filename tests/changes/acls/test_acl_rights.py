"""The rights to see and change ACLs: on the cluster, or on a delegated namespace."""

from __future__ import annotations

import pytest

from gateway.acl_model import Operation, pattern_of
from gateway.changes.acls.acl_rights import AclRights, admit, commit, to_acls
from gateway.changes.base.context import Batch
from gateway.decision import Denied
from tests.changes.acl_requests import access, put
from tests.changes.fakes import FakeGateway, World

BOB = "User:bob"


def rights(*acls: str, principal: str = BOB, operation: Operation = Operation.ALTER) -> AclRights:
    world = World(["org:apache", "team-a"])
    put(world, *acls)
    return AclRights(access(world.gateway(), principal), operation)


ORG = "TOPIC:LITERAL:org:x"
EVERYWHERE = [
    ORG,
    "TOPIC:LITERAL:org:",
    "GROUP:PREFIXED:org:apache:",
    "TOPIC:LITERAL:plain",
    "TOPIC:LITERAL:*",
    "CLUSTER:LITERAL:kafka-cluster",
    "USER:LITERAL:bob",
]


def test_the_cluster_s_right_is_all_of_them() -> None:
    for has in (
        rights(principal="User:admin"),
        rights(f"ALLOW ALTER {BOB} CLUSTER:LITERAL:kafka-cluster"),
    ):
        assert has.denied is None
        assert has.why_none() is None
        for pattern in map(pattern_of, EVERYWHERE):
            assert has.cover(pattern)
            assert has.why_not(pattern, "x") is None


def test_nobody_s() -> None:
    for has in (
        rights(),
        rights(f"ALLOW DESCRIBE {BOB} CLUSTER:LITERAL:kafka-cluster"),
        rights(f"ALLOW READ {BOB} TOPIC:PREFIXED:org:"),
        rights(f"ALLOW ALTER {BOB} TOPIC:LITERAL:plain"),
        rights(f"ALLOW ALTER {BOB} TOPIC:PREFIXED:or"),
        rights(f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:x"),
        rights(f"ALLOW ALTER {BOB}@10.9.9.9 TOPIC:LITERAL:org:"),
        rights("ALLOW ALTER User:eve TOPIC:LITERAL:org:"),
        rights(f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:", f"DENY ALTER {BOB} TOPIC:LITERAL:org:"),
    ):
        assert has.denied is not None
        assert has.why_none() == has.denied
        assert has.denied.code == 31
        assert not any(has.cover(pattern_of(one)) for one in EVERYWHERE)


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.DESCRIBE])
@pytest.mark.parametrize(
    "acl",
    [
        f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:",
        f"ALLOW ALL {BOB} TOPIC:LITERAL:org:",
        "ALLOW ALTER User:* TOPIC:LITERAL:org:",
        f"ALLOW ALTER {BOB} TOPIC:PREFIXED:org:",
        f"ALLOW ALTER {BOB}@10.0.0.7 TOPIC:LITERAL:org:",
    ],
)
def test_a_namespace_that_is_delegated(acl: str, operation: Operation) -> None:
    has = rights(acl, operation=operation)
    assert has.denied is not None
    assert has.why_none() is None
    covered = {one for one in EVERYWHERE if has.cover(pattern_of(one))}
    assert covered == {ORG, "TOPIC:LITERAL:org:", "GROUP:PREFIXED:org:apache:"}


def test_all_topics_are_all_namespaces() -> None:
    has = rights(f"ALLOW ALTER {BOB} TOPIC:LITERAL:*")
    assert has.why_none() is None
    assert has.cover(pattern_of(ORG))
    assert has.cover(pattern_of("TOPIC:LITERAL:team-a:x"))
    for one in ("TOPIC:LITERAL:plain", "TOPIC:LITERAL:*", "CLUSTER:LITERAL:kafka-cluster"):
        assert not has.cover(pattern_of(one))


def test_a_namespace_within_that_is_closed() -> None:
    has = rights(
        f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:", "ALLOW READ User:eve TOPIC:LITERAL:org:apache:"
    )
    assert has.cover(pattern_of("TOPIC:LITERAL:org:x"))
    denied = rights(
        f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:", f"DENY ALTER {BOB} TOPIC:LITERAL:org:apache:"
    )
    assert denied.cover(pattern_of("TOPIC:LITERAL:org:x"))
    assert not denied.cover(pattern_of("TOPIC:LITERAL:org:apache:x"))


def test_the_reason_names_what_was_asked_for() -> None:
    why = rights(f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:").why_not(pattern_of(EVERYWHERE[3]), "pl")
    assert why is not None
    assert why.message == (
        "User:bob is allowed to ALTER neither the cluster nor a namespace that 'pl' (LITERAL) is"
        " in, so its ACLs are not to be changed."
    )
    assert (why.code, why.rule, why.operation) == (31, "acl", "ALTER")


INSIDE = {ORG: "org:", "TOPIC:LITERAL:org:": "org:", "GROUP:PREFIXED:org:apache:": "org:apache:"}


@pytest.mark.parametrize("pattern", INSIDE)
@pytest.mark.parametrize("had", [(), (f"ALLOW ALTER {BOB} TOPIC:LITERAL:team-a:",)])
def test_the_right_that_a_denial_names_is_enough(pattern: str, had: tuple[str, ...]) -> None:
    """A lesser right is not enough, because the denial names the innermost namespace."""
    why = rights(*had).why_not(pattern_of(pattern), "x")
    assert why is not None
    assert why.code == 31
    kind, _, name = why.resource.partition(" ")
    assert (why.operation, kind, name) == ("ALTER", "TOPIC", INSIDE[pattern])
    given = rights(*had, f"ALLOW {why.operation} {BOB} {kind}:LITERAL:{name}")
    assert given.cover(pattern_of(pattern))


@pytest.mark.parametrize("pattern", [one for one in EVERYWHERE if one not in INSIDE])
def test_what_is_in_no_namespace_takes_the_cluster_s_right(pattern: str) -> None:
    why = rights().why_not(pattern_of(pattern), "x")
    assert why is not None
    assert (why.operation, why.resource) == ("ALTER", "CLUSTER kafka-cluster")


def batch(gateway: FakeGateway, principal: str) -> Batch[int, None, None]:
    return Batch(gateway.context, access(gateway, principal), (1, 2))


async def test_rights_are_those_on_the_newest_catalog() -> None:
    world = World(["org"])
    gateway = world.gateway()
    gateway.catalog.lags = True
    put(world, f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:")
    one = batch(gateway, BOB)
    assert isinstance(await admit(one, to_acls(one, Operation.ALTER)), AclRights)
    assert len(one.view.snapshot.acls) == 1
    assert not one.answers


async def test_a_principal_without_rights_is_denied_the_cluster() -> None:
    one = batch(World(["org"]).gateway(), BOB)
    why = await admit(one, to_acls(one, Operation.DESCRIBE))
    assert isinstance(why, Denied)
    assert (why.code, why.rule) == (31, "acl")
    assert one.answers == {1: why, 2: why}
    assert one.answered(b"").denied == [("1", why), ("2", why)]


async def test_what_is_away_is_no_denial() -> None:
    gateway = World(["org"]).gateway()
    one = batch(gateway, "User:admin")
    assert isinstance(await admit(one, to_acls(one, Operation.ALTER)), AclRights)
    gateway.catalog.down = True
    await commit(one, to_acls(one, Operation.ALTER), lambda _rights, _view: [])
    assert [(why.code, why.rule) for _, why in one.results() if why] == [(7, "unavailable")] * 2
    assert not one.answered(b"").denied
    gateway.catalog.fresh = False
    why = await admit(one, to_acls(one, Operation.ALTER))
    assert isinstance(why, Denied)
    assert (why.code, why.rule) == (7, "unavailable")
    assert not one.answered(b"").denied
