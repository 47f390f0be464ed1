"""UNSUPPORTED_VERSION for what the gateway has not decided, where its response can say so."""

from __future__ import annotations

from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.rules import produce_legacy
from gateway.rules.nested import has_field, make
from protocol import messages
from protocol.errors import ProtocolError
from protocol.schema import response_name

PRODUCE = 0


def undecided_response(api_key: int, version: int, body: bytes) -> bytes | None:
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
