"""The response when a whole request is refused, as Kafka's AbstractRequest.getErrorResponse.

Where the response has an error of its own, that is set; where it has only its items', each item
of the request is answered with the error.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.decision import Denied
from gateway.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    FETCH_SESSION_TOPIC_ID_ERROR,
    INVALID_FETCH_SESSION_EPOCH,
    UNSUPPORTED_VERSION,
)
from gateway.rules import api_versions, configs, group_lists, partial, produce_legacy
from gateway.rules.api_keys import ApiKey
from gateway.rules.nested import changed, has_field, make
from gateway.rules.topic_shapes import topic_shape
from protocol import messages
from protocol.schema import response_name

_NOBODY: Mapping[str, object] = {"node_id": -1, "host": "", "port": -1}

BESIDE_THE_ERROR: Mapping[int, Mapping[str, object]] = {
    ApiKey.FIND_COORDINATOR: _NOBODY,
    ApiKey.JOIN_GROUP: {"generation_id": -1, "protocol_name": None, "leader": "", "member_id": ""},
    ApiKey.INIT_PRODUCER_ID: {"producer_id": -1, "producer_epoch": -1},
    ApiKey.END_TXN: {"producer_id": -1, "producer_epoch": -1},
}
"""What Kafka puts beside a top-level error where that is not the field's default or zero."""

SESSION_ERRORS = frozenset(
    {FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR}
)
"""Errors of a fetch session: they say nothing of a partition (KIP-227, SessionErrorContext)."""


def error_response(
    api_key: int, version: int, request_body: bytes, code: int, message: str | None = None
) -> bytes:
    """The body of a response that refuses the whole request with ``code``.

    ``message`` goes where the response has a place for it. Answers ``b""`` for a Produce request
    with acks=0, which has no response. An ApiVersions request of an unknown version gets the
    version 0 form, with the versions of ApiVersions alone (KIP-511). Raises ProtocolError when the
    request cannot be read, or its version is unknown.
    """
    if api_key == ApiKey.API_VERSIONS and code == UNSUPPORTED_VERSION:
        return api_versions.unsupported_version()
    if api_key == ApiKey.PRODUCE and version in produce_legacy.VERSIONS:
        return produce_legacy.refuse(version, request_body, code)
    why = Denied(code, message or "", "error_response")
    response_class = messages.message_class(response_name(api_key), version)
    on_top = has_field(response_class, "error_code")
    if not on_top or _items_too(api_key, version, code):
        body = _refuse_items(api_key, version, request_body, why)
        if not on_top or not body:
            return body
        response = messages.parse(response_name(api_key), version, body)
        return messages.write(changed(response, {"error_code": code}))
    values = {"error_code": code, "error_message": message, **BESIDE_THE_ERROR.get(api_key, {})}
    return messages.write(make(response_class, values))


def _items_too(api_key: int, version: int, code: int) -> bool:
    """Whether the items are answered although the response has an error of its own.

    Old clients look at a fetch's partitions only, but Kafka names them only where it knows their
    names (up to v12); Metadata's own error (v13) is for what no topic can tell.
    """
    if api_key == ApiKey.FETCH:
        return version <= 12 and code not in SESSION_ERRORS
    return api_key == ApiKey.METADATA


def _refuse_items(api_key: int, version: int, request_body: bytes, why: Denied) -> bytes:
    if group_lists.group_shape(api_key, version) is not None:
        return group_lists.refuse_all(api_key, version, request_body, why)
    if topic_shape(api_key, version) is not None:
        return partial.refuse_all(api_key, version, request_body, why)
    return configs.refuse_all(api_key, version, request_body, why)
