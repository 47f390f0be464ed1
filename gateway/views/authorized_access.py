"""Access by an authorizer, whose verdicts are cached, and the denials that clients get.

The hot path needs the same few names again and again. A new catalog snapshot, or another principal,
gets a new access. A denial names a resource as the client wrote it, or could write it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gateway.acl_model import (
    CLUSTER,
    AclBinding,
    AclFilter,
    Operation,
    Resource,
    ResourcePattern,
    ResourceType,
    namespace_of,
)
from gateway.acls.authorizer import NO_ACL_FOUND, Authorizer, Verdict
from gateway.decision import Denied, Resolved
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.names import DELIMITER, LogicalName, below
from gateway.views import absolute
from gateway.views.access import ALTER, DESCRIBE, NOT_BY_LINK, READ, WRITE, Access, own_name
from gateway.views.names_of_view import NAMESPACE_RULE
from gateway.views.spelling import MAX_SPELLED
from gateway.views.view import CACHE_LIMIT, View
from protocol.pausing import paced, pause_point

ACL_RULE: Final = "acl"
"""The rule of every denial that the authorizer decides."""

CODES: Final = {
    ResourceType.TOPIC: TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""Kafka's error code for a denied operation, by resource type."""


_BY_LINK: Final = frozenset({READ, WRITE, DESCRIBE, int(Operation.DESCRIBE_CONFIGS)})
"""The operations on a topic that are possible under a link."""

_NOT_ONE: Final = (Operation.UNKNOWN, Operation.ANY, Operation.ALL)
_UNTRUSTED: Final = Verdict(False, "the volume does not trust the client's listener")


