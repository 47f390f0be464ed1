"""A view's result for a name, for tests: the flat name, or the message of the denial."""

from __future__ import annotations

from gateway.decision import Denied, Resolved
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION


def flat_of(found: Resolved | Denied) -> str:
    """The flat name that was found."""
    assert isinstance(found, Resolved), found
    assert found.flat_legacy[2:] == found.flat_compact[1:] == found.flat
    return found.flat.decode()


def message_of(found: Resolved | Denied) -> str:
    """The message of UNKNOWN_TOPIC_OR_PARTITION, by which a name is denied."""
    assert isinstance(found, Denied), found
    assert found.code == UNKNOWN_TOPIC_OR_PARTITION
    return found.message
