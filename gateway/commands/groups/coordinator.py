"""Groups and their committed offsets, as Kafka's admin clients ask for them: at the coordinator.

Names of groups and topics are the listener's own. At one without a home a group of home ``crm`` is
``crm..app``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gateway.commands.client import RETRIABLE, GatewayClient
from gateway.commands.failure import CommandError
from gateway.config.models import Address
from protocol.messages import element_class, make
from protocol.schema import error_name

_GROUP_KEY: Final = 0
_FETCH_VERSION: Final = 7
"""Of OffsetFetch: it has ``require_stable`` (KIP-447) and, as all before 8, one group."""

_COMMIT_VERSIONS: Final = (6, 8)
"""Of OffsetCommit: the first has leader epochs (KIP-320), the last names topics by name in every
broker and by nothing else."""

_LIST_VERSION: Final = 4
"""Of ListGroups: it has states (KIP-518)."""

_NO_GENERATION: Final = -1
_NOT_COORDINATOR: Final = 16
_UNSTABLE_OFFSET_COMMIT: Final = 88
_NO_OFFSET: Final = -1
_AT_ONCE: Final = 1_000
"""Partitions in one request: their records stay far below the 1 MiB of a coordinator's batch."""

_BACKOFF: Final = 0.2
_NEXT_STEPS: Final = {30: "; ask whoever manages the group's permissions"}
"""What to do about an error: 30 is GROUP_AUTHORIZATION_FAILED."""

_PASSING: Final = RETRIABLE | {_UNSTABLE_OFFSET_COMMIT}


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Position:
    """What a group has committed of a partition. ``leader_epoch`` is -1 where it is not known."""

    offset: int
    leader_epoch: int
    metadata: str


Positions = Mapping[Partition, Position]


class Groups:
    """Asks for groups by wire. Every method raises CommandError, where a sentence says what a
    coordinator refuses, or that nobody answers."""

    def __init__(self, client: GatewayClient) -> None:
        self._client = client
        self._at: dict[Address, GatewayClient] = {}
        self._coordinators: dict[str, GatewayClient] = {}

    def close(self) -> None:
        """Close the connections to coordinators; the client that was given stays open."""
        for client in self._at.values():
            client.close()

    async def check_versions(self) -> None:
        """Raises CommandError where the brokers are too old to carry all of a position."""
        wanted = {
            "OffsetFetchRequest": _FETCH_VERSION,
            "OffsetCommitRequest": _COMMIT_VERSIONS[0],
            "ListGroupsRequest": _LIST_VERSION,
        }
        for name, version in wanted.items():
            if not await self._client.serves(name, version):
                raise CommandError(
                    f"the brokers do not speak {name} v{version}, which this needs; it came with"
                    " Kafka 2.6"
                )

    async def state(self, group: str) -> str:
        """Kafka's name of a group's state: ``Empty``, ``Stable``...; ``Dead`` for none at all."""
        answer = await self._ask(group, "ListGroupsRequest", _every_group)
        states = {one.group_id: one.group_state for one in answer.groups}
        return str(states.get(group, "Dead"))

    async def positions(self, group: str, *, stable: bool = True) -> dict[Partition, Position]:
        """All that a group has committed, in the order of topics and partitions. ``stable``: once
        the transactions are completed that commit offsets of it (KIP-447)."""

        def request(cls: type) -> Any:
            return make(cls, {"group_id": group, "topics": None, "require_stable": stable})

        answer = await self._ask(group, "OffsetFetchRequest", request)
        return _positions(group, answer)

    async def commit(self, group: str, positions: Positions) -> dict[Partition, str]:
        """Commit positions as an administrator does, without a member; Kafka's name of the error
        of each that was not taken."""
        failed: dict[Partition, str] = {}
        partitions = sorted(positions)
        for start in range(0, len(partitions), _AT_ONCE):
            batch = {one: positions[one] for one in partitions[start : start + _AT_ONCE]}
            answer = await self._ask(group, "OffsetCommitRequest", _Commit(group, batch))
            told = {
                Partition(topic.name, one.partition_index): int(one.error_code)
                for topic in answer.topics
                for one in topic.partitions
            }
            for one in batch:
                code = told.get(one)
                if code != 0:
                    failed[one] = "no answer" if code is None else error_name(code)
        return failed

    async def having(self, topics: Iterable[str]) -> dict[str, set[str]]:
        """Every group of the cluster that has committed offsets of any of these topics, and of
        which. A group that may not be looked at is left out."""
        wanted = set(topics)
        found: dict[str, set[str]] = {}
        for address in await self._brokers():
            client = self._client_at(address)
            answer = await client.ask("ListGroupsRequest", _every_group, lambda listed: [listed])
            code = int(answer.entity.error_code)
            if code:
                raise CommandError(f"ListGroupsRequest is answered {error_name(code)}")
            for one in answer.entity.groups:
                self._coordinators[one.group_id] = client
                try:
                    positions = await self.positions(one.group_id, stable=False)
                except CommandError:
                    continue  # share groups have none, and what is denied is nobody's to tell
                held = wanted.intersection(partition.topic for partition in positions)
                if held:
                    found[one.group_id] = held
        return dict(sorted(found.items()))

    # -- who is asked ---------------------------------------------------------------------------

    async def _ask(self, group: str, name: str, request: Any) -> Any:
        """The answer of a group's coordinator, looked up anew where it has changed; asked again
        while an error passes by itself. Raises CommandError for one that does not."""
        deadline = _now() + self._client.timeout
        at_most = {"OffsetFetchRequest": _FETCH_VERSION, "OffsetCommitRequest": _COMMIT_VERSIONS[1]}
        while True:
            client = await self._coordinator(group)
            answer = (await client.ask(name, request, at_most=at_most.get(name))).entity
            codes = set(_codes(answer))
            if not codes & _PASSING or _now() + _BACKOFF > deadline:
                break
            if _NOT_COORDINATOR in codes:
                del self._coordinators[group]
            await asyncio.sleep(_BACKOFF)
        code = int(getattr(answer, "error_code", 0))
        if code:
            raise _refused(group, name, code)
        return answer

    async def _coordinator(self, group: str) -> GatewayClient:
        if group not in self._coordinators:

            def request(cls: type) -> Any:
                return make(cls, {"key": group, "key_type": _GROUP_KEY})

            # Before v4 an answer has one coordinator, and is the item that has the error.
            answer = await self._client.ask(
                "FindCoordinatorRequest", request, lambda found: [found], at_most=3
            )
            found = answer.entity
            if found.error_code:
                raise _refused(group, "FindCoordinatorRequest", int(found.error_code))
            self._coordinators[group] = self._client_at(Address(found.host, found.port))
        return self._coordinators[group]

    async def _brokers(self) -> list[Address]:
        answer = await self._client.ask("MetadataRequest", lambda cls: make(cls, {"topics": ()}))
        return sorted(Address(one.host, one.port) for one in answer.entity.brokers)

    def _client_at(self, address: Address) -> GatewayClient:
        if address not in self._at:
            self._at[address] = self._client.at(address)
        return self._at[address]


