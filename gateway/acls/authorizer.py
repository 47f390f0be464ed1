"""The interface of authorizers (KIP-11, KIP-504, KIP-679), and the ACLs that clients needed.

``authorizer.class.name`` names a class that implements the interface, by default
:class:`gateway.acls.standard.StandardAuthorizer`. Authorizers are called on the event loop, so they
must answer from memory.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from gateway.acl_model import (
    WILDCARD,
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    covers,
    namespace_of,
    resource,
)
from gateway.acls.grants import binds
from gateway.catalog.snapshot import Snapshot
from gateway.config.security import Authorization
from gateway.flows import NeededAcl
from gateway.foreign_text import MAX_SHOWN, raised_text, shown_text
from gateway.names import parents
from gateway.places import Place
from protocol.pausing import FEW, eased, paced, pause_point, unbroken

Answer = TypeVar("Answer")

_MAX_RULE: Final = 8_000
"""Characters of a verdict's reason that are shown."""

_PROBE: Final = "hardcode"
"""The name that Kafka's default implementation checks first; no resource should have it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an operation is allowed, and why: ``because`` is text, or has a ``str``."""

    allowed: bool
    because: object

    @property
    def rule(self) -> str:
        """The ACL that decided, or the reason if no ACL did, as text that is safe to show even from
        a foreign authorizer."""
        return shown_text(self.because, _MAX_RULE) or "the authorizer gives no reason"


NO_ACL_FOUND: Final = Verdict(True, "allow.everyone.if.no.acl.found")
"""The verdict on a resource without ACLs, if everyone is allowed to use such resources."""


