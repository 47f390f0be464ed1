"""A side of a comparison: a connection, and the symbols in its requests and responses."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from protocol import messages
from protocol.headers import request_header_version, response_body_pos, response_header_version
from protocol.messages import element_class
from protocol.schema import api_key_of
from tests.live.fuzz.answers import Symbols
from tests.live.fuzz.requests import Request
from tests.live.fuzz.values import Ref, assignment, subscription
from tests.live.support.wire import request_frame

CLOSED: Final = "(the connection was closed)"
HUNG: Final = "(no answer)"
SECONDS: Final = 30.0

_API_VERSIONS: Final = 18

NO_SESSION: Final = 4_242
NO_PRODUCER: Final = 4_242


class Names:
    """The names in the requests of a sequence, the same on both sides."""

    def __init__(self, lane: str, number: int) -> None:
        self._lane = lane
        self._own = f"{lane}-{number}"
        self._fresh = 0

    def begin(self) -> None:
        """Begin another request: its fresh names are used only once."""

    def fixed(self, value: Any) -> Any:
        """A request's values with these names; values that differ by side stay symbols."""
        if isinstance(value, Mapping):
            return {key: self.fixed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fixed(item) for item in value]
        if not isinstance(value, Ref):
            return value
        match value.kind:
            case "group" | "id":
                return f"{self._lane}-{value.name}"
            case "fresh_group":
                self._fresh += 1
                return f"{self._own}-joined-{self._fresh}"
            case "joined_group":
                return f"{self._own}-joined-{self._fresh}"
            case "new_group":
                return f"{self._own}-new"
            case "new_member":
                return "fuzz-member"
            case "topic" | "topic_id" | "subscription" | "assignment":
                return Ref(value.kind, f"{self._lane}-{value.name}")
            case "temporary":
                return Ref("topic", f"{self._own}-temporary")
            case _:
                return value


class Side:
    """A connection to ``address``, and the symbols for the content of its responses."""

    def __init__(self, address: str, symbols: Symbols, foreign_session: int) -> None:
        self._address = address
        self._symbols = symbols
        self._foreign_session = foreign_session
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._next_id = 0

    @property
    def symbols(self) -> Symbols:
        """The names and ids of this side."""
        return self._symbols

    async def open(self) -> None:
        """Connect."""
        host, _, port = self._address.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))

    async def close(self) -> None:
        """Close this side."""
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def served(self) -> dict[int, tuple[int, int]]:
        """The first and last version of each API that is advertised here."""
        assert self._writer is not None
        assert self._reader is not None
        self._writer.write(request_frame(_API_VERSIONS, 0, b"", -1))
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        body = (await self._reader.readexactly(size))[4:]
        keys = messages.parse("ApiVersionsResponse", 0, body).api_keys
        return {entry.api_key: (entry.min_version, entry.max_version) for entry in keys}

    async def exchange(self, requests: Sequence[Request]) -> list[Any]:
        """The responses, as trees, to requests sent at once; the list ends at CLOSED or HUNG."""
        assert self._writer is not None
        first = self._next_id
        self._next_id += len(requests)
        frames = [self._frame(request, first + n) for n, request in enumerate(requests)]
        self._writer.write(b"".join(frames))
        answers: list[Any] = []
        for number, request in enumerate(requests):
            if request.silent:
                answers.append(None)
                continue
            answers.append(await self._answer(request, first + number))
            if answers[-1] in (CLOSED, HUNG):
                break
        return answers

    async def _answer(self, request: Request, correlation_id: int) -> Any:
        assert self._reader is not None
        try:
            async with asyncio.timeout(SECONDS):
                (size,) = struct.unpack(">i", await self._reader.readexactly(4))
                frame = await self._reader.readexactly(size)
        except TimeoutError:
            return HUNG
        except (asyncio.IncompleteReadError, ConnectionError):
            return CLOSED
        key, version = api_key_of(f"{request.api}Request"), request.version
        (answered,) = struct.unpack_from(">i", frame)
        assert answered == correlation_id, f"{answered} was answered, not {correlation_id}"
        header = response_header_version(key, version)
        body = frame[response_body_pos(frame, 0, len(frame), header) :]
        if request.api == "ApiVersions" and version > 0 and body[:2] == b"\0\x23":
            version = 0  # KIP-511
        return self._symbols.tree(messages.parse(f"{request.api}Response", version, body))

    def _frame(self, request: Request, correlation_id: int) -> bytes:
        key, version = api_key_of(f"{request.api}Request"), request.version
        cls = messages.message_class(f"{request.api}Request", version)
        body = self.written(messages.write(self._entity(cls, request.values)))
        return request_frame(
            key, version, body, correlation_id, request_header_version(key, version)
        )

    def written(self, body: bytes) -> bytes:
        """The body of a request as it is sent."""
        return body

    def _entity(self, cls: type, values: Mapping[str, Any]) -> Any:
        return messages.build(cls, **{k: self._field(cls, k, v) for k, v in values.items()})

    def _field(self, cls: type, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._entity(element_class(cls, name), value)
        if isinstance(value, list):
            return tuple(self._field(cls, name, item) for item in value)
        if name in ("broker_ids", "replicas"):
            return self._symbols.node_id(value)
        return self._resolved(value) if isinstance(value, Ref) else value

    def _resolved(self, ref: Ref) -> Any:
        symbols = self._symbols
        match ref.kind:
            case "topic":
                return symbols.prefix + ref.name
            case "topic_id":
                return symbols.id_of(ref.name) or uuid.UUID(int=1)
            case "subscription":
                return subscription(symbols.prefix + ref.name)
            case "assignment":
                return assignment(symbols.prefix + ref.name)
            case "session":
                return _before(symbols.sessions, ref.name, NO_SESSION)
            case "foreign_session":
                return self._foreign_session
            case "producer":
                return _before(symbols.producers, ref.name, NO_PRODUCER)
            case "member":
                return _before(symbols.members, ref.name, "no-such-member")
        raise AssertionError(ref)


def _before(given: Sequence[Any], many: str, nothing: Any) -> Any:
    """The last of these values, or the value ``many`` before it."""
    at = len(given) - 1 - int(many or 0)
    return given[at] if at >= 0 else nothing