@dataclass(frozen=True, slots=True)
class _Commit:
    group: str
    positions: Positions

    def __call__(self, cls: type) -> Any:
        topic = element_class(cls, "topics")
        partition = element_class(topic, "partitions")
        by_topic: dict[str, list[Any]] = {}
        for one, position in self.positions.items():
            values: dict[str, object] = {
                "partition_index": one.number,
                "committed_offset": position.offset,
                "committed_leader_epoch": position.leader_epoch,
                "committed_metadata": position.metadata,
            }
            by_topic.setdefault(one.topic, []).append(make(partition, values))
        topics = tuple(
            make(topic, {"name": name, "partitions": tuple(partitions)})
            for name, partitions in by_topic.items()
        )
        head: dict[str, object] = {
            "group_id": self.group,
            "generation_id_or_member_epoch": _NO_GENERATION,
            "member_id": "",
        }
        return make(cls, {**head, "topics": topics})


def _refused(group: str, name: str, code: int) -> CommandError:
    step = _NEXT_STEPS.get(code, "")
    return CommandError(f"group '{group}': {name} is answered {error_name(code)}{step}")


def _every_group(cls: type) -> Any:
    return make(cls, {})


def _positions(group: str, answer: Any) -> dict[Partition, Position]:
    found: dict[Partition, Position] = {}
    for topic in answer.topics:
        for one in topic.partitions:
            code = int(one.error_code)
            if code == _UNSTABLE_OFFSET_COMMIT:
                raise CommandError(
                    f"group '{group}' has offsets in a transaction that is not completed"
                    f" ({topic.name}-{one.partition_index}); end it, or wait until it times out"
                )
            if code:
                raise CommandError(
                    f"group '{group}': the offset of {topic.name}-{one.partition_index} is not"
                    f" told: {error_name(code)}"
                )
            if one.committed_offset != _NO_OFFSET:
                found[Partition(topic.name, one.partition_index)] = Position(
                    one.committed_offset, one.committed_leader_epoch, one.metadata or ""
                )
    return dict(sorted(found.items()))


def _codes(answer: Any) -> Iterable[int]:
    """Every error code of an answer: its own, and those of its partitions."""
    yield int(getattr(answer, "error_code", 0))
    for topic in getattr(answer, "topics", ()):
        for one in topic.partitions:
            yield int(one.error_code)


def _now() -> float:
    return asyncio.get_running_loop().time()
