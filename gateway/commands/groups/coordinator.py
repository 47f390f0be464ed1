"""Requests for groups and their committed offsets, sent to the coordinator of each group.

Names of groups and topics are the listener's own. If the listener has no home, the group ``app`` of
home ``crm`` is ``crm..app``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gateway.commands.client import RETRIABLE, GatewayClient
from gateway.commands.errors import CommandError
from gateway.config.addresses import Address
from protocol.messages import Request
from protocol.schema import error_name

_GROUP_KEY: Final = 0
_FETCH_VERSION: Final = 7
"""Version of OffsetFetch: it has ``require_stable`` (KIP-447), and, like every version
before 8, a single group."""

_COMMIT_VERSIONS: Final = (6, 8)
"""Versions of OffsetCommit: the first has leader epochs (KIP-320); the last names topics by name
only, in every broker."""

_FIND_VERSION: Final = 3
_LIST_VERSIONS: Final = (4, 5)
"""Versions of ListGroups: the first has states (KIP-518)."""

_NO_GENERATION: Final = -1
_NOT_COORDINATOR: Final = 16
_UNSTABLE_OFFSET_COMMIT: Final = 88
_NO_OFFSET: Final = -1
_AT_ONCE: Final = 1_000
"""Partitions per request: their records stay far below the 1 MiB of a coordinator's batch."""

_BACKOFF: Final = 0.2
_NEXT_STEPS: Final = {30: "; ask whoever manages the group's permissions"}
"""Advice for an error code: 30 is GROUP_AUTHORIZATION_FAILED."""

_PASSING: Final = RETRIABLE | {_UNSTABLE_OFFSET_COMMIT}


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int


class Position(NamedTuple):
    """The committed offset of a partition. ``leader_epoch`` is -1 if it is not known."""

    offset: int
    leader_epoch: int
    metadata: str


Positions = Mapping[Partition, Position]


