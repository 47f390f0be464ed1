"""Formats: the wire format of one API at one version, with its walkers, each made once."""

from __future__ import annotations

from typing import Final

from gateway.rules.declaration import Declaration, Records, Waits
from protocol.entities import Kind
from protocol.headers import request_header_version, response_header_version
from protocol.schema import message_spec
from protocol.walkers import Segments, Walker, segments, walker

_NAMING: Final = frozenset(
    {
        *(Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.GROUP_ID, Kind.TRANSACTIONAL_ID),
        *(Kind.COORDINATOR_KEY, Kind.RESOURCE_TYPE, Kind.RESOURCE_NAME),
        *(Kind.PROTOCOL_TYPE, Kind.SUBSCRIPTION, Kind.ASSIGNMENT, Kind.SESSION_ID),
    }
)

REQUEST_KINDS: Final = _NAMING | {
    *(Kind.KEY_TYPE, Kind.REPLICA_ID, Kind.SESSION_EPOCH, Kind.MAX_BYTES),
    *(Kind.ACKS, Kind.RECORDS, Kind.AUTO_CREATION, Kind.REGEX, Kind.TEXT),
}

RESPONSE_KINDS: Final = _NAMING | {
    *(Kind.ENDPOINT_NODE, Kind.HOST, Kind.PORT),
    *(Kind.ERROR_CODE, Kind.ERROR_TEXT, Kind.REGEX, Kind.SIZED),
}

FETCH_RESPONSE_KINDS: Final = frozenset(
    {Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.SESSION_ID, Kind.ERROR_CODE, Kind.RECORDS}
)

NUMBERED_FETCH_KINDS: Final = FETCH_RESPONSE_KINDS | {Kind.NODE_ID}
"""The kinds of Fetch responses in a tree, whose clients get virtual node ids."""


def response_kinds(api: Declaration) -> frozenset[Kind]:
    """The kinds of fields that walkers look for in an API's responses."""
    return FETCH_RESPONSE_KINDS if api.records is Records.RESPONSE else RESPONSE_KINDS


WALKED_AT_ONCE: Final = 32 * 1024
"""Bytes of a message that are walked in one go, if it is not decided in one go: 5 ms."""


class Format:
    """One API at one version. ``key`` is ``api_key << 16 | version``."""

    __slots__ = (
        "_numbered_walk",
        "_response_kinds",
        "api",
        "api_key",
        "flexible",
        "key",
        "name",
        "needs",
        "pipelined",
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
        "waits",
        "waits_for_records",
    )

    def __init__(self, api: Declaration, version: int) -> None:
        name, api_key = api.name, api.key
        request, response = f"{name}Request", f"{name}Response"
        self.key = api_key << 16 | version
        self.api = api
        self.api_key = api_key
        self.version = version
        self.name = name
        self.needs = api.needs
        self.pipelined = api.pipelined
        self.waits = api.waits is not Waits.NEVER
        self.waits_for_records = api.waits is Waits.FOR_RECORDS
        self.tells_operations = api.operations is not None
        self.flexible = message_spec(request, version).flexible
        self.request_header_flexible = request_header_version(api_key, version) >= 2
        self.response_header_version = response_header_version(api_key, version)
        # A broker parses a known tagged field by its content, whatever the field's size says.
        self.request_walk: Walker = walker(request, version, REQUEST_KINDS, whole=True)
        kinds = response_kinds(api)
        self._response_kinds = kinds
        self._numbered_walk: Walker | None = None
        self.response_walk: Walker = walker(response, version, kinds)
        self.small_request = api.small_request
        self.small_response = api.small_response
        self.request_walked_at_once = max(self.small_request, WALKED_AT_ONCE)
        self.response_walked_at_once = max(self.small_response, WALKED_AT_ONCE)
        self.request_segments: Segments | None = None
        self.response_segments: Segments | None = None
        if api.records is Records.REQUEST:
            self.request_segments = segments(request, version, REQUEST_KINDS)
        if api.records is Records.RESPONSE:
            self.response_segments = segments(response, version, kinds)

    def long_request_walk(self) -> Walker:
        """The paced walker, for requests that are too long for one go."""
        return walker(f"{self.name}Request", self.version, REQUEST_KINDS, whole=True, paced=True)

    def long_response_walk(self) -> Walker:
        """The paced walker, for responses that are too long for one go."""
        return walker(f"{self.name}Response", self.version, self._response_kinds, paced=True)

    def numbered_response_walk(self, size: int) -> Walker:
        """The walker of a Fetch response of this size in a tree."""
        name = f"{self.name}Response"
        if size > self.response_walked_at_once:
            return walker(name, self.version, NUMBERED_FETCH_KINDS, paced=True)
        walk = self._numbered_walk
        if walk is None:
            walk = self._numbered_walk = walker(name, self.version, NUMBERED_FETCH_KINDS)
        return walk

    def numbered_segments(self) -> Segments:
        """The units of a Fetch response in a tree."""
        return segments(f"{self.name}Response", self.version, NUMBERED_FETCH_KINDS)
