"""Who may see and change ACLs.

Who may DESCRIBE or ALTER the cluster may see or change all of them, as in Kafka. Who may ALTER a
namespace may see and change those of what is inside, and no others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeVar

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    namespace_of,
)
from gateway.acls.authorizer import AclFilter
from gateway.changes.base.batch import Answered, renewed
from gateway.changes.base.context import Context
from gateway.changes.base.refused import unavailable
from gateway.decision import Denied
from gateway.error_codes import SECURITY_DISABLED
from gateway.names import DELIMITER
from gateway.views.access import Access

Rights = TypeVar("Rights")

NO_AUTHORIZER: Final = Denied(
    SECURITY_DISABLED,
    "No Authorizer is configured: the gateway has ACLs once its configuration has an"
    " authorization block.",
    "request",
)


CLUSTER: Final = "kafka-cluster"
"""What the audit log calls the cluster."""


async def admitted(
    context: Context,
    access: Access,
    admit: Callable[[Access], Rights | Denied],
    reject: Callable[[Denied], bytes],
    respond: Callable[[Access, Rights], Awaitable[Answered]],
) -> Answered:
    """The answer to a request about the whole cluster: what ``respond`` gives with the rights
    that ``admit`` finds on the newest catalog, else a body in which all of it is rejected."""
    try:
        access = await renewed(context, access)
        rights = admit(access)
        if isinstance(rights, Denied):
            return Answered(reject(rights), {CLUSTER: rights})
        return await respond(access, rights)
    except OSError as error:
        return Answered(reject(unavailable(error)))


class AclRights:
    """What one principal may do with ACLs: ``operation`` is ALTER or DESCRIBE.

    ``denied`` says why it is not all of them; None: it is.
    """

    def __init__(self, access: Access, operation: Operation) -> None:
        self.denied = access.cluster(operation)
        self._access = access
        self._managed: dict[ResourcePattern, bool] = {}

    @classmethod
    def some(cls, access: Access, operation: Operation) -> AclRights | Denied:
        """Them; or why no ACL at all is among them."""
        rights = cls(access, operation)
        return rights.why_none() or rights

    def cover(self, pattern: ResourcePattern) -> bool:
        """Whether the ACLs of a pattern are among them."""
        if self.denied is None:
            return True
        found = self._managed.get(pattern)
        if found is None:
            found = self._managed[pattern] = self._access.manages(pattern)
        return found

    def why_not(self, pattern: ResourcePattern, shown: str) -> Denied | None:
        """Why the ACLs of a pattern, whose name is ``shown`` so, may not be changed."""
        if self.denied is None or self.cover(pattern):
            return None
        message = (
            f"{self._access.principal} is allowed to ALTER neither the cluster nor a namespace that"
            f" '{shown}' ({pattern.pattern_type.name}) is in, so its ACLs are not to be changed."
        )
        return replace(self.denied, message=message)

    def why_none(self) -> Denied | None:
        """Why no ACL at all is among them; None: some are, or would be if there were any."""
        return None if self.denied is None or self._delegated() else self.denied

    def _delegated(self) -> bool:
        """Whether a namespace is delegated to the principal: by an ACL that names it, or by one
        of all topics."""
        for principal in (self._access.principal, ANY_USER):
            for operation in (Operation.ALTER, Operation.ALL):
                matching = AclFilter(
                    ResourceType.TOPIC,
                    principal=principal,
                    operation=operation,
                    permission=Permission.ALLOW,
                )
                patterns = {binding.pattern for binding in self._access.acls(matching)}
                if any(map(self._delegates, patterns)):
                    return True
        return False

    def _delegates(self, pattern: ResourcePattern) -> bool:
        if namespace_of(pattern) is not None:
            return self.cover(pattern)
        if pattern.name != WILDCARD:
            return False
        namespaces = self._access.view.snapshot.namespaces
        return any(self.cover(_namespace(path)) for path in namespaces)


def _namespace(path: str) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, path + DELIMITER)
