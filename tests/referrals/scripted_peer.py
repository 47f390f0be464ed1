"""The peers' port of another gateway, in this process: TLS with certificates on both sides."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import pytest

from devkit.certificates import Authority
from gateway.config.addresses import Address
from gateway.config.security import ListenerTls
from gateway.config.tree import Peer
from gateway.referrals import envelope
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import Answer, Kind, Question
from gateway.tls.contexts import server_context
from protocol import messages
from protocol.headers import API_VERSIONS, frame, read_request_header, response_header
from tests.referrals.memory_links import answer_to, question

HOST = "127.0.0.1"

Reply = Callable[[int, Question], bytes | None]
"""The response frame to a question, given the correlation id; it is empty if the connection ends,
or None if there is no response."""


def answering(make: Callable[[Question], Answer]) -> Reply:
    """Replies with answers."""

    def reply(correlation_id: int, question: Question) -> bytes:
        return frame(response_header(correlation_id, 1), envelope.response_body(make(question)))

    return reply


class ScriptedPeer:
    """Answers questions by ``reply``, on each connection in order, once ``may_answer`` is set. It
    keeps its port when it is started again."""

    def __init__(self, ca: Authority | None, name: str, reply: Reply) -> None:
        """If there is no authority, it has no TLS."""
        self._context = None if ca is None else _mutual_tls(ca, name)
        self.port = 0
        self.reply = reply
        self.serves = {API_VERSIONS: (0, 4), envelope.API_KEY: (0, 0)}
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.questions: list[Question] = []
        self.accepted = 0
        self._writers: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> Address:
        return Address(HOST, self.port)

    @property
    def open(self) -> int:
        """The number of open connections."""
        return len(self._writers)

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, self.port, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """Stop as if the process was killed."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._writers.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writers[writer] = task
        self.accepted += 1
        try:
            with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
                while (response := await self._response(reader)) != b"":
                    writer.write(response or b"")
        finally:
            del self._writers[writer]
            writer.transport.abort()

    async def _response(self, reader: asyncio.StreamReader) -> bytes | None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        payload = await reader.readexactly(size)
        api_key, _, correlation_id, _, start = read_request_header(payload, 0, size)
        if api_key == API_VERSIONS:
            return frame(response_header(correlation_id, 0), self._api_versions())
        question = envelope.read_request(payload[start:])
        self.questions.append(question)
        await self.may_answer.wait()
        return self.reply(correlation_id, question)

    def _api_versions(self) -> bytes:
        keys = [
            {"api_key": key, "min_version": low, "max_version": high}
            for key, (low, high) in self.serves.items()
        ]
        return messages.made("ApiVersionsResponse", 4, {"api_keys": keys})


def _mutual_tls(ca: Authority, name: str) -> ssl.SSLContext:
    shown = ca.peer(name)
    return server_context(
        ListenerTls(
            certificate=shown.certificate,
            key=shown.key,
            client_auth="required",
            client_ca=ca.file,
        )
    )


def peer_at(*addresses: Address, name: str = "root") -> Peer:
    """The peer as in a configuration."""
    return Peer.model_validate({"name": name, "addresses": tuple(map(str, addresses))})


def peer_of(*peers: ScriptedPeer, name: str = "root") -> Peer:
    """The peer with the addresses of all ``peers``."""
    return peer_at(*(each.address for each in peers), name=name)


ANSWERS: Final = answering(answer_to)
LONG: Final = 120.0
"""Seconds of questions that do not wait for their end."""

ASKED: Final = question(kind=Kind.REQUEST, seconds=LONG)


async def unreachable(link: PeerLink, asked: Question = ASKED) -> PeerUnreachable:
    """The error that is raised for a question without an answer."""
    with pytest.raises(PeerUnreachable) as raised:
        await link.ask(asked)
    return raised.value
