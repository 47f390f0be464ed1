"""bench.tree_of_gateways: which gateways know each other."""

from __future__ import annotations

import pytest

from bench.tree_of_gateways import LEVELS, TOP, Tree

SMALL = (1, 2, 4)


def test_there_are_10_000_mounts_each_with_a_number_of_its_own() -> None:
    assert sum(LEVELS) == 10_000
    tree = Tree(SMALL)
    assert len(tree.mounts) == len({node.number for node in tree.nodes}) == 7


@pytest.mark.parametrize("each", [1, 2])
def test_a_gateway_knows_those_above_and_below_alone(each: int) -> None:
    tree = Tree(SMALL, each=each)
    mounts = {node.gateway_id: node.mount for node in tree.nodes}
    for node in tree.nodes:
        above = [mounts[name] for name in node.parents]
        assert above == ([] if node.mount == TOP else [node.mount.rpartition(":")[0]] * each)
        for name, mount in node.children:
            assert mounts[name] == mount
            assert mount.rpartition(":")[0] == node.mount
        assert set(node.links) == {*node.parents, *(name for name, _ in node.children)}
        assert all(link.asker == node.gateway_id for link in node.links.values())


def test_the_same_seed_draws_the_same_tree() -> None:
    assert Tree(SMALL, seed=3).mounts == Tree(SMALL, seed=3).mounts


def test_a_gateway_and_a_mount_of_others_are_drawn() -> None:
    tree = Tree(SMALL)
    for _ in range(50):
        node, mount = tree.draw()
        assert node.mount != mount
        assert mount in tree.mounts
