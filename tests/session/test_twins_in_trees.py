"""Two trees that differ only in resources that the client may not see give equal bytes for any
request at any node: see ``test_twins``, whose TWINS_SECONDS and TWINS_SEED apply here, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from time import monotonic
from typing import Any, Final

import pytest

from gateway.identity import Identity
from tests.session.test_twins import SECONDS, SEED, every_api
from tests.session.twin_exchanges import CASES, Asked
from tests.session.twin_tree_worlds import TREE_SETTINGS, TREE_TWINS, TreeTwins
from tests.session.twin_trees import DEEP, LA, NY

GROUP, TOPIC = 3, 2
NODES: Final = (LA, NY)
OWN: Final = ("team-a:orders", "plain", ":la:team-a:orders", "..la.team-a..orders", ":la:plain")

pytestmark = pytest.mark.usefixtures("alike_ids")


async def differing(
    twins: TreeTwins, node: str, settings: Mapping[str, Any], asked: Iterable[Asked]
) -> str:
    """The first request whose responses differ, and how, of several on the same connection to a
    node of this volume; "" if none differs."""
    one, other = (world.tree(node, **settings) for world in twins.worlds)
    for tree in (one, other):
        if twins.seen:
            tree.connect(node, Identity("User:bob"))
            await tree.exchange(Asked("Metadata", 12, twins.seen))
            tree.connect(node)
    for each in asked:
        here, there = await one.exchange(each), await other.exchange(each)
        if here != there:
            return f"{twins.title}, at {node}, {settings}: {each} answers\n{here!r} or\n{there!r}"
    return ""


@pytest.mark.parametrize("number", range(len(TREE_TWINS)), ids=[one.title for one in TREE_TWINS])
async def test_trees_that_the_asker_cannot_tell_apart(number: int) -> None:
    twins = TREE_TWINS[number]
    asked = every_api(number, twins.topics, twins.groups, "hid..x")
    node, settings = NODES[number % 2], TREE_SETTINGS[number % len(TREE_SETTINGS)]
    assert not await differing(twins, node, settings, asked)


async def test_requests_to_trees_at_random() -> None:
    """Several requests on the same connection, in any version, with any of the names."""
    random, until = Random(SEED), monotonic() + SECONDS
    tried = 0
    while tried < 40 or monotonic() < until:
        tried += 1
        twins, settings = random.choice(TREE_TWINS), random.choice(TREE_SETTINGS)
        asked = [_at_random(random, twins) for _ in range(random.randint(1, 4))]
        found = await differing(twins, random.choice((*NODES, DEEP)), settings, asked)
        assert not found, f"after {tried} with TWINS_SEED={SEED}: {found}"


def _at_random(random: Random, twins: TreeTwins) -> Asked:
    api, version = random.choice(CASES)
    topics = random.sample((*OWN, *twins.topics), random.randint(0, 4))
    groups = random.sample(("app", "team-a..app", *twins.groups), random.randint(1, 2))
    kind = random.choice((TOPIC, TOPIC, GROUP)) if "Acls" in api else TOPIC
    quoted = random.choice(("", "", "hid..x", "x"))
    return Asked(api, version, tuple(topics), tuple(groups), kind, quoted)
