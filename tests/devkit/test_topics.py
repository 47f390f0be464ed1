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
    """An admin client whose topics get these errors, by name; 0: created.

    A topic gets the errors of a list in turn, and the last error from then on."""

    def __init__(self, **codes: int | list[int]) -> None:
        self._codes = {
            name: [code] if isinstance(code, int) else code for name, code in codes.items()
        }
        self.wanted: list[list[str]] = []

    def create_topics(self, wanted: list[NewTopic]) -> dict[str, Future[None]]:
        self.wanted.append([topic.topic for topic in wanted])
        return {topic.topic: self._answer(self._next(topic.topic)) for topic in wanted}

    def _next(self, topic: str) -> int:
        codes = self._codes[topic]
        return codes.pop(0) if len(codes) > 1 else codes[0]

    def _answer(self, code: int) -> Future[None]:
        future: Future[None] = Future()
        if code:
            future.set_exception(KafkaException(KafkaError(code)))
        else:
            future.set_result(None)
        return future


def created(**codes: int) -> set[str]:
    return created_by(Answering(**codes), *codes)


def created_by(admin: Any, *topics: str, seconds: float = 60.0) -> set[str]:
    return create_topics(
        cast("AdminClient", admin), [NewTopic(name, 1) for name in topics], seconds
    )


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


def test_what_comes_too_early_is_created_again_and_nothing_else() -> None:
    admin = Answering(orders=0, early=[KafkaError.REQUEST_TIMED_OUT, 0])
    assert created_by(admin, "orders", "early") == {"orders", "early"}
    assert admin.wanted == [["orders", "early"], ["early"]]


def test_what_comes_too_early_for_all_the_time_is_raised() -> None:
    with pytest.raises(KafkaException):
        created_by(Answering(early=KafkaError.REQUEST_TIMED_OUT), "early", seconds=0.01)
