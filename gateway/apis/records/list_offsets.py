"""ListOffsets (API 2): topic names are rewritten and need DESCRIBE; for a denied topic, each
partition gets an error. A namespace is answered by the gateway, as a topic with an empty partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gateway.apis import namespace_listing
from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.exchanges.api import Api
from gateway.rules.declaration import BY_PARTITION_INDEX, DESCRIBE, Do, Needs, TopicShape

_NOWHERE: Final = -1

_OF_EMPTY: Final[Mapping[int, tuple[int, int]]] = {
    -1: (1, 0),  # latest
    -2: (1, 0),  # earliest
    -3: (7, _NOWHERE),  # maximum timestamp (KIP-734)
    -4: (8, 0),  # earliest local (KIP-405)
    -5: (9, _NOWHERE),  # latest in tiered storage (KIP-1005)
    -6: (11, _NOWHERE),  # earliest to be uploaded (KIP-1023)
}
"""A request's timestamp that stands for a position -> the first version with this timestamp, and
the offset that a broker (4.3.1) returns for an empty partition."""


def empty(version: int, requested: Any) -> Mapping[str, object]:
    """The response for an empty partition, as a broker's: no record is at or after a timestamp."""
    first, offset = _OF_EMPTY.get(requested.timestamp, (version, _NOWHERE))
    unknown = requested.timestamp < 0 and requested.timestamp not in _OF_EMPTY
    if unknown or version < first:
        return {"error_code": UNSUPPORTED_VERSION}
    return {"offset": offset}


API = Api(
    "ListOffsets",
    (1, 11),
    Do.REWRITE,
    needs=Needs(topic=DESCRIBE),
    topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    request=namespace_listing.answering(empty),
)
