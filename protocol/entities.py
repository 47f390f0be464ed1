"""The kind of every field of every message: the table that walkers and rules use.

kio's types give most kinds (TopicName, GroupId, TransactionalId, BrokerId, error codes). Tables
here have the others: field names that mean the same in every message, and kinds by message and
field path, from the "about" texts of Kafka 4.3.1's message definitions, which overrule the rest. A
test fails if a string, bytes, uuid or records field, a broker id or an error code has no kind, so
that a new Kafka version cannot bring in a name that no rule looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.kinds import ALL_KINDS, Kind
from protocol.schema import FieldSpec

__all__ = ["ALL_KINDS", "OVERLAY", "Kind", "is_counted", "kind_of"]


def _endpoint(parent: str, node: str = "") -> dict[str, Kind]:
    """The address of a broker or controller in the struct ``parent``, and its node id if given."""
    address = {f"{parent}host": Kind.HOST, f"{parent}port": Kind.PORT}
    return {f"{parent}{node}": Kind.ENDPOINT_NODE, **address} if node else address


OVERLAY: Final[dict[str, dict[str, Kind]]] = {
    "ProduceRequest": {"acks": Kind.ACKS, "topic_data.partition_data.index": Kind.PARTITION},
    "ProduceResponse": {
        "responses.partition_responses.index": Kind.PARTITION,
        "responses.partition_responses.record_errors.batch_index_error_message": Kind.ERROR_TEXT,
        **_endpoint("node_endpoints.", "node_id"),
    },
    "FetchRequest": {
        "replica_id": Kind.REPLICA_ID,
        "replica_state.replica_id": Kind.REPLICA_ID,
        "max_bytes": Kind.MAX_BYTES,
        "session_id": Kind.SESSION_ID,
        "session_epoch": Kind.SESSION_EPOCH,
    },
    "MetadataRequest": {"allow_auto_topic_creation": Kind.AUTO_CREATION},
    "ListOffsetsRequest": {"replica_id": Kind.REPLICA_ID},
    "OffsetForLeaderEpochRequest": {"replica_id": Kind.REPLICA_ID},
    "FetchResponse": {"session_id": Kind.SESSION_ID, **_endpoint("node_endpoints.", "node_id")},
    "FetchSnapshotResponse": {
        "topics.partitions.index": Kind.PARTITION,
        **_endpoint("node_endpoints.", "node_id"),
    },
    "ShareFetchRequest": {"share_session_epoch": Kind.SESSION_EPOCH, "max_bytes": Kind.MAX_BYTES},
    "ShareFetchResponse": {
        "responses.partitions.acknowledge_error_code": Kind.ERROR_CODE,
        "responses.partitions.acknowledge_error_message": Kind.ERROR_TEXT,
        "responses.partitions.current_leader.leader_id": Kind.NODE_ID,
        **_endpoint("node_endpoints.", "node_id"),
    },
    "ShareAcknowledgeRequest": {"share_session_epoch": Kind.SESSION_EPOCH},
    "ShareAcknowledgeResponse": {
        "responses.partitions.current_leader.leader_id": Kind.NODE_ID,
        **_endpoint("node_endpoints.", "node_id"),
    },
    "MetadataResponse": _endpoint("brokers.", "node_id"),
    "DescribeClusterResponse": _endpoint("brokers.", "broker_id"),
    "FindCoordinatorRequest": {
        "key": Kind.COORDINATOR_KEY,
        "key_type": Kind.KEY_TYPE,
        "coordinator_keys": Kind.COORDINATOR_KEY,
    },
    "FindCoordinatorResponse": {
        "coordinators.key": Kind.COORDINATOR_KEY,
        **_endpoint("", "node_id"),
        **_endpoint("coordinators.", "node_id"),
    },
    "DescribeQuorumResponse": {
        "nodes.node_id": Kind.ENDPOINT_NODE,
        **_endpoint("nodes.listeners."),
    },
    "ElectLeadersResponse": {
        "replica_election_results.partition_result.partition_id": Kind.PARTITION
    },
    "CreateTopicsResponse": {"topics.topic_config_error_code": Kind.ERROR_CODE},
    "ListConfigResourcesRequest": {"resource_types": Kind.RESOURCE_TYPE},
    "JoinGroupRequest": {"protocols.metadata": Kind.SUBSCRIPTION},
    "JoinGroupResponse": {"members.metadata": Kind.SUBSCRIPTION},
    "SyncGroupRequest": {"assignments.assignment": Kind.ASSIGNMENT},
    "SyncGroupResponse": {"assignment": Kind.ASSIGNMENT},
    "DescribeGroupsResponse": {
        "groups.members.member_metadata": Kind.SUBSCRIPTION,
        "groups.members.member_assignment": Kind.ASSIGNMENT,
    },
    "ConsumerGroupHeartbeatRequest": {"subscribed_topic_regex": Kind.REGEX},
    "ConsumerGroupDescribeResponse": {"groups.members.subscribed_topic_regex": Kind.REGEX},
    "StreamsGroupHeartbeatRequest": {
        "topology.subtopologies.source_topic_regex": Kind.REGEX,
        "task_offsets.partition": Kind.PARTITION,
    },
    "StreamsGroupHeartbeatResponse": {"status.status_detail": Kind.ERROR_TEXT},
    "ConsumerProtocolSubscription": {"topics": Kind.TOPIC_NAME},
    "ReadShareGroupStateRequest": {"group_id": Kind.GROUP_ID},
    "WriteShareGroupStateRequest": {"group_id": Kind.GROUP_ID},
    "DeleteShareGroupStateRequest": {"group_id": Kind.GROUP_ID},
    "InitializeShareGroupStateRequest": {"group_id": Kind.GROUP_ID},
    "ReadShareGroupStateSummaryRequest": {"group_id": Kind.GROUP_ID},
    "ListTransactionsRequest": {"transactional_id_pattern": Kind.REGEX},
    "DescribeAclsRequest": {
        "resource_type_filter": Kind.RESOURCE_TYPE,
        "resource_name_filter": Kind.RESOURCE_NAME,
    },
    "DeleteAclsRequest": {
        "filters.resource_type_filter": Kind.RESOURCE_TYPE,
        "filters.resource_name_filter": Kind.RESOURCE_NAME,
    },
    "BrokerRegistrationRequest": _endpoint("listeners."),
    "ControllerRegistrationRequest": _endpoint("listeners."),
    "BeginQuorumEpochRequest": _endpoint("leader_endpoints."),
    "BeginQuorumEpochResponse": _endpoint("node_endpoints.", "node_id"),
    "EndQuorumEpochRequest": _endpoint("leader_endpoints."),
    "EndQuorumEpochResponse": _endpoint("node_endpoints.", "node_id"),
    "VoteResponse": _endpoint("node_endpoints.", "node_id"),
    "AddRaftVoterRequest": {"voter_id": Kind.NODE_ID, **_endpoint("listeners.")},
    "RemoveRaftVoterRequest": {"voter_id": Kind.NODE_ID},
    "UpdateRaftVoterRequest": {"voter_id": Kind.NODE_ID, **_endpoint("listeners.")},
    "UpdateRaftVoterResponse": _endpoint("current_leader.", "leader_id"),
    "EnvelopeRequest": {"request_data": Kind.EMBEDDED},
    "EnvelopeResponse": {"response_data": Kind.EMBEDDED},
    "LeaderChangeMessage": {
        "voters.voter_id": Kind.NODE_ID,
        "granting_voters.voter_id": Kind.NODE_ID,
    },
    "VotersRecord": _endpoint("voters.endpoints."),
}
"""Message -> path -> kind."""

_PLAIN: Final[Mapping[str, str]] = {
    "ApiVersionsRequest": "client_software_name client_software_version",
    "ApiVersionsResponse": "supported_features.name finalized_features.name",
    "DescribeQuorumResponse": "nodes.listeners.name",
    "DescribeLogDirsResponse": "results.log_dir",
    "AlterReplicaLogDirsRequest": "dirs.path",
    "UpdateFeaturesRequest": "feature_updates.feature",
    "UpdateFeaturesResponse": "results.feature",
    "CreateTopicsRequest": "topics.configs.name topics.configs.value",
    "CreateTopicsResponse": "topics.configs.name topics.configs.value",
    "AlterConfigsRequest": "resources.configs.name resources.configs.value",
    "IncrementalAlterConfigsRequest": "resources.configs.name resources.configs.value",
    "DescribeConfigsRequest": "resources.configuration_keys",
    "DescribeConfigsResponse": (
        "results.configs.name results.configs.value results.configs.synonyms.name "
        "results.configs.synonyms.value results.configs.documentation"
    ),
    "JoinGroupRequest": "protocols.name",
    "JoinGroupResponse": "leader",
    "DescribeGroupsResponse": "groups.protocol_data",
    "ListGroupsRequest": "states_filter types_filter",
    "ListGroupsResponse": "groups.group_type",
    "OffsetFetchResponse": "topics.partitions.metadata groups.topics.partitions.metadata",
    "ConsumerGroupHeartbeatRequest": "server_assignor",
    "ConsumerGroupDescribeResponse": "groups.assignor_name",
    "ShareGroupDescribeResponse": "groups.assignor_name",
    # user_endpoint is the application's own address (interactive queries), not a broker's.
    "StreamsGroupHeartbeatRequest": (
        "user_endpoint.host user_endpoint.port "
        "topology.subtopologies.state_changelog_topics.topic_configs.key "
        "topology.subtopologies.state_changelog_topics.topic_configs.value "
        "topology.subtopologies.repartition_source_topics.topic_configs.key "
        "topology.subtopologies.repartition_source_topics.topic_configs.value client_tags.key "
        "client_tags.value"
    ),
    "StreamsGroupHeartbeatResponse": (
        "partitions_by_user_endpoint.user_endpoint.host "
        "partitions_by_user_endpoint.user_endpoint.port"
    ),
    "StreamsGroupDescribeResponse": (
        "groups.members.user_endpoint.host groups.members.user_endpoint.port "
        "groups.topology.subtopologies.state_changelog_topics.topic_configs.key "
        "groups.topology.subtopologies.state_changelog_topics.topic_configs.value "
        "groups.topology.subtopologies.repartition_source_topics.topic_configs.key "
        "groups.topology.subtopologies.repartition_source_topics.topic_configs.value "
        "groups.members.client_tags.key groups.members.client_tags.value"
    ),
    "ConsumerProtocolSubscription": "user_data",
    "ConsumerProtocolAssignment": "user_data",
    "ListTransactionsRequest": "state_filters",
    "ListTransactionsResponse": "unknown_state_filters",
    "CreateAclsRequest": "creations.host",
    "DescribeAclsRequest": "principal_filter host_filter",
    "DescribeAclsResponse": "resources.acls.host",
    "DeleteAclsRequest": "filters.principal_filter filters.host_filter",
    "DeleteAclsResponse": "filter_results.matching_acls.host",
    "DescribeClientQuotasRequest": "components.match",
    "DescribeClientQuotasResponse": "entries.values.key",
    "AlterClientQuotasRequest": "entries.ops.key",
    "AlterUserScramCredentialsRequest": (
        "deletions.name upsertions.name upsertions.salt upsertions.salted_password"
    ),
    "AlterUserScramCredentialsResponse": "results.user",
    "DescribeUserScramCredentialsRequest": "users.name",
    "DescribeUserScramCredentialsResponse": "results.user",
    "CreateDelegationTokenRequest": "owner_principal_type owner_principal_name",
    "SaslHandshakeRequest": "mechanism",
    "SaslHandshakeResponse": "mechanisms",
    "SaslAuthenticateRequest": "auth_bytes",
    "SaslAuthenticateResponse": "auth_bytes",
    "GetTelemetrySubscriptionsResponse": "requested_metrics",
    "PushTelemetryRequest": "metrics",
    "AssignReplicasToDirsRequest": "directories.id_",
    "AssignReplicasToDirsResponse": "directories.id_",
    "BrokerHeartbeatRequest": "offline_log_dirs cordoned_log_dirs",
    "BrokerRegistrationRequest": "log_dirs listeners.name features.name",
    "ControllerRegistrationRequest": "listeners.name features.name",
    "BeginQuorumEpochRequest": "leader_endpoints.name",
    "EndQuorumEpochRequest": "leader_endpoints.name",
    "AddRaftVoterRequest": "listeners.name",
    "UpdateRaftVoterRequest": "listeners.name",
    "EnvelopeRequest": "request_principal client_host_address",
    "DefaultPrincipalData": "type_ name",
    "VotersRecord": "voters.endpoints.name",
}
"""Message -> paths of fields that no rule looks at."""

for _message, _paths in _PLAIN.items():
    OVERLAY.setdefault(_message, {}).update(dict.fromkeys(_paths.split(), Kind.PLAIN))

_BY_NOMINAL: Final = {
    "TopicName": Kind.TOPIC_NAME,
    "GroupId": Kind.GROUP_ID,
    "TransactionalId": Kind.TRANSACTIONAL_ID,
    "BrokerId": Kind.NODE_ID,
}

_BY_TYPE: Final = {"error_code": Kind.ERROR_CODE, "records": Kind.RECORDS}

_PLAIN_NAMES: Final[Mapping[str, str]] = {
    "bytes": "hmac",
    "string": (
        "client_id client_host cluster_id committed_metadata entity_name entity_type "
        "group_instance_id group_state instance_id member_id principal principal_name "
        "principal_type process_id protocol_name rack rack_id reason subtopology_id token_id "
        "token_requester_principal_name token_requester_principal_type transaction_state"
    ),
    "uuid": (
        "candidate_directory_id client_instance_id incarnation_id replica_directory_id "
        "voter_directory_id"
    ),
}
"""Wire type -> names of fields that no rule looks at, in every message."""

_BY_NAME: Final[Mapping[tuple[str, str], Kind]] = {
    ("int32", "partition"): Kind.PARTITION,
    ("int32", "partition_index"): Kind.PARTITION,
    ("int32", "partition_indexes"): Kind.PARTITION,
    ("uuid", "topic_id"): Kind.TOPIC_ID,
    ("string", "error_message"): Kind.ERROR_TEXT,
    ("string", "protocol_type"): Kind.PROTOCOL_TYPE,
    ("int8", "resource_type"): Kind.RESOURCE_TYPE,
    ("string", "resource_name"): Kind.RESOURCE_NAME,
    **{(kind, name): Kind.PLAIN for kind, names in _PLAIN_NAMES.items() for name in names.split()},
}
"""(wire type, field name) -> kind, for names that mean the same in every message."""

_MUST_BE_KNOWN: Final = frozenset({"string", "bytes", "uuid", "records", "error_code"})


def kind_of(message: str, field: FieldSpec) -> Kind | None:
    """The kind of ``field`` of ``message``, or None if no table has it.

    Structs, arrays of structs, and numbers that no table names are PLAIN.
    """
    if field.struct is not None:
        return Kind.PLAIN
    kind = OVERLAY.get(message, {}).get(field.path)
    if kind is None and field.nominal:
        kind = _BY_NOMINAL[field.nominal]
    if kind is None:
        kind = _BY_TYPE.get(field.type)
    if kind is None:
        kind = _BY_NAME.get((field.type, field.name))
    if kind is None and field.array and (field.type, field.name) == ("int32", "partitions"):
        kind = Kind.PARTITION
    if kind is None and field.type not in _MUST_BE_KNOWN:
        kind = Kind.PLAIN
    return kind


def is_counted(message: str, field: FieldSpec) -> bool:
    """Whether ``field`` is an array of topics or of partitions, whose COUNT is emitted."""
    if not field.array:
        return False
    counted = (Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.PARTITION)
    if field.struct is None:
        return kind_of(message, field) in counted
    return any(
        kind_of(message, inner) in counted for inner in field.struct.fields if not inner.array
    )
