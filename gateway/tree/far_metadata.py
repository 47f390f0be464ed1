"""Metadata of volumes behind other gateways: requests for it, and the use of its responses."""

from __future__ import annotations

from typing import Any, Final

from gateway.error_codes import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import LogicalName
from gateway.referrals.far import NOT_REQUESTED, FarBroker, FarVolume
from gateway.tree.far_names import FarNames
from protocol import messages
from protocol.pausing import paced
from protocol.schema import api_key_of

METADATA: Final = api_key_of("MetadataRequest")
METADATA_VERSION: Final = 12
"""The version of the gateway's own requests: the first with topic ids that brokers serve."""

_NO_ERROR: Final = 0
_UNKNOWN_TOPIC: Final = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID})


def metadata_request(topics: list[dict[str, object]]) -> bytes:
    """The body of a MetadataRequest for these topics, with the authorized operations (KIP-430)."""
    values = {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    return messages.made("MetadataRequest", METADATA_VERSION, values)


def learn(
    volume: FarVolume, names: FarNames, principal: str, host: str, version: int, response: Any
) -> None:
    """Remember the brokers and topics of a MetadataResponse to a principal at a host. ``names`` is
    the client's spelling of the volume's names."""
    _learn_brokers(volume, principal, version, response)
    for topic in paced(response.topics):
        topic_id = getattr(topic, "topic_id", None)
        raw_id = None if topic_id is None else topic_id.bytes
        if topic.name:
            name = names.parse(topic.name)
        else:
            name = None if raw_id is None else volume.name_of(raw_id, principal)
        if raw_id is not None and not topic.name and topic.error_code in _UNKNOWN_TOPIC:
            volume.forget_id(principal, raw_id)
        elif name is not None:
            _learn_topic(volume, principal, host, name, topic)


def _learn_brokers(volume: FarVolume, principal: str, version: int, response: Any) -> None:
    brokers = tuple(map(_broker, response.brokers))
    if version == 0 and brokers and volume.brokers:
        volume.note_shown(principal, shown=True)  # version 0 has neither racks nor a controller
        return
    cluster_id = getattr(response, "cluster_id", None)
    controller_id = int(getattr(response, "controller_id", volume.controller_id))
    volume.note_cluster(principal, volume.number, brokers, cluster_id, controller_id)


def _broker(entry: Any) -> FarBroker:
    rack = getattr(entry, "rack", None)
    return FarBroker(int(entry.node_id), str(entry.host), int(entry.port), rack)


def _learn_topic(
    volume: FarVolume, principal: str, host: str, name: LogicalName, topic: Any
) -> None:
    if topic.error_code in _UNKNOWN_TOPIC:
        volume.note_missing(principal, host, name)
    elif topic.error_code == TOPIC_AUTHORIZATION_FAILED:
        volume.deny_topic(principal, host, name)
    elif topic.error_code == _NO_ERROR:
        topic_id = getattr(topic, "topic_id", None)
        operations = int(getattr(topic, "topic_authorized_operations", NOT_REQUESTED))
        volume.note_topic(
            principal,
            name,
            None if topic_id is None else topic_id.bytes,
            len(topic.partitions),
            None if operations == NOT_REQUESTED else operations,
            host=host,
        )
