"""Revoked rights end within a second, on open connections, and other users notice nothing.

There are two workers, because a worker learns of another worker's changes from the catalog.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.auth.tokens import token
from tests.live.access.watched import Bystander, Reader, TransactionalWriter, Watched, Writer
from tests.live.support import authorized, clients
from tests.live.support.fixtures import own_users_gateway
from tests.pace import Pace

Names = Callable[[str], str]

pytestmark = pytest.mark.alone

AT_ONCE = 1.0
"""Seconds, on an idle machine, after which no more records are acknowledged or read."""
WATCHED = 2.0
"""Seconds for which clients are watched after that."""
LONGEST_GAP = 0.25
"""Seconds for which other users may get no records, on an idle machine."""

TOKEN_SECONDS = 8
"""Lifetime of a token without a successor, on an idle machine: clients start meanwhile."""

TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")


gateway = own_users_gateway(mechanisms=MECHANISMS, workers=2, gateway_id="revoking")


@pytest.fixture
def topic(servers: str, kafka: KafkaCluster, unique: Names) -> str:
    """A topic that alice and bob may use, with any group and transactional id."""
    name = unique("orders")
    create_topics(authorized.admin(servers), [NewTopic(name, 1, 1)])
    clients.await_stored(kafka, name)
    authorized.delete_acls(servers)
    authorized.add_acls(servers, [*grants("alice", name), *grants("bob", name)])
    return name


def grants(user: str, topic: str) -> list[AclBinding]:
    """The ACLs that a user needs to use a topic."""
    literal = PatternType.LITERAL
    patterns = [
        ResourcePattern(ResourceType.TOPIC, literal, topic),
        ResourcePattern(ResourceType.GROUP, literal, "*"),
        ResourcePattern(ResourceType.TRANSACTIONAL_ID, literal, "*"),
    ]
    entry = AclEntry(f"User:{user}", "*", Operation.ALL, Permission.ALLOW)
    return [AclBinding(pattern, entry) for pattern in patterns]


def plain(servers: str, user: str) -> dict[str, Any]:
    """The settings of a client that logs in by PLAIN."""
    return dict(clients.settings(servers, **authorized.login(user)))


class Scene:
    """Clients of a user, and bob, who uses the same topic and must notice nothing."""

    def __init__(
        self, stack: ExitStack, servers: str, topic: str, settings: Mapping[str, Any]
    ) -> None:
        self.bob = stack.enter_context(Bystander(plain(servers, "bob"), topic, f"{topic}-bob"))
        self.writer = stack.enter_context(Writer(settings, topic))
        self.classic = stack.enter_context(Reader(settings, topic, f"{topic}-classic"))
        consumer = {**settings, "group.protocol": "consumer"}
        self.consumer = stack.enter_context(Reader(consumer, topic, f"{topic}-consumer"))
        self.atomic = stack.enter_context(TransactionalWriter(settings, topic, f"{topic}-id"))
        self._pace = stack.enter_context(Pace())
        self._usual_gap = 0.0

    @property
    def clients(self) -> dict[str, Watched]:
        """The clients of the user whose rights end, by name."""
        named = {"writer": self.writer, "classic": self.classic, "consumer": self.consumer}
        return {**named, "atomic": self.atomic}

    def await_all(self) -> None:
        """Wait until every client has made progress for a while."""
        for client in self.clients.values():
            client.await_times(20)
        self.bob.await_time(time.monotonic())
        end = time.monotonic() + WATCHED
        self.bob.await_time(end)
        self._usual_gap = self.bob.longest_gap(end - WATCHED, end)

    def assert_stopped(self, since: float) -> None:
        """Fail if the user makes progress later than a second after ``since``, or if bob stops."""
        start, end = since - AT_ONCE, since + self._pace.stretched(AT_ONCE) + WATCHED
        self.bob.await_time(end)
        late = {name: client.times[-1] - since for name, client in self.clients.items()}
        assert max(late.values()) < self._pace.stretched(AT_ONCE), late
        assert self.bob.errors == []
        # On a busy machine, gaps are longer even if nothing changes.
        allowed = max(self._pace.stretched(LONGEST_GAP), 2 * self._usual_gap)
        assert self.bob.longest_gap(start, end) < allowed


# -- ACLs -------------------------------------------------------------------------------------


def _knows_why(reader: Reader) -> bool:
    """Whether a reader has the error, by a Fetch or a heartbeat.

    A KIP-848 member ends at a rejected heartbeat and fetches no more, so it reports whichever error
    comes first.
    """
    return TOPIC_AUTHORIZATION_FAILED in reader.codes or any(
        error.code() == KafkaError._FATAL and "Group authorization failed" in error.str()
        for error in reader.errors
    )


def test_acls_that_are_deleted(servers: str, topic: str) -> None:
    """If the rights return, the same clients continue, with two exceptions.

    librdkafka ends the transactional producer and the member of a KIP-848 group for good.
    """
    with ExitStack() as stack:
        scene = Scene(stack, servers, topic, plain(servers, "alice"))
        scene.await_all()
        authorized.delete_acls(servers, "alice")
        scene.assert_stopped(time.monotonic())
        assert scene.writer.codes == {TOPIC_AUTHORIZATION_FAILED}
        for reader in (scene.classic, scene.consumer):
            # No more records come; the reason comes with a later response.
            wait_until(partial(_knows_why, reader), "that it is told why", clients.SECONDS)
            assert reader.codes <= {TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED}
        assert scene.atomic.codes & {
            TOPIC_AUTHORIZATION_FAILED,
            TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        }
        authorized.add_acls(servers, grants("alice", topic))
        for client in (scene.writer, scene.classic):
            client.await_times(20)


def test_a_deny_that_is_added(servers: str, topic: str) -> None:
    """A DENY on the topic alone: members stay members, and continue when it is deleted."""
    with ExitStack() as stack:
        scene = Scene(stack, servers, topic, plain(servers, "alice"))
        scene.await_all()
        entry = AclEntry("User:alice", "*", Operation.ALL, Permission.DENY)
        pattern = ResourcePattern(ResourceType.TOPIC, PatternType.PREFIXED, topic[:-1])
        deny = AclBinding(pattern, entry)
        authorized.add_acls(servers, [deny])
        scene.assert_stopped(time.monotonic())
        for client in (scene.writer, scene.classic, scene.consumer):
            wait_until(partial(getattr, client, "codes"), "that it is told why", clients.SECONDS)
            assert client.codes == {TOPIC_AUTHORIZATION_FAILED}
        authorized.delete_acl(servers, deny)
        for client in (scene.writer, scene.classic, scene.consumer):
            client.await_times(20)


# -- users and tokens -------------------------------------------------------------------------


def test_a_user_who_is_deleted(servers: str, topic: str) -> None:
    """If the SCRAM credential is deleted, connections are closed and no login succeeds any more."""
    admin = authorized.admin(servers)
    # Credentials are the catalog's: alice and bob have others for other gateways of the broker.
    user = "carol"
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096)
    password = authorized.PASSWORDS[user].encode()
    made = UserScramCredentialUpsertion(user, info, password)
    clients.done(admin.alter_user_scram_credentials([made]))
    authorized.add_acls(servers, grants(user, topic))
    with ExitStack() as stack:
        carol = plain(servers, user) | {"sasl.mechanism": "SCRAM-SHA-256"}
        scene = Scene(stack, servers, topic, carol)
        scene.await_all()
        gone = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)
        clients.done(admin.alter_user_scram_credentials([gone]))
        scene.assert_stopped(time.monotonic())
        _await_rejected_logins(scene)


def test_a_token_that_expires(servers: str, topic: str, pace: Pace) -> None:
    """The token has no successor, because its issuer issues no other."""
    expires = int(time.time() + pace.stretched(TOKEN_SECONDS))
    only = token(sub="alice", exp=expires)
    with ExitStack() as stack:
        alice = {
            **clients.settings(servers),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (only, float(expires)),
        }
        scene = Scene(stack, servers, topic, alice)
        scene.await_all()
        left = expires - time.time()
        assert left > 0, "the clients took too long to start"
        scene.assert_stopped(time.monotonic() + left)
        _await_rejected_logins(scene)


def _await_rejected_logins(scene: Scene) -> None:
    """Wait until clients report a rejected login.

    The transactional client is left out, because it reports nothing while it waits for its commit.
    """
    for client in (scene.writer, scene.classic, scene.consumer):
        errors = client.errors
        wait_until(
            lambda errors=errors: any("uthenticat" in str(error) for error in errors),  # type: ignore[misc]
            f"the refusal of a login: {errors}",
            clients.SECONDS,
        )
