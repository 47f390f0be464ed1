"""The plan for leaving a gateway, from the state of the cluster and of its catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from gateway.acl_model import AclBinding
from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.catalog.entities import ScramCredential
from gateway.commands.errors import CommandError
from gateway.commands.leave.compared import CarriedAcls
from gateway.commands.leave.names import LeftId, LeftTopic
from protocol.messages import Request
from protocol.schema import error_name

_BATCH: Final = 500
_METADATA: Final = 9
_SET_ON_TOPIC: Final = 1
"""DYNAMIC_TOPIC_CONFIG (DescribeConfigsResponse, ConfigSource)."""


class TopicShape(NamedTuple):
    """The properties of a copy: partitions, replicas, and the configs set on the topic."""

    partitions: int
    replicas: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LeavePlan:
    """Everything that has to be done."""

    cluster: str
    servers: str
    """The brokers' addresses."""
    brokers: int
    logs_in: bool
    """Whether the brokers require a login."""
    own_user: str | None
    """The gateway's user at the brokers."""
    version: int
    plain: bool
    """Whether topics and groups of namespaces get plain names."""
    topics: Sequence[LeftTopic]
    shapes: Mapping[str, TopicShape]
    """The topics that are copied, by flat name."""
    groups: Sequence[LeftId]
    ids: Sequence[LeftId]
    acls: CarriedAcls | None
    """None if no ACLs are carried to the brokers; ``no_acls`` says why."""
    no_acls: str
    super_users: Sequence[str]
    allow_everyone: bool
    users: Sequence[ScramCredential]
    plain_users: Sequence[str]
    """The users whose passwords the configuration names."""
    has_heartbeats: bool
    """Whether a topic exists that MirrorMaker would make."""
    own_topics: Sequence[str]
    """The gateway's own topics."""
    shadows: Sequence[str]
    """The topics under which groups keep offsets of other clusters' topics."""

    @property
    def copied(self) -> list[LeftTopic]:
        """The topics that get another name."""
        return [topic for topic in self.topics if topic.is_copied]

    def as_json(self) -> dict[str, object]:
        """The plan as JSON, without its commands."""
        acls = self.acls or CarriedAcls()
        return {
            "cluster": self.cluster,
            "bootstrap_servers": self.servers,
            "catalog_version": self.version,
            "names": "plain" if self.plain else "flat",
            "topics": [_topic_json(one) for one in self.topics],
            "groups": [_id_json(one) for one in self.groups],
            "transactional_ids": [_id_json(one) for one in self.ids],
            "acls": [_acl_json(one) for one in acls.bindings],
            "acls_left_out": [
                {**_acl_json(one), "would_allow": why} for one, why in acls.left_out.items()
            ],
            "acls_lacking": acls.differences,
            "no_acls": self.no_acls or None,
            "super_users": list(self.super_users),
            "scram_users": [
                {"user": one.user, "mechanism": one.mechanism, "iterations": one.iterations}
                for one in self.users
            ],
            "plain_users": list(self.plain_users),
            "own_topics": list(self.own_topics),
            "shadows": list(self.shadows),
        }


def _topic_json(topic: LeftTopic) -> dict[str, object]:
    return {
        "topic": str(topic.name),
        "stored_as": topic.flat,
        "becomes": topic.becomes,
        "aliases": list(map(str, topic.aliases)),
        "links": list(map(str, topic.links)),
        "keeps_its_name_because": topic.kept or None,
    }


def _id_json(one: LeftId) -> dict[str, object]:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "stored": one.stored,
        "becomes": one.becomes,
        "keeps_its_name_because": one.kept or None,
    }


def _acl_json(one: AclBinding) -> dict[str, object]:
    return {
        "resource_type": one.pattern.type.name,
        "pattern_type": one.pattern.pattern_type.name,
        "name": one.pattern.name,
        "principal": one.entry.principal,
        "host": one.entry.host,
        "operation": one.entry.operation.name,
        "permission": one.entry.permission.name,
    }


async def shapes_of(admin: ClusterAdmin, flats: Iterable[str]) -> dict[str, TopicShape]:
    """The shapes of these topics; if a topic was deleted meanwhile, it has no shape. Raises
    OSError, and CommandError if the brokers reject a request."""
    found: dict[str, TopicShape] = {}
    rest = iter(flats)
    while batch := tuple(islice(rest, _BATCH)):
        values = {
            "topics": [{"name": flat} for flat in batch],
            "allow_auto_topic_creation": False,
        }
        request = Request("MetadataRequest", _METADATA, values)
        metadata = await admin.ask(request, changes=False)
        topics = {one.name: one.partitions for one in metadata.topics if not one.error_code}
        for flat, partitions in topics.items():
            replicas = min((len(one.replica_nodes) for one in partitions), default=1)
            found[flat] = TopicShape(len(partitions), replicas, await _configs(admin, flat))
    return found


async def _configs(admin: ClusterAdmin, flat: str) -> dict[str, str]:
    response = await admin.ask(describe_configs([flat], None), changes=False)
    (result,) = response.results
    if int(result.error_code):
        raise CommandError(
            f"the configs of topic '{flat}' cannot be described: {error_name(result.error_code)};"
            " allow the gateway's user DESCRIBE_CONFIGS on it at the brokers"
        )
    configs: Iterable[Any] = result.configs or ()
    return {
        str(one.name): str(one.value or "")
        for one in configs
        if int(one.config_source) == _SET_ON_TOPIC
    }
