"""Where the topics stand in a request and in its response: the table behind partial answers.

One row for each API and span of versions. A row says which array holds the topics, which field
names a topic, which array holds its partitions, and what Kafka puts beside the error code of an
entry that has none of its usual values. Field names are those of the message classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from gateway.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION
from gateway.rules.api_keys import ApiKey

TOPIC_ID = "topic_id"
"""The field that names a topic by id, in every message that has one."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one message.

    ``array`` is the field that holds them and ``name`` the field of an element that names the
    topic; empty: the elements are the names. ``partitions`` is the array of its partitions (None:
    the API answers a topic as a whole) and ``index`` the field that holds a partition's number;
    empty: the elements are the numbers. ``groups`` is the array of groups around the topics, if
    there is one (OffsetFetch v8+, each with a ``group_id``).
    """

    array: str
    name: str = "name"
    partitions: str | None = None
    index: str = ""
    groups: str | None = None


@dataclass(frozen=True, slots=True)
class TopicShape:
    """Versions ``first`` to ``last`` of one API.

    ``error_code`` is the field of a response's partition (or topic) that holds the error and
    ``error_values`` what stands beside it. ``codes`` changes the code of a refusal to what this
    API answers in its place. ``all_or_nothing``: one refused topic means that nothing is done.
    ``one_spelling``: a topic's second spelling is refused, not answered with a copy.
    ``always_asked``: the response holds more than topics (brokers, an error of the group), so the
    request is sent even when no topic is left in it.
    """

    api_key: ApiKey
    first: int
    last: int
    request: Topics
    response: Topics
    error_values: Mapping[str, object] = field(default_factory=dict)
    error_code: str = "error_code"
    codes: Mapping[int, int] = field(default_factory=dict)
    all_or_nothing: bool = False
    one_spelling: bool = False
    always_asked: bool = False


_OFFSETS_ASKED = Topics("topics", partitions="partition_indexes")
_OFFSETS_ANSWERED = Topics("topics", partitions="partitions", index="partition_index")
_NO_OFFSET: Mapping[str, object] = MappingProxyType({"committed_offset": -1, "metadata": ""})
_BY_PARTITION_INDEX = Topics("topics", partitions="partitions", index="partition_index")

# fmt: off
TOPIC_SHAPES: tuple[TopicShape, ...] = (
    TopicShape(
        ApiKey.PRODUCE, 3, 13,
        Topics("topic_data", partitions="partition_data", index="index"),
        Topics("responses", partitions="partition_responses", index="index"),
        {"base_offset": -1},
        one_spelling=True,
    ),
    TopicShape(
        ApiKey.FETCH, 4, 18,
        Topics("topics", name="topic", partitions="partitions", index="partition"),
        Topics("responses", name="topic", partitions="partitions", index="partition_index"),
        {"high_watermark": -1, "aborted_transactions": (), "records": b""},
        one_spelling=True,
    ),
    TopicShape(ApiKey.LIST_OFFSETS, 1, 11, _BY_PARTITION_INDEX, _BY_PARTITION_INDEX),
    TopicShape(ApiKey.METADATA, 0, 13, Topics("topics"), Topics("topics"), always_asked=True),
    TopicShape(ApiKey.OFFSET_COMMIT, 2, 10, _BY_PARTITION_INDEX, _BY_PARTITION_INDEX),
    TopicShape(
        ApiKey.OFFSET_FETCH, 1, 7, _OFFSETS_ASKED, _OFFSETS_ANSWERED, _NO_OFFSET,
        always_asked=True,
    ),
    TopicShape(
        ApiKey.OFFSET_FETCH, 8, 10,
        Topics("topics", partitions="partition_indexes", groups="groups"),
        Topics("topics", partitions="partitions", index="partition_index", groups="groups"),
        _NO_OFFSET,
        always_asked=True,
    ),
    TopicShape(
        ApiKey.CREATE_TOPICS, 0, 7, Topics("topics"), Topics("topics"),
        {"num_partitions": -1, "replication_factor": -1, "configs": ()},
        codes={UNKNOWN_TOPIC_OR_PARTITION: INVALID_TOPIC_EXCEPTION},
    ),
    TopicShape(ApiKey.DELETE_TOPICS, 1, 5, Topics("topic_names", name=""), Topics("responses")),
    TopicShape(ApiKey.DELETE_TOPICS, 6, 6, Topics("topics"), Topics("responses")),
    TopicShape(
        ApiKey.DELETE_RECORDS, 0, 2, _BY_PARTITION_INDEX, _BY_PARTITION_INDEX,
        {"low_watermark": -1},
    ),
    TopicShape(
        ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4,
        Topics("topics", name="topic", partitions="partitions", index="partition"),
        Topics("topics", name="topic", partitions="partitions", index="partition"),
    ),
    TopicShape(
        ApiKey.ADD_PARTITIONS_TO_TXN, 0, 3,
        Topics("v3_and_below_topics", partitions="partitions"),
        Topics(
            "results_by_topic_v3_and_below",
            partitions="results_by_partition",
            index="partition_index",
        ),
        error_code="partition_error_code",
        all_or_nothing=True,
    ),
    TopicShape(ApiKey.TXN_OFFSET_COMMIT, 0, 5, _BY_PARTITION_INDEX, _BY_PARTITION_INDEX),
    TopicShape(ApiKey.CREATE_PARTITIONS, 0, 3, Topics("topics"), Topics("results")),
    TopicShape(
        ApiKey.OFFSET_DELETE, 0, 0, _BY_PARTITION_INDEX, _BY_PARTITION_INDEX,
        always_asked=True,
    ),
    TopicShape(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, Topics("topics"), Topics("topics")),
)
# fmt: on
"""THE table, by API key and versions."""

MORE_TOPICS: Mapping[ApiKey, tuple[tuple[str, ...], ...]] = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (("assignment", "topic_partitions"),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        ("groups", "members", "subscribed_topic_names"),
        ("groups", "members", "assignment", "topic_partitions"),
        ("groups", "members", "target_assignment", "topic_partitions"),
    ),
}
"""Arrays of topics in responses to requests that name none: the fields on the way to them."""


@cache
def topic_shape(api_key: int, version: int) -> TopicShape | None:
    """The row of an API and version; None for an API whose items are no topics."""
    for shape in TOPIC_SHAPES:
        if shape.api_key == api_key and shape.first <= version <= shape.last:
            return shape
    return None
