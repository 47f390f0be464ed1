"""THE table of responses in which the gateway differs from a plain broker, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tests.live.fuzz.answers import MISSING, Leaf
from tests.live.fuzz.requests import Request
from tests.live.fuzz.values import Ref

ANYTHING: Final = "(anything)"

WITH_A_PLUGIN: Final = frozenset({"GetTelemetrySubscriptions", "PushTelemetry"})
"""The APIs that a broker serves only with a plugin (KIP-714), so that nothing is compared."""


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A known difference in responses of ``api``, at ``path`` (a regular expression).

    ``expected`` and ``got`` are values, sets of values, or predicates; ``when`` is a predicate of
    the request.
    """

    api: str
    path: str
    expected: Any
    got: Any
    why: str
    when: Callable[[Request], bool] = lambda request: True

    def explains(self, request: Request, leaf: Leaf) -> bool:
        """Whether this entry explains a difference."""
        return (
            request.api == self.api
            and re.fullmatch(self.path, leaf.path) is not None
            and _is(leaf.expected, self.expected)
            and _is(leaf.got, self.got)
            and self.when(request)
        )


def _is(value: Any, wanted: Any) -> bool:
    if wanted is ANYTHING:
        return True
    if callable(wanted):
        return bool(wanted(value))
    return any(value == one for one in wanted) if isinstance(wanted, set) else bool(value == wanted)


def _names_a_foreign_session(request: Request) -> bool:
    foreign = request.values.get("session_id") == Ref("foreign_session")
    return foreign and request.values["session_epoch"] not in (0, -1)


def _is_rejected(request: Request) -> bool:
    values = request.values
    return any(map(_rejected, (*values["topics"], *values.get("forgotten_topics_data", ()))))


def _rejected(topic: dict[str, Any]) -> bool:
    named = topic["topic_id"] if "topic_id" in topic else topic["topic"]
    return named is None or not isinstance(named, Ref)


_OPERATIONS: Final = range(4)
"""SET, DELETE, APPEND and SUBTRACT (AlterConfigOp.OpType)."""


def _has_an_unknown_operation(request: Request) -> bool:
    configs = (one for resource in request.values["resources"] for one in resource["configs"])
    return any(one["config_operation"] not in _OPERATIONS for one in configs)


_IDS: Final = (
    "group_id",
    "groups",
    "group_ids",
    "key",
    "coordinator_keys",
    "transactional_id",
    "transactional_ids",
    "v3_and_below_transactional_id",
)


def _has_an_empty_id(request: Request) -> bool:
    for field in _IDS:
        value = request.values.get(field)
        items = value if isinstance(value, list) else [value]
        if any(item == "" or (isinstance(item, dict) and not item["group_id"]) for item in items):
            return True
    return False


def _poses_as_replica(request: Request) -> bool:
    values = request.values
    state = values.get("replica_state") or {}
    return {values.get("replica_id", -1), state.get("replica_id", -1)} != {-1}


def _subscribes_to_no_topic(request: Request) -> bool:
    return any(not isinstance(name, Ref) for name in request.values["subscribed_topic_names"] or ())


def _has_other_resources(request: Request) -> bool:
    return any(resource["resource_type"] != 2 for resource in request.values["resources"])


def _is_unjoined(listed: Any) -> bool:
    """Whether a listed group is without members, made only by a JoinGroup."""
    if not isinstance(listed, dict):
        return False
    return listed["protocol_type"] == "" and "-joined-" in listed["group_id"]


def _describes_what_was_joined(request: Request) -> bool:
    return Ref("joined_group") in request.values["groups"]


_UNJOINED: Final = (
    "A group that a JoinGroup without a member id has made is shown from the partition's next "
    "commit on, whoever's it is (GroupCoordinatorShard.listGroups reads at the committed offset)."
)

_NOT_DONE: Final = {3, 17, -1}
"""Codes with which the gateway rejects an illegal topic name, and a broker fails at the rest."""

_MIXED: Final = (
    "A broker rejects the whole request for something else; a name that the gateway refuses does "
    "not get there, and keeps its own error."
)
_OF_OTHERS: Final = (
    "Configs of brokers are shown in part and not altered; types other than topics, brokers and "
    "groups are denied (docs/apis.md)."
)

_WITHOUT_A_SESSION: Final = {
    "A broker serves a session to whoever names its id, the gateway to whom it was given.": (
        _names_a_foreign_session
    ),
    "With a refused topic there is no session: it would forget the topic without a word.": (
        _is_rejected
    ),
}

