"""The interface of whoever decides what a principal may do (KIP-11, KIP-504, KIP-679).

``authorizer.class.name`` names a class that implements it; ours is
:class:`gateway.acls.standard.StandardAuthorizer`. Everything is asked on the event loop, so
answers must come from memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gateway.acl_model import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    resource,
)
from gateway.acls.patterns import namespace_of, namespace_resource
from gateway.catalog.snapshot import Snapshot


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
        """What has decided: an ACL in words, or what stands for one."""
        return str(self.because)


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

        This is the KIP's default: each ALLOW is tried on its own pattern's name, and no ACL at
        all means no. Authorizers that know better, or that allow without ACLs, override it.
        """
        for kind in (PatternType.LITERAL, PatternType.PREFIXED):
            matching = AclFilter(
                resource_type, pattern_type=kind, principal=principal, permission=Permission.ALLOW
            )
            for binding in self.acls(matching):
                named = resource(resource_type, binding.pattern.name)
                verdict = self.authorize(principal, host, operation, named)
                if verdict.allowed:
                    return verdict
        return Verdict(False, f"no ACL allows {operation.name} on any {resource_type.name}")