class AuthorizedAccess(Access):
    """Caches the verdicts of an authorizer. Names longer than any topic's are not cached, so that
    no client can fill the memory with them. A volume of a tree does not trust a principal
    without a name: it is denied everything, even operations that ``User:*`` is allowed."""

    authorizes = True

    def __init__(self, view: View, principal: str, host: str, authorizer: Authorizer) -> None:
        super().__init__(view, principal, host)
        self._authorizer = authorizer
        self._reads: dict[bytes, Resolved | Denied] = {}
        self._writes: dict[bytes, Resolved | Denied] = {}
        self._verdicts: dict[tuple[int, Resource], Denied | None] = {}
        self._flats: dict[tuple[int, bytes], Denied | None] = {}
        self._any: dict[int, Denied | None] = {}
        self._anything: bool | None = None

    def to_read(self, spelled: bytes) -> Resolved | Denied:
        found = self._reads.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self.topic(READ, spelled)
            if len(self._reads) >= CACHE_LIMIT:
                self._reads.clear()
            found = self._reads[spelled] = self.topic(READ, spelled)
        return found

    def to_write(self, spelled: bytes) -> Resolved | Denied:
        found = self._writes.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self.topic(WRITE, spelled)
            if len(self._writes) >= CACHE_LIMIT:
                self._writes.clear()
            found = self._writes[spelled] = self.topic(WRITE, spelled)
        return found

    def topic(self, operation: int, spelled: bytes) -> Resolved | Denied:
        # Denied before the response could reveal whether the topic, or its namespace, exists.
        found = self.view.resolve(spelled)
        if self.view.closed or not operation:
            return found
        if not isinstance(found, Denied) and not found.link:
            why = self.flat_denial(operation, found.flat)
        else:
            named = self.topic_resource(spelled)
            why = None if named is None else self.denial(operation, named)
        if why is not None:
            return as_asked(why, self.principal, spelled)
        return own_name(spelled, found) if operation in NOT_BY_LINK else found

    def subscribed(self, spelled: bytes) -> Resolved | Denied:
        found = self.view.subscribed(spelled)
        if self.view.closed or isinstance(found, Denied):
            return found
        if not found.link:
            return self.flat_denial(DESCRIBE, found.flat) or found
        named = self.topic_resource(spelled)
        return found if named is None else self.denial(DESCRIBE, named) or found

    def by_id(self, operation: int, flat: bytes, topic_id: bytes) -> Denied | None:
        link = self.view.snapshot.link_under(topic_id) if self.view.has_topic_ids else None
        if link is None or not operation:
            return self.flat_denial(operation, flat)
        named = Resource(ResourceType.TOPIC, link.namespace, link.topic)
        why = self.denial(operation, named)
        return None if why is None else unnamed(why, self.principal)

    def shown(self, flat: bytes) -> bytes | None:
        spelled = self.view.spell(flat)
        if spelled is None or self.flat_denial(DESCRIBE, flat) is None:
            return spelled
        for name in self.view.snapshot.links_of(flat.decode(errors="replace")):
            link = self.view.spell_name(name)
            named = Resource(ResourceType.TOPIC, name.namespace, name.topic)
            if link is not None and self.denial(DESCRIBE, named) is None:
                return link
        return None

    def listed(self, flat: bytes) -> bytes | None:
        view = self.view
        if view.lists(flat) and self.flat_denial(DESCRIBE, flat) is None:
            return view.spell(flat)
        for name, link in view.listed_links(flat):
            if self.denial(DESCRIBE, Resource(ResourceType.TOPIC, *name)) is None:
                return link
        return None

    def flat_denial(self, operation: int, flat: bytes) -> Denied | None:
        if not operation:
            return None
        key = (operation, flat)
        try:
            return self._flats[key]
        except KeyError:
            pass
        if len(self._flats) >= CACHE_LIMIT:
            self._flats.clear()
        why = self.denial(operation, self.flat_resource(flat))
        found = self._flats[key] = None if why is None else unnamed(why, self.principal)
        return found

    def group(self, operation: int, group: bytes) -> bytes | Denied:
        found = self.view.group_to_broker(group)
        return self._authorized_id(operation, ResourceType.GROUP, group, found)

    def transactional_id(self, operation: int, transactional_id: bytes) -> bytes | Denied:
        found = self.view.transactional_id_to_broker(transactional_id)
        kind = ResourceType.TRANSACTIONAL_ID
        return self._authorized_id(operation, kind, transactional_id, found)

    def _authorized_id(
        self, operation: int, kind: ResourceType, client_id: bytes, found: bytes | Denied
    ) -> bytes | Denied:
        """``found``, the result for an id, if ``operation`` is allowed on the id. A client that may
        not describe the id does not learn that its namespace is being deleted: if no operation is
        checked, such a client's id stays as the client wrote it."""
        if isinstance(found, Denied) and found.rule != NAMESPACE_RULE:
            return found
        if operation:
            return self.id_denial(operation, kind, client_id) or found
        if isinstance(found, Denied) and self.id_denial(DESCRIBE, kind, client_id) is not None:
            return client_id
        return found

    def id_denial(self, operation: int, kind: ResourceType, client_id: bytes) -> Denied | None:
        # The authorized resource is not shown, because its namespace may be hidden.
        why = self.denial(operation, self.id_resource(kind, client_id))
        return None if why is None else as_asked(why, self.principal, client_id)

    def lists_group(self, broker_id: bytes) -> bool:
        if self.cluster(DESCRIBE) is None:
            return True
        named = self.broker_id_resource(ResourceType.GROUP, broker_id)
        return self.denial(DESCRIBE, named) is None

    def denial(self, operation: int, named: Resource) -> Denied | None:
        key = (operation, named)
        try:
            return self._verdicts[key]
        except KeyError:
            pass
        pause_point()
        asked = Operation(operation)
        verdict = self.verdict(asked, named)
        found = self._denied(asked, named, verdict)
        if len(named.namespace) + len(named.name) <= MAX_SPELLED:
            if len(self._verdicts) >= CACHE_LIMIT:
                self._verdicts.clear()
            self._verdicts[key] = found
        return found

    def verdict(self, operation: Operation, named: Resource) -> Verdict:
        """The authorizer's verdict on a resource, decided anew. DENYs at a link's topic also apply
        to the link."""
        if not self.principal:
            return _UNTRUSTED
        verdict = self._authorizer.authorize(self.principal, self.host, operation, named)
        if verdict.allowed and operation in _BY_LINK and self.view.snapshot.links:
            return self._under_link(operation, named, verdict) or verdict
        return verdict

    def _under_link(
        self, operation: Operation, named: Resource, verdict: Verdict
    ) -> Verdict | None:
        """The verdict at a link's topic, if ``named`` is a link that ``verdict`` allows: a DENY,
        because a principal that is denied a topic under its own name may not use it under another;
        or, if no ACL is about the link, the verdict of the ACLs about the topic."""
        if named.type is not ResourceType.TOPIC:
            return None
        snapshot = self.view.snapshot
        link = snapshot.links.get(LogicalName(named.namespace, named.name))
        if link is None or link.gone:
            return None
        owner = snapshot.owner(link.flat)
        topic = Resource(ResourceType.TOPIC, owner.namespace, owner.topic)
        if verdict is NO_ACL_FOUND:
            return self._authorizer.authorize(self.principal, self.host, operation, topic)
        return self._authorizer.denying(self.principal, self.host, operation, topic)

    def over(self, view: View) -> Access:
        authorizer = self._authorizer.at(view.snapshot)
        made = AuthorizedAccess(view, self.principal, self.host, authorizer)
        made.allowed_by = self.allowed_by
        return made

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        # Asked at the call; an authorizer of one's own may return them without pause points.
        return paced(self._authorizer.acls(matching))

    def manages(self, pattern: ResourcePattern) -> bool:
        if not self.principal:
            return False
        manages = self._authorizer.may_manage(self.principal, self.host, pattern)
        namespace = namespace_of(pattern)
        if manages and namespace is not None:
            self.namespace(ALTER, namespace)  # so that the ACL that delegates it counts as used
        return manages

    def any_topic(self, operation: int) -> Denied | None:
        if operation not in self._any:
            asked = Operation(operation)
            verdict = self._anywhere(asked, ResourceType.TOPIC)
            self._any[operation] = self._denied(asked, CLUSTER, verdict)
        return self._any[operation]

    def anything(self) -> bool:
        if self._anything is None:
            self._anything = any(
                self._anywhere(operation, kind).allowed
                for kind in CODES
                for operation in Operation
                if operation not in _NOT_ONE
            )
        return self._anything

    def _anywhere(self, operation: Operation, kind: ResourceType) -> Verdict:
        if not self.principal:
            return _UNTRUSTED
        return self._authorizer.authorize_any(self.principal, self.host, operation, kind)

    def _denied(self, operation: Operation, named: Resource, verdict: Verdict) -> Denied | None:
        if verdict.allowed:
            self.allowed_by.add(verdict)
            return None
        settings = self.view.settings
        why = denied(self.principal, operation, named, verdict, settings.home)
        if settings.is_relative or named is CLUSTER:
            return why
        shown = absolute.spell_text(settings, named.text)[0]
        return replace(
            why, message=_sentence(self.principal, operation.name, named.type.name, shown)
        )


