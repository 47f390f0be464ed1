"""What a principal may do with a topic or namespace, and which rule says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.acl_model import Operation, Resource
from gateway.acls.authorizer import Authorizer

TOPIC_OPERATIONS: Final = (
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
"""What can be done with a topic, those first that are asked about most."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """One operation: whether it is allowed, and the ``rule``, an ACL or what stands for one."""

    operation: str
    allowed: bool
    rule: str


def permissions(
    authorizer: Authorizer, principal: str, host: str, named: Resource
) -> tuple[Permitted, ...]:
    """All operations on a topic or namespace."""
    found = []
    for operation in TOPIC_OPERATIONS:
        verdict = authorizer.authorize(principal, host, operation, named)
        found.append(Permitted(operation.name, verdict.allowed, verdict.rule))
    return tuple(found)
