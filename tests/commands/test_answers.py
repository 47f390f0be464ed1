"""gateway.commands.answers: the content of responses, whatever their version leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.commands.answers import (
    Config,
    Created,
    Described,
    Partition,
    Synonym,
    config_of,
    created_of,
    outcome_of,
    topic_of,
)
from gateway.commands.client import Answer
from gateway.commands.errors import Outcome
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import message_versions

DONE = Outcome("org:a", 0, "NONE", "")


def answer(entity: Any, *, repeated: bool = False) -> Answer:
    return Answer(entity, repeated)


def entry(version: int, **values: object) -> Any:
    """A topic of a CreateTopics response."""
    response = messages.message_class("CreateTopicsResponse", version)
    return make(element_class(response, "topics"), {"name": "org:a", **values})


def test_outcomes() -> None:
    rejected = entry(7, error_code=44, error_message="No.")
    assert outcome_of(answer(None), "org:a", rejected) == Outcome(
        "org:a", 44, "POLICY_VIOLATION", "No."
    )
    unknown = outcome_of(answer(None), "org:a", entry(7, error_code=12345))
    assert (unknown.code, unknown.error) == (12345, "12345")
    assert outcome_of(answer(None, repeated=True), "org:a", entry(7)).repeated
    assert outcome_of(answer(None), "org:a", None).code == -1


@pytest.mark.parametrize("version", [v for v in message_versions("CreateTopicsResponse") if v > 1])
def test_what_was_made(version: int) -> None:
    cls = type(entry(version))
    configs: tuple[Any, ...] = ()
    if version >= 5:
        values = {"name": "retention.ms", "value": "1", "config_source": 1}
        configs = (make(element_class(cls, "configs"), values),)
    made = created_of(DONE, entry(version, num_partitions=3, replication_factor=2, configs=configs))
    assert (made.name, made.code) == ("org:a", 0)
    if version < 5:
        assert made == Created("org:a", 0, "NONE", "")
    else:
        assert (made.partitions, made.replication_factor) == (3, 2)
        assert made.configs == (Config("retention.ms", "1", 1, False, False),)


def test_a_namespace_and_what_is_rejected_have_no_partitions() -> None:
    for told in (entry(7, num_partitions=0), entry(7, num_partitions=-1), None):
        made = created_of(DONE, told)
        assert (made.partitions, made.replication_factor, made.configs) == (None, None, ())


def test_configs_with_their_synonyms() -> None:
    result = element_class(messages.message_class("DescribeConfigsResponse", 4), "results")
    config = element_class(result, "configs")
    synonym = make(element_class(config, "synonyms"), {"name": "b", "value": "2", "source": 5})
    values = {"name": "a", "value": "1", "config_source": 3, "synonyms": (synonym,)}
    told = config_of(make(config, values))
    assert told == Config("a", "1", 3, False, False, (Synonym("b", "2", 5),))
    described = Described(DONE, {"a": told})
    assert (described.value("a"), described.value("none")) == ("1", "")


def test_partitions_are_in_order() -> None:
    topic = element_class(messages.message_class("MetadataResponse", 12), "topics")
    partition = element_class(topic, "partitions")
    told = tuple(
        make(
            partition,
            {"partition_index": n, "leader_id": 1, "replica_nodes": (1, 2), "isr_nodes": (1,)},
        )
        for n in (1, 0)
    )
    found = topic_of(answer(None), make(topic, {"name": "a", "partitions": told}))
    assert found.partitions == (Partition(0, 1, (1, 2), (1,)), Partition(1, 1, (1, 2), (1,)))
