"""A session whose client and broker are both the test: no sockets, no waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

import gateway.telemetry.otlp  # noqa: F401  # no thread can load it, without a loop
from gateway.acls.authorizer import Authorizer
from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.changes import NamespaceChanges
from gateway.cluster.cluster import Cluster
from gateway.exchanges.exchange import Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import FlowSource
from gateway.node_ids import NodeIdRanges
from gateway.policies.judge import Judge
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.session.deciding import Deciding
from gateway.session.session import Session
from gateway.slices import Slices
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.closed_view import ClosedView
from gateway.views.view import Spelling, View, ViewSettings
from gateway.virtual_brokers import ListenerAddresses
from protocol import messages
from protocol.headers import (
    read_request_header,
    request_header_version,
    response_body_pos,
    response_header,
    response_header_version,
)
from protocol.messages import Request
from protocol.primitives import legacy_string
from protocol.schema import api_key_of, request_name, response_name
from tests.changes.fake_broker import FakeBroker, FakeTopic, no_step
from tests.changes.fakes import FakeCatalog, Log
from tests.session.scanning import Scan

NAMESPACES = ("team-a", "team-a:sub", "team-b", "org:apache:kafka")
CLIENT_ID = b"test-client"
HOST = "gateway.example"
BASE_PORT = 9193


def topic_id(number: int) -> UUID:
    """The id of the numbered topic."""
    return UUID(int=number)


class Facts:
    """A cluster that knows the facts that the test gives."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.index = TopicIndex()
        self.api_versions: dict[int, tuple[int, int]] = {}
        self.apart: dict[int, dict[int, tuple[int, int]]] = {}
        self.brokers = {1: ("broker", 9092)}
        self.heard: list[tuple[int, str, int]] = []
        self.index.replace(
            [(name.encode(), topic_id(n).bytes) for n, name in enumerate(topics, start=1)]
        )

    def lately_failed(self, address: tuple[str, int]) -> bool:
        """No broker has failed."""
        return False

    def versions_of(self, node_id: int | None) -> dict[int, tuple[int, int]]:
        """The API versions of a node in ``apart``, or else of all nodes."""
        return self.api_versions if node_id is None else self.apart.get(node_id, self.api_versions)

    def hear(self, node_id: int, host: str, port: int) -> None:
        self.heard.append((node_id, host, port))

    async def refresh(self) -> None:
        """Do nothing, because there is no newer listing."""


@dataclass
class Question:
    """A request of the gateway's own, which the test answers."""

    request: Any

    def __await__(self) -> Generator[Question, Any, Any]:
        return (yield self)


class ScriptedBroker(FakeBroker):
    """A broker for the gateway's own connections: the test answers the request that ``scripted``
    names, at most in ``version``; other requests are answered from memory."""

    scripted = ""
    version = 0

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin.ask does."""
        if request.name != self.scripted:
            return await super().ask(request, changes=changes)
        return await Question(request.entity(min(request.at_most, self.version)))


def request_frame(
    name: str,
    version: int,
    entity: Any,
    correlation_id: int = 7,
    client_id: bytes | None = CLIENT_ID,
) -> bytes:
    """A whole request frame with its size. ``name`` is the API's."""
    return raw_frame(
        api_key_of(f"{name}Request"), version, messages.write(entity), correlation_id, client_id
    )


def raw_frame(
    api_key: int,
    version: int,
    body: bytes,
    correlation_id: int = 7,
    client_id: bytes | None = CLIENT_ID,
) -> bytes:
    """A request frame around any body."""
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big")
    header += correlation_id.to_bytes(4, "big") + legacy_string(client_id)
    if request_header_version(api_key, version) >= 2:
        header += b"\x00"
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


def response_frame(name: str, version: int, entity: Any, correlation_id: int = 7) -> bytes:
    """A whole response frame with its size."""
    header_version = response_header_version(api_key_of(f"{name}Request"), version)
    payload = response_header(correlation_id, header_version) + messages.write(entity)
    return len(payload).to_bytes(4, "big") + payload


def frames(data: bytes) -> list[bytes]:
    """The payloads of whole frames, without sizes."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        assert len(data) >= 4 + size, "a frame is cut short"
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


class ScannedSession:
    """A session of which a scan knows what its client has written; everything else is the
    session's. No subclass, because compiled classes have none that are not compiled."""

    __slots__ = ("_scan", "_session")

    def __init__(self, session: Session, scan: Scan) -> None:
        object.__setattr__(self, "_session", session)
        object.__setattr__(self, "_scan", scan)

    def client_data(self, data: bytes) -> None:
        """Take bytes from the client."""
        self._scan.from_client(data)
        self._session.client_data(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._session, name, value)


