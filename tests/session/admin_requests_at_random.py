"""Admin requests at random, with names that exist, are taken, are illegal or belong to another
principal, in a world where some of the requests are denied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final
from uuid import UUID

from gateway.acl_model import ResourceType
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Alias, CatalogFormat, Link, Namespace, TopicEntry
from gateway.config.policies import PolicySettings
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from protocol import messages
from tests.changes.acl_requests import entities
from tests.session.pair import Pair, topic_id

TOPICS: Final = (
    "team-a..orders",
    "team-a..lines",
    "team-b..x",
    "team-b..y",
    "plain",
    "flat",
    "crm..x",
)
MOVED: Final = TopicEntry(
    "flat",
    LogicalName("team-a", "moved"),
    topic_id(70).bytes,
    (Alias(LogicalName("", "old"), 2**62),),
)
ORDERS: Final = TopicEntry("team-a..orders", LogicalName("team-a", "orders"))
LINK: Final = Link(LogicalName("team-a", "link"), "team-a..orders", topic_id(71).bytes)
DANGLING: Final = Link(LogicalName("team-b", "gone"), "", topic_id(72).bytes, gone="team-b:was")

NAMES: Final = (
    "team-a:orders", "team-a..orders", "team-a:lines", "team-a:moved", "team-a:link", "team-a:new",
    "team-a:sub:new", "team-b:x", "team-b:gone", "team-b:new", "old", "flat", "plain", "new",
    "crm..x", "dying:x", "nowhere:x", "bad name", "team-a:bad name", "__kafka_gateway", "team-a:",
    "team-a:sub:", "team-a:sub", "team-b:", "crm:", "new:", "dying:", ":", "", "a:b:c:d:",
    "team-a.new", "team-a_orders",
)  # fmt: skip
ILL_NAMED: Final = ("team-a", "org:apache", "", ":", "nowhere", "dying", "team-b", "team-a:sub")
VALUES: Final = (
    *NAMES, *ILL_NAMED, "true", "false", "1", "0", "-1", "compact", "User:bob",
    "User:bob;User:carol", "team-a:new,team-b:new", "team-a:orders,team-a:orders", None,
)  # fmt: skip
KEYS: Final = (
    "gateway.link", "gateway.link", "gateway.link", "gateway.link.to", "gateway.links",
    "gateway.namespace", "gateway.namespace", "gateway.topic", "gateway.alias.until",
    "gateway.release", "gateway.force",
    "gateway.adopt", "gateway.principals", "gateway.namespaces", "gateway.topics",
    "gateway.deleting", "gateway.policies", "gateway.auto.create.topics.enable",
    "gateway.num.partitions", "gateway.none", "retention.ms", "cleanup.policy", "none.such",
)  # fmt: skip

RIGHTS: Final = (
    (),
    ("ALLOW ALL User:alice TOPIC:PREFIXED:team-a:",),
    ("ALLOW ALL User:alice TOPIC:PREFIXED:team-a:", "ALLOW ALL User:alice TOPIC:PREFIXED:team-b:"),
    ("ALLOW ALL User:alice TOPIC:LITERAL:*", "DENY ALL User:alice TOPIC:PREFIXED:team-b:"),
    ("ALLOW ALL User:alice TOPIC:LITERAL:*", "ALLOW ALL User:alice CLUSTER:LITERAL:kafka-cluster"),
)
"""The ACLs of the client, from no operation to every operation."""

SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {},
    {"spelling": "legal"},
    {"home": "team-a"},
    {"home": "team-a", "escape": True},
)
"""Settings of the client's listener."""

POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"namespaces": {"team-a": {"partitions": {"max": 3}, "retention.ms": {"max": 50}}}},
    {"everywhere": {"partitions": {"max": 3}, "max_topics": 4}},
)


@dataclass(frozen=True)
class Request:
    """A request: the API, the version, and its fields as :func:`messages.made` takes them."""

    api: str
    version: int
    values: dict[str, Any]

    @property
    def body(self) -> bytes:
        """The request's body on the wire."""
        return messages.made(f"{self.api}Request", self.version, self.values)


def world_at_random(random: Random) -> Pair:
    """A session of User:alice, whose ACLs allow something or nothing; at times there is no
    authorizer."""
    settings, rights = random.choice(SETTINGS), random.choice(RIGHTS)
    pair = Pair(
        namespaces=("team-a", "team-a:sub", "team-b", "org:apache"),
        topics=TOPICS,
        authorizer=StandardAuthorizer() if random.random() < 0.9 else None,
        policies=Policies(PolicySettings.model_validate(random.choice(POLICIES))),
        **settings,
    )
    pair.broker.new_id = map(topic_id, count(1_000)).__next__
    changes = (Namespace("dying", deleting=1), MOVED, ORDERS, LINK, DANGLING)
    pair.log.append([CatalogFormat(3), *entities(rights), *changes])
    pair.catalog_changed()
    return pair


def request_at_random(random: Random, pair: Pair) -> Request:
    """A request for one to four items, which may be the same item twice."""
    api, version, make = random.choice(_REQUESTS)
    return Request(api, version, make(random, pair))


# -- requests --------------------------------------------------------------------------------------


def _some(random: Random, of: Sequence[Any]) -> list[Any]:
    return random.choices(of, k=random.choice((1, 1, 2, 4)))


def _create_topics(random: Random, _: Pair) -> dict[str, Any]:
    keys = ("gateway.adopt", "gateway.namespace", "retention.ms", "none.such")
    topics = [
        {
            "name": name,
            "num_partitions": random.choice((1, 1, 2, 4, -1, 0)),
            "replication_factor": random.choice((1, 1, -1, 3)),
            "configs": [
                {"name": key, "value": random.choice(("true", "1", "100", None, "x"))}
                for key in random.sample(keys, random.choice((0, 0, 1)))
            ],
        }
        for name in _some(random, NAMES)
    ]
    return {"topics": topics, "validate_only": random.random() < 0.3}


