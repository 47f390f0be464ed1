"""The Kafka error codes that the gateway responds with (kafka.apache.org/protocol)."""

from __future__ import annotations

from typing import Final

from protocol.schema import ErrorCode

UNKNOWN_TOPIC_OR_PARTITION: Final = int(ErrorCode.unknown_topic_or_partition)
LEADER_NOT_AVAILABLE: Final = int(ErrorCode.leader_not_available)
REQUEST_TIMED_OUT: Final = int(ErrorCode.request_timed_out)
REPLICA_NOT_AVAILABLE: Final = int(ErrorCode.replica_not_available)
COORDINATOR_NOT_AVAILABLE: Final = int(ErrorCode.coordinator_not_available)
INVALID_TOPIC_EXCEPTION: Final = int(ErrorCode.invalid_topic_exception)
INVALID_GROUP_ID: Final = int(ErrorCode.invalid_group_id)
UNKNOWN_MEMBER_ID: Final = int(ErrorCode.unknown_member_id)
TOPIC_AUTHORIZATION_FAILED: Final = int(ErrorCode.topic_authorization_failed)
GROUP_AUTHORIZATION_FAILED: Final = int(ErrorCode.group_authorization_failed)
CLUSTER_AUTHORIZATION_FAILED: Final = int(ErrorCode.cluster_authorization_failed)
UNSUPPORTED_SASL_MECHANISM: Final = int(ErrorCode.unsupported_sasl_mechanism)
ILLEGAL_SASL_STATE: Final = int(ErrorCode.illegal_sasl_state)
UNSUPPORTED_VERSION: Final = int(ErrorCode.unsupported_version)
TOPIC_ALREADY_EXISTS: Final = int(ErrorCode.topic_already_exists)
INVALID_CONFIG: Final = int(ErrorCode.invalid_config)
INVALID_REQUEST: Final = int(ErrorCode.invalid_request)
POLICY_VIOLATION: Final = int(ErrorCode.policy_violation)
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Final = int(ErrorCode.transactional_id_authorization_failed)
SECURITY_DISABLED: Final = int(ErrorCode.security_disabled)
OPERATION_NOT_ATTEMPTED: Final = int(ErrorCode.operation_not_attempted)
SASL_AUTHENTICATION_FAILED: Final = int(ErrorCode.sasl_authentication_failed)
FETCH_SESSION_ID_NOT_FOUND: Final = int(ErrorCode.fetch_session_id_not_found)
INVALID_FETCH_SESSION_EPOCH: Final = int(ErrorCode.invalid_fetch_session_epoch)
LISTENER_NOT_FOUND: Final = int(ErrorCode.listener_not_found)
FENCED_INSTANCE_ID: Final = int(ErrorCode.fenced_instance_id)
RESOURCE_NOT_FOUND: Final = int(ErrorCode.resource_not_found)
DUPLICATE_RESOURCE: Final = int(ErrorCode.duplicate_resource)
UNACCEPTABLE_CREDENTIAL: Final = int(ErrorCode.unacceptable_credential)
UNKNOWN_TOPIC_ID: Final = int(ErrorCode.unknown_topic_id)
FETCH_SESSION_TOPIC_ID_ERROR: Final = int(ErrorCode.fetch_session_topic_id_error)
FENCED_MEMBER_EPOCH: Final = int(ErrorCode.fenced_member_epoch)
UNRELEASED_INSTANCE_ID: Final = int(ErrorCode.unreleased_instance_id)
MISMATCHED_ENDPOINT_TYPE: Final = int(ErrorCode.mismatched_endpoint_type)
UNSUPPORTED_ENDPOINT_TYPE: Final = int(ErrorCode.unsupported_endpoint_type)
INVALID_REGULAR_EXPRESSION: Final = int(ErrorCode.invalid_regular_expression)
