"""Namespaces, ACLs, links and aliases that a delegate makes are limited, also by default."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.catalog.entities import CatalogFormat
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import Operation
from gateway.changes.base.virtual_configs import Move
from gateway.changes.namespaces.create_namespaces import create_namespace
from gateway.changes.topics.links import change_links
from gateway.changes.topics.move_topics import move_topic
from gateway.policies import catalog_limits
from gateway.policies.judge import Judge
from tests.changes.acl_requests import ADMIN, access, create, put
from tests.changes.admin_requests import codes
from tests.changes.admin_requests import create as create_topics
from tests.changes.fakes import FakeGateway, World
from tests.changes.judges import judge
from tests.policies.samples import block

ALICE = "User:alice"
POLICY_VIOLATION, DONE = 44, (0, None)
SMALL = {
    "max_namespaces_in_tree": 4,
    "max_acls_in_tree": 4,
    "max_links_in_tree": 2,
    "max_aliases_in_tree": 2,
}
APPEND = 2


@pytest.fixture(autouse=True)
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(catalog_limits, "DEFAULTS", block(**SMALL))
    yield


@pytest.fixture
def world() -> World:
    """``org`` is alice's."""
    made = World(["org:a", "org:b", "free"])
    made.broker.make("org..x", "org..y", "org..z")
    made.log.append([CatalogFormat(3)])
    put(made, f"ALLOW ALL {ALICE} TOPIC:PREFIXED:org:")
    return made


async def make(gateway: FakeGateway, path: str, who: str = ALICE) -> None:
    """Create a namespace."""
    topic: Any = SimpleNamespace(name=f"{path}:", configs=())
    asking = access(gateway, who)
    await create_namespace(gateway.context, asking, path, topic, validate_only=False)


async def link(gateway: FakeGateway, name: str, links: str, who: str = ALICE, **more: bool) -> None:
    one = Operation("gateway.link", APPEND, links)
    await change_links(gateway.context, access(gateway, who), name, one, **more)


async def move(gateway: FakeGateway, name: str, path: str, who: str = ALICE) -> None:
    wanted = Move(path, alias_until=1 << 50)
    await move_topic(gateway.context, access(gateway, who), name, wanted)


def message(caught: pytest.ExceptionInfo[Rejected]) -> str:
    assert caught.value.why.code == POLICY_VIOLATION
    assert caught.value.why.rule == "policies"
    return caught.value.why.message


# -- the defaults ----------------------------------------------------------------------------------


async def test_namespaces(world: World) -> None:
    gateway = world.gateway(judge())
    await make(gateway, "org:a:c")
    with pytest.raises(Rejected) as caught:
        await make(gateway, "org:d:e")
    assert message(caught) == (
        "With namespace 'org:d:e', namespace 'org' would have 5 namespaces below it, and at most 4"
        " are allowed (policies: max_namespaces_in_tree, the default)."
    )
    assert world.snapshot.below("org") == ["org:a", "org:a:c", "org:b"]
    await make(gateway, "org:d")
    # A principal that may ALTER the cluster is not subject to the defaults.
    await make(gateway, "org:d:e", ADMIN)
    await make(gateway, "free:a:b:c:d:e", ADMIN)
    with pytest.raises(Rejected):
        await make(gateway, "org:f")


async def test_acls(world: World) -> None:
    gateway = world.gateway(judge())
    alice = access(gateway, ALICE)
    texts = [f"ALLOW READ User:{name} TOPIC:LITERAL:org:a:x" for name in "pqrs"]
    assert await create(gateway, alice, *texts[:3]) == [DONE] * 3
    answers = await create(gateway, alice, texts[0], *texts[3:])
    assert answers[0] == DONE, "it is there already"
    assert answers[1] == (
        POLICY_VIOLATION,
        "With the ACLs of 'org:a:x', namespace 'org' and all below it would have 5 ACLs, and at"
        " most 4 are allowed (policies: max_acls_in_tree, the default).",
    )
    assert world.snapshot.tally("ACLs", "org") == 4
    assert await create(gateway, access(gateway), *texts) == [DONE] * 4


async def test_acls_of_one_request_are_allowed_pattern_by_pattern(world: World) -> None:
    gateway = world.gateway(judge())
    alice = access(gateway, ALICE)
    texts = [f"ALLOW READ User:{who} TOPIC:LITERAL:org:{topic}" for topic in "xy" for who in "pq"]
    answers = await create(gateway, alice, *texts, "ALLOW READ User:p GROUP:LITERAL:org:g")
    assert [code for code, _ in answers] == [0, 0, POLICY_VIOLATION, POLICY_VIOLATION, 0]
    assert world.snapshot.tally("ACLs", "org") == 4


async def test_links(world: World) -> None:
    gateway = world.gateway(judge())
    await link(gateway, "org:x", "org:a:x,org:b:x")
    for validate_only in (True, False):
        with pytest.raises(Rejected) as caught:
            await link(gateway, "org:y", "org:a:y", validate_only=validate_only)
        assert message(caught) == (
            "With link 'org:a:y', namespace 'org' and all below it would have 3 links, and at most"
            " 2 are allowed (policies: max_links_in_tree, the default)."
        )
    assert len(world.snapshot.links) == 2
    # An entry that replaces another adds nothing; and an administrator may go on.
    one = Operation("gateway.link", 0, "org:a:x2,org:b:x")
    await change_links(gateway.context, access(gateway, ALICE), "org:x", one)
    await link(gateway, "org:y", "org:a:y", ADMIN)


