"""Creates topics through a broker or a gateway, on machines that may be busy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

SECONDS: Final = 120.0
_PAUSE: Final = 0.1


def create_topics(
    admin: AdminClient, wanted: Sequence[NewTopic], seconds: float = SECONDS
) -> set[str]:
    """Create topics, and wait ``seconds`` for each; returns their names. Raises KafkaException.

    TOPIC_ALREADY_EXISTS counts as created, because if a response is late, or its connection ends
    before it, librdkafka sends the same request again, and the broker responds with this error to
    the second request. So do not use this if an existing topic is a mistake.

    If a topic gets REQUEST_TIMED_OUT, it is created again: a gateway makes no namespace while a
    coordinator loads, as it does after a cluster's first group.
    """
    deadline = time.monotonic() + seconds
    left = [*wanted]
    while left:
        futures = admin.create_topics(left)
        is_last = time.monotonic() > deadline
        left = [topic for topic in left if _is_late(futures[topic.topic], seconds, is_last)]
        time.sleep(_PAUSE if left else 0)
    return {topic.topic for topic in wanted}


def _is_late(future: Future[None], seconds: float, is_last: bool) -> bool:
    """Whether a creation has to be tried again, unless it was the last try."""
    try:
        future.result(seconds)
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.REQUEST_TIMED_OUT and not is_last:
            return True
        if code != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    return False
