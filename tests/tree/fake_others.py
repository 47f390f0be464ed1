"""Other gateways in memory: each volume is a Kafka of its own, which responds as Kafka does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from gateway.error_codes import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import decode
from gateway.node_ids import virtual_node_id
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import bears_number
from gateway.referrals.questions import Answer, Outcome, Question
from gateway.tree.far_lanes import OtherGateways
from protocol import messages
from protocol.headers import read_request_header
from protocol.schema import api_name, request_name, response_name
from tests.scenarios.entities import entity
from tests.session.pair import response_frame

READ, DESCRIBE = 1 << 3, 1 << 8
"""Bits of AclOperation's codes: READ is 3, DESCRIBE 8."""
ALL = 0b1101_1111_1000
"""The operations that Kafka reports of a topic without an authorizer
(AclEntry.supportedOperations)."""

NOT_REQUESTED = -(2**31)

_SIZE = 4


class Clock:
    """Seconds, moved by hand."""

    now = 5.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FarTopic:
    """A topic of another gateway's volume; ``allowed`` are operations as bits by principal, and by
    principal and host (``User:alice 192.0.2.7``) if there is such an entry."""

    topic_id: bytes
    partitions: int = 1
    allowed: dict[str, int] = field(default_factory=dict)

    def operations(self, question: Question) -> int:
        """The operations of the client that a question is for."""
        everywhere = self.allowed.get(question.principal, ALL)
        return self.allowed.get(f"{question.principal} {question.host}", everywhere)


class FarKafka:
    """A volume of another gateway. ``outcome`` is how it answers, by principal or for all (``""``);
    ``denies`` are principals that may describe nothing, whether or not it exists; ``answers`` has
    the values of all responses but Metadata's, by API; ``lie`` changes the values of any response,
    ``forged`` replaces any response."""

    def __init__(self, path: str, number: int, *, own: bool = False) -> None:
        """If ``own``, the client's listener is of this volume, so that its names are relative."""
        self.path = path
        self._prefix = "" if own else f":{path}:"
        self.number = number
        self.topics: dict[str, FarTopic] = {}
        self.nodes = [1]
        self.outcome: dict[str, Outcome] = {}
        self.answers: dict[str, Callable[[Any], dict[str, object]]] = {}
        self.hidden: set[str] = set()
        self.denies: set[str] = set()
        self.garbled = False
        self.lie: Callable[[dict[str, Any]], None] = lambda _: None
        self.forged: Callable[[Any], Any] = lambda response: response

    @property
    def node_ids(self) -> list[int]:
        """The virtual ids of the brokers."""
        return [virtual_node_id(self.number, node) for node in self.nodes]

    def name(self, spelled: str) -> str:
        """A client's spelling as the name in this volume, with colons."""
        if spelled.startswith(".."):
            spelled = f":{decode(spelled.removeprefix('..'))}"
        return spelled.replace("/", ":").removeprefix(f":{self.path}:")

    def metadata(self, version: int, request: Any, question: Question) -> dict[str, object]:
        """Respond as KafkaApis.handleTopicMetadataRequest does."""
        wanted = request.topics
        if wanted is None or (version == 0 and not wanted):
            wanted = [{"name": name} for name in self.topics]
        else:
            wanted = [
                {"name": each.name, "topic_id": getattr(each, "topic_id", None)} for each in wanted
            ]
        tells = getattr(request, "include_topic_authorized_operations", False)
        brokers = [
            {
                "node_id": node,
                "host": f"{self.path}.example",
                "port": 9092,
                "rack": f"r-{self.path}",
            }
            for node in self.node_ids
        ]
        return {
            "brokers": [] if question.principal in self.hidden else brokers,
            "controller_id": self.node_ids[-1],
            "cluster_id": f"id-{self.path}",
            "topics": [self._topic(each, question, tells=tells) for each in wanted],
        }

    def _topic(self, wanted: dict[str, Any], question: Question, *, tells: bool) -> dict[str, Any]:
        by_id = wanted.get("topic_id")
        if by_id is None:
            name = wanted["name"]
            found = self.topics.get(self.name(name))
            missing, denied = UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED
        else:
            of_id = [n for n, topic in self.topics.items() if topic.topic_id == by_id.bytes]
            found = self.topics[of_id[0]] if of_id else None
            name = f"{self._prefix}{of_id[0]}" if of_id else None
            missing = denied = UNKNOWN_TOPIC_ID
        hidden = found is not None and not found.operations(question) & DESCRIBE
        hidden |= question.principal in self.denies
        if found is None or hidden:
            key = {"name": name} if by_id is None else {"name": None, "topic_id": by_id.int}
            error = {"error_code": denied if hidden else missing}
            return {**key, **error, "topic_authorized_operations": NOT_REQUESTED}
        partitions = [
            {"partition_index": index, "leader_id": self.node_ids[0]}
            for index in range(found.partitions)
        ]
        operations = found.operations(question) if tells else NOT_REQUESTED
        return {
            "name": name,
            "topic_id": int.from_bytes(found.topic_id, "big"),
            "partitions": partitions,
            "topic_authorized_operations": operations,
        }


