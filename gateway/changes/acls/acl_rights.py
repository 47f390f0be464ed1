"""Rights to describe and change ACLs, and how requests about the whole cluster are admitted.

A principal that may DESCRIBE or ALTER the cluster may describe or change all ACLs, as in Kafka. One
that may ALTER a namespace may describe and change those of what is inside, and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    namespace_of,
)
from gateway.catalog.source import Decide
from gateway.changes.base.context import Batch
from gateway.changes.base.rejected import unavailable
from gateway.decision import Denied
from gateway.error_codes import SECURITY_DISABLED
from gateway.names import DELIMITER
from gateway.views.access import ALTER, Access
from gateway.views.view import View
from protocol.pausing import paced

Rights = TypeVar("Rights")

NO_AUTHORIZER: Final = Denied(
    SECURITY_DISABLED,
    "No Authorizer is configured: the gateway has ACLs once its configuration has an"
    " authorization block.",
    "request",
)

CLUSTER: Final = "kafka-cluster"
"""The cluster's name in the audit log, and that of a request about all of it."""


async def admit(
    batch: Batch[Any, Any, Any], rights_on: Callable[[Access], Rights | Denied]
) -> Rights | Denied:
    """The rights that a request about the whole cluster has on the newest catalog; or the error
    that all of its items are rejected with."""
    try:
        await batch.refresh()
    except OSError as error:
        rights: Rights | Denied = unavailable(error)
    else:
        rights = rights_on(batch.access)
    if isinstance(rights, Denied):
        batch.reject(rights)
    return rights


async def admit_to_acls(
    batch: Batch[Any, Any, Any],
    operation: Operation,
    pattern_at: Callable[[View, Any], ResourcePattern | None] = lambda _view, _key: None,
) -> AclRights | Denied:
    """The rights of a request to DESCRIBE or ALTER ACLs, as :func:`admit`. ``pattern_at``: the
    pattern that the item under a key is about, if it is about one."""
    if not batch.access.authorizes:
        batch.reject(NO_AUTHORIZER)
        return NO_AUTHORIZER

    def rights_on(access: Access) -> AclRights | Denied:
        rights = AclRights(access, operation)
        why = rights.why_none()
        if why is None:
            return rights
        for key in paced(batch.keys):
            pattern = pattern_at(access.view, key)
            if pattern is not None:
                # The response stays the same for all: it does not tell what there is.
                batch.answer(key, replace(rights.narrowest(pattern) or why, message=why.message))
        return why

    return await admit(batch, rights_on)


async def commit(batch: Batch[Any, Any, Any], decide: Decide) -> None:
    """Change the catalog by a decision that answers all items; they are rejected when it fails."""
    try:
        await batch.context.catalog.change(decide)
    except OSError as error:
        batch.restart()
        batch.reject(unavailable(error))


class AclRights:
    """The ACLs that one principal may ALTER or DESCRIBE. ``denied`` says why these are not all of
    them, or None if they are."""

    def __init__(self, access: Access, operation: Operation) -> None:
        self.denied = access.cluster(operation)
        self._access = access
        self._managed: dict[ResourcePattern, bool] = {}

    def cover(self, pattern: ResourcePattern) -> bool:
        """Whether the ACLs of a pattern are among them."""
        if self.denied is None:
            return True
        found = self._managed.get(pattern)
        if found is None:
            found = self._managed[pattern] = self._access.manages(pattern)
        return found

    def why_not(self, pattern: ResourcePattern, shown: str) -> Denied | None:
        """Why the ACLs of a pattern may not be changed; its name is ``shown`` to the client."""
        if self.denied is None or self.cover(pattern):
            return None
        message = (
            f"{self._access.principal} is allowed to ALTER neither the cluster nor a namespace that"
            f" '{shown}' ({pattern.pattern_type.name}) is in, so its ACLs are not to be changed."
        )
        return replace(self.narrowest(pattern) or self.denied, message=message)

    def narrowest(self, pattern: ResourcePattern) -> Denied | None:
        """The denial, with the error code of the cluster's, of the least right that would let the
        principal change a pattern's ACLs: ALTER on the namespace that it is in, for which its ACLs
        are delegated. None if the pattern is in no namespace, and if ALTER on the namespace is
        allowed without delegating it (``allow.everyone.if.no.acl.found``)."""
        namespace = namespace_of(pattern)
        if self.denied is None or namespace is None:
            return None
        why = self._access.namespace(ALTER, namespace)
        return None if why is None else replace(why, code=self.denied.code)

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
        return any(
            self.cover(ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, path + DELIMITER))
            for path in self._access.view.snapshot.namespaces
        )
