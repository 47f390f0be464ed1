"""What fields carry where neither kio's types nor their names say it: message -> path -> kind.

From the "about" texts of Kafka 4.3.1's message definitions. A kind here overrules every other
table. ``test_entities`` checks that each entry names a field that exists.
"""

from __future__ import annotations

from typing import Final

from protocol.kinds import Kind

_NODE_ENDPOINTS: Final = {
    "node_endpoints.node_id": Kind.ENDPOINT_NODE,
    "node_endpoints.host": Kind.HOST,
    "node_endpoints.port": Kind.PORT,
}
_LISTENERS: Final = {
    "listeners.name": Kind.PLAIN,
    "listeners.host": Kind.HOST,
    "listeners.port": Kind.PORT,
}
_LEADER_ENDPOINTS: Final = {
    "leader_endpoints.name": Kind.PLAIN,
    "leader_endpoints.host": Kind.HOST,
    "leader_endpoints.port": Kind.PORT,
}
_FEATURES: Final = {"features.name": Kind.PLAIN}
_CONFIGS: Final = {"resources.configs.name": Kind.PLAIN, "resources.configs.value": Kind.PLAIN}
_SHARE_GROUP: Final = {"group_id": Kind.GROUP_ID}


def _streams_topics(parent: str) -> dict[str, Kind]:
    """The topics of a Streams topology; the elements of TopicInfo are named in both APIs."""
    return {
        f"{parent}.{topics}.topic_configs.{name}": Kind.PLAIN
        for topics in ("state_changelog_topics", "repartition_source_topics")
        for name in ("key", "value")
    }


def _tags(parent: str) -> dict[str, Kind]:
    return {f"{parent}client_tags.{name}": Kind.PLAIN for name in ("key", "value")}


