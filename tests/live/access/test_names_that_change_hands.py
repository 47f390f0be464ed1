"""A name that changes hands grants no right that its user could not have granted.

Real clients test moves, links, and namespaces that are deleted and created again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.changes.acl_requests import acl
from tests.live.access import actions
from tests.live.support import authorized, clients
from tests.live.support.fixtures import own_users_gateway

gateway = own_users_gateway(
    namespaces=["hands-team", "hands-org:a", "hands-other", "hands-gone"], gateway_id="hands"
)

FORBIDDEN = 29
GROUP = "ALLOW READ User:* GROUP:LITERAL:*"
ALICE = "User:alice"
LEADS_A = f"ALLOW ALTER {ALICE} TOPIC:LITERAL:hands-org:a:"
PASSES = f"ALLOW DESCRIBE {ALICE} TOPIC:LITERAL:hands-org:"
OTHER = f"ALLOW ALL {ALICE} TOPIC:LITERAL:hands-other:"


@pytest.fixture(autouse=True)
def no_acls(servers: str) -> Iterator[None]:
    authorized.delete_acls(servers)
    yield
    authorized.delete_acls(servers)


def grant(servers: str, *texts: str) -> None:
    authorized.add_acls(servers, map(acl, texts))


def make(servers: str, name: str) -> str:
    """Create a topic with a single record; its name."""
    create_topics(authorized.admin(servers), [NewTopic(name, 1, 1)])
    clients.produce(servers, name, ["one"], **authorized.login(authorized.ADMIN))
    return name


def change(
    servers: str,
    user: str,
    name: str,
    /,
    operation: AlterConfigOpType = AlterConfigOpType.SET,
    **configs: str,
) -> int:
    """Change virtual configs of a topic; the error code."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    for key, value in configs.items():
        entry = ConfigEntry(f"gateway.{key}", value, incremental_operation=operation)
        resource.add_incremental_config(entry)
    ((_, future),) = authorized.admin(servers, user).incremental_alter_configs([resource]).items()
    return actions.ended(future)


def link(servers: str, user: str, topic: str, name: str) -> int:
    return change(servers, user, topic, AlterConfigOpType.APPEND, link=name)


def test_into_the_default_namespace_and_not_back(servers: str) -> None:
    mine = make(servers, "hands-team:mine")
    pub = [f"ALLOW {what} {ALICE} TOPIC:PREFIXED:hands-pub-" for what in ("CREATE", "ALTER")]
    grant(servers, GROUP, f"ALLOW ALL {ALICE} TOPIC:LITERAL:hands-team:", *pub)
    grant(servers, "ALLOW READ User:carol TOPIC:LITERAL:hands-pub-x")
    grant(servers, "DENY READ User:bob TOPIC:LITERAL:hands-pub-x")
    authorized.add_acls(servers, [acl(f"ALLOW ALL User:bob TOPIC:LITERAL:{mine}")], user="alice")
    before = authorized.listed(servers)
    assert change(servers, "alice", mine, namespace="", topic="hands-pub-x") == 0
    assert actions.read(servers, "carol", "hands-pub-x") == 0
    assert actions.read(servers, "bob", "hands-pub-x") == FORBIDDEN
    back = change(servers, "alice", "hands-pub-x", namespace="hands-team", topic="mine")
    assert back == FORBIDDEN
    assert authorized.listed(servers) == before


def test_a_deny_that_a_delegate_cannot_remove_is_not_shed(servers: str) -> None:
    topic = make(servers, "hands-org:a:secret")
    deny = f"DENY READ {ALICE} TOPIC:LITERAL:hands-org:"
    grant(servers, GROUP, LEADS_A, PASSES, OTHER, deny)
    assert actions.read(servers, "alice", topic) == FORBIDDEN
    assert change(servers, "alice", topic, namespace="hands-other") == FORBIDDEN
    assert link(servers, "alice", topic, "hands-other:secret") == FORBIDDEN
    # Without the DENY, and the gate that it is, she may do both.
    authorized.delete_acl(servers, acl(deny))
    authorized.delete_acl(servers, acl(PASSES))
    assert link(servers, "alice", topic, "hands-other:secret") == 0
    assert actions.read(servers, "alice", "hands-other:secret") == 0
    # A DENY added later applies under the link as well.
    grant(servers, f"DENY READ {ALICE} TOPIC:LITERAL:{topic}")
    wait_until(
        lambda: actions.read(servers, "alice", "hands-other:secret") == FORBIDDEN,
        "the DENY at the topic to hold under its link",
        clients.SECONDS,
    )


def test_alter_on_a_flat_topic_does_not_give_its_records(servers: str) -> None:
    topic = make(servers, "hands-flat")
    grant(servers, GROUP, OTHER, f"ALLOW ALTER {ALICE} TOPIC:LITERAL:{topic}")
    grant(servers, f"DENY READ {ALICE} TOPIC:LITERAL:{topic}")
    assert change(servers, "alice", topic, namespace="hands-other") == FORBIDDEN
    assert link(servers, "alice", topic, "hands-other:flat") == FORBIDDEN


def test_a_deny_outlives_the_namespace_that_another_deletes(servers: str) -> None:
    made = [f"ALLOW {what} {ALICE} TOPIC:LITERAL:hands-gone:" for what in ("CREATE", "DELETE")]
    deny = "DENY READ User:bob TOPIC:LITERAL:hands-gone:"
    grant(servers, GROUP, *made, deny, "ALLOW ALL User:bob TOPIC:LITERAL:*")
    alice = authorized.admin(servers, "alice")
    assert actions.ended(alice.delete_topics(["hands-gone:"])["hands-gone:"]) == 0
    wait_until(
        lambda: (
            actions.ended(alice.create_topics([NewTopic("hands-gone:", 1, 1)])["hands-gone:"]) == 0
        ),
        "the namespace to be gone and made anew",
        clients.SECONDS,
    )
    assert deny in authorized.listed(servers)
    make(servers, "hands-gone:x")
    assert actions.read(servers, "bob", "hands-gone:x") == FORBIDDEN
