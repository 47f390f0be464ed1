"""Rights to describe and change ACLs, and how requests about the whole cluster are admitted.

A principal that may DESCRIBE or ALTER the cluster may describe or change all ACLs, as in Kafka. A
principal that may ALTER a namespace may describe and change the ACLs inside it, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
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
"""The cluster's name in the audit log, and the name of a request about the whole cluster."""


RightsOn = Callable[[Access], Rights | Denied]
"""Returns the rights of a request about the whole cluster on the state of the catalog that an
access is on, or the error with which its items are rejected."""


async def admit(batch: Batch[Any, Any, Any], rights_on: RightsOn[Rights]) -> Rights | Denied:
    """The rights that a request about the whole cluster has on the newest catalog, or the error
    with which all of its items are rejected. They hold for what is described at once; a change is
    decided by those of its own turn (:func:`commit`)."""
    try:
        await batch.refresh()
    except OSError as error:
        rights: Rights | Denied = unavailable(error)
    else:
        rights = rights_on(batch.access)
    if isinstance(rights, Denied):
        batch.reject(rights)
    return rights


def to_acls(
    batch: Batch[Any, Any, Any],
    operation: Operation,
    pattern_at: Callable[[View, Any], ResourcePattern | None] = lambda _view, _key: None,
) -> RightsOn[AclRights]:
    """The rights of a request to DESCRIBE or ALTER ACLs. ``pattern_at`` returns the pattern of the
    item under a key, or None if the item has no pattern."""

    def rights_on(access: Access) -> AclRights | Denied:
        if not access.authorizes:
            return NO_AUTHORIZER
        rights = AclRights(access, operation)
        why = rights.why_none()
        if why is None:
            return rights
        for key in paced(batch.keys):
            pattern = pattern_at(access.view, key)
            if pattern is not None:
                # Every item gets the same message, because a message must not show which ACLs
                # exist.
                batch.answer(key, replace(rights.narrowest(pattern) or why, message=why.message))
        return why

    return rights_on


async def commit(
    batch: Batch[Any, Any, Any],
    rights_on: RightsOn[Rights],
    decide: Callable[[Rights, View], Sequence[Change]],
) -> None:
    """Change the catalog by a decision that answers all items, with the rights of the state that it
    is made on: they may have been revoked since the request was admitted. If the change fails,
    reject the items."""

    def decide_now(newest: Snapshot) -> Sequence[Change]:
        batch.restart()
        access = batch.access.on(newest)
        rights = rights_on(access)
        if isinstance(rights, Denied):
            batch.reject(rights)
            return ()
        return decide(rights, access.view)

    try:
        await batch.context.catalog.change(decide_now)
    except OSError as error:
        batch.restart()
        batch.reject(unavailable(error))


class AclRights:
    """The ACLs that one principal may ALTER or DESCRIBE. ``denied``: why it may not ALTER or
    DESCRIBE all ACLs, or None if it may."""

    def __init__(self, access: Access, operation: Operation) -> None:
        self.denied = access.cluster(operation)
        self._access = access
        self._managed: dict[ResourcePattern, bool] = {}

    def cover(self, pattern: ResourcePattern) -> bool:
        """Whether the principal has this right on a pattern's ACLs."""
        if self.denied is None:
            return True
        found = self._managed.get(pattern)
        if found is None:
            found = self._managed[pattern] = self._access.manages(pattern)
        return found

    def why_not(self, pattern: ResourcePattern, shown: str) -> Denied | None:
        """Why the principal may not change a pattern's ACLs; ``shown``: the client's name for
        it."""
        if self.denied is None or self.cover(pattern):
            return None
        message = (
            f"{self._access.principal} is allowed to ALTER neither the cluster nor a namespace that"
            f" '{shown}' ({pattern.pattern_type.name}) is in, so its ACLs are not to be changed."
        )
        return replace(self.narrowest(pattern) or self.denied, message=message)

    def narrowest(self, pattern: ResourcePattern) -> Denied | None:
        """The denial of the least right that would let the principal change a pattern's ACLs, with
        the error code for the cluster.

        That right is ALTER on the pattern's namespace, for which the namespace's ACLs are
        delegated. None for a pattern in no namespace, and when ALTER on the namespace is allowed
        without delegation (``allow.everyone.if.no.acl.found``).
        """
        namespace = namespace_of(pattern)
        if self.denied is None or namespace is None:
            return None
        why = self._access.namespace(ALTER, namespace)
        return None if why is None else replace(why, code=self.denied.code)

    def why_none(self) -> Denied | None:
        """Why the principal has the right on no ACL at all; None if it has the right on some
        pattern, whether or not the pattern has ACLs."""
        return None if self.denied is None or self._delegated() else self.denied

    def _delegated(self) -> bool:
        """Whether a namespace is delegated to the principal, by an ACL on the namespace or by an
        ACL on all topics."""
        for principal in (self._access.principal, ANY_USER):
            for operation in (Operation.ALTER, Operation.ALL):
                matching = AclFilter(
                    ResourceType.TOPIC,
                    principal=principal,
                    operation=operation,
                    permission=Permission.ALLOW,
                )
                patterns = {binding.pattern for binding in self._access.acls(matching)}
                if any(map(self._delegates, paced(patterns))):
                    return True
        return False

    def _delegates(self, pattern: ResourcePattern) -> bool:
        if namespace_of(pattern) is not None:
            return self.cover(pattern)
        if pattern.name != WILDCARD:
            return False
        return any(
            self.cover(ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, path + DELIMITER))
            for path in paced(self._access.view.snapshot.namespaces)
        )
