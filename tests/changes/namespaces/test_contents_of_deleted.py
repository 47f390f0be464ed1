"""A namespace is deleted with its contents, so a client may not delete it if it may not delete its
groups, or a new topic."""

from __future__ import annotations

import pytest

from gateway.acl_model import ResourceType
from gateway.decision import Denied
from gateway.views.access import DELETE
from tests.changes.acl_requests import access, put
from tests.changes.admin_requests import delete
from tests.changes.fakes import World

BOB = "User:bob"
DELETES = f"ALLOW DELETE {BOB} TOPIC:LITERAL:org:"
DENY = f"DENY DELETE {BOB} GROUP:"
GROUP = ResourceType.GROUP


async def _deleted(*acls: str) -> tuple[int, str]:
    world = World(["org", "org:in", "other"])
    put(world, *acls)
    gateway = world.gateway()
    (told,) = await delete(gateway, "org:in:", access=access(gateway, BOB))
    assert (world.snapshot.deleting_tier("org:in") is not None) is (told.code == 0)
    return told.code, told.message


@pytest.mark.parametrize(
    ("acl", "group"),
    [
        (DENY + "LITERAL:org:in:g", b"org.in..g"),
        (DENY + "LITERAL:org.in..g", b"org.in..g"),
        (DENY + "PREFIXED:org:in:g", b"org.in..g2"),
        (DENY + "PREFIXED:org:", b"org.in..g"),
        (DENY + "LITERAL:*", b"org.in..g"),
        ("DENY ALL User:* GROUP:PREFIXED:org:in:", b"org.in..g"),
        (f"DENY DELETE {BOB}@::ffff:10.0.0.7 GROUP:LITERAL:org:in:g", b"org.in..g"),
        ("ALLOW READ User:ann TOPIC:LITERAL:org:in:", b"org.in..g"),
    ],
)
async def test_who_may_not_delete_a_group_does_not_delete_its_namespace(
    acl: str, group: bytes
) -> None:
    world = World(["org", "org:in"])
    put(world, DELETES, acl)
    bob = access(world.gateway(), BOB)
    assert isinstance(bob.id_denial(DELETE, GROUP, group), Denied), "as by DeleteGroups"
    code, text = await _deleted(DELETES, acl)
    assert (code, text) == (
        29,
        "User:bob is not allowed to DELETE all that is in this namespace.",
    )
    admin = f"ALLOW ALTER {BOB} CLUSTER:LITERAL:kafka-cluster"
    assert (await _deleted(DELETES, acl, admin))[0] == 0, "who could remove it"


@pytest.mark.parametrize(
    "acls",
    [
        [],
        [DENY + "LITERAL:org:g"],
        [DENY + "PREFIXED:org:i"],
        [DENY + "PREFIXED:org:in:x:"],
        [DENY + "LITERAL:other:g"],
        [f"DENY READ {BOB} GROUP:LITERAL:org:in:g"],
        [f"DENY DELETE {BOB}@10.0.0.8 GROUP:LITERAL:org:in:g"],
        ["DENY DELETE User:eve GROUP:LITERAL:org:in:g"],
        [f"ALLOW DELETE {BOB} TOPIC:LITERAL:org:in:"],
        [f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:in:", DENY + "LITERAL:org:in:g"],
    ],
)
async def test_others_delete_it(acls: list[str]) -> None:
    assert (await _deleted(DELETES, *acls))[0] == 0


async def test_a_topic_that_was_made_a_moment_ago_counts() -> None:
    """Another gateway made the topic, and this gateway has not listed it yet."""
    world = World(["org"])
    gateway = world.gateway()
    put(world, DELETES, f"DENY DELETE {BOB} TOPIC:LITERAL:org:new")
    world.broker.make("org..new")
    (told,) = await delete(gateway, "org:", access=access(gateway, BOB))
    assert told.code == 29
    assert world.snapshot.deleting_tier("org") is None
