"""The partition counts of internal topics, against Kafka's own InternalTopicManager."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from devkit import java
from gateway.apis.groups.streams_topology import subtopologies
from gateway.changes.topics.internal_partitions import Undecided, missing_topics
from protocol import messages
from tests.live.support import java_tools
from tests.scenarios.entities import entity

REQUEST: Final = "StreamsGroupHeartbeatRequest"
TOPOLOGIES: Final = 300
DECIDED: Final = TOPOLOGIES // 5
"""Topologies that are decided, at least: 30 % were when this was written."""


def test_the_counts_are_the_coordinators() -> None:
    """Random topologies: chains and loops of repartition topics, fixed and flexible, copartitioned
    with each other and with sources, more subtopologies than a new HashMap has room for."""
    seed = 1071
    random = Random(seed)
    cases = [_case(random) for _ in range(TOPOLOGIES)]
    answers = _kafkas(cases)
    decided = 0
    for (body, existing), expected in zip(cases, answers, strict=True):
        found = _ours(body, existing)
        assert (found is None) == expected.startswith("!"), (seed, expected, found, body)
        if found is not None:
            assert found == expected, (seed, body)
            decided += bool(found)
    assert decided > DECIDED


def _ours(body: bytes, existing: Mapping[str, int]) -> str | None:
    try:
        missing = missing_topics(subtopologies(0, body), existing.get)
    except Undecided:
        return None
    return " ".join(f"{name}={topic.partitions}" for name, topic in sorted(missing.items()))


def _kafkas(cases: list[tuple[bytes, dict[str, int]]]) -> list[str]:
    lines = [
        " ".join([b64encode(body).decode(), *(f"{name}={n}" for name, n in existing.items())])
        for body, existing in cases
    ]
    classes = java.compile_java(java_tools.SOURCES / "TopologyOracle.java")
    ended = java.run_java("TopologyOracle", stdin="\n".join([*lines, ""]), classes=classes)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def _case(random: Random) -> tuple[bytes, dict[str, int]]:
    """A request's body, and the partition counts of the topics that exist."""
    parts = random.choice([1, 2, 3, 5, 14, 30])
    sources = [f"s{number}" for number in range(random.randint(1, parts + 1))]
    repartitions = [f"r{number}" for number in range(random.randint(0, parts))]
    fixed = {name: random.choice([0, 0, 0, 0, 3, 4]) for name in repartitions}
    counts = random.choice([[4], [4], [3, 4, 6]])
    existing = {name: random.choice(counts) for name in sources}
    if random.random() < 0.1:
        existing.pop(random.choice(sources))
    for name in repartitions:
        if random.random() < 0.05:
            existing[name] = random.choice([3, 4, 6])
    ids = random.sample([*map(str, range(parts * 3)), *(f"id-{n}" for n in range(parts))], parts)
    writers = {name: random.randrange(parts) for name in repartitions}
    readers = {name: random.randrange(parts) for name in repartitions}
    topology = []
    for at, part_id in enumerate(ids):
        reads = [name for name in repartitions if readers[name] == at]
        own = random.sample(sources, random.randint(0 if reads else 1, min(2, len(sources))))
        topology.append(
            {
                "subtopology_id": part_id,
                "source_topics": own,
                "repartition_sink_topics": [n for n in repartitions if writers[n] == at],
                "repartition_source_topics": [_topic(name, fixed[name]) for name in reads],
                "state_changelog_topics": [
                    _topic(f"c{at}-{n}", 0) for n in range(random.randint(0, 2))
                ],
                "copartition_groups": _groups(random, len(own), len(reads)),
            }
        )
    request = {"group_id": "g", "member_id": "m", "topology": {"subtopologies": topology}}
    cls = messages.message_class(REQUEST, 0)
    return messages.write(entity(cls, request)), existing


def _topic(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "partitions": partitions, "topic_configs": []}


def _groups(random: Random, sources: int, repartitions: int) -> list[dict[str, Any]]:
    groups = []
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        chosen = {
            "source_topics": random.sample(range(sources), random.randint(0, sources)),
            "repartition_source_topics": random.sample(
                range(repartitions), random.randint(0, repartitions)
            ),
        }
        groups.append(chosen)
    return groups
