"""Coverage: every API the gateway has decided, at which versions, and what it does with names.

What has no row here is not advertised in ApiVersions and is answered UNSUPPORTED_VERSION, or the
connection is closed where Kafka has no answer for it. The decisions hold per item, by whose it is:

=========  ==================================================================================
item       by name, by topic id, in "all"
=========  ==================================================================================
own        forwarded under its flat name; an id is forwarded as it is; listed
foreign    outside the view's home: as unknown, the broker is not asked; not listed
unknown    in a namespace that does not exist: as unknown, the broker is not asked
admin      reserved names (DESIGN: Who owns a flat name): as unknown, by name and by id; not listed
=========  ==================================================================================

"As unknown" is UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id and
INVALID_TOPIC_EXCEPTION where a topic would be created.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Do(Enum):
    """What is done with one way of naming topics (or groups, for an API without topics)."""

    REWRITE = "names are rewritten in the request and restored in the response"
    CHECK = (
        "ids are looked up and foreign ones answered with an error; "
        "only the ids of moved topics are rewritten"
    )
    EXPAND = "asked by explicit names: those the view lists"
    FILTER = "forwarded, and what the view may not see is dropped from the response"
    DENY = "answered with an error"
    FORWARD = "carries no name and is forwarded"
    ANSWER = "answered by the gateway itself"
    ABSENT = "this API has no such way"


@dataclass(frozen=True, slots=True)
class Api:
    """One decided API: its versions, inclusive, and a decision for each way of naming topics."""

    key: int
    name: str
    first: int
    last: int
    named: Do
    by_id: Do = Do.ABSENT
    null: Do = Do.ABSENT
    why: str = ""


_ROWS = (
    Api(0, "Produce", 3, 13, Do.REWRITE, Do.CHECK),
    Api(1, "Fetch", 4, 15, Do.REWRITE, Do.CHECK, why="v16 puts addresses behind the records"),
    Api(2, "ListOffsets", 1, 11, Do.REWRITE),
    Api(3, "Metadata", 0, 13, Do.REWRITE, Do.CHECK, Do.EXPAND),
    Api(8, "OffsetCommit", 2, 10, Do.REWRITE, Do.CHECK),
    Api(9, "OffsetFetch", 1, 10, Do.REWRITE, Do.CHECK, Do.FILTER),
    Api(10, "FindCoordinator", 0, 6, Do.REWRITE, why="share group keys are denied"),
    Api(11, "JoinGroup", 0, 9, Do.REWRITE),
    Api(12, "Heartbeat", 0, 4, Do.REWRITE),
    Api(13, "LeaveGroup", 0, 5, Do.REWRITE),
    Api(14, "SyncGroup", 0, 5, Do.REWRITE),
    Api(15, "DescribeGroups", 0, 6, Do.REWRITE),
    Api(16, "ListGroups", 0, 5, Do.ABSENT, null=Do.FILTER),
    Api(17, "SaslHandshake", 0, 1, Do.ANSWER, why="on an open connection: KIP-368"),
    Api(18, "ApiVersions", 0, 4, Do.FORWARD),
    Api(19, "CreateTopics", 0, 7, Do.REWRITE, why="v0-1 are translated to v2"),
    Api(20, "DeleteTopics", 1, 6, Do.REWRITE, Do.CHECK),
    Api(21, "DeleteRecords", 0, 2, Do.REWRITE),
    Api(22, "InitProducerId", 0, 6, Do.REWRITE),
    Api(23, "OffsetForLeaderEpoch", 2, 4, Do.REWRITE),
    Api(24, "AddPartitionsToTxn", 0, 3, Do.REWRITE, why="v4+ is for brokers only (KIP-890)"),
    Api(25, "AddOffsetsToTxn", 0, 4, Do.REWRITE),
    Api(26, "EndTxn", 0, 5, Do.REWRITE),
    Api(28, "TxnOffsetCommit", 0, 5, Do.REWRITE),
    Api(29, "DescribeAcls", 1, 3, Do.ANSWER, null=Do.ANSWER),
    Api(30, "CreateAcls", 1, 3, Do.ANSWER),
    Api(31, "DeleteAcls", 1, 3, Do.ANSWER, null=Do.ANSWER),
    Api(32, "DescribeConfigs", 1, 4, Do.REWRITE, why="only topics: a broker's hold addresses"),
    Api(33, "AlterConfigs", 0, 2, Do.REWRITE, why="only topics"),
    Api(36, "SaslAuthenticate", 0, 2, Do.ANSWER, why="on an open connection: KIP-368"),
    Api(37, "CreatePartitions", 0, 3, Do.REWRITE),
    Api(42, "DeleteGroups", 0, 2, Do.REWRITE),
    Api(44, "IncrementalAlterConfigs", 0, 1, Do.REWRITE, why="only topics"),
    Api(47, "OffsetDelete", 0, 0, Do.REWRITE),
    Api(48, "DescribeClientQuotas", 0, 1, Do.ABSENT, null=Do.ANSWER, why="there are none"),
    Api(50, "DescribeUserScramCredentials", 0, 0, Do.ANSWER, null=Do.ANSWER),
    Api(51, "AlterUserScramCredentials", 0, 0, Do.ANSWER),
    Api(60, "DescribeCluster", 0, 2, Do.FORWARD, why="addresses are rewritten; controllers denied"),
    Api(68, "ConsumerGroupHeartbeat", 0, 1, Do.REWRITE, Do.CHECK, why="regexes: evaluated here"),
    Api(69, "ConsumerGroupDescribe", 0, 1, Do.REWRITE),
    Api(75, "DescribeTopicPartitions", 0, 0, Do.REWRITE, null=Do.EXPAND),
)

COVERAGE: dict[int, Api] = {row.key: row for row in _ROWS}
"""The table, by API key."""

DECIDED_VERSIONS: dict[int, tuple[int, int]] = {row.key: (row.first, row.last) for row in _ROWS}
"""What ApiVersions is cut to (rules/api_versions.py)."""
