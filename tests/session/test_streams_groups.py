"""Members of Streams groups (KIP-1071): what the worker keeps of them, and what their statuses say
of missing topics."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from gateway.apis.groups import streams_topology as topologies
from gateway.apis.groups.streams_statuses import MISSING_INTERNAL_TOPICS, MISSING_SOURCE_TOPICS
from gateway.auth.pass_through import PassThrough
from gateway.changes.base.context import Context
from gateway.changes.topics import internal_topics
from gateway.changes.topics.internal_topics import InternalTopics
from gateway.error_codes import (
    FENCED_MEMBER_EPOCH,
    STREAMS_INVALID_TOPOLOGY,
    UNKNOWN_MEMBER_ID,
)
from gateway.rules.error_text import MAX_STRING
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.pair import Pair

API = "StreamsGroupHeartbeat"
LINES, CHANGELOG = "team-a..lines", "team-a..app-c"
MISSING = f"Internal topics are missing: {CHANGELOG}; Creation failed: {CHANGELOG} (unknown key)."
KEPT = 100_000
SHOWN = "Internal topics are missing: team-a:app-c"


class Member:
    """A member of a group at a gateway whose creations the test runs."""

    def __init__(self, pair: Pair | None = None) -> None:
        self.pair = pair or Pair(topics=[LINES])
        self.work: list[Coroutine[Any, Any, None]] = []
        self.now = 100.0
        worker = self.pair.worker
        context = Context(worker.catalog, worker.cluster, self.pair.broker)
        self.topics = InternalTopics(context, self.work.append, clock=lambda: self.now)
        worker.internal_topics = self.topics
        worker.cluster.index.partitions = {LINES.encode(): 3}

    def join(self, **values: Any) -> Any:
        part = {"subtopology_id": "0", "source_topics": ["team-a:lines"]}
        topology = {
            "subtopologies": [{**part, "state_changelog_topics": [{"name": "team-a:app-c"}]}]
        }
        return self.beat(0, topology=topology, **values)

    def beat(self, epoch: int = 1, **values: Any) -> Any:
        """Send a heartbeat; what the broker gets."""
        fields = {"group_id": "app", "member_id": "m1", "member_epoch": epoch, **values}
        return self.pair.ask(API, 0, entity(messages.message_class(f"{API}Request", 0), fields))

    def answered(self, *statuses: tuple[int, str], **values: Any) -> Any:
        """What the client gets for the broker's answer."""
        fields = {
            "member_id": "m1",
            "heartbeat_interval": 5000,
            "status": [{"status_code": code, "status_detail": text} for code, text in statuses],
            **values,
        }
        reply = entity(messages.message_class(f"{API}Response", 0), fields)
        return self.pair.reply(API, 0, reply)

    async def run(self) -> None:
        while self.work:
            await self.work.pop(0)


def details(answer: Any) -> list[str]:
    return [status.status_detail for status in answer.status]


async def test_a_missing_topic_is_created_and_then_nothing_is_kept() -> None:
    member = Member()
    member.join()
    assert details(member.answered((MISSING_INTERNAL_TOPICS, MISSING))) == [SHOWN]
    await member.run()
    made = member.pair.broker.topics[CHANGELOG]
    assert (made.partitions, made.configs) == (3, {})
    assert member.topics.bytes_kept
    member.beat()
    member.answered()
    assert not member.topics.bytes_kept


async def test_a_later_heartbeat_reports_what_failed_and_tries_again() -> None:
    member = Member()
    member.pair.broker.uncreatable[CHANGELOG] = (44, "It may not have a name like this.")
    member.join()
    member.answered((MISSING_INTERNAL_TOPICS, MISSING))
    await member.run()
    member.beat()
    told = f"{SHOWN}; Creation failed: team-a:app-c (It may not have a name like this.)."
    assert details(member.answered((MISSING_INTERNAL_TOPICS, MISSING))) == [told]
    assert not member.work, "twice the interval has not passed"
    member.now += 10
    member.beat()
    member.answered((MISSING_INTERNAL_TOPICS, MISSING))
    assert len(member.work) == 1
    await member.run()


async def test_a_topology_waits_for_its_source_topics() -> None:
    """Another heartbeat, without the topology, finds the internal topic missing."""
    member = Member()
    member.join()
    missing = f"Source topics {LINES} are missing."
    assert details(member.answered((MISSING_SOURCE_TOPICS, missing))) == [
        "Source topics team-a:lines are missing."
    ]
    assert not member.work
    member.beat()
    member.answered((MISSING_INTERNAL_TOPICS, MISSING))
    await member.run()
    assert CHANGELOG in member.pair.broker.topics


