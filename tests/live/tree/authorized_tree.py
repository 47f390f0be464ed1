"""Two clusters with ACLs of their own behind a gateway, and listeners that differ in trust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from gateway import acl_model as model
from gateway.acl_model import Operation, PatternType, Permission, ResourcePattern, ResourceType
from tests.live.support import authorized, clients
from tests.live.tree.volumes import LA, NY

SCRAM: Final = "SCRAM-SHA-256"
GUEST: Final = "User:guest"
"""The principal that New York maps alice of the listener ``mapped`` to."""

HIDDEN, PUBLIC, ALICES, GUESTS = "hidden", "public", "alices", "guests"
"""Topics of New York: for no user, for everybody, for alice and for the guest."""


def listeners(secrets: Path) -> list[Listener]:
    """Listeners that differ in their trust and reach.

    ``la`` and ``ny`` are not trusted in the other volume, ``trusted`` and ``mapped`` are trusted in
    New York; ``narrow`` reaches Los Angeles alone, and ``home`` confines its clients there.
    """
    security = dict(authorized.listener(secrets, ("PLAIN", SCRAM)).security)

    def one(name: str, volume: str = LA, home: str = "", **more: Any) -> Listener:
        return Listener(name, name, home=home, security={**security, "volume": volume, **more})

    return [
        one("la"),
        one("ny", NY),
        one("trusted"),
        one("mapped"),
        one("narrow", reach=[LA]),
        one("home", home="search"),
    ]


@contextmanager
def authorized_tree(
    la: KafkaCluster, ny: KafkaCluster, secrets: Path, *, everyone: bool = False
) -> Iterator[GatewayProcess]:
    """The gateway, with the topics and ACLs of New York.

    ``everyone``: allow every operation on a resource without ACLs.
    """
    trust = [
        {"listener": "trusted"},
        {"listener": "mapped", "principals": {"User:alice": GUEST}},
    ]
    settings = {"namespaces": ["search"], "catalog": {"replication_factor": 1}}
    mounted = [
        MountedCluster(LA, 1, la.bootstrap_servers, settings),
        MountedCluster(NY, 2, ny.bootstrap_servers, {**settings, "trust": trust}),
    ]
    authorization = {
        "super.users": [f"User:{authorized.ADMIN}"],
        "allow.everyone.if.no.acl.found": everyone,
    }
    with GatewayProcess(
        mounted, listeners(secrets), [], overrides={"authorization": authorization}
    ) as gateway:
        servers = gateway.bootstrap_servers("ny")
        names = [HIDDEN, PUBLIC, ALICES, GUESTS]
        # Another gateway of the same clusters may have created them.
        create_topics(authorized.admin(servers), [NewTopic(name, 1, 1) for name in names])
        clients.await_known(authorized.admin(servers), *names)
        authorized.add_acls(
            servers,
            [
                acl(model.ANY_USER, Operation.READ, PUBLIC),
                acl("User:alice", Operation.ALL, ALICES),
                acl("User:alice", Operation.READ, "readers", ResourceType.GROUP),
                acl(GUEST, Operation.READ, GUESTS),
            ],
        )
        at_la = gateway.bootstrap_servers("la")
        authorized.add_acls(at_la, [acl("User:alice", Operation.ALL, "own")])
        yield gateway


def acl(
    principal: str, operation: Operation, name: str, kind: ResourceType = ResourceType.TOPIC
) -> model.AclBinding:
    """An ACL that allows a principal an operation on a name, from any host."""
    entry = model.AclEntry(principal, "*", operation, Permission.ALLOW)
    return model.AclBinding(ResourcePattern(kind, PatternType.LITERAL, name), entry)


def scram_user(servers: str, user: str) -> None:
    """Create a user in the catalog of a listener's volume; the password is the name."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096)
    change = UserScramCredentialUpsertion(user, info, user.encode())
    clients.done(authorized.admin(servers).alter_user_scram_credentials([change]))
