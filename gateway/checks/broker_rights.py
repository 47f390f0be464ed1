"""``kafka-gateway check --cluster``: the rights of the gateway's identities on the catalog's topic.

The brokers respond which operations are authorized (KIP-430); nothing is changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from gateway.acl_model import Operation
from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.one_each import only_one
from gateway.catalog.log.topics import (
    CATALOG_TOPIC,
    NotAuthorized,
    TopicError,
    validate_creation,
)
from gateway.config.errors import Key, Problem
from protocol.messages import Request

NEEDED: Final = (Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS)
"""The operations of the catalog's identity on its topic."""

DANGEROUS: Final = (
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.ALTER_CONFIGS,
)
"""The operations that no other identity should have, because the topic's records hold SCRAM
credentials."""

_METADATA: Final = 9
_END_TXN: Final = 3
_NO_PRODUCER: Final = -1
_UNKNOWN_TOPIC: Final = 3
_UNKNOWN_OPERATIONS: Final = -(2**31)
_AUTHORIZATION_FAILED: Final = frozenset({29, 53})


class Rights(NamedTuple):
    """The rights of one identity on the catalog's topic."""

    exists: bool
    """Whether the topic exists, as far as the identity may describe it."""
    operations: frozenset[Operation] | None
    """None: the brokers do not report the operations."""
    transactional_id: bool
    """Whether it may use the catalog's transactional id."""

    def among(self, wanted: Iterable[Operation]) -> list[str]:
        """The names of the operations among ``wanted`` that it has."""
        return [one.name for one in wanted if one in (self.operations or ())]

    def missing(self, wanted: Iterable[Operation]) -> list[str]:
        """The names of the operations among ``wanted`` that it lacks."""
        return [one.name for one in wanted if one not in (self.operations or ())]

    def as_json(self) -> dict[str, object]:
        """The rights for programs."""
        names = None if self.operations is None else sorted(one.name for one in self.operations)
        return {"operations": names, "transactional_id": self.transactional_id}


async def rights_of(admin: ClusterAdmin) -> Rights:
    """The rights of the identity of ``admin``, as the brokers report them. Raises OSError."""
    values = {
        "topics": [{"name": CATALOG_TOPIC}],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    response = await admin.ask(Request("MetadataRequest", _METADATA, values), changes=False)
    topic = only_one(CATALOG_TOPIC, response.topics, attrgetter("name"))
    code = int(topic.error_code)
    if code == _UNKNOWN_TOPIC:
        return Rights(False, None, await _may_use_id(admin))
    if code in _AUTHORIZATION_FAILED:
        return Rights(True, frozenset(), await _may_use_id(admin))
    bits = int(getattr(topic, "topic_authorized_operations", _UNKNOWN_OPERATIONS))
    operations = None
    if bits != _UNKNOWN_OPERATIONS:
        operations = frozenset(one for one in Operation if bits & (1 << one))
    return Rights(True, operations, await _may_use_id(admin))


async def _may_use_id(admin: ClusterAdmin) -> bool:
    """Whether the identity may write with the transactional id. Brokers check the right first, and
    then reject the request, which ends a transaction of a producer that does not exist. So any
    coordinator will do."""
    values = {
        "transactional_id": CATALOG_TOPIC,
        "producer_id": _NO_PRODUCER,
        "producer_epoch": _NO_PRODUCER,
        "committed": False,
    }
    request = Request("EndTxnRequest", _END_TXN, values)
    response = await admin.ask(request, changes=False)
    return int(response.error_code) not in _AUTHORIZATION_FAILED


def exposure(clients: Rights, key: Key, *, one_identity: bool) -> Iterator[Problem]:
    """A warning if clients' connections have rights on the catalog at the brokers. ``key``: the
    configuration key of these connections."""
    may = clients.among(DANGEROUS)
    if not clients.exists or not (may or clients.transactional_id or clients.operations is None):
        return
    step = (
        "give the catalog an identity of its own (catalog.security) and deny this one the topics"
        if one_identity
        else "deny this identity the topics and transactional ids"
    )
    if clients.operations is None:
        text = f"the brokers do not say what clients' connections may do with {CATALOG_TOPIC}"
    elif may:
        text = f"the identity of clients' connections may {', '.join(may)} {CATALOG_TOPIC}"
    else:
        text = (
            "the identity of clients' connections may use the transactional id of the catalog,"
            f" {CATALOG_TOPIC}"
        )
    yield Problem(key, f"{text}; {step} that begin with __kafka_gateway, see docs/brokers.md")


def lacking(own: Rights, key: Key) -> Iterator[Problem]:
    """Problems for the rights that the catalog's identity lacks."""
    told = own.exists and own.operations is not None
    missing = own.missing(NEEDED) if told else ()
    if missing:
        yield Problem(
            key,
            f"the catalog's identity may not {', '.join(missing)} {CATALOG_TOPIC}; allow it what"
            " docs/brokers.md says",
        )
    if not own.transactional_id:
        yield Problem(
            key,
            f"the catalog's identity may not use the transactional id {CATALOG_TOPIC}; allow it"
            " WRITE on transactional ids that begin with __kafka_gateway",
        )


async def not_creatable(
    admin: ClusterAdmin, replication_factor: int, key: Key
) -> AsyncIterator[Problem]:
    """A problem if the cluster would reject the creation of the catalog's topic, which does not
    exist yet: ``serve`` would end with this error. ``key``: the configuration key of the catalog's
    connections. Raises OSError."""
    try:
        await validate_creation(admin, replication_factor)
    except NotAuthorized:
        yield Problem(
            key,
            f"the catalog's identity may not CREATE {CATALOG_TOPIC}; allow it what docs/brokers.md"
            " says",
        )
    except TopicError as error:
        yield Problem(
            ("catalog",),
            f"the brokers would not make the topic {CATALOG_TOPIC}: {error}; correct"
            " catalog.replication_factor, or make it with 1 partition and cleanup.policy=compact",
        )
