"""Topics deleted at the broker, by their ids where they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from gateway.changes.context import Context
from gateway.changes.request_time import LONGEST
from gateway.error_codes import REQUEST_TIMED_OUT, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
from gateway.rules.nested import element_class, has_field, make
from protocol.pausing import paced

_NEWEST: Final = 6  # the first that takes ids (KIP-516)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the broker says of one topic: its error code (0: deleted), text, and the topic's id
    (16 bytes) where it tells."""

    code: int
    message: str | None = None
    topic_id: bytes | None = None

    @property
    def gone(self) -> bool:
        """Whether what was meant is not there any more, or never was."""
        return self.code in (0, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID)


_NO_ANSWER: Final = Outcome(REQUEST_TIMED_OUT, "The broker does not say what became of it.")


async def delete_at_broker(
    context: Context, ids: Mapping[str, bytes | None], timeout: timedelta = LONGEST
) -> dict[str, Outcome]:
    """Delete topics: flat name to the broker's id, None to delete by name. By flat name.

    Deleted by its id, a topic that has been made anew under the name stays. What was deleted is
    forgotten by the index. Raises OSError: it is not known then what was deleted.
    """
    if not ids:
        return {}
    response = await context.admin.ask(
        "DeleteTopicsRequest", lambda cls: _request(cls, ids, timeout), at_most=_NEWEST
    )
    by_id = {topic_id: flat for flat, topic_id in paced(ids.items()) if topic_id is not None}
    outcomes = dict.fromkeys(ids, _NO_ANSWER)
    for result in paced(response.responses):
        told = getattr(result, "topic_id", None)
        topic_id = None if told is None else told.bytes
        flat = by_id.get(topic_id or b"", result.name)
        if flat not in outcomes:
            continue
        text = getattr(result, "error_message", None)
        outcomes[flat] = Outcome(int(result.error_code), text, topic_id)
        # Of a name that the broker does not know, a listing may soon know better.
        if outcomes[flat].gone and outcomes[flat].code != UNKNOWN_TOPIC_OR_PARTITION:
            context.cluster.index.forget(flat.encode(), ids[flat] or topic_id)
    return outcomes


def _request(cls: type, ids: Mapping[str, bytes | None], timeout: timedelta) -> Any:
    values: dict[str, object] = {"timeout": timeout}
    if not has_field(cls, "topics"):
        return make(cls, values | {"topic_names": tuple(ids)})
    topic_class = element_class(cls, "topics")
    topics = tuple(
        make(topic_class, {"name": flat})
        if topic_id is None
        else make(topic_class, {"name": None, "topic_id": UUID(bytes=topic_id)})
        for flat, topic_id in ids.items()
    )
    return make(cls, values | {"topics": topics})
