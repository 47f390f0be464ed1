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


class Plan:
    """One API at one version. ``key`` is ``api_key << 16 | version``."""

    __slots__ = (
        "_find",
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
        "response_header_version",
        "response_segments",
        "response_walk",
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
        self.request_walk: Walker = walker(request, version, REQUEST_KINDS)
        kinds = response_kinds(name)
        self.response_walk: Walker = walker(response, version, kinds)
        self.request_segments: Segments | None = None
        self.response_segments: Segments | None = None
        if name == "Produce":
            self.request_segments = segments(request, version, REQUEST_KINDS)
        if name == "Fetch":
            self.response_segments = segments(response, version, kinds)

    def at(self, version: int) -> Plan:
        """The plan of the same API at another decided version."""
        plan = self._find(self.api_key, version)
        assert plan is not None
        return plan
