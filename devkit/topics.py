"""Creates topics through a broker or a gateway, on machines that may be busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

SECONDS: Final = 120.0


def create_topics(
    admin: AdminClient, wanted: Sequence[NewTopic], seconds: float = SECONDS
) -> set[str]:
    """Create topics, and wait ``seconds`` for each; returns their names. Raises KafkaException.

    TOPIC_ALREADY_EXISTS counts as created, because if a response is late, or its connection ends
    before it, librdkafka sends the same request again, and the broker responds with this error to
    the second request. So do not use this if an existing topic is a mistake.
    """
    created = admin.create_topics([*wanted])
    for future in created.values():
        try:
            future.result(seconds)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    return set(created)