OVERLAY: Final[dict[str, dict[str, Kind]]] = {
    # -- data ---------------------------------------------------------------------------------
    "ProduceRequest": {
        "acks": Kind.ACKS,
        "topic_data.partition_data.index": Kind.PARTITION,
    },
    "ProduceResponse": {
        "responses.partition_responses.index": Kind.PARTITION,
        "responses.partition_responses.record_errors.batch_index_error_message": Kind.ERROR_TEXT,
        **_NODE_ENDPOINTS,
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
    "FetchResponse": {"session_id": Kind.SESSION_ID, **_NODE_ENDPOINTS},
    "FetchSnapshotResponse": {"topics.partitions.index": Kind.PARTITION, **_NODE_ENDPOINTS},
    "ShareFetchRequest": {
        "share_session_epoch": Kind.SESSION_EPOCH,
        "max_bytes": Kind.MAX_BYTES,
    },
    "ShareFetchResponse": {
        "responses.partitions.acknowledge_error_code": Kind.ERROR_CODE,
        "responses.partitions.acknowledge_error_message": Kind.ERROR_TEXT,
        "responses.partitions.current_leader.leader_id": Kind.NODE_ID,
        **_NODE_ENDPOINTS,
    },
    "ShareAcknowledgeRequest": {"share_session_epoch": Kind.SESSION_EPOCH},
    "ShareAcknowledgeResponse": {
        "responses.partitions.current_leader.leader_id": Kind.NODE_ID,
        **_NODE_ENDPOINTS,
    },
    # -- the cluster --------------------------------------------------------------------------
    "MetadataResponse": {
        "brokers.node_id": Kind.ENDPOINT_NODE,
        "brokers.host": Kind.HOST,
        "brokers.port": Kind.PORT,
    },
    "DescribeClusterResponse": {
        "brokers.broker_id": Kind.ENDPOINT_NODE,
        "brokers.host": Kind.HOST,
        "brokers.port": Kind.PORT,
    },
    "FindCoordinatorRequest": {
        "key": Kind.COORDINATOR_KEY,
        "key_type": Kind.KEY_TYPE,
        "coordinator_keys": Kind.COORDINATOR_KEY,
    },
    "FindCoordinatorResponse": {
        "node_id": Kind.ENDPOINT_NODE,
        "host": Kind.HOST,
        "port": Kind.PORT,
        "coordinators.key": Kind.COORDINATOR_KEY,
        "coordinators.node_id": Kind.ENDPOINT_NODE,
        "coordinators.host": Kind.HOST,
        "coordinators.port": Kind.PORT,
    },
    "ApiVersionsRequest": {
        "client_software_name": Kind.PLAIN,
        "client_software_version": Kind.PLAIN,
    },
    "ApiVersionsResponse": {
        "supported_features.name": Kind.PLAIN,
        "finalized_features.name": Kind.PLAIN,
    },
    "DescribeQuorumResponse": {
        "nodes.node_id": Kind.ENDPOINT_NODE,
        "nodes.listeners.name": Kind.PLAIN,
        "nodes.listeners.host": Kind.HOST,
        "nodes.listeners.port": Kind.PORT,
    },
    "DescribeLogDirsResponse": {"results.log_dir": Kind.PLAIN},
    "AlterReplicaLogDirsRequest": {"dirs.path": Kind.PLAIN},
    "UpdateFeaturesRequest": {"feature_updates.feature": Kind.PLAIN},
    "UpdateFeaturesResponse": {"results.feature": Kind.PLAIN},
    "ElectLeadersResponse": {
        "replica_election_results.partition_result.partition_id": Kind.PARTITION
    },
    # -- topics and configurations ------------------------------------------------------------
    "CreateTopicsRequest": {
        "topics.configs.name": Kind.PLAIN,
        "topics.configs.value": Kind.PLAIN,
    },
    "CreateTopicsResponse": {
        "topics.configs.name": Kind.PLAIN,
        "topics.configs.value": Kind.PLAIN,
        "topics.topic_config_error_code": Kind.ERROR_CODE,
    },
    "AlterConfigsRequest": _CONFIGS,
    "IncrementalAlterConfigsRequest": _CONFIGS,
    "DescribeConfigsRequest": {"resources.configuration_keys": Kind.PLAIN},
    "DescribeConfigsResponse": {
        "results.configs.name": Kind.PLAIN,
        "results.configs.value": Kind.PLAIN,
        "results.configs.synonyms.name": Kind.PLAIN,
        "results.configs.synonyms.value": Kind.PLAIN,
        "results.configs.documentation": Kind.PLAIN,
    },
    "ListConfigResourcesRequest": {"resource_types": Kind.RESOURCE_TYPE},
    # -- groups -------------------------------------------------------------------------------
    "JoinGroupRequest": {
        "protocols.name": Kind.PLAIN,
        "protocols.metadata": Kind.SUBSCRIPTION,
    },
    "JoinGroupResponse": {"leader": Kind.PLAIN, "members.metadata": Kind.SUBSCRIPTION},
    "SyncGroupRequest": {"assignments.assignment": Kind.ASSIGNMENT},
    "SyncGroupResponse": {"assignment": Kind.ASSIGNMENT},
    "DescribeGroupsResponse": {
        "groups.protocol_data": Kind.PLAIN,
        "groups.members.member_metadata": Kind.SUBSCRIPTION,
        "groups.members.member_assignment": Kind.ASSIGNMENT,
    },
    "ListGroupsRequest": {"states_filter": Kind.PLAIN, "types_filter": Kind.PLAIN},
    "ListGroupsResponse": {"groups.group_type": Kind.PLAIN},
    "OffsetFetchResponse": {
        "topics.partitions.metadata": Kind.PLAIN,
        "groups.topics.partitions.metadata": Kind.PLAIN,
    },
    "ConsumerGroupHeartbeatRequest": {
        "server_assignor": Kind.PLAIN,
        "subscribed_topic_regex": Kind.REGEX,
    },
    "ConsumerGroupDescribeResponse": {
        "groups.assignor_name": Kind.PLAIN,
        "groups.members.subscribed_topic_regex": Kind.REGEX,
    },
    "ShareGroupDescribeResponse": {"groups.assignor_name": Kind.PLAIN},
    "StreamsGroupHeartbeatRequest": {
        "topology.subtopologies.source_topic_regex": Kind.REGEX,
        "task_offsets.partition": Kind.PARTITION,
        # Where the application itself listens (interactive queries), not a broker.
        "user_endpoint.host": Kind.PLAIN,
        "user_endpoint.port": Kind.PLAIN,
        **_streams_topics("topology.subtopologies"),
        **_tags(""),
    },
    "StreamsGroupHeartbeatResponse": {
        "status.status_detail": Kind.ERROR_TEXT,
        "partitions_by_user_endpoint.user_endpoint.host": Kind.PLAIN,
        "partitions_by_user_endpoint.user_endpoint.port": Kind.PLAIN,
    },
    "StreamsGroupDescribeResponse": {
        "groups.members.user_endpoint.host": Kind.PLAIN,
        "groups.members.user_endpoint.port": Kind.PLAIN,
        **_streams_topics("groups.topology.subtopologies"),
        **_tags("groups.members."),
    },
    "ConsumerProtocolSubscription": {"topics": Kind.TOPIC_NAME, "user_data": Kind.PLAIN},
    "ConsumerProtocolAssignment": {"user_data": Kind.PLAIN},
    "ReadShareGroupStateRequest": _SHARE_GROUP,
    "WriteShareGroupStateRequest": _SHARE_GROUP,
    "DeleteShareGroupStateRequest": _SHARE_GROUP,
    "InitializeShareGroupStateRequest": _SHARE_GROUP,
    "ReadShareGroupStateSummaryRequest": _SHARE_GROUP,
    # -- transactions -------------------------------------------------------------------------
    "ListTransactionsRequest": {
        "state_filters": Kind.PLAIN,
        "transactional_id_pattern": Kind.REGEX,
    },
    "ListTransactionsResponse": {"unknown_state_filters": Kind.PLAIN},
    # -- ACLs, quotas, credentials ------------------------------------------------------------
    "CreateAclsRequest": {"creations.host": Kind.PLAIN},
    "DescribeAclsRequest": {
        "resource_type_filter": Kind.RESOURCE_TYPE,
        "resource_name_filter": Kind.RESOURCE_NAME,
        "principal_filter": Kind.PLAIN,
        "host_filter": Kind.PLAIN,
    },
    "DescribeAclsResponse": {"resources.acls.host": Kind.PLAIN},
    "DeleteAclsRequest": {
        "filters.resource_type_filter": Kind.RESOURCE_TYPE,
        "filters.resource_name_filter": Kind.RESOURCE_NAME,
        "filters.principal_filter": Kind.PLAIN,
        "filters.host_filter": Kind.PLAIN,
    },
    "DeleteAclsResponse": {"filter_results.matching_acls.host": Kind.PLAIN},
    "DescribeClientQuotasRequest": {"components.match": Kind.PLAIN},
    "DescribeClientQuotasResponse": {"entries.values.key": Kind.PLAIN},
    "AlterClientQuotasRequest": {"entries.ops.key": Kind.PLAIN},
    "AlterUserScramCredentialsRequest": {
        "deletions.name": Kind.PLAIN,
        "upsertions.name": Kind.PLAIN,
        "upsertions.salt": Kind.PLAIN,
        "upsertions.salted_password": Kind.PLAIN,
    },
    "AlterUserScramCredentialsResponse": {"results.user": Kind.PLAIN},
    "DescribeUserScramCredentialsRequest": {"users.name": Kind.PLAIN},
    "DescribeUserScramCredentialsResponse": {"results.user": Kind.PLAIN},
    "CreateDelegationTokenRequest": {
        "owner_principal_type": Kind.PLAIN,
        "owner_principal_name": Kind.PLAIN,
    },
    "SaslHandshakeRequest": {"mechanism": Kind.PLAIN},
    "SaslHandshakeResponse": {"mechanisms": Kind.PLAIN},
    "SaslAuthenticateRequest": {"auth_bytes": Kind.PLAIN},
    "SaslAuthenticateResponse": {"auth_bytes": Kind.PLAIN},
    # -- telemetry ----------------------------------------------------------------------------
    "GetTelemetrySubscriptionsResponse": {"requested_metrics": Kind.PLAIN},
    "PushTelemetryRequest": {"metrics": Kind.PLAIN},
    # -- controllers --------------------------------------------------------------------------
    "AssignReplicasToDirsRequest": {"directories.id_": Kind.PLAIN},
    "AssignReplicasToDirsResponse": {"directories.id_": Kind.PLAIN},
    "BrokerHeartbeatRequest": {
        "offline_log_dirs": Kind.PLAIN,
        "cordoned_log_dirs": Kind.PLAIN,
    },
    "BrokerRegistrationRequest": {"log_dirs": Kind.PLAIN, **_LISTENERS, **_FEATURES},
    "ControllerRegistrationRequest": {**_LISTENERS, **_FEATURES},
    "BeginQuorumEpochRequest": _LEADER_ENDPOINTS,
    "BeginQuorumEpochResponse": _NODE_ENDPOINTS,
    "EndQuorumEpochRequest": _LEADER_ENDPOINTS,
    "EndQuorumEpochResponse": _NODE_ENDPOINTS,
    "VoteResponse": _NODE_ENDPOINTS,
    "AddRaftVoterRequest": {"voter_id": Kind.NODE_ID, **_LISTENERS},
    "RemoveRaftVoterRequest": {"voter_id": Kind.NODE_ID},
    "UpdateRaftVoterRequest": {"voter_id": Kind.NODE_ID, **_LISTENERS},
    "UpdateRaftVoterResponse": {
        "current_leader.leader_id": Kind.ENDPOINT_NODE,
        "current_leader.host": Kind.HOST,
        "current_leader.port": Kind.PORT,
    },
    "EnvelopeRequest": {
        "request_data": Kind.EMBEDDED,
        "request_principal": Kind.PLAIN,
        "client_host_address": Kind.PLAIN,
    },
    "EnvelopeResponse": {"response_data": Kind.EMBEDDED},
    # -- data that is no message ----------------------------------------------------------------
    "DefaultPrincipalData": {"type_": Kind.PLAIN, "name": Kind.PLAIN},
    "LeaderChangeMessage": {
        "voters.voter_id": Kind.NODE_ID,
        "granting_voters.voter_id": Kind.NODE_ID,
    },
    "VotersRecord": {
        "voters.endpoints.name": Kind.PLAIN,
        "voters.endpoints.host": Kind.HOST,
        "voters.endpoints.port": Kind.PORT,
    },
}
