"""``kafka-gateway check --cluster``: what the gateway's identities may do with its own topic.

The brokers are asked, and nothing is changed: they say which operations are authorized (KIP-430).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import Operation
from gateway.brokers.messages import ClusterAdmin
from gateway.catalog.log.topics import CATALOG_TOPIC
from gateway.config.errors import Key, Problem
from protocol.requests import Request

CLIENTS_KEY: Final[Key] = ("clusters", 0, "security")
OWN_KEY: Final[Key] = ("catalog", "security")

NEEDED: Final = (Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS)
"""What the catalog's identity does with its topic."""

DANGEROUS: Final = (
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.ALTER_CONFIGS,
)
"""What nobody else should be able to do with it; its records hold the verifiers of passwords."""

_METADATA: Final = 9
_FIND_COORDINATOR: Final = 3
_TRANSACTION: Final = 1
_UNKNOWN_TOPIC: Final = 3
_NOT_TOLD: Final = -(2**31)
_AUTHORIZATION_FAILED: Final = frozenset({29, 53})


@dataclass(frozen=True, slots=True)
class Rights:
    """What one identity may do with the catalog's topic, and whether the transactional id is open
    to it. ``exists``: there is such a topic, as far as it is told. ``operations`` None: the
    brokers do not say."""

    exists: bool
    operations: frozenset[Operation] | None
    transactional_id: bool

    def among(self, wanted: Iterable[Operation]) -> list[str]:
        """Those of these operations that it has, by name."""
        return [one.name for one in wanted if one in (self.operations or ())]

    def as_json(self) -> dict[str, object]:
        """For programs."""
        told = None if self.operations is None else sorted(one.name for one in self.operations)
        return {"operations": told, "transactional_id": self.transactional_id}


async def rights_of(asker: ClusterAdmin) -> Rights:
    """What the brokers say of an identity. Raises OSError."""
    values = {
        "topics": [{"name": CATALOG_TOPIC}],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    response = await asker.ask(Request("MetadataRequest", _METADATA, values), changes=False)
    (topic,) = response.topics
    code = int(topic.error_code)
    if code == _UNKNOWN_TOPIC:
        return Rights(False, None, False)
    if code in _AUTHORIZATION_FAILED:
        return Rights(True, frozenset(), await _takes_id(asker))
    bits = int(getattr(topic, "topic_authorized_operations", _NOT_TOLD))
    operations = None
    if bits != _NOT_TOLD:
        operations = frozenset(one for one in Operation if bits & (1 << one))
    return Rights(True, operations, await _takes_id(asker))


async def _takes_id(asker: ClusterAdmin) -> bool:
    """Whether the id may be described, which whoever may write with it may."""
    values = {"key": CATALOG_TOPIC, "key_type": _TRANSACTION}
    request = Request("FindCoordinatorRequest", _FIND_COORDINATOR, values)
    response = await asker.ask(request, changes=False)
    return int(response.error_code) not in _AUTHORIZATION_FAILED


def exposure(clients: Rights, *, one_identity: bool) -> Iterator[Problem]:
    """What clients' connections may do with the catalog at the brokers."""
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
    yield Problem(
        CLIENTS_KEY, f"{text}; {step} that begin with __kafka_gateway, see docs/brokers.md"
    )


def lacking(own: Rights, key: Key) -> Iterator[Problem]:
    """What the catalog's identity needs and does not have."""
    if not own.exists or own.operations is None:
        return
    missing = [one.name for one in NEEDED if one not in own.operations]
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
