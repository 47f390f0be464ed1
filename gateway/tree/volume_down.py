"""Errors in place of a volume that cannot be reached, for one part of a divided request.

A topic gets LEADER_NOT_AVAILABLE and a coordinator COORDINATOR_NOT_AVAILABLE, because clients retry
after these. Each item of an operator's change or description gets REQUEST_TIMED_OUT, because an
Admin client reports it at once, with the message, and the items of other volumes are answered.
``Division.when_down`` answers with the state in which the gateway last saw the volume.
"""

from __future__ import annotations

from gateway.decision import Denied
from gateway.exchanges.tree import VolumeUnreachable
from gateway.referrals.questions import Outcome
from gateway.rules import partial
from gateway.rules.declaration import Declaration
from gateway.rules.division import Division
from gateway.rules.volume_items import arrays
from protocol import messages
from protocol.messages import made

_UNDIVIDED = Division()


class NotReferred(VolumeUnreachable):
    """The gateways of the tree report that a request is for no volume, or not for this client.
    ``outcome`` is their outcome of the query."""

    def __init__(self, text: str, outcome: Outcome) -> None:
        super().__init__(text)
        self.outcome = outcome


def when_not_referred(
    api: Declaration, version: int, part_body: bytes, outcome: Outcome, message: str
) -> bytes:
    """The response to a part if other gateways report that no volume of theirs has its items, or
    that the principal may not request them: Kafka's error for items that do not exist or are not
    authorized. Raises ProtocolError for an unreadable request."""
    code = code_when_not_referred(api, version, part_body, outcome)
    return failed(api, version, part_body, code, message)


def code_when_not_referred(
    api: Declaration, version: int, part_body: bytes, outcome: Outcome
) -> int:
    """The error code if other gateways report such an ``outcome``. Raises ProtocolError."""
    division = api.division or _UNDIVIDED
    if outcome is Outcome.DENIED:
        if division.denied is None:
            return division.codes.denied
        return division.denied(messages.parse(f"{api.name}Request", version, part_body))
    missing = outcome is Outcome.NO_SUCH_MOUNT
    return division.codes.missing if missing else division.codes.rejected


def code_when_down(api: Declaration) -> int:
    """The error code that this API returns for an item of a volume that is down."""
    return (api.division or _UNDIVIDED).codes.down


def failed(api: Declaration, version: int, part_body: bytes, code: int, message: str) -> bytes:
    """The response to a part whose volume cannot be reached: each of its items gets the error.
    Raises ProtocolError for an unreadable request."""
    division = api.division or _UNDIVIDED
    if division.failed is not None:
        return division.failed(version, part_body, code, message)
    if division.drops_error:  # only the listener's volume may set the error of the whole response
        why = Denied(code, message, "error_response")
        return partial.reject_all(api, version, part_body, why)
    if division.positions is not None:
        asked, answered = arrays(api, version)
        request = messages.parse(f"{api.name}Request", version, part_body)
        result = {"error_code": code, "error_message": message}
        results = [result] * len(getattr(request, asked))
        return made(f"{api.name}Response", version, {answered: results})
    return partial.error_response(api, version, part_body, code, message)
