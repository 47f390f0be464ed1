"""What the gateway has not decided: UNSUPPORTED_VERSION where Kafka has an answer for it."""

from __future__ import annotations

from struct import Struct

from gateway.apis.records import produce_legacy
from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.api_versions import unsupported_version
from protocol import messages
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, response_header, response_header_version
from protocol.messages import has_field, make
from protocol.schema import API_NAMES, response_name

API_VERSIONS = 18
PRODUCE = 0

UNKNOWN_API = -1
UNKNOWN_VERSION = -1
"""What is counted where the client could choose any number: flows must stay few."""

_HEAD = Struct(">hhih")


def answer(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> bytes:
    """The whole payload (header and body) that answers an undecided request, which is counted.

    ``start`` is where its header begins. Empty for a Produce request without a response. Raises
    ProtocolError, which ends the connection, for an API or version that Kafka 4.3 does not know
    either, or whose response has no field to say it in.
    """
    api_key, version, correlation_id, client_id_size = _HEAD.unpack_from(buf, start)
    flow = state.flow(api_key if api_key in API_NAMES else UNKNOWN_API, UNKNOWN_VERSION, b"")
    exchange.flow = flow
    flow.errors[UNSUPPORTED_VERSION] = flow.errors.get(UNSUPPORTED_VERSION, 0) + 1
    if api_key == API_VERSIONS:
        # KIP-511: a client that is too new is told in version 0, which every client reads.
        return response_header(correlation_id, 0) + unsupported_version()
    if api_key == PRODUCE and version in produce_legacy.VERSIONS:
        body_at, header_version = start + _HEAD.size + max(client_id_size, 0), 0
    else:
        body_at = read_request_header(buf, start, end)[4]
        header_version = response_header_version(api_key, version)
    body = _body(api_key, version, buf[body_at:end])
    if body is None:
        raise ProtocolError(f"API key {api_key} version {version} is not served here")
    return response_header(correlation_id, header_version) + body if body else b""


def _body(api_key: int, version: int, body: bytes) -> bytes | None:
    """The body that answers a request the gateway does not serve.

    None where Kafka 4.3 does not know the API or version either, or its response has no error
    of its own: there the connection ends, as it does on a broker. Raises ProtocolError for a
    Produce request of version 0 to 2 (advertised all the same, KIP-896) that cannot be read.
    """
    if api_key == PRODUCE and version in produce_legacy.VERSIONS:
        return produce_legacy.refuse(version, body, UNSUPPORTED_VERSION)
    try:
        response = messages.message_class(response_name(api_key), version)
    except (ProtocolError, LookupError):
        return None
    if not has_field(response, "error_code"):
        return None
    message = f"This gateway does not serve API key {api_key} version {version}."
    values: dict[str, object] = {"error_code": UNSUPPORTED_VERSION, "error_message": message}
    return messages.write(make(response, values))