class Authorizer(ABC):
    """Decides the operations that a principal may do. It is created without arguments, then
    configured.

    Verdicts may be cached until :meth:`see` or ``changed`` is called.
    """

    judges_by: Snapshot | None = None
    """The state of the catalog that :meth:`follow` was called with last."""

    def configure(  # noqa: B027 - there may be nothing to take
        self, configs: Mapping[str, object], changed: Callable[[], None]
    ) -> None:
        """Take the keys of the ``authorization:`` block. Call ``changed``, on the event loop, if
        earlier verdicts no longer hold for another reason than the catalog. Raises ValueError with
        a sentence for the operator."""

    def prepare(self, snapshot: Snapshot) -> None:  # noqa: B027 - :meth:`see` may be quick
        """Get ready for a state of the catalog with which :meth:`see` is called soon. Verdicts stay
        as they are. This is called in slices, so it may have pause points (``protocol.pausing``);
        :meth:`see` has no pause points."""

    def see(self, snapshot: Snapshot) -> None:  # noqa: B027 - its ACLs may be elsewhere
        """Use this state of the catalog from now on."""

    def follow(self, snapshot: Snapshot) -> None:
        """:meth:`see` a state of the catalog, and note it."""
        self.see(snapshot)
        self.judges_by = snapshot

    def at(self, snapshot: Snapshot) -> Authorizer:
        """The authorizer that judges by a state of the catalog that this one may not have seen yet:
        a change is decided by the rights that the changes before it leave, also by those of the
        same transaction. It never judges by an older state than this authorizer does.

        This default lets the authorizer see the state for each verdict, and go back before anybody
        else asks it. Authorizers with a faster way override it; an authorizer that does not
        override :meth:`see` judges by no catalog.
        """
        seen = self.judges_by
        if type(self).see is Authorizer.see or seen is None or snapshot is seen:
            return self
        return self if snapshot.version < seen.version else _SeesAhead(self, snapshot)

    def close(self) -> None:  # noqa: B027 - there may be nothing to end
        """Release resources; the authorizer is not used any more."""

    @abstractmethod
    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        """Whether ``principal`` at ``host`` may do ``operation`` with ``resource``."""

    @abstractmethod
    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The ACLs that match a filter, all of the state at the call, whenever they are taken.
        Taking them may have pause points (``protocol.pausing``)."""

    def may_manage(self, principal: str, host: str, pattern: ResourcePattern) -> bool:
        """Whether ``principal`` may create, describe and delete the ACLs of a pattern because it
        has ALTER on the innermost namespace that contains the whole pattern.

        Cluster ALTER and DESCRIBE, which reach all ACLs, are checked apart.
        """
        namespace = namespace_of(pattern)
        if namespace is None:
            return False
        named = Resource(ResourceType.TOPIC, namespace, "")
        return self.authorize(principal, host, Operation.ALTER, named).allowed

    def denying(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict | None:
        """The DENY that forbids ``operation`` on a topic, set on the topic itself or on a namespace
        above it, if there is such a DENY. It overrides every ALLOW, and binds under the topic's
        links as well.

        This default goes by :meth:`acls` alone. Authorizers with a faster or stricter way override
        it.
        """
        tiers = [Resource(resource.type, path, "") for path in parents(resource.namespace)]
        for one in (*tiers, resource):
            wanted = AclFilter(resource.type, one.text, PatternType.MATCH)
            for found in paced(self.acls(wanted)):
                if found.entry.permission is Permission.DENY and binds(
                    found.entry, principal, host, operation
                ):
                    return Verdict(False, found)
        return None

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """Whether ``operation`` is allowed on at least one resource of a type (KIP-679).

        This is the default of Kafka's interface (``Authorizer.authorizeByResourceType``), which
        goes by :meth:`acls` alone: an ALLOW for the principal or ``User:*``, from its host or any,
        of the operation or ALL, counts unless a DENY for them covers every name that the ALLOW
        covers. If an unused name is allowed, as to a super user, no ACL is checked.

        Authorizers with a faster or stricter way override it.
        """
        verdict = self.authorize(principal, host, operation, resource(resource_type, _PROBE))
        if verdict.allowed:
            return verdict
        denied = Verdict(False, f"no ACL allows {operation.name} on any {resource_type.name}")
        found = [
            one
            for one in paced(self.acls(AclFilter(resource_type)))
            if one.pattern.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
            and binds(one.entry, principal, host, operation)
        ]
        denies = [one for one in found if one.entry.permission is Permission.DENY]
        for one in denies:
            if one.pattern.pattern_type is PatternType.LITERAL and one.pattern.name == WILDCARD:
                return Verdict(False, one)
        dominant = [one.pattern for one in denies]
        for one in paced(found):
            if one.entry.permission is Permission.ALLOW and not _is_dominated(one, dominant):
                return Verdict(True, one)
        return denied


def _is_dominated(allow: AclBinding, denies: Collection[ResourcePattern]) -> bool:
    """Whether a denied pattern covers every name that an ALLOW's pattern covers: a shorter prefix
    does, and for a LITERAL name the name itself. No denied pattern is LITERAL ``*`` here."""
    literal = allow.pattern.pattern_type is PatternType.LITERAL
    if literal and allow.pattern.name == WILDCARD:
        return False
    return any(
        covers(deny, allow.pattern.type, allow.pattern.name)
        and (literal or deny.pattern_type is PatternType.PREFIXED)
        for deny in eased(denies)
    )


class _SeesAhead(Authorizer):
    """An authorizer that sees a state of the catalog only while it is asked."""

    def __init__(self, authorizer: Authorizer, snapshot: Snapshot) -> None:
        self._authorizer = authorizer
        self._snapshot = snapshot
        authorizer.prepare(snapshot)

    def at(self, snapshot: Snapshot) -> Authorizer:
        return self._authorizer.at(snapshot)

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        return self._asked(lambda one: one.authorize(principal, host, operation, resource))

    def denying(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict | None:
        return self._asked(lambda one: one.denying(principal, host, operation, resource))

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        return self._asked(lambda one: one.authorize_any(principal, host, operation, resource_type))

    def may_manage(self, principal: str, host: str, pattern: ResourcePattern) -> bool:
        return self._asked(lambda one: one.may_manage(principal, host, pattern))

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        return self._in_parts(iter(self._asked(lambda one: one.acls(matching))))

    def _in_parts(self, found: Iterator[AclBinding]) -> Iterator[AclBinding]:
        """ACLs, taken while the authorizer sees the state, because it may look as late as then; in
        parts, because there may be very many."""
        while True:
            part = self._asked(lambda _: [*islice(found, FEW)])
            yield from part
            if len(part) < FEW:
                return
            pause_point()

    def _asked(self, ask: Callable[[Authorizer], Answer]) -> Answer:
        """The answer by the state, with no pause point before the authorizer is back. If it has
        seen the state, or a later one, meanwhile, it is asked as it is."""
        authorizer, seen = self._authorizer, self._authorizer.judges_by
        if seen is None or self._snapshot.version < seen.version:
            return ask(authorizer)
        with unbroken():
            authorizer.see(self._snapshot)
            try:
                return ask(authorizer)
            finally:
                authorizer.follow(seen)


class AuthorizerError(Exception):
    """The authorizer cannot be created, or rejects its configuration; the text says why."""


def load_authorizer(
    settings: Authorization | None, changed: Callable[[], None]
) -> Authorizer | None:
    """Create and configure the authorizer, if there is an ``authorization:`` block.

    The authorizer calls ``changed`` if its verdicts no longer hold. Raises AuthorizerError.
    """
    if settings is None:
        return None
    dotted = settings.authorizer
    module, _, name = dotted.rpartition(".")
    if not module or not name:
        raise AuthorizerError(f"authorizer.class.name '{dotted}' is no class; write module.Class")
    try:
        found: object = getattr(importlib.import_module(module), name)
        if not (isinstance(found, type) and issubclass(found, Authorizer)):
            text = "is no gateway.acls.authorizer.Authorizer"
            raise AuthorizerError(f"authorizer.class.name '{dotted}' {text}")
        made = found()
    except AuthorizerError:
        raise
    # An exception of a foreign module, SystemExit and SyntaxError too, concerns that module alone.
    except BaseException as error:  # noqa: BLE001
        why = raised_text(error)
        raise AuthorizerError(f"authorizer.class.name '{dotted}' cannot be made: {why}") from None
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
    except BaseException as error:  # noqa: BLE001
        why = raised_text(error)
        text = f"authorizer.class.name '{dotted}' cannot be configured: {why}"
        raise AuthorizerError(text) from None
    return made


def means_pattern(matching: AclFilter, pattern: ResourcePattern) -> bool:
    """Whether a filter matches a pattern."""
    if matching.type not in (ResourceType.ANY, pattern.type):
        return False
    if matching.pattern_type is PatternType.MATCH:
        return matching.name is None or covers(pattern, pattern.type, matching.name)
    if matching.pattern_type not in (PatternType.ANY, pattern.pattern_type):
        return False
    return matching.name in (None, pattern.name)


def means_entry(matching: AclFilter, entry: AclEntry) -> bool:
    """Whether a filter matches an entry, whatever its pattern."""
    return (
        matching.principal in (None, entry.principal)
        and matching.host in (None, entry.host)
        and matching.operation in (Operation.ANY, entry.operation)
        and matching.permission in (Permission.ANY, entry.permission)
    )


MOST: Final = 10_000
"""Verdicts, and ACLs, kept for a principal."""

_ALLOW: Final = f"{Permission.ALLOW.name} "


class AllowedBy:
    """The ACLs that have allowed a principal an operation; their text is made when it is read."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict] = []
        self._texts: dict[str, None] = {}

    def add(self, verdict: Verdict) -> None:
        """Note a verdict that allowed an operation."""
        if len(self._verdicts) < MOST:
            self._verdicts.append(verdict)

    def texts(self) -> Collection[str]:
        """The ACLs, each as ``ALLOW READ for User:alice on TOPIC:LITERAL:org:orders``."""
        verdicts, self._verdicts = self._verdicts, []
        for verdict in verdicts:
            if len(self._texts) < MOST and (text := verdict.rule).startswith(_ALLOW):
                self._texts[text] = None
        return self._texts.keys()


def needed_acls(clients: Iterable[tuple[str, AllowedBy, Place]]) -> set[NeededAcl]:
    """The ACLs that have allowed clients an operation, each with the client's principal, and the
    cluster that its rights are in."""
    found = set(clients)
    return {
        NeededAcl(principal, text, place)
        for principal, acls, place in found
        for text in acls.texts()
    }