def denied(
    principal: str, operation: Operation, named: Resource, verdict: Verdict, home: str
) -> Denied:
    """The denial of an operation on a resource; ``home`` is the home of the client's view."""
    return Denied(
        CODES[named.type],
        _sentence(principal, operation.name, named.type.name, _seen_from(home, named)),
        ACL_RULE,
        operation.name,
        str(named),
        verdict.rule,
    )


def as_asked(denial: Denied, principal: str, spelled: bytes) -> Denied:
    """The denial for a client that wrote ``spelled``. It does not reveal the main name of a moved
    topic, because ``spelled`` may be an alias."""
    kind = denial.resource.partition(" ")[0]
    name = spelled.decode(errors="replace")
    return replace(denial, message=_sentence(principal, denial.operation, kind, name))


def unnamed(denial: Denied, principal: str) -> Denied:
    """The denial for a client that requested an id; it does not reveal the topic's name."""
    kind = denial.resource.partition(" ")[0]
    return replace(denial, message=_sentence(principal, denial.operation, kind, None))


def _sentence(principal: str, operation: str, kind: str, name: str | None) -> str:
    what = kind.lower().replace("_", " ")
    if kind == ResourceType.CLUSTER.name:
        shown = what
    else:
        shown = f"this {what}" if name is None else f"{what} '{name}'"
    who = principal or "A client of this listener"
    return f"{who} is not allowed to {operation} {shown}."


def _seen_from(home: str, named: Resource) -> str | None:
    """A name as a client of this home writes it; None for a name that the client cannot write."""
    if named is CLUSTER or not home:
        return named.text
    inside = below(named.namespace, home) if named.namespace else None
    if inside is None:
        return None
    return f"{inside}{DELIMITER}{named.name}" if inside or not named.name else named.name