async def test_aliases(world: World) -> None:
    gateway = world.gateway(judge())
    await move(gateway, "org:x", "org:a")
    await move(gateway, "org:y", "org:a")
    with pytest.raises(Rejected) as caught:
        await move(gateway, "org:z", "org:b")
    assert "namespace 'org' and all below it would have 3 aliases" in message(caught)
    assert world.snapshot.owner("org..z").namespace == "org"
    await move(gateway, "org:z", "org:b", ADMIN)


async def test_a_catalog_above_a_limit_works_on(world: World) -> None:
    for name in "abcdef":
        put(world, f"ALLOW READ User:{name} TOPIC:LITERAL:org:x{name}")
    gateway = world.gateway(judge())
    alice = access(gateway, ALICE)
    assert await create(gateway, alice, "ALLOW READ User:a TOPIC:LITERAL:org:xa") == [DONE]
    (answer,) = await create(gateway, alice, "ALLOW READ User:b TOPIC:LITERAL:org:xa")
    assert answer[0] == POLICY_VIOLATION
    await make(gateway, "org:c")


async def test_without_an_authorizer_everybody_administers(world: World) -> None:
    gateway = world.gateway(judge())
    told = await create_topics(gateway, *(f"org:n{number}:" for number in range(6)))
    assert codes(told) == [0] * 6


# -- the configured limits -------------------------------------------------------------------------


def limited(**limits: Any) -> Judge:
    return judge(namespaces={"org": limits})


@pytest.mark.parametrize("who", [ALICE, ADMIN])
async def test_a_block_binds_administrators_too(world: World, who: str) -> None:
    gateway = world.gateway(
        limited(
            max_namespaces_in_tree=2, max_acls_in_tree=2, max_links_in_tree=0, max_aliases_in_tree=0
        )
    )
    for rejected in (
        make(gateway, "org:c", who),
        link(gateway, "org:x", "org:a:x", who),
        move(gateway, "org:x", "org:a", who),
    ):
        with pytest.raises(Rejected) as caught:
            await rejected
        assert "set by namespace 'org'" in message(caught)
    asking = access(gateway, who)
    assert await create(gateway, asking, "ALLOW READ User:p TOPIC:LITERAL:org:x") == [DONE]
    (answer,) = await create(gateway, asking, "ALLOW READ User:q TOPIC:LITERAL:org:x")
    assert answer[0] == POLICY_VIOLATION


async def test_a_block_may_allow_more_than_the_default(world: World) -> None:
    gateway = world.gateway(limited(max_links_in_tree=3))
    await link(gateway, "org:x", "org:a:x,org:b:x,org:xx")
    with pytest.raises(Rejected, match="would have 4 links, and at most 3 are allowed"):
        await link(gateway, "org:y", "org:a:y")


async def test_a_block_that_warns_is_counted_once(world: World) -> None:
    gateway = world.gateway(limited(mode="warn", max_links_in_tree=0))
    await link(gateway, "org:x", "org:a:x")
    rows = [(labels, count) for _, labels, count in gateway.context.judge.take_counters()]
    assert rows == [(("org:a", "max_links_in_tree", "warn"), 1)]
    texts = [f"ALLOW READ User:p TOPIC:LITERAL:org:{topic}" for topic in "xyz"]
    warning = world.gateway(limited(mode="warn", max_acls_in_tree=0))
    assert await create(warning, access(warning, ALICE), *texts) == [DONE] * 3
    rows = [(labels, count) for _, labels, count in warning.context.judge.take_counters()]
    assert rows == [(("org", "max_acls_in_tree", "warn"), 1)]


async def test_a_rejection_is_an_event_of_its_namespace(world: World) -> None:
    gateway = world.gateway(limited(max_namespaces_in_tree=0, max_acls_in_tree=0))
    with pytest.raises(Rejected):
        await make(gateway, "org:c")
    await create(gateway, access(gateway, ALICE), "ALLOW READ User:p TOPIC:LITERAL:org:a:x")
    found = [
        (one.principal, one.namespace, one.topic, one.rule, one.outcome)
        for one in gateway.context.judge.take_events()
    ]
    assert found == [
        (ALICE, "org:c", "org:c:", "max_namespaces_in_tree", "refused"),
        (ALICE, "org:a", "org:a:x", "max_acls_in_tree", "refused"),
    ]


async def test_acls_that_a_topic_takes_along_count_where_it_comes_to(world: World) -> None:
    put(world, *(f"ALLOW READ User:{who} TOPIC:LITERAL:org:x" for who in "pq"))
    gateway = world.gateway(judge(namespaces={"free": {"max_acls_in_tree": 1}}))
    with pytest.raises(Rejected) as caught:
        await move(gateway, "org:x", "free", ADMIN)
    assert message(caught).startswith("With topic 'free:x', namespace 'free' and all below it")
    # If they stay within the tree, there are no more than before.
    gateway = world.gateway(limited(max_acls_in_tree=1))
    await move(gateway, "org:x", "org:a", ADMIN)
    assert world.snapshot.owner("org..x").namespace == "org:a"
