"""Lookups in a tree of 10,000 mounts: gateways passed, messages, and what a cached one costs.

``python -m bench.tree_lookups`` prints the table; ``--record`` appends it to RESULTS.md. Random
gateways look for random mounts, twice, and for names that nobody has. In the second tree every
mount has two gateways that are peers of their own, so that each lookup is raced.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Final, NamedTuple

from bench.catalog_rows import CatalogRow, catalog_table
from bench.machine import provenance
from bench.report import append_record
from bench.tree_of_gateways import LEVELS, Node, Tree, distance
from gateway.referrals.locations import Location, Locations
from gateway.referrals.questions import Outcome

LOOKUPS: Final = 1_000
"""Lookups of each kind."""

CACHED_NS: Final = 1_000.0
"""The bar of finding what is remembered."""

_EXPIRY_SECONDS: Final = 600.0
_REMEMBERED: Final = 10_000
_FINDS: Final = 1_000
_ROUNDS: Final = 50


class Lookup(NamedTuple):
    """One lookup: how often the question was passed on, how often up and down the tree allow, the
    messages in the whole tree, and CPU seconds of all gateways."""

    passed: int
    allowed: int
    messages: int
    seconds: float


def measure(say: Callable[[str], None], lookups: int = LOOKUPS) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on."""
    for each, name in ((1, "one gateway a mount"), (2, "two gateways a mount")):
        say(f"tree: {name}")
        tree = Tree(LEVELS, each=each)
        yield CatalogRow(f"{name}: gateways", "", len(tree.nodes))
        yield from asyncio.run(_lookups(tree, name, lookups))
    say("tree: finding what is remembered")
    yield CatalogRow("a remembered location is found", "ns", found_ns(), CACHED_NS)


async def located(tree: Tree, node: Node, mount: str) -> Lookup:
    """Look for a mount from a gateway. Raises AssertionError if it is not found."""
    before, began = tree.traffic.messages, time.thread_time()
    answer = await node.locate(mount)
    spent = time.thread_time() - began
    assert (answer.outcome, answer.mount) == (Outcome.ANSWERED, mount), answer
    passed = len(answer.hops) - 1
    return Lookup(passed, distance(node.mount, mount), tree.traffic.messages - before, spent)


async def not_found(tree: Tree, node: Node, path: str) -> int:
    """The messages of a lookup of a path that nobody has."""
    before = tree.traffic.messages
    answer = await node.locate(path)
    assert answer.outcome is Outcome.NO_SUCH_MOUNT, answer
    return tree.traffic.messages - before


def found_ns() -> float:
    """Nanoseconds of CPU time to find one of many remembered locations."""
    locations = Locations(expiry_seconds=_EXPIRY_SECONDS, unknown_seconds=_EXPIRY_SECONDS)
    paths = [f"top:t{number}:t{number}" for number in range(_REMEMBERED)]
    for number, path in enumerate(paths):
        locations.note(path, Location(path, number + 1, "parent"))
    some = paths[:: _REMEMBERED // _FINDS]
    assert all(locations.find(path) for path in some)

    rounds = []
    for _ in range(_ROUNDS):
        began = time.thread_time_ns()
        for path in some:
            locations.find(path)
        rounds.append(time.thread_time_ns() - began)
    return min(rounds) / len(some)  # all that disturbs only adds


async def _lookups(tree: Tree, name: str, lookups: int) -> Iterator[CatalogRow]:
    ways = [tree.draw() for _ in range(lookups)]
    cold = [await located(tree, *way) for way in ways]
    cached = [await located(tree, *way) for way in ways]
    names = [(node, f"nobody-{number}") for number, (node, _) in enumerate(ways)]
    unknown = [await not_found(tree, *each) for each in names]
    again = [await not_found(tree, *each) for each in names]
    return _rows(name, cold, cached, unknown, again)


def _rows(
    name: str,
    cold: Sequence[Lookup],
    cached: Sequence[Lookup],
    unknown: Sequence[int],
    again: Sequence[int],
) -> Iterator[CatalogRow]:
    beyond = sum(lookup.passed > lookup.allowed for lookup in (*cold, *cached))
    yield CatalogRow(f"{name}: hops, mean", "", fmean(lookup.passed for lookup in cold))
    yield CatalogRow(f"{name}: hops, most", "", max(lookup.passed for lookup in cold), 12.0)
    yield CatalogRow(f"{name}: lookups with more hops than up and down", "", beyond, 0.0)
    for what, found in (("cold", cold), ("cached", cached)):
        messages = [lookup.messages for lookup in found]
        yield CatalogRow(f"{name}: messages, {what}, mean", "", fmean(messages))
        yield CatalogRow(f"{name}: messages, {what}, most", "", max(messages))
        spent = sum(lookup.seconds for lookup in found) / (sum(messages) / 2)
        yield CatalogRow(f"{name}: CPU of a question, {what}", "us", spent * 1e6)
    yield CatalogRow(f"{name}: messages, name of nobody, mean", "", fmean(unknown))
    yield CatalogRow(f"{name}: messages, name of nobody, most", "", max(unknown))
    yield CatalogRow(f"{name}: messages, name of nobody, again", "", max(again), 0.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and record it if that is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.tree_lookups", description=__doc__)
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args(arguments)
    where = provenance()

    def say(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    shown = catalog_table(list(measure(say)), "lookups in a tree of 10,000 mounts")
    print(shown, end="")
    if options.record:
        append_record(where, shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