KNOWN: Final[tuple[KnownDifference, ...]] = (
    *(
        KnownDifference("Fetch", path, ANYTHING, got, why, when=when)
        for why, when in _WITHOUT_A_SESSION.items()
        for path, got in (("error_code", 70), ("session_id", 0), (r"responses\[\]", MISSING))
    ),
    KnownDifference(
        "Fetch",
        r".*",
        ANYTHING,
        ANYTHING,
        "A fetch as a replica is rejected: it would move the high watermark.",
        when=_poses_as_replica,
    ),
    KnownDifference("ListGroups", r"groups\[\]", MISSING, _is_unjoined, _UNJOINED),
    KnownDifference("ListGroups", r"groups\[\]", _is_unjoined, MISSING, _UNJOINED),
    KnownDifference(
        "WriteTxnMarkers",
        r"markers\[\]\.topics\[\]\.partitions\[\]\.error_code",
        ANYTHING,
        31,
        "Markers are for administrators, and under a home out of reach (docs/apis.md).",
    ),
    *(
        KnownDifference(
            api,
            path,
            ANYTHING,
            got,
            "Administrators alone ask, and not under a home (docs/apis.md).",
        )
        for api, item in (
            ("AlterPartitionReassignments", r"responses\[\]"),
            ("ElectLeaders", r"replica_election_results\[\]"),
            ("DescribeQuorum", r"topics\[\]"),
            ("UpdateFeatures", r"results\[\]"),
        )
        for path, got in ((r"(.*\.)?error_code", 31), (item, MISSING))
    ),
    KnownDifference(
        "AlterPartitionReassignments",
        "allow_replication_factor_change",
        False,
        True,
        "Beside an error of the whole request the field has its default, as at a broker.",
    ),
    KnownDifference(
        "DescribeQuorum",
        r"topics\[\]\.partitions\[\]\.(leader_epoch|high_watermark|(current_voters|observers)\[\].*)",
        ANYTHING,
        ANYTHING,
        "Each side has a cluster of its own.",
    ),
    KnownDifference(
        "DescribeQuorum",
        r"nodes\[\].*",
        ANYTHING,
        ANYTHING,
        "Addresses of controllers are withheld (docs/apis.md).",
    ),
    KnownDifference(
        "DescribeTransactions",
        r"transaction_states\[\]\.topics\[\]",
        lambda topic: isinstance(topic, dict) and topic["topic"] == "__consumer_offsets",
        MISSING,
        "Reserved topics are not shown (docs/apis.md).",
    ),
    *(
        KnownDifference(
            "DescribeGroups",
            path,
            states,
            states,
            _UNJOINED,
            when=_describes_what_was_joined,
        )
        for path, states in (
            (r"groups\[\]\.group_state", {"Dead", "Empty"}),
            (r"groups\[\]\.error_code", {0, 69}),
            (r"groups\[\]\.error_message", ANYTHING),
        )
    ),
    KnownDifference(
        "DescribeTopicPartitions",
        r"topics\[\]",
        MISSING,
        ANYTHING,
        "Names that are refused stand on every page, whatever its limit is.",
        when=lambda request: (
            request.values["response_partition_limit"] < 2_000
            or request.values["cursor"] is not None
        ),
    ),
    *(
        KnownDifference(api, r".*\[\]\.error_code", 42, _NOT_DONE, _MIXED)
        for api in ("IncrementalAlterConfigs", "AlterConfigs", "DescribeTopicPartitions")
    ),
    KnownDifference(
        "DescribeConfigs",
        r"results\[\]\.configs\[\]",
        MISSING,
        ANYTHING,
        "A topic's namespace and producer guarantee stand among its configs (docs/namespaces.md).",
    ),
    KnownDifference("IncrementalAlterConfigs", r".*\[\]\.error_code", 40, 17, _MIXED),
    KnownDifference(
        "IncrementalAlterConfigs",
        r"responses\[\]\.error_code",
        -1,
        ANYTHING,
        "A broker fails at all resources for one operation that it does not know.",
        _has_an_unknown_operation,
    ),
    KnownDifference(
        "DescribeTopicPartitions",
        r"topics\[\]\.error_code",
        -1,
        17,
        "A broker fails at an empty name (UNKNOWN_SERVER_ERROR).",
    ),
    KnownDifference(
        "AddPartitionsToTxn",
        r".*\.partition_error_code",
        3,
        55,
        "Where nothing is attempted a broker tells missing partitions, the gateway missing topics.",
    ),
    KnownDifference(
        "ConsumerGroupHeartbeat",
        r"error_code",
        ANYTHING,
        {110, 112, 128},
        "A regular expression is evaluated here, and so judged first (docs/apis.md).",
        when=lambda request: request.values.get("subscribed_topic_regex") is not None,
    ),
    KnownDifference(
        "ConsumerGroupHeartbeat",
        r"member_epoch",
        2,
        1,
        "A name that no topic can have is left out of a subscription, which counts as none.",
        when=_subscribes_to_no_topic,
    ),
    *(
        KnownDifference(
            api,
            r".*",
            ANYTHING,
            ANYTHING,
            "Under a home an empty id is the home's prefix alone, which a broker would serve.",
            when=_has_an_empty_id,
        )
        for api in (
            "AddOffsetsToTxn",
            "AddPartitionsToTxn",
            "ConsumerGroupDescribe",
            "ConsumerGroupHeartbeat",
            "DescribeTransactions",
            "EndTxn",
            "Heartbeat",
            "InitProducerId",
            "JoinGroup",
            "LeaveGroup",
            "OffsetDelete",
            "ShareAcknowledge",
            "ShareFetch",
            "ShareGroupHeartbeat",
            "StreamsGroupHeartbeat",
            "StreamsGroupDescribe",
            "DescribeShareGroupOffsets",
            "AlterShareGroupOffsets",
            "DeleteShareGroupOffsets",
            "SyncGroup",
            "TxnOffsetCommit",
        )
    ),
    *(
        KnownDifference(
            api,
            r"error_code",
            42,
            122,
            "Acknowledgements are looked at only in a session of the connection.",
            when=lambda request: request.values["share_session_epoch"] != 0,
        )
        for api in ("ShareFetch", "ShareAcknowledge")
    ),
    *(
        KnownDifference(
            "ShareFetch",
            path,
            expected,
            ANYTHING,
            "A broker's own UNKNOWN_SERVER_ERROR, if a request forgets what it has just named.",
        )
        for path, expected in (
            ("error_code", -1),
            ("acquisition_lock_timeout", timedelta(0)),
            (r"responses\[\]", "(missing)"),
        )
    ),
    KnownDifference(
        "DescribeShareGroupOffsets",
        r".*partitions\[\]\.error_code",
        0,
        3,
        "A name that no topic can have is unknown here, and without offsets at a broker.",
    ),
    KnownDifference(
        "FindCoordinator",
        r".*",
        ANYTHING,
        ANYTHING,
        "A broker has a coordinator for the empty transactional id, with which nothing begins.",
        when=lambda request: request.values.get("key_type") == 1 and _has_an_empty_id(request),
    ),
    *(
        KnownDifference(
            api,
            r".*",
            ANYTHING,
            31,
            "Users are the catalog's, and under a home out of reach (docs/apis.md).",
        )
        for api in ("AlterUserScramCredentials", "DescribeUserScramCredentials")
    ),
    KnownDifference("IncrementalAlterConfigs", r".*\[\]\.error_code", -1, {17, 40}, _MIXED),
    KnownDifference("ListOffsets", r".*\[\]\.error_code", 35, 3, _MIXED),
    *(
        KnownDifference(
            api,
            r"(results|responses)\[\](\..*)?",
            ANYTHING,
            ANYTHING,
            _OF_OTHERS,
            when=_has_other_resources,
        )
        for api in ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs")
    ),
    KnownDifference(
        "DescribeClientQuotas",
        r"error_code|entries",
        ANYTHING,
        ANYTHING,
        "There are no quotas behind the gateway, whatever the filter is (docs/apis.md).",
    ),
    *(
        KnownDifference(
            api,
            r"topics\[\]\.topic_authorized_operations",
            3_576,
            -2_147_483_648,
            "What may be done with a name that is refused is not told.",
        )
        for api in ("Metadata", "DescribeTopicPartitions")
    ),
    KnownDifference(
        "FindCoordinator",
        r".*",
        ANYTHING,
        ANYTHING,
        "Coordinators of share groups' state are for brokers only (docs/apis.md).",
        when=lambda request: request.values.get("key_type") == 2,
    ),
    KnownDifference(
        "OffsetFetch",
        r".*partitions\[\]\.error_code",
        0,
        3,
        "A broker answers offset -1 of any name; here one that no topic can have is unknown.",
    ),
)


def why(request: Request, leaf: Leaf) -> str | None:
    """Why the gateway differs here, or None if it should not."""
    return next((known.why for known in KNOWN if known.explains(request, leaf)), None)