class Groups:
    """Requests for groups. Every method raises CommandError if a coordinator rejects the request,
    or if no server responds."""

    def __init__(self, client: GatewayClient) -> None:
        self._client = client
        self._at: dict[Address, GatewayClient] = {}
        self._coordinators: dict[str, GatewayClient] = {}

    def close(self) -> None:
        """Close the connections to coordinators; the client that was given stays open."""
        for client in self._at.values():
            client.close()

    async def check_versions(self) -> None:
        """Raises CommandError if the brokers are too old to store all parts of a position."""
        wanted = {
            "OffsetFetchRequest": _FETCH_VERSION,
            "OffsetCommitRequest": _COMMIT_VERSIONS[0],
            "ListGroupsRequest": _LIST_VERSIONS[0],
        }
        for name, version in wanted.items():
            if not await self._client.serves(name, version):
                raise CommandError(
                    f"the brokers do not speak {name} v{version}, which this needs; it came with"
                    " Kafka 2.6"
                )

    async def state(self, group: str) -> str:
        """Kafka's name of a group's state: ``Empty``, ``Stable``...; ``Dead`` if
        there is no such group."""
        answer = await self._ask(group, _EVERY_GROUP)
        states = {one.group_id: one.group_state for one in answer.groups}
        return str(states.get(group, "Dead"))

    async def positions(self, group: str, *, stable: bool = True) -> dict[Partition, Position]:
        """All positions of a group, in the order of topics and partitions. If ``stable``, waits
        until the transactions that commit offsets of the group are completed (KIP-447)."""
        values = {"group_id": group, "topics": None, "require_stable": stable}
        answer = await self._ask(group, Request("OffsetFetchRequest", _FETCH_VERSION, values))
        return _positions(group, answer)

    async def commit(self, group: str, positions: Positions) -> dict[Partition, str]:
        """Commit positions as an administrator does, without a member. Returns Kafka's name of the
        error for each partition that was rejected."""
        failed: dict[Partition, str] = {}
        partitions = sorted(positions)
        for start in range(0, len(partitions), _AT_ONCE):
            batch = {one: positions[one] for one in partitions[start : start + _AT_ONCE]}
            answer = await self._ask(group, _commit_request(group, batch))
            codes = {
                Partition(topic.name, one.partition_index): int(one.error_code)
                for topic in answer.topics
                for one in topic.partitions
            }
            for one in batch:
                code = codes.get(one)
                if code != 0:
                    failed[one] = "no answer" if code is None else error_name(code)
        return failed

    async def having(self, topics: Iterable[str]) -> dict[str, set[str]]:
        """Every group of the cluster that has committed offsets of any of these topics, with its
        topics. If a group may not be described, it is left out."""
        wanted = set(topics)
        found: dict[str, set[str]] = {}
        metadata = await self._client.ask(Request("MetadataRequest", 13, {"topics": ()}))
        for address in sorted(Address(one.host, one.port) for one in metadata.entity.brokers):
            client = self._client_at(address)
            answer = await client.ask(_EVERY_GROUP, lambda listed: [listed])
            code = int(answer.entity.error_code)
            if code:
                raise CommandError(f"ListGroupsRequest is answered {error_name(code)}")
            for one in answer.entity.groups:
                self._coordinators[one.group_id] = client
                try:
                    positions = await self.positions(one.group_id, stable=False)
                except CommandError:
                    continue  # share groups have no offsets; a denial is not reported
                held = wanted.intersection(partition.topic for partition in positions)
                if held:
                    found[one.group_id] = held
        return dict(sorted(found.items()))

    async def _ask(self, group: str, request: Request) -> Any:
        """The response of a group's coordinator. If the coordinator has moved, it is
        looked up again; if an error is retriable, the request is repeated. Raises
        CommandError for any other error."""
        deadline = _now() + self._client.timeout
        while True:
            client = await self._coordinator(group)
            answer = (await client.ask(request)).entity
            codes = set(_codes(answer))
            if not codes & _PASSING or _now() + _BACKOFF > deadline:
                break
            if _NOT_COORDINATOR in codes:
                del self._coordinators[group]
            await asyncio.sleep(_BACKOFF)
        _check(group, request, answer)
        return answer

    async def _coordinator(self, group: str) -> GatewayClient:
        if group not in self._coordinators:
            # Before v4 a response has a single coordinator, and is itself the item
            # with the error code.
            values = {"key": group, "key_type": _GROUP_KEY}
            request = Request("FindCoordinatorRequest", _FIND_VERSION, values)
            found = (await self._client.ask(request, lambda response: [response])).entity
            _check(group, request, found)
            self._coordinators[group] = self._client_at(Address(found.host, found.port))
        return self._coordinators[group]

    def _client_at(self, address: Address) -> GatewayClient:
        return self._at.setdefault(address, self._client.at(address))


_EVERY_GROUP: Final = Request("ListGroupsRequest", _LIST_VERSIONS[1], {})


def _commit_request(group: str, positions: Positions) -> Request:
    by_topic: dict[str, list[dict[str, object]]] = {}
    for one, position in positions.items():
        values = {
            "partition_index": one.number,
            "committed_offset": position.offset,
            "committed_leader_epoch": position.leader_epoch,
            "committed_metadata": position.metadata,
        }
        by_topic.setdefault(one.topic, []).append(values)
    values = {
        "group_id": group,
        "generation_id_or_member_epoch": _NO_GENERATION,
        "member_id": "",
        "topics": [{"name": name, "partitions": found} for name, found in by_topic.items()],
    }
    return Request("OffsetCommitRequest", _COMMIT_VERSIONS[1], values)


def _check(group: str, request: Request, answer: Any) -> None:
    """Raises CommandError if the response as a whole has an error."""
    code = int(getattr(answer, "error_code", 0))
    if code:
        step = _NEXT_STEPS.get(code, "")
        raise CommandError(f"group '{group}': {request.name} is answered {error_name(code)}{step}")


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
                    f"group '{group}': the offset of {topic.name}-{one.partition_index} cannot be"
                    f" read: {error_name(code)}"
                )
            if one.committed_offset != _NO_OFFSET:
                found[Partition(topic.name, one.partition_index)] = Position(
                    one.committed_offset, one.committed_leader_epoch, one.metadata or ""
                )
    return dict(sorted(found.items()))


def _codes(answer: Any) -> Iterable[int]:
    """Every error code of a response: its own, and the codes of its partitions."""
    yield int(getattr(answer, "error_code", 0))
    for topic in getattr(answer, "topics", ()):
        for one in topic.partitions:
            yield int(one.error_code)


def _now() -> float:
    return asyncio.get_running_loop().time()
