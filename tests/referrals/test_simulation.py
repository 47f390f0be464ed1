"""A tree of 10,000 mounts, six levels below the topmost one, in this process: see bench."""

from __future__ import annotations

import asyncio

import pytest

from bench.tree_lookups import CACHED_NS, found_ns, located, not_found
from bench.tree_of_gateways import Tree, distance
from gateway.referrals.questions import Outcome

LOOKUPS = 200


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree()


def test_it_has_10_000_mounts_at_most_6_below_the_topmost(tree: Tree) -> None:
    depths = {mount.count(":") for mount in tree.mounts}
    assert len(tree.mounts) == len(tree.nodes) == 10_000
    assert depths == set(range(7))


@pytest.mark.parametrize(
    ("mount", "other", "steps"),
    [("top", "top:a:b", 2), ("top:a:b", "top", 2), ("top:a:b", "top:c", 3), ("top:a", "top:b", 2)],
)
def test_the_distance_is_up_and_down(mount: str, other: str, steps: int) -> None:
    assert distance(mount, other) == steps


def test_any_mount_is_found_from_any_other_by_the_shortest_way(tree: Tree) -> None:
    async def look() -> None:
        longest = 0
        for _ in range(LOOKUPS):
            node, mount = tree.draw()
            for _ in ("cold", "cached"):
                found = await located(tree, node, mount)
                assert found.passed == found.allowed == distance(node.mount, mount)
                assert found.messages == 2 * found.passed
            longest = max(longest, found.passed)
        assert 10 <= longest <= 12

    asyncio.run(look())


def test_a_name_of_nobody_goes_to_the_top_once(tree: Tree) -> None:
    async def look() -> None:
        for number in range(LOOKUPS):
            node, _ = tree.draw()
            path = f"nobody-{number}"
            assert await not_found(tree, node, path) == 2 * distance(node.mount, "top")
            answer = await node.locate(path)
            assert answer.outcome is Outcome.NO_SUCH_MOUNT
            assert [hop.gateway_id for hop in answer.hops] == [node.gateway_id]

    asyncio.run(look())


def test_with_two_gateways_a_mount_questions_do_not_multiply() -> None:
    """Only the first gateway asks both gateways of the next level."""
    tree = Tree((1, 3, 9, 27, 81, 243, 729), each=2)

    async def look() -> None:
        for number in range(LOOKUPS):
            node, mount = tree.draw()
            cold = await located(tree, node, mount)
            cached = await located(tree, node, mount)
            assert cold.passed == cached.passed == cold.allowed
            assert cold.messages <= 2 * 2 * cold.passed
            assert cached.messages == 2 * cached.passed
            depth = distance(node.mount, "top")
            assert await not_found(tree, node, f"nobody-{number}") <= 2 * 8 * depth

    asyncio.run(look())


def test_what_is_remembered_is_found_in_a_microsecond() -> None:
    assert found_ns() < CACHED_NS
