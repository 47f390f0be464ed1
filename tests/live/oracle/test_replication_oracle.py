"""gateway.mirror_maker against Kafka's own classes: the same names, every method, random settings.

Kafka 4.3.1 has KIP-1074, 3.9.1 the rule before it. ORACLE_CASES=N: the number of names, at least
200,000, of which ``make test`` has the first 20,000.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from devkit.java import compile_java, run_java
from devkit.suite.stages import EXAMPLES
from gateway import mirror_maker
from gateway.mirror_maker import ReplicationPolicy
from tests.live.oracle.case_counts import LONG
from tests.live.support.java_tools import SOURCES

CASES: Final = (
    20_000 if EXAMPLES in os.environ else max(200_000, int(os.environ.get("ORACLE_CASES", "0")))
)
SEPARATORS: Final = (".", "..", "-", "_", "|", "$", "\\E", "x", "ab", "internal", ":")
PIECES: Final = (
    *("mm2", "mm2-", "mm2.", "internal", ".internal", "-internal", "checkpoints", "heartbeats"),
    *(".checkpoints.internal", "mm2-offset-syncs.A.internal", ".replica", "replica", "__", "_"),
    *(".", "..", "-", "|", "$", "\\E", "x", "ab", "A", "B", "orders", "team-a:", "é", " ", ""),
)

Line = tuple[ReplicationPolicy, str]
Method = Callable[[ReplicationPolicy, str], object]


def line(choice: random.Random) -> Line:
    separator = choice.choice(SEPARATORS)
    policy = ReplicationPolicy(
        separator,
        choice.random() < 0.7,
        choice.random() < 0.3,
        choice.choice((None, "A", "é")),
    )
    pieces = (*PIECES, separator, separator)
    return policy, "".join(choice.choices(pieces, k=choice.randint(0, 6)))


def written(one: Line) -> str:
    policy, topic = one
    kind = "identity" if policy.identity else "default"
    enabled = "true" if policy.internal_separator_enabled else "false"
    return "\t".join((kind, policy.separator, enabled, policy.source_alias or "", topic))


def text(found: object) -> str:
    if isinstance(found, bool):
        return "1" if found else "0"
    return "-" if found is None else f"={found}"


NAMES: Final[tuple[Method, ...]] = (
    lambda policy, topic: policy.format_remote_topic("A", topic),
    ReplicationPolicy.topic_source,
    ReplicationPolicy.upstream_topic,
    ReplicationPolicy.original_topic,
    ReplicationPolicy.is_heartbeats_topic,
    ReplicationPolicy.is_checkpoints_topic,
)
OWN: Final[tuple[Method, ...]] = (
    lambda policy, _: policy.offset_syncs_topic("B"),
    lambda policy, _: policy.checkpoints_topic("B"),
)
RULES: Final[dict[str, tuple[Method, ...]]] = {
    "mirror-maker": (
        *NAMES,
        ReplicationPolicy.is_mm2_internal_topic,
        ReplicationPolicy.is_internal_topic,
        *OWN,
        lambda _, topic: not mirror_maker.excluded(topic),
    ),
    "mirror-client-3.9": (
        *NAMES,
        ReplicationPolicy.is_mm2_internal_topic_before,
        ReplicationPolicy.is_internal_topic_before,
        *OWN,
    ),
}


@pytest.fixture(scope="module")
def program() -> Path:
    return compile_java(SOURCES / "ReplicationOracle.java", "mirror-maker")


@pytest.mark.parametrize("jar_set", list(RULES))
def test_every_method_answers_as_kafkas(jar_set: str, program: Path) -> None:
    seed = random.randrange(2**32) if LONG else 0
    choice = random.Random(seed)
    lines = [line(choice) for _ in range(CASES)]
    said = run_java(
        "ReplicationOracle",
        stdin="".join(f"{written(one)}\n" for one in lines),
        classes=program,
        jar_set=jar_set,
        options=("-Dfile.encoding=UTF-8",),
    )
    assert said.returncode == 0, said.stderr
    answers = said.stdout.split("\n")[:-1]
    assert len(answers) == CASES
    methods = RULES[jar_set]
    for one, answer in zip(lines, answers, strict=True):
        ours = [text(method(*one)) for method in methods]
        assert answer.split("\t")[: len(ours)] == ours, f"seed {seed}: {one}"


def test_the_names_are_such_that_the_rules_differ() -> None:
    choice = random.Random(1)
    lines = [line(choice) for _ in range(5_000)]
    differing = [
        policy.is_internal_topic(topic) != policy.is_internal_topic_before(topic)
        for policy, topic in lines
    ]
    own = [policy.is_mm2_internal_topic(topic) for policy, topic in lines]
    assert sum(differing) > 200
    assert sum(own) > 50
