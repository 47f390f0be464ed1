"""devkit.topics: which topics count as created."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.topics import create_topics


class Answering:
    """An admin client whose topics get these errors, by name; 0: created."""

    def __init__(self, **codes: int) -> None:
        self._codes = codes

    def create_topics(self, wanted: list[NewTopic]) -> dict[str, Future[None]]:
        return {topic.topic: self._answer(self._codes[topic.topic]) for topic in wanted}

    def _answer(self, code: int) -> Future[None]:
        future: Future[None] = Future()
        if code:
            future.set_exception(KafkaException(KafkaError(code)))
        else:
            future.set_result(None)
        return future


def created(**codes: int) -> set[str]:
    admin: Any = Answering(**codes)
    return create_topics(cast("AdminClient", admin), [NewTopic(name, 1) for name in codes])


def test_what_an_earlier_try_created_is_created() -> None:
    """A broker responds TOPIC_ALREADY_EXISTS to a CreateTopics that librdkafka sends again."""
    assert created(orders=0, again=KafkaError.TOPIC_ALREADY_EXISTS) == {"orders", "again"}


@pytest.mark.parametrize(
    "code",
    [KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._TIMED_OUT],
)
def test_every_other_error_is_raised(code: int) -> None:
    with pytest.raises(KafkaException):
        created(orders=0, rejected=code)
