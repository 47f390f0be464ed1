"""Two worlds that differ only in resources that the client may not see give equal bytes for any
request: each API and version, with names that an attacker would try. TWINS_SECONDS=N runs it at
random that long (``make twins``), TWINS_SEED=N repeats a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Any, Final

import pytest

from tests.session.twin_exchanges import CASES, Asked, exchange
from tests.session.twin_worlds import SETTINGS, TWINS, Twins, from_root

SECONDS: Final = float(os.environ.get("TWINS_SECONDS", "0"))
SEED: Final = int(os.environ.get("TWINS_SEED", "1"))
GROUP, TOPIC = 3, 2
CONFIGS_OF_GROUP, CLIENT_METRICS, BROKER, BROKER_LOGGER = 32, 16, 4, 8
OWN: Final = ("team-a:orders", "team-a..orders", "plain", "team-a:new", "orders", "team-a:", "no:x")
LEADING: Final = {"colon": ":", "legal": ".."}

pytestmark = pytest.mark.usefixtures("alike_ids")


def differing(twins: Twins, settings: dict[str, Any], asked: list[Asked]) -> str:
    """The first request whose responses differ, and how; "" if none differs."""
    one, other = (world.pair(**settings) for world in twins.worlds)
    for each in asked:
        here = exchange(twins.one, one, each)
        there = exchange(twins.other, other, each)
        if here != there:
            return f"{twins.title}, at {settings}: {asked} answers\n{here!r} or\n{there!r}"
    return ""


def every_api(
    number: int, topics: tuple[str, ...], groups: tuple[str, ...], quoted: str
) -> Iterator[Asked]:
    """Each API with all the names at once, in one of its versions, with or without a text that
    quotes a name: every version is somewhere among the twins."""
    versions: dict[str, list[int]] = {}
    for api, version in CASES:
        versions.setdefault(api, []).append(version)
    topics, groups = ("team-a:orders", "team-a:", *topics), ("app", *groups)
    for api, known in versions.items():
        version = known[-1 - number % len(known)]
        asked = Asked(api, version, topics, groups, TOPIC, quoted if number % 2 else "")
        yield asked
        if "Acls" in api:
            yield replace(asked, resource_type=GROUP)
        if "Configs" in api:
            yield replace(asked, resource_type=CONFIGS_OF_GROUP)
            yield replace(asked, resource_type=CLIENT_METRICS)


@pytest.mark.parametrize("number", range(len(TWINS)), ids=[each.title for each in TWINS])
def test_worlds_that_the_asker_cannot_tell_apart(number: int) -> None:
    twins = TWINS[number]
    quoted = twins.topics[0].replace(":", "..")
    for asked in every_api(number, twins.topics, twins.groups, quoted):
        assert not differing(twins, {}, [asked])


@pytest.mark.parametrize("number", range(len(TWINS)), ids=[each.title for each in TWINS])
def test_worlds_in_which_the_asker_deletes_its_namespace(number: int) -> None:
    twins = TWINS[number]
    deletion = Asked("DeleteTopics", 5, ("team-a:",), ("app",), TOPIC, "")
    quoted = twins.topics[0].replace(":", "..")
    for asked in every_api(number, twins.topics, twins.groups, quoted):
        assert not differing(twins, {}, [deletion, asked])


@pytest.mark.parametrize("spelling", ["colon", "legal"])
@pytest.mark.parametrize("number", range(len(TWINS)), ids=[each.title for each in TWINS])
def test_worlds_that_a_home_lets_the_asker_reach(number: int, spelling: str) -> None:
    """With ``escape: true`` a name with a leading ``:`` (legal: ``..``) begins at the root."""
    twins = TWINS[number]
    settings = {"home": "team-a", "escape": True, "spelling": spelling}
    topics = tuple(each for each in twins.from_root if each.startswith(LEADING[spelling]))
    quoted = twins.topics[0].replace(":", "..")
    groups = (*twins.groups, *from_root(twins.groups))
    for asked in every_api(number, topics, groups, quoted):
        assert not differing(twins, settings, [asked])


def test_requests_at_random() -> None:
    """Several requests on the same connection, in any version, with any of the names."""
    random, until = Random(SEED), monotonic() + SECONDS
    tried = 0
    while tried < 150 or monotonic() < until:
        tried += 1
        twins, settings = random.choice(TWINS), random.choice(SETTINGS)
        asked = [_at_random(random, twins, settings) for _ in range(random.randint(1, 3))]
        found = differing(twins, settings, asked)
        assert not found, f"after {tried} with TWINS_SEED={SEED}: {found}"


def _at_random(random: Random, twins: Twins, settings: dict[str, Any]) -> Asked:
    api, version = random.choice(CASES)
    names: tuple[str, ...] = (*OWN, *twins.topics)
    if "home" in settings and random.random() < 0.5:
        names = from_root(names)
    topics = random.sample(names, random.randint(0, 3))
    groups = random.sample(
        ("app", "team-a..app", *twins.groups, *from_root(twins.groups[:1])), random.randint(1, 2)
    )
    quoted = random.choice(("", *(name for name in twins.topics if ":" not in name)))
    kind = TOPIC
    if "Acls" in api:
        kind = random.choice((TOPIC, TOPIC, GROUP))
    elif "Configs" in api:
        kind = random.choice(
            (TOPIC, TOPIC, CONFIGS_OF_GROUP, CLIENT_METRICS, BROKER, BROKER_LOGGER)
        )
    return Asked(api, version, tuple(topics), tuple(groups), kind, quoted)
