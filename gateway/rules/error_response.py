"""The response when a whole request is refused, as Kafka's AbstractRequest.getErrorResponse.

Where the response has an error of its own, that is set; where it has only its items', each item
of the request is answered with the error.
"""

from __future__ import annotations

from gateway.decision import Denied
from gateway.rules import item_lists, partial
from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.messages import changed, has_field, make


def error_response(
    api: Declaration, version: int, request_body: bytes, code: int, message: str | None = None
) -> bytes:
    """The body of a response that refuses the whole request with ``code``.

    ``message`` goes where the response has a place for it. Answers ``b""`` for a Produce request
    with acks=0, which has no response. Raises ProtocolError when the request cannot be read, or
    its version is unknown.
    """
    refusal = api.refusal(version, request_body, code)
    if refusal is not None:
        return refusal
    why = Denied(code, message or "", "error_response")
    response_class = messages.message_class(f"{api.name}Response", version)
    on_top = has_field(response_class, "error_code")
    if not on_top or api.items_too(version, code):
        body = _refuse_items(api, version, request_body, why)
        if not on_top or not body:
            return body
        response = messages.parse(f"{api.name}Response", version, body)
        return messages.write(changed(response, {"error_code": code}))
    values = {"error_code": code, "error_message": message, **api.beside_error}
    return messages.write(make(response_class, values))


def _refuse_items(api: Declaration, version: int, request_body: bytes, why: Denied) -> bytes:
    if api.item_shape(version) is not None:
        return item_lists.refuse_all_items(api, version, request_body, why)
    return partial.refuse_all(api, version, request_body, why)