class Pair:
    """A session; ``to_broker`` and ``to_client`` take the bytes it has written since the last
    call."""

    def __init__(
        self,
        *,
        home: str = "",
        spelling: Spelling = "colon",
        escape: bool = False,
        list_namespaces: bool = False,
        list_subtree: bool | None = None,
        namespaces: Iterable[str] = NAMESPACES,
        topics: Iterable[str] = (),
        entries: Iterable[TopicEntry] = (),
        node_ids: Iterable[str] = ("1-3",),
        authorizer: Authorizer | None = None,
        policies: Policies = NO_POLICIES,
    ) -> None:
        self.authorizer = authorizer
        self.log = Log(Snapshot.of(namespaces, topics=entries))
        self.catalog = FakeCatalog(self.log, no_step)
        self.facts = Facts(topics)
        self.broker = ScriptedBroker()
        self.broker.topics = {
            name.decode(): FakeTopic(self.facts.index.id_of(name) or b"", {})
            for name in self.facts.index.names()
        }
        judge = Judge(policies)
        cluster = cast(Cluster, self.facts)
        context = Context(self.catalog, cluster, self.broker, judge=judge)
        changes = NamespaceChanges(context, lambda _: None)
        self.worker = WorkerState(self.catalog, cluster, changes, 100 * 1024 * 1024, judge=judge)
        self.worker.turn_seconds = 3600.0  # decided at once, even if the machine is busy
        subtree = not home if list_subtree is None else list_subtree
        settings = ViewSettings("test", spelling, home, escape, subtree, list_namespaces)
        self.view = View(settings, self.catalog.snapshot, policies)
        self._work: Coroutine[Any, Any, bytes] | None = None
        self._question: Question | None = None
        self.asked_as: int | None = None
        self.reset = False  # a change has ended the connection
        self.scan = Scan()
        addresses = ListenerAddresses(HOST, BASE_PORT, NodeIdRanges.parse(node_ids))
        self.session = self.another_session(addresses)

    def another_session(self, addresses: ListenerAddresses) -> Session:
        """A session of another connection to the same worker."""
        source = FlowSource("test", "User:ANONYMOUS", "", "", "", "127.0.0.1:5000")
        session = Session(ConnectionState(self.worker, self.access(), addresses, source))
        return cast(Session, ScannedSession(session, self.scan))

    def access(self) -> Access:
        """The client's access: to everything if there is no authorizer."""
        if self.authorizer is None:
            return Access(self.view, "", "")
        self.authorizer.see(self.catalog.snapshot)
        return AuthorizedAccess(self.view, "User:alice", "127.0.0.1", self.authorizer)

    def to_broker(self) -> bytes:
        """The bytes that were written to the broker."""
        data = b"".join(map(bytes, self.session.to_broker))
        self.session.to_broker.clear()
        return data

    def to_client(self) -> bytes:
        """The bytes that were written to the client."""
        data = b"".join(map(bytes, self.session.to_client))
        self.session.to_client.clear()
        self.scan.to_client(data, self.facts.index.names(), self.view)
        return data

    def send(self, data: bytes) -> None:
        """Bytes from the client. If the session waits for a refresh, it happens at once; work is
        done up to a query that the test answers."""
        self.callback(lambda: self.session.client_data(data))
        self._go_on()

    def resume(self) -> None:
        """Tell the session that its wait is over; it decides on, in as many slices as it takes."""
        self.callback(self.session.resume)
        while isinstance(waiting := self.session.waiting, Deciding):
            self._take_turns(waiting.slices)
            self.callback(self.session.resume)

    def callback(self, call: Callable[[], object]) -> None:
        """Make a call as an event loop would, as a single callback."""
        call()

    def see(self, view: View) -> None:
        """Change the catalog for this session's listener."""
        self.view = view
        kept = self.session.see(self.access())
        checking = Slices(self.session.check_doubted)
        self._take_turns(checking)
        self.reset = not kept or not checking.result()

    def catalog_changed(self) -> None:
        """Let the session go on with the newest snapshot."""
        self.see(self.view.successor(self.catalog.snapshot))

    def go_on(self, answer: Any) -> None:
        """Answer the query that the work under way has made."""
        self._drive(answer)
        self._go_on()

    def close_view(self) -> None:
        """Let the catalog be out of date."""
        self.see(ClosedView(self.view.settings, self.catalog.snapshot))

    def _go_on(self) -> None:
        while (waiting := self.session.waiting) is not None:
            if isinstance(waiting, Deciding):
                self._take_turns(waiting.slices)
            if not isinstance(waiting, Work):
                self.callback(self.session.resume)
                continue
            if self._work is None:
                self._work = waiting.run()
                self._drive(None)
            if self._question is not None:
                return

    def _drive(self, answer: Any) -> None:
        """Go on with the work under way, to its next query or its end."""
        assert self._work is not None
        self._question = None
        ended, value = False, None
        while not ended and value is None:  # None: the work lets others go on
            slices = Slices(partial(_sent, self._work, answer))
            self._take_turns(slices)
            ended, value = slices.result()
            answer = None
        if ended:
            self._work = None
            self.callback(lambda: self.session.resume(value))
        else:
            self._question = value

    def _take_turns(self, slices: Slices[Any]) -> None:
        """Do work in slices to its end."""
        while not slices.done:
            self.callback(slices.step)

    def answered(self, data: bytes) -> None:
        """Bytes from the broker."""
        self.callback(lambda: self.session.broker_data(data))
        while (restoring := self.session.restoring) is not None:
            self._take_turns(restoring.slices)
            self.callback(self.session.restored)
        self._go_on()

    def let_answer(self) -> bytes:
        """Let the broker answer every request that it has got, and the requests behind them,
        without any topics or errors, up to a request that has not wholly arrived; returns the bytes
        that it was sent meanwhile."""
        sent = self.to_broker()
        while (queue := self.session._in_flight.queue) and not self.session.streaming:
            plan, number = queue[0].plan, queue[0].correlation_id
            empty = messages.build(messages.message_class(f"{plan.name}Response", plan.version))
            self.answered(response_frame(plan.name, plan.version, empty, number))
            sent += self.to_broker()
        return sent

    def ask(self, name: str, version: int, entity: Any, correlation_id: int = 7) -> Any:
        """Send a request; returns the parsed request that the broker gets, or None if it gets none.
        ``asked_as`` is its version there, or None if the request is the gateway's own."""
        self.broker.scripted, self.broker.version = f"{name}Request", version
        self.asked_as = None
        self.send(request_frame(name, version, entity, correlation_id))
        if self._question is not None:
            return self._question.request
        seen = frames(self.to_broker())
        if not seen:
            return None
        (payload,) = seen
        api_key, seen_version, seen_id, client_id, body = read_request_header(
            payload, 0, len(payload)
        )
        assert (seen_id, client_id) == (correlation_id, CLIENT_ID)
        self.asked_as = seen_version
        return messages.parse(request_name(api_key), seen_version, payload[body:])

    def reply(
        self,
        name: str,
        version: int,
        entity: Any,
        correlation_id: int = 7,
        *,
        sent: int | None = None,
    ) -> Any:
        """Answer as the broker, at version ``sent`` if it differs; returns the response that the
        client gets, parsed at ``version``."""
        if self._question is not None:
            self.go_on(entity)
            return self.answer(name, version, correlation_id)
        answered = version if sent is None else sent
        self.answered(response_frame(name, answered, entity, correlation_id))
        return self.answer(name, version, correlation_id)

    def answer(self, name: str, version: int, correlation_id: int = 7) -> Any:
        """The only response that was written to the client, parsed."""
        (payload,) = frames(self.to_client())
        assert int.from_bytes(payload[:4], "big") == correlation_id
        api_key = api_key_of(f"{name}Request")
        header_version = response_header_version(api_key, version)
        body = response_body_pos(payload, 0, len(payload), header_version)
        return messages.parse(response_name(api_key), version, payload[body:])


_LOOP = asyncio.new_event_loop()
"""A loop that runs nothing."""


def _sent(work: Coroutine[Any, Any, bytes], answer: Any) -> tuple[bool, Any]:
    """A coroutine's next step: whether it has ended, and its result or its query.
    ``asyncio.gather`` needs a loop, though none runs here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.set_event_loop(_LOOP)
    try:
        return False, work.send(answer)
    except StopIteration as end:
        return True, end.value
