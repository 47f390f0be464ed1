"""A gateway in this process, as its admin clients see it: namespaces and topics in memory, behind
the wire protocol. Tests set the errors that it makes."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from protocol import messages
from protocol.headers import frame, read_request_header, response_header, response_header_version
from protocol.messages import element_class, make
from protocol.schema import api_key_of, message_versions, request_name, response_name
from tests.commands.fake_namespaces import FakeNamespaces

HOST = "127.0.0.1"
Fault = Callable[[], bool]
"""Called with a request; returns whether it is carried out. Either way the connection is closed."""


def drop_before() -> bool:
    """Lose the connection, and do nothing."""
    return False


def drop_after() -> bool:
    """Carry the request out, but lose the connection before the response."""
    return True


class FakeGateway(FakeNamespaces):
    """``faults`` spoil the next requests of an API, ``before`` happens before one of them, and
    ``highest`` is the newest version that it serves."""

    def __init__(self, *namespaces: str, spelling: str = "colon") -> None:
        super().__init__(*namespaces, spelling=spelling)
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.before: dict[str, Callable[[], None]] = {}
        self.highest: dict[str, int] = {}
        self.requests: list[tuple[str, Any]] = []
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in set(self._writers):
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0.001)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def asked(self, name: str) -> list[Any]:
        """The requests of an API so far."""
        return [entity for asked, entity in self.requests if asked == name]

    # -- the wire -------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                while True:
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    answer = self._answer(await reader.readexactly(size))
                    if answer is None:
                        return
                    writer.write(answer)
                    await writer.drain()
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    def _answer(self, payload: bytes) -> bytes | None:
        api_key, version, correlation_id, _, start = read_request_header(payload, 0, len(payload))
        name = request_name(api_key).removesuffix("Request")
        request = messages.parse(f"{name}Request", version, payload[start:])
        response = messages.message_class(response_name(api_key), version)
        if name == "ApiVersions":
            values = self._api_versions(response)
        elif name == "DescribeConfigs" and _is_of_listener(request):
            if self.faults["listener"]:
                self.faults["listener"].popleft()
                return None
            values = self._listener(request, response)
        else:
            if name in self.before:
                self.before.pop(name)()
            if self.faults[name]:
                if self.faults[name].popleft()():
                    self.handlers()[name](request, response)
                return None
            self.requests.append((name, request))
            values = self.handlers()[name](request, response)
        body = messages.write(make(response, values))
        header_version = response_header_version(api_key, version)
        return frame(response_header(correlation_id, header_version), body)

    def _listener(self, request: Any, response: type) -> dict[str, object]:
        """The configs of the listener, which every command requests before its own requests."""
        values = {"gateway.spelling": self.spelling}
        values["gateway.authorization"] = str(self.authorizes).lower()
        result = element_class(response, "results")
        config = element_class(result, "configs")
        configs = tuple(
            make(config, {"name": key, "value": value}) for key, value in values.items()
        )
        (resource,) = request.resources
        named = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
        return {"results": (make(result, {**named, "configs": configs}),)}

    def _api_versions(self, response: type) -> dict[str, object]:
        key = element_class(response, "api_keys")
        keys = [
            {
                "api_key": api_key_of(f"{name}Request"),
                "min_version": message_versions(f"{name}Request")[0],
                "max_version": self.highest.get(name, message_versions(f"{name}Request")[-1]),
            }
            for name in (*self.handlers(), "ApiVersions")
        ]
        return {"api_keys": tuple(make(key, values) for values in keys)}


def _is_of_listener(request: Any) -> bool:
    """Whether the request is only about the listener."""
    keys = [one.configuration_keys for one in request.resources]
    return keys == [("gateway.spelling", "gateway.authorization")]