class FakeOthers:
    """The way to other gateways (:class:`gateway.referrals.lookups.Lookups`), and the tasks in the
    background, which run only when the test calls for it."""

    def __init__(self, kafkas: Iterable[FarKafka]) -> None:
        self.kafkas = {each.path: each for each in kafkas}
        self.clock = Clock()
        self.known = FarVolumes(None, clock=self.clock)
        self.questions: list[tuple[str, Any, Question]] = []
        self.changes: list[bool] = []
        self.disbelieved: list[tuple[str, str]] = []
        self._pending: list[Coroutine[Any, Any, None]] = []
        self.gateways = OtherGateways(
            cast(Lookups, self), self.known, [*self.kafkas], 16, self.run, self.disbelieve
        )

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Keep work for :meth:`settled`."""
        self._pending.append(work)

    async def settled(self) -> None:
        """Do the work in the background, in order."""
        while self._pending:
            await self._pending.pop(0)

    def close(self) -> None:
        """Forget the work that was not done."""
        while self._pending:
            self._pending.pop().close()

    def asked(self, api: str = "Metadata") -> list[Any]:
        """The requests of an API since the last call; requests of other APIs stay."""
        found = [request for name, request, _ in self.questions if name == api]
        self.questions = [each for each in self.questions if each[0] != api]
        return found

    def disbelieve(self, path: str, text: str) -> None:
        """See :meth:`gateway.referrals.lookups.Lookups.disbelieve`."""
        self.disbelieved.append((path, text))

    async def ask(
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer:
        """Answer as the owner's gateway does."""
        assert came_from is None
        kafka, request = self.kafkas[question.target], question.request
        key, version, correlation_id, _, start = read_request_header(request, 0, len(request))
        api = api_name(key)
        parsed = messages.parse(request_name(key), version, request[start:])
        self.questions.append((api, parsed, question))
        self.changes.append(changes)
        outcome = kafka.outcome.get(question.principal, kafka.outcome.get(""))
        if outcome is not None:
            return Answer(outcome, f"{outcome.name} for ':{kafka.path}'.")
        if api == "Metadata":
            values = kafka.metadata(version, parsed, question)
        elif api == "ApiVersions" and api not in kafka.answers:
            values = {"api_keys": []}
        else:
            values = kafka.answers[api](parsed)
        kafka.lie(values)
        cls = messages.message_class(response_name(key), version)
        response = kafka.forged(entity(cls, values))
        if not bears_number(api, version, messages.write(response), kafka.number):
            return Answer(Outcome.UNREACHABLE, "It has brokers of others.")  # as Lookups finds
        frame = response_frame(api, version, response, correlation_id)
        if kafka.garbled:
            frame = frame[:-1]
        return Answer(
            Outcome.ANSWERED, mount=kafka.path, number=kafka.number, response=frame[_SIZE:]
        )