@pytest.mark.parametrize("lost", ["never joined here", "evicted", "another member", "rejected"])
def test_a_member_whose_topology_is_not_here_joins_again(lost: str) -> None:
    member = Member()
    if lost == "rejected":
        member.join()
        assert member.answered(error_code=UNKNOWN_MEMBER_ID).error_code == UNKNOWN_MEMBER_ID
    elif lost != "never joined here":
        member.join(member_id="other" if lost == "another member" else "m1")
        member.answered((MISSING_SOURCE_TOPICS, ""))
    if lost == "evicted":
        (key,) = member.topics._kept
        member.topics.forget(key)
    member.beat()
    answer = member.answered((MISSING_INTERNAL_TOPICS, MISSING))
    assert (int(answer.error_code), answer.status) == (FENCED_MEMBER_EPOCH, ())
    assert not member.work
    member.join()
    assert details(member.answered((MISSING_INTERNAL_TOPICS, MISSING))) == [SHOWN]
    assert len(member.work) == 1
    member.work.pop().close()


@pytest.mark.parametrize("through", [False, True])
def test_the_brokers_acls_count_only_if_the_login_passes_through(through: bool) -> None:
    """Otherwise they are about the gateway's own principal."""
    member = Member()
    if through:
        member.pair.worker.pass_through = {"test": cast(PassThrough, object())}
    member.join()
    missing = MISSING.partition(";")[0]
    denied = f"{missing}; Unauthorized to CREATE on topics {CHANGELOG}."
    told = details(member.answered((MISSING_INTERNAL_TOPICS, denied)))
    result = "; Unauthorized to CREATE on topics team-a:app-c." if through else ""
    assert told == [f"{SHOWN}{result}"]
    assert len(member.work) == (not through)
    for each in member.work:
        each.close()


def test_a_member_that_leaves_is_forgotten() -> None:
    member = Member()
    member.join()
    member.answered((MISSING_INTERNAL_TOPICS, MISSING))
    member.work.pop().close()
    member.beat(-1)
    member.answered()
    assert not member.topics.bytes_kept


def test_kept_topologies_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal_topics, "KEPT_BYTES", KEPT)
    member = Member()
    part = {"subtopology_id": "0", "source_topics": [f"team-a:{'x' * 200}{n}" for n in range(20)]}
    for number in range(30):
        member.beat(0, member_id=f"m{number}", topology={"subtopologies": [part]})
        member.answered((MISSING_SOURCE_TOPICS, ""))
        assert member.topics.bytes_kept <= KEPT
    assert 5 < len(member.topics._kept) < 30


# -- bounds ----------------------------------------------------------------------------------------


def changelogs(count: int, configs: int = 0) -> list[dict[str, Any]]:
    own = [{"key": f"k{number}", "value": ""} for number in range(configs)]
    return [{"name": f"team-a:c{number}", "topic_configs": own} for number in range(count)]


TOO_MUCH: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "bytes": lambda: [{"source_topics": ["team-a:" + "x" * 200 + str(n) for n in range(6_000)]}],
    "names": lambda: [{"source_topics": [f"team-a:{n}" for n in range(topologies.MAX_TOPICS + 1)]}],
    "subtopologies": lambda: [
        {"source_topics": ["team-a:lines"]} for _ in range(topologies.MAX_SUBTOPOLOGIES + 1)
    ],
    "internal": lambda: [{"state_changelog_topics": changelogs(topologies.MAX_INTERNAL + 1)}],
    "configs": lambda: [{"state_changelog_topics": changelogs(1, topologies.MAX_CONFIGS + 1)}],
}


@pytest.mark.parametrize("much", [*TOO_MUCH])
def test_a_topology_is_bounded(much: str) -> None:
    member = Member()
    assert member.beat(0, topology={"subtopologies": TOO_MUCH[much]()}) is None
    answer = member.pair.answer(API, 0)
    assert int(answer.error_code) == STREAMS_INVALID_TOPOLOGY
    assert " may have " in answer.error_message


def test_a_long_heartbeat_is_rejected_before_it_is_read() -> None:
    member = Member()
    tasks = [{"subtopology_id": "", "partitions": []}] * (topologies.MAX_BYTES // 2)
    assert member.beat(active_tasks=tasks) is None
    assert int(member.pair.answer(API, 0).error_code) == STREAMS_INVALID_TOPOLOGY


async def test_a_status_stays_a_string_of_kafka() -> None:
    member = Member()
    member.pair.broker.uncreatable[CHANGELOG] = (44, "y" * 1_000)
    long = f"Internal topics are missing: {'x' * 32_000}"
    member.join()
    member.answered((MISSING_INTERNAL_TOPICS, long))
    await member.run()
    member.beat()
    (told,) = details(member.answered((MISSING_INTERNAL_TOPICS, long)))
    assert len(told) == MAX_STRING
