"""A session between a client and a broker that are both the test: no sockets, no waiting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from gateway.catalog.source import SeededCatalog
from gateway.flows import FlowSource
from gateway.session import Session
from gateway.state import ConnectionState, WorkerState
from gateway.topic_ids import TopicIndex
from gateway.view import Spelling, View, ViewSettings
from gateway.virtual_brokers import ListenerAddresses, NodeIdRanges
from protocol import messages
from protocol.headers import (
    read_request_header,
    request_header_version,
    response_body_pos,
    response_header,
    response_header_version,
)
from protocol.schema import api_key_of, request_name, response_name

NAMESPACES = ("team-a", "team-a:sub", "team-b", "org:apache:kafka")
CLIENT_ID = b"test-client"
HOST = "gateway.example"
BASE_PORT = 9193


def topic_id(number: int) -> UUID:
    """The id of the numbered topic."""
    return UUID(int=number)


class Facts:
    """A cluster that knows what the test says."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.index = TopicIndex()
        self.index.replace(
            [(name.encode(), topic_id(n).bytes) for n, name in enumerate(topics, start=1)]
        )


def request_frame(
    name: str, version: int, entity: Any, correlation_id: int = 7, client_id: bytes = CLIENT_ID
) -> bytes:
    """A whole request frame, size and all. ``name`` is the API's."""
    return raw_frame(
        api_key_of(f"{name}Request"), version, messages.write(entity), correlation_id, client_id
    )


def raw_frame(
    api_key: int, version: int, body: bytes, correlation_id: int = 7, client_id: bytes = CLIENT_ID
) -> bytes:
    """A request frame around any body."""
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big")
    header += correlation_id.to_bytes(4, "big") + len(client_id).to_bytes(2, "big") + client_id
    if request_header_version(api_key, version) >= 2:
        header += b"\x00"
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


def response_frame(name: str, version: int, entity: Any, correlation_id: int = 7) -> bytes:
    """A whole response frame, size and all."""
    header_version = response_header_version(api_key_of(f"{name}Request"), version)
    payload = response_header(correlation_id, header_version) + messages.write(entity)
    return len(payload).to_bytes(4, "big") + payload


def frames(data: bytes) -> list[bytes]:
    """The payloads of whole frames, sizes taken off."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        assert len(data) >= 4 + size, "a frame is cut short"
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


class Pair:
    """One session; ``to_broker`` and ``to_client`` take what it has written since the last call."""

    def __init__(
        self,
        *,
        home: str = "",
        spelling: Spelling = "colon",
        escape: bool = False,
        namespaces: Iterable[str] = NAMESPACES,
        topics: Iterable[str] = (),
        node_ids: Iterable[str] = ("1-3",),
    ) -> None:
        self.catalog = SeededCatalog(namespaces)
        self.facts = Facts(topics)
        self.worker = WorkerState(self.catalog, self.facts, 100 * 1024 * 1024)
        self.view = View(ViewSettings("test", spelling, home, escape), self.catalog.snapshot)
        addresses = ListenerAddresses(HOST, BASE_PORT, NodeIdRanges.parse(node_ids))
        self.session = self.another_session(addresses)

    def another_session(self, addresses: ListenerAddresses) -> Session:
        """A session of another connection to the same worker."""
        source = FlowSource("test", "User:ANONYMOUS", "", "", "", "127.0.0.1:5000")
        return Session(ConnectionState(self.worker, self.view, addresses, source))

    def to_broker(self) -> bytes:
        """What was written to the broker."""
        data = b"".join(map(bytes, self.session.to_broker))
        self.session.to_broker.clear()
        return data

    def to_client(self) -> bytes:
        """What was written to the client."""
        data = b"".join(map(bytes, self.session.to_client))
        self.session.to_client.clear()
        return data

    def send(self, data: bytes) -> None:
        """Bytes from the client; a refresh that the session waits for happens at once."""
        self.session.client_data(data)
        while self.session.waiting is not None:
            self.session.resume()

    def ask(self, name: str, version: int, entity: Any, correlation_id: int = 7) -> Any:
        """Send a request; returns the parsed request that the broker sees, None if it sees none."""
        self.send(request_frame(name, version, entity, correlation_id))
        seen = frames(self.to_broker())
        if not seen:
            return None
        (payload,) = seen
        api_key, seen_version, seen_id, client_id, body = read_request_header(
            payload, 0, len(payload)
        )
        assert (seen_id, client_id) == (correlation_id, CLIENT_ID)
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
        """Answer as the broker, at version ``sent`` if that is another; returns what the client
        sees, parsed at ``version``."""
        answered = version if sent is None else sent
        self.session.broker_data(response_frame(name, answered, entity, correlation_id))
        return self.answer(name, version, correlation_id)

    def answer(self, name: str, version: int, correlation_id: int = 7) -> Any:
        """The one response that the client has been written, parsed."""
        (payload,) = frames(self.to_client())
        assert int.from_bytes(payload[:4], "big") == correlation_id
        api_key = api_key_of(f"{name}Request")
        header_version = response_header_version(api_key, version)
        body = response_body_pos(payload, 0, len(payload), header_version)
        return messages.parse(response_name(api_key), version, payload[body:])
