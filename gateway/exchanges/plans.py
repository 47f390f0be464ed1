"""Plans: everything about one (API, version) that is the same for every request, worked out once.

A plan holds the compiled walkers, the handlers and what the API needs to be allowed; the session
looks it up by API key and version and does what it says. APIs without a handler of their own are
handled by ``gateway.apis.generic``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gateway.coverage import COVERAGE
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.rules.authorized_operations import TOLD_BY
from gateway.rules.needs import NEEDS, NO_NEEDS
from protocol.entities import Kind
from protocol.headers import request_header_version, response_header_version
from protocol.schema import message_spec
from protocol.splice import Edit
from protocol.walkers import Segments, Walker, segments, walker

if TYPE_CHECKING:
    from gateway.exchanges.state import ConnectionState

RequestHandler = Callable[["ConnectionState", Exchange, bytes, int, int], Outcome]
"""(connection, exchange, buffer, body start, body end) -> outcome. May raise ProtocolError."""

ResponseHandler = Callable[
    ["ConnectionState", Exchange, bytes, int, int], "list[Edit] | bytes | None"
]
"""The same for a response; edits of the buffer, or the whole new body (logical names). None: it
answers a request of the gateway's own, and the client gets nothing."""

REQUEST_KINDS = frozenset(
    {
        Kind.TOPIC_NAME,
        Kind.TOPIC_ID,
        Kind.GROUP_ID,
        Kind.TRANSACTIONAL_ID,
        Kind.KEY_TYPE,
        Kind.COORDINATOR_KEY,
        Kind.RESOURCE_TYPE,
        Kind.RESOURCE_NAME,
        Kind.PROTOCOL_TYPE,
        Kind.SUBSCRIPTION,
        Kind.ASSIGNMENT,
        Kind.REPLICA_ID,
        Kind.SESSION_ID,
        Kind.SESSION_EPOCH,
        Kind.MAX_BYTES,
        Kind.ACKS,
        Kind.RECORDS,
        Kind.AUTO_CREATION,
    }
)

RESPONSE_KINDS = frozenset(
    {
        Kind.TOPIC_NAME,
        Kind.TOPIC_ID,
        Kind.GROUP_ID,
        Kind.TRANSACTIONAL_ID,
        Kind.COORDINATOR_KEY,
        Kind.RESOURCE_TYPE,
        Kind.RESOURCE_NAME,
        Kind.PROTOCOL_TYPE,
        Kind.SUBSCRIPTION,
        Kind.ASSIGNMENT,
        Kind.SESSION_ID,
        Kind.ENDPOINT_NODE,
        Kind.HOST,
        Kind.PORT,
        Kind.ERROR_CODE,
        Kind.ERROR_TEXT,
        Kind.REGEX,
        Kind.SIZED,
    }
)

FETCH_RESPONSE_KINDS = frozenset(
    {Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.SESSION_ID, Kind.ERROR_CODE, Kind.RECORDS}
)


def response_kinds(name: str) -> frozenset[Kind]:
    """What is looked for in the responses of an API."""
    return FETCH_RESPONSE_KINDS if name == "Fetch" else RESPONSE_KINDS


KIB = 1024

SMALL_REQUEST = 1 * KIB
SMALL_RESPONSE = 2 * KIB
SMALL_REQUESTS = {"Produce": 128 * KIB, "Fetch": 16 * KIB, "ConsumerGroupHeartbeat": 0}
SMALL_RESPONSES = {"Produce": 16 * KIB, "Fetch": 256 * KIB}
"""Bytes of messages that are decided, or restored, in one go, whatever they hold; longer ones may
take several slices (``gateway.slices``). The records of Produce and Fetch cost nothing, and their
items a microsecond. A heartbeat may bring an expression to evaluate over all topics."""

WALKED_AT_ONCE = 32 * KIB
"""Bytes of a message that are walked in one go, where it is not decided in one: 5 ms."""


class Plan:
    """One API at one version. ``key`` is ``api_key << 16 | version``. Requests of up to
    ``small_request`` bytes and responses of up to ``small_response`` are handled in one go."""

    __slots__ = (
        "_find",
        "_response_kinds",
        "api_key",
        "flexible",
        "key",
        "name",
        "needs",
        "on_request",
        "on_response",
        "request_header_flexible",
        "request_segments",
        "request_walk",
        "request_walked_at_once",
        "response_header_version",
        "response_segments",
        "response_walk",
        "response_walked_at_once",
        "small_request",
        "small_response",
        "tells_operations",
        "version",
    )

    def __init__(
        self,
        api_key: int,
        version: int,
        on_request: RequestHandler,
        on_response: ResponseHandler,
        find: Callable[[int, int], Plan | None],
    ) -> None:
        name = COVERAGE[api_key].name
        request, response = f"{name}Request", f"{name}Response"
        self.key = api_key << 16 | version
        self.api_key = api_key
        self.version = version
        self.name = name
        self.needs = NEEDS.get(name, NO_NEEDS)
        self.tells_operations = api_key in TOLD_BY
        self.flexible = message_spec(request, version).flexible
        self.request_header_flexible = request_header_version(api_key, version) >= 2
        self.response_header_version = response_header_version(api_key, version)
        self.on_request = on_request
        self.on_response = on_response
        self._find = find
        # A broker reads a tagged field that it knows by its content, whatever its size says.
        self.request_walk: Walker = walker(request, version, REQUEST_KINDS, whole=True)
        kinds = response_kinds(name)
        self._response_kinds = kinds
        self.response_walk: Walker = walker(response, version, kinds)
        self.small_request = SMALL_REQUESTS.get(name, SMALL_REQUEST)
        self.small_response = SMALL_RESPONSES.get(name, SMALL_RESPONSE)
        self.request_walked_at_once = max(self.small_request, WALKED_AT_ONCE)
        self.response_walked_at_once = max(self.small_response, WALKED_AT_ONCE)
        self.request_segments: Segments | None = None
        self.response_segments: Segments | None = None
        if name == "Produce":
            self.request_segments = segments(request, version, REQUEST_KINDS)
        if name == "Fetch":
            self.response_segments = segments(response, version, kinds)

    def long_request_walk(self) -> Walker:
        """What walks a request that is too long for one go."""
        return walker(f"{self.name}Request", self.version, REQUEST_KINDS, whole=True, paced=True)

    def long_response_walk(self) -> Walker:
        """What walks a response that is too long for one go."""
        return walker(f"{self.name}Response", self.version, self._response_kinds, paced=True)

    def at(self, version: int) -> Plan:
        """The plan of the same API at another decided version."""
        plan = self._find(self.api_key, version)
        assert plan is not None
        return plan
