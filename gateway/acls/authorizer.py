"""The interface of whoever decides what a principal may do (KIP-11, KIP-504, KIP-679).

``authorizer.class.name`` names a class that implements it; ours is
:class:`gateway.acls.standard.StandardAuthorizer`. Everything is asked on the event loop, so
answers must come from memory.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    resource,
)
from gateway.acls.grants import canonical_host
from gateway.acls.patterns import covers, namespace_of, namespace_resource
from gateway.catalog.snapshot import Snapshot
from gateway.config.security import Authorization
from gateway.foreign_text import MAX_SHOWN, shown_text

_MAX_RULE: Final = 8_000
"""Characters that are shown of why something is allowed or not."""

_PROBE: Final = "hardcode"
"""The name that Kafka's default asks for first, in the hope that nobody has such a resource."""


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which ACLs are meant (KIP-290): None and ANY leave a part open.

    With MATCH, ``name`` is the name of a resource, and every pattern that covers it is meant.
    """

    type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, and why: ``because`` is text, or what ``str`` makes text of."""

    allowed: bool
    because: object

    @property
    def rule(self) -> str:
        """What has decided: an ACL in words, or what stands for one. Safe to show, whoever wrote
        the authorizer."""
        return shown_text(self.because, _MAX_RULE) or "the authorizer gives no reason"


class Authorizer(ABC):
    """Decides. Made with no arguments, then configured, then asked.

    A decision may be remembered until :meth:`see` is called or ``changed`` was.
    """

    def configure(  # noqa: B027 - there may be nothing to take
        self, configs: Mapping[str, object], changed: Callable[[], None]
    ) -> None:
        """Take the ``authorization:`` block's keys. ``changed`` is to be called, on the event
        loop, when earlier answers no longer hold for another reason than the catalog. Raises
        ValueError with a sentence for whoever wrote them."""

    def see(self, snapshot: Snapshot) -> None:  # noqa: B027 - its ACLs may be elsewhere
        """Decide by this state of the catalog from now on."""

    def close(self) -> None:  # noqa: B027 - there may be nothing to end
        """It will not be asked again."""

    @abstractmethod
    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        """Whether ``principal`` at ``host`` may do ``operation`` with ``resource``."""

    @abstractmethod
    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The ACLs that a filter means."""

    def may_manage(self, principal: str, host: str, pattern: ResourcePattern) -> bool:
        """Whether a namespace is delegated to ``principal`` so that it may make, see and remove
        the ACLs of a pattern inside: ALTER on the innermost namespace that all of it is in.

        Cluster ALTER and DESCRIBE, which reach all ACLs, are asked for apart.
        """
        namespace = namespace_of(pattern)
        if namespace is None:
            return False
        named = namespace_resource(namespace)
        return self.authorize(principal, host, Operation.ALTER, named).allowed

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """Whether ``operation`` is allowed on at least one resource of a type (KIP-679).

        This is the default of Kafka's interface (``Authorizer.authorizeByResourceType``), which
        goes by :meth:`acls` alone: an ALLOW for the principal or ``User:*``, from its host or any,
        of the operation or ALL, counts unless a DENY for them covers all that it covers. Where a
        name that nobody uses is allowed, as a super user's are, no ACL is looked at.

        Authorizers that know better override it.
        """
        verdict = self.authorize(principal, host, operation, resource(resource_type, _PROBE))
        if verdict.allowed:
            return verdict
        denied = Verdict(False, f"no ACL allows {operation.name} on any {resource_type.name}")
        found = [
            one
            for one in self.acls(AclFilter(resource_type))
            if one.pattern.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
            and one.entry.principal in (principal, ANY_USER)
            and canonical_host(one.entry.host) in (canonical_host(host), WILDCARD)
            and one.entry.operation in (operation, Operation.ALL)
        ]
        denies = [one for one in found if one.entry.permission is Permission.DENY]
        for one in denies:
            if one.pattern.pattern_type is PatternType.LITERAL and one.pattern.name == WILDCARD:
                return Verdict(False, one)
        dominant = [one.pattern for one in denies]
        for one in found:
            if one.entry.permission is Permission.ALLOW and not _is_dominated(one, dominant):
                return Verdict(True, one)
        return denied


def _is_dominated(allow: AclBinding, denies: Iterable[ResourcePattern]) -> bool:
    """Whether one of the patterns that are denied covers all that an ALLOW's pattern does; LITERAL
    ``*`` is not among them. A shorter prefix does, and of a LITERAL name the name itself."""
    literal = allow.pattern.pattern_type is PatternType.LITERAL
    if literal and allow.pattern.name == WILDCARD:
        return False
    return any(
        covers(deny, allow.pattern.type, allow.pattern.name)
        and (literal or deny.pattern_type is PatternType.PREFIXED)
        for deny in denies
    )


class AuthorizerError(Exception):
    """There is no such authorizer, or it does not take its configuration; the text says why."""


def load_authorizer(
    settings: Authorization | None, changed: Callable[[], None]
) -> Authorizer | None:
    """Make and configure the authorizer; None without an ``authorization:`` block.

    ``changed`` is what it calls when its answers no longer hold. Raises AuthorizerError.
    """
    if settings is None:
        return None
    dotted = settings.authorizer
    module, _, name = dotted.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        why = shown_text(error, MAX_SHOWN)
        raise AuthorizerError(f"authorizer.class.name '{dotted}' cannot be made: {why}") from None
    if not isinstance(made, Authorizer):
        raise AuthorizerError(
            f"authorizer.class.name '{dotted}' is no gateway.acls.authorizer.Authorizer"
        )
    try:
        made.configure(
            {
                **settings.configs,
                "super.users": settings.super_users,
                "allow.everyone.if.no.acl.found": settings.allow_everyone,
            },
            changed,
        )
    except ValueError as error:
        raise AuthorizerError(f"authorization: {shown_text(error, MAX_SHOWN)}") from None
    return made
