"""Names of links are subject to the ``name_pattern`` of the namespace that they stand in."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import CatalogFormat
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import Operation
from gateway.changes.topics.links import change_links
from gateway.policies.judge import Judge
from tests.changes.fakes import FakeGateway, World, allowed
from tests.changes.judges import judge

POLICY_VIOLATION, APPEND = 44, 2


@pytest.fixture
def world() -> World:
    made = World(["org:a", "org:b"])
    made.broker.make("org..x")
    made.log.append([CatalogFormat(3)])
    return made


def strict(**block: str) -> Judge:
    return judge(namespaces={"org:a": {"name_pattern": "[a-z]+", **block}})


async def link(gateway: FakeGateway, links: str) -> None:
    """Add links to topic ``org:x``."""
    one = Operation("gateway.link", APPEND, links)
    await change_links(gateway.context, allowed(gateway), "org:x", one)


async def test_a_link_has_a_name_that_its_namespace_allows(world: World) -> None:
    policies = strict()
    gateway = world.gateway(policies)
    with pytest.raises(Rejected) as caught:
        await link(gateway, "org:a:X1")
    assert caught.value.why.code == POLICY_VIOLATION
    assert caught.value.why.message == (
        "Link 'org:a:X1' has the name 'X1', and a name has to match [a-z]+ here"
        " (policies: name_pattern, set by namespace 'org:a')."
    )
    (event,) = policies.take_events()
    assert (event.topic, event.namespace, event.rule) == ("org:a:X1", "org:a", "name_pattern")
    # Only MirrorMaker's topics are exempt, because it makes no links.
    with pytest.raises(Rejected):
        await link(gateway, "org:a:A.checkpoints.internal")
    await link(gateway, "org:a:x,org:b:X1")
    assert len(world.snapshot.links) == 2


async def test_a_pattern_that_warns_of_a_links_name_warns_once(world: World) -> None:
    policies = strict(mode="warn")
    gateway = world.gateway(policies)
    await link(gateway, "org:a:X1")
    assert [count for _, _, count in policies.take_counters()] == [1]