def _delete_topics(random: Random, pair: Pair) -> dict[str, Any]:
    known = [pair.facts.index.id_of(name) for name in pair.facts.index.names()]
    ids = [UUID(bytes=one) for one in known if one] + [topic_id(n) for n in (70, 71, 72, 99)]
    topics = [
        {"name": None, "topic_id": random.choice(ids)}
        if random.random() < 0.2
        else {"name": name, "topic_id": None}
        for name in _some(random, NAMES)
    ]
    return {"topics": topics}


def _create_partitions(random: Random, _: Pair) -> dict[str, Any]:
    topics = [
        {"name": name, "count": random.choice((0, 1, 2, 3, 4, 100)), "assignments": None}
        for name in _some(random, NAMES)
    ]
    return {"topics": topics, "validate_only": random.random() < 0.3}


def _alter(random: Random, _: Pair) -> dict[str, Any]:
    resources = [
        {
            "resource_type": random.choice((2, 2, 2, 2, 2, 2, 4, 32)),
            "resource_name": name,
            "configs": [
                {
                    "name": key,
                    "config_operation": random.choice((0, 0, 1, 2, 2, 3, 7)),
                    "value": random.choice(VALUES),
                }
                for key in random.choices(KEYS, k=random.choice((1, 1, 1, 2)))
            ],
        }
        for name in _some(random, NAMES)
    ]
    return {"resources": resources, "validate_only": random.random() < 0.3}


def _describe_configs(random: Random, _: Pair) -> dict[str, Any]:
    resources = [
        {"resource_type": random.choice((2, 2, 2, 4, 8, 16, 32)), "resource_name": name}
        for name in _some(random, NAMES)
    ]
    return {"resources": [{**one, "configuration_keys": None} for one in resources]}


_TYPES: Final = (*([int(ResourceType.TOPIC)] * 5), *map(int, ResourceType), 99)


def _create_acls(random: Random, _: Pair) -> dict[str, Any]:
    creations = [
        {
            "resource_type": random.choice(_TYPES),
            "resource_name": name,
            "resource_pattern_type": random.choice((3, 3, 4, 4, 1)),
            "principal": random.choice(("User:bob", "User:bob", "User:alice", "bob", "")),
            "host": random.choice(("*", "*", "10.0.0.1", "")),
            "operation": random.choice((3, 3, 2, 4, 8, 1, 99)),
            "permission_type": random.choice((3, 3, 2, 1)),
        }
        for name in _some(random, (*NAMES, "*", "kafka-cluster", "team-a:x"))
    ]
    return {"creations": creations}


def _filter(random: Random) -> dict[str, Any]:
    return {
        "resource_type_filter": random.choice(_TYPES),
        "pattern_type_filter": random.choice((1, 2, 3, 4, 99)),
        "principal_filter": random.choice((None, "User:bob", "bob")),
        "host_filter": None,
        "operation": 1,
        "permission_type": random.choice((1, 1, 99)),
    }


def _delete_acls(random: Random, _: Pair) -> dict[str, Any]:
    names = _some(random, (*NAMES, None, "*", "team-a:x"))
    return {"filters": [{**_filter(random), "resource_name_filter": name} for name in names]}


def _describe_acls(random: Random, _: Pair) -> dict[str, Any]:
    name = random.choice((*NAMES, None, "*"))
    return {**_filter(random), "resource_name_filter": name}


def _alter_users(random: Random, _: Pair) -> dict[str, Any]:
    users = ("bob", "carol", "", "bob")
    upsertions = [
        {
            "name": name,
            "mechanism": random.choice((1, 1, 2, 9)),
            "iterations": random.choice((4096, 4096, 1, 99_999)),
            "salt": b"s" * random.choice((26, 26, 2)),
            "salted_password": b"p" * 32,
        }
        for name in _some(random, users)
    ]
    deletions = [{"name": name, "mechanism": 1} for name in _some(random, users)]
    return {
        "upsertions": upsertions if random.random() < 0.8 else [],
        "deletions": deletions if random.random() < 0.4 else [],
    }


def _describe_users(random: Random, _: Pair) -> dict[str, Any]:
    return {"users": random.choice((None, [{"name": "bob"}]))}


def _describe_quotas(_: Random, __: Pair) -> dict[str, Any]:
    return {"components": [], "strict": False}


_REQUESTS: Final[Sequence[tuple[str, int, Callable[[Random, Pair], dict[str, Any]]]]] = (
    ("CreateTopics", 7, _create_topics),
    ("CreateTopics", 7, _create_topics),
    ("DeleteTopics", 6, _delete_topics),
    ("CreatePartitions", 3, _create_partitions),
    ("IncrementalAlterConfigs", 1, _alter),
    ("IncrementalAlterConfigs", 1, _alter),
    ("IncrementalAlterConfigs", 1, _alter),
    ("AlterConfigs", 2, _alter),
    ("DescribeConfigs", 4, _describe_configs),
    ("CreateAcls", 3, _create_acls),
    ("DeleteAcls", 3, _delete_acls),
    ("DescribeAcls", 3, _describe_acls),
    ("AlterUserScramCredentials", 0, _alter_users),
    ("DescribeUserScramCredentials", 0, _describe_users),
    ("DescribeClientQuotas", 1, _describe_quotas),
)

CHANGES: Final = frozenset(api for api, _, _ in _REQUESTS)
