"""The brokers' description of themselves: everything that a configuration in
front of them depends on.

Nothing is changed at the brokers, and no request is retried, because the
operator waits at a terminal.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError, LoginError
from gateway.brokers.messages import broker_addresses
from gateway.brokers.reaching import unreachable
from gateway.brokers.spoken import mismatch
from gateway.catalog.log.topics import CATALOG_TOPIC
from gateway.cluster.listing import all_topics_request
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.init.software import software_of
from gateway.commands.init.unanswered import Unanswered, sentence
from gateway.commands.output import counted
from gateway.config.addresses import Address
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    SECURITY_DISABLED,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.names import decode
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.schema import api_key_of

STEP_SECONDS: Final = 5.0
"""Seconds for each step: connecting, and each response."""

_METADATA: Final = "MetadataRequest"
_LATEST_METADATA: Final = 13
_NEVER_CREATES: Final = 4
"""The first version of Metadata that has ``allow_auto_topic_creation``."""

_DESCRIBE_ACLS: Final = "DescribeAclsRequest"
_CLUSTER_RESOURCE: Final = 4
_ANY: Final = 1
_NONE: Final = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A cluster as its brokers describe it."""

    server: Address
    """The address that responded."""
    cluster_id: str | None
    software: str
    controller_id: int | None
    brokers: Mapping[int, Address]
    """The brokers that are up, by node id, with the addresses that they advertise."""
    node_ids: frozenset[int]
    """The ids of ``brokers``, and of nodes that only hold replicas, as brokers that are down do."""
    topics: int
    """The number of topics that the user may Describe, because brokers list only these."""
    sees_all_topics: bool
    """If False, there may be topics that the user may not Describe."""
    namespaces: Mapping[str, int]
    """For each namespace, the number of topics whose names read as a name in the namespace."""
    has_authorizer: bool | None
    """None if it is not known."""
    has_catalog: bool
    unreachable: Mapping[int, str]
    """The brokers that cannot be connected to at their own address, and the reason."""

    @property
    def topics_text(self) -> str:
        """``7 topics``; if there may be other topics, the text says so."""
        text = counted(self.topics, "topic")
        return text if self.sees_all_topics else f"{text} that its user may Describe"


async def ask_brokers(
    servers: Sequence[Address], security: ClientSecurity, *, timeout: float = STEP_SECONDS
) -> Asked:
    """Query the brokers in order; returns the description by the first broker that responds. Raises
    Unanswered, with a reason for each address and the next step."""
    failed: list[tuple[Address, BrokerError]] = []
    for server in servers:
        try:
            connection = await BrokerConnection.connect(*server, timeout=timeout, security=security)
        except BrokerError as error:
            failed.append((server, error))
            continue
        try:
            return await _asked(server, connection, security, timeout)
        except BrokerError as error:
            failed.append((server, error))
        finally:
            connection.close()
    raise await _unanswered(failed, security, timeout)


async def _unanswered(
    failed: Sequence[tuple[Address, BrokerError]], security: ClientSecurity, timeout: float
) -> Unanswered:
    protocol = security.settings.protocol
    spoken = await asyncio.gather(
        *(mismatch(*server, protocol, error, timeout) for server, error in failed)
    )
    reasons = [
        sentence(server, error, found, security)
        for (server, error), found in zip(failed, spoken, strict=True)
    ]
    wants = next((one for one in spoken if one is not None), None)
    rejected = any(isinstance(error, LoginError) for _, error in failed)
    return Unanswered(reasons, spoken=wants, rejected=rejected)


async def _asked(
    server: Address, connection: BrokerConnection, security: ClientSecurity, timeout: float
) -> Asked:
    version = connection.version_for(_METADATA)
    response = await connection.request(_METADATA, version, all_topics_request(version))
    brokers = {node: Address(*address) for node, address in broker_addresses(response).items()}
    names = [str(one.name) for one in response.topics if one.name is not None]
    replicas = {
        int(node)
        for topic in response.topics
        for partition in topic.partitions
        for node in partition.replica_nodes
    }
    controller = int(getattr(response, "controller_id", -1))
    has_authorizer = await _has_authorizer(connection)
    lost = await unreachable(brokers, security, timeout)
    return Asked(
        server=server,
        cluster_id=getattr(response, "cluster_id", None),
        software=software_of(connection.served),
        controller_id=controller if controller >= 0 else None,
        brokers=dict(sorted(brokers.items())),
        node_ids=frozenset(node for node in {*brokers, *replicas} if node >= 0),
        topics=len(names),
        sees_all_topics=has_authorizer is False or await _sees_any_topic(connection),
        namespaces=_namespaces_like(names),
        has_authorizer=has_authorizer,
        has_catalog=CATALOG_TOPIC in names,
        unreachable={node: security.with_properties(reason) for node, reason in lost.items()},
    )


def _namespaces_like(names: Sequence[str]) -> dict[str, int]:
    """For each namespace, the number of topics whose names read as a name in the namespace."""
    found = Counter(decode(name).namespace for name in names)
    del found[""]
    return dict(sorted(found.items()))


async def _sees_any_topic(connection: BrokerConnection) -> bool:
    """Whether the user may Describe a topic of any name; also True if the broker cannot be queried.

    If a topic may not be described, a listing leaves it out without an error; but if a request
    names the topic, brokers report this, whether or not the topic exists
    (KafkaApis.handleTopicMetadataRequest).
    """
    if connection.version_for(_METADATA) < _NEVER_CREATES:
        return True
    named = [{"name": f"kafka-gateway-init-{uuid.uuid4()}"}]
    values = {"topics": named, "allow_auto_topic_creation": False}
    try:
        response = await connection.ask(Request(_METADATA, _LATEST_METADATA, values))
    except (BrokerError, ProtocolError):
        return True
    codes = {int(one.error_code) for one in response.topics}
    return TOPIC_AUTHORIZATION_FAILED not in codes


async def _has_authorizer(connection: BrokerConnection) -> bool | None:
    """Whether the brokers have ACLs at all (KIP-140), or None if they do not report it."""
    if api_key_of(_DESCRIBE_ACLS) not in connection.api_versions:
        return None
    values: dict[str, Any] = {
        "resource_type_filter": _CLUSTER_RESOURCE,
        "resource_name_filter": None,
        "pattern_type_filter": _ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": _ANY,
        "permission_type": _ANY,
    }
    try:
        response = await connection.ask(Request(_DESCRIBE_ACLS, 3, values))
    except (BrokerError, ProtocolError):
        return None
    code = int(response.error_code)
    if code == SECURITY_DISABLED:
        return False
    return True if code in (_NONE, CLUSTER_AUTHORIZATION_FAILED) else None
