"""ListOffsets (API 2): topic names are rewritten and need DESCRIBE; denied ones get an error for
each partition. A namespace is answered here, as a topic whose one partition is empty.
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
"""By the timestamp of a request that stands for a place: the version from which on it does, and the
offset that a broker (4.3.1) reports of an empty partition."""


def empty(version: int, requested: Any) -> Mapping[str, object]:
    """What an empty partition is answered, as by a broker: no record is at or after a time."""
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
