"""Access: what one principal may do with what one view shows.

The name is looked up first (``view``), then the authorizer is asked, and the answer is kept: the
hot path asks for the same few names again and again. A new catalog snapshot, or another principal,
makes a new Access. Without an authorizer everything that a view shows is allowed, as in a Kafka
without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.acl_model import (
    CLUSTER,
    AclBinding,
    Operation,
    Resource,
    ResourcePattern,
    ResourceType,
    resource,
)
from gateway.acls.allowed_by import AllowedBy
from gateway.acls.authorizer import AclFilter, Authorizer, Verdict
from gateway.acls.patterns import namespace_of
from gateway.decision import Denied, Resolved
from gateway.names import InvalidName
from gateway.views.denials import as_asked, denied, unnamed
from gateway.views.spelling import MAX_SPELLED, id_owner
from gateway.views.view import CACHE_LIMIT, View

READ: Final = int(Operation.READ)
WRITE: Final = int(Operation.WRITE)
CREATE: Final = int(Operation.CREATE)
DELETE: Final = int(Operation.DELETE)
ALTER: Final = int(Operation.ALTER)
DESCRIBE: Final = int(Operation.DESCRIBE)


class Access:
    """What ``principal`` at ``host`` (an IP address) may do in a view. All of it is allowed here:
    see :class:`AuthorizedAccess`. ``operation`` is a code of :class:`Operation` throughout."""

    authorizes = False

    def __init__(self, view: View, principal: str, host: str) -> None:
        self.view = view
        self.principal = principal
        self.host = host
        self.allowed_by = AllowedBy()

    # -- the hot path -----------------------------------------------------------------------------

    def to_read(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if it may be read."""
        return self.view.resolve(spelled)

    def to_write(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if it may be written."""
        return self.view.resolve(spelled)

    # -- topics -----------------------------------------------------------------------------------

    def topic(self, operation: int, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if ``operation`` is allowed on it (0: none is
        asked for)."""
        return self.view.resolve(spelled)

    def flat(self, operation: int, flat: bytes) -> Denied | None:
        """Why ``operation`` is not allowed on a topic of the broker's that the view shows."""
        return None

    # -- groups and transactional ids -------------------------------------------------------------

    def group(self, operation: int, group: bytes) -> bytes | Denied:
        """A client's group id as the broker knows it, if ``operation`` is allowed on it."""
        return self.view.group_to_broker(group)

    def transactional_id(self, operation: int, transactional_id: bytes) -> bytes | Denied:
        """The same for a transactional id."""
        return self.view.transactional_id_to_broker(transactional_id)

    # -- the rest ---------------------------------------------------------------------------------

    def denial(self, operation: int, named: Resource) -> Denied | None:
        """Why ``operation`` is not allowed on a resource; None: it is."""
        return None

    def cluster(self, operation: int) -> Denied | None:
        """Why ``operation`` is not allowed on the cluster."""
        return self.denial(operation, CLUSTER)

    def any_topic(self, operation: int) -> Denied | None:
        """Why ``operation`` is allowed on no topic at all (KIP-679); None: on some it is."""
        return None

    def lists_group(self, broker_id: bytes) -> bool:
        """Whether a listing shows this group: who may describe the cluster sees all of the view's
        (KafkaApis: ListGroups)."""
        return True

    # -- namespaces -------------------------------------------------------------------------------

    def namespace(self, operation: int, path: str) -> Denied | None:
        """Why ``operation`` is not allowed on a namespace; the default one (``""``) is the
        cluster's."""
        if not path:
            return self.cluster(operation)
        return self.denial(operation, Resource(ResourceType.TOPIC, path, ""))

    def creation(self, named: Resource) -> Denied | None:
        """Why a topic or namespace may not be made: CREATE on the cluster is enough where no
        namespace has a say (Kafka's own rule for CreateTopics)."""
        denied = self.denial(CREATE, named)
        if denied is None or (not named.namespace and self.cluster(CREATE) is None):
            return None
        return denied

    # -- ACLs themselves --------------------------------------------------------------------------

    def over(self, view: View) -> Access:
        """The same principal's, in another view."""
        return Access(view, self.principal, self.host)

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The ACLs that a filter means, in the catalog's terms."""
        return ()

    def manages(self, pattern: ResourcePattern) -> bool:
        """Whether the principal may see and change a pattern's ACLs because the namespace that it
        is in is delegated to it."""
        return False

    # -- what is named ----------------------------------------------------------------------------

    def topic_resource(self, spelled: bytes) -> Resource | None:
        """What a topic name stands for: the topic, or the namespace if it ends in ``:``, whether
        or not it exists; None for what names nothing in this view.

        A topic that was moved goes by its own name under its aliases too: its ACLs moved along.
        """
        view, text = self.view, spelled.decode(errors="replace")
        try:
            path = view.namespace_named(text)
            if path is not None:
                return Resource(ResourceType.TOPIC, path, "")
            name = view.parse(text)
        except InvalidName:
            return None
        entry = view.snapshot.entry_of(name)
        if entry is not None:
            name = entry.name
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def flat_resource(self, flat: bytes) -> Resource:
        """The topic that the broker stores under a flat name."""
        name = self.view.snapshot.owner(flat.decode(errors="replace"))
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def id_resource(self, kind: ResourceType, client_id: bytes) -> Resource:
        """A group or transactional id as this view's clients write it: one of its home's."""
        text = client_id.decode(errors="replace")
        home = self.view.settings.home
        return Resource(kind, home, text) if home else self._root_id(kind, text)

    def broker_id_resource(self, kind: ResourceType, broker_id: bytes) -> Resource:
        """A group or transactional id as the broker knows it: a home's carries its flat prefix."""
        return self._root_id(kind, broker_id.decode(errors="replace"))

    def _root_id(self, kind: ResourceType, text: str) -> Resource:
        """``team-a..app`` is the group ``app`` of home team-a, for whoever names it so."""
        owned = id_owner(self.view.snapshot, text)
        return resource(kind, text) if owned is None else Resource(kind, *owned)


class AuthorizedAccess(Access):
    """Asks an authorizer, and keeps what it said; of longer names than topics have it keeps
    nothing, so that nobody can fill the memory with them."""

    authorizes = True

    def __init__(self, view: View, principal: str, host: str, authorizer: Authorizer) -> None:
        super().__init__(view, principal, host)
        self._authorizer = authorizer
        self._reads: dict[bytes, Resolved | Denied] = {}
        self._writes: dict[bytes, Resolved | Denied] = {}
        self._verdicts: dict[tuple[int, Resource], Denied | None] = {}
        self._flats: dict[tuple[int, bytes], Denied | None] = {}
        self._any: dict[int, Denied | None] = {}

    def to_read(self, spelled: bytes) -> Resolved | Denied:
        """See :class:`Access`."""
        found = self._reads.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self.topic(READ, spelled)
            if len(self._reads) >= CACHE_LIMIT:
                self._reads.clear()
            found = self._reads[spelled] = self.topic(READ, spelled)
        return found

    def to_write(self, spelled: bytes) -> Resolved | Denied:
        """See :class:`Access`."""
        found = self._writes.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self.topic(WRITE, spelled)
            if len(self._writes) >= CACHE_LIMIT:
                self._writes.clear()
            found = self._writes[spelled] = self.topic(WRITE, spelled)
        return found

    def topic(self, operation: int, spelled: bytes) -> Resolved | Denied:
        """Denied before it is said whether there is such a topic, or such a namespace."""
        found = self.view.resolve(spelled)
        if self.view.closed or not operation:
            return found
        if not isinstance(found, Denied):
            why = self.flat(operation, found.flat)
        else:
            named = self.topic_resource(spelled)
            why = None if named is None else self.denial(operation, named)
        return found if why is None else as_asked(why, self.principal, spelled)

    def flat(self, operation: int, flat: bytes) -> Denied | None:
        """See :class:`Access`."""
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
        """See :class:`Access`."""
        found = self.view.group_to_broker(group)
        if isinstance(found, Denied) or not operation:
            return found
        return self.denial(operation, self.id_resource(ResourceType.GROUP, group)) or found

    def transactional_id(self, operation: int, transactional_id: bytes) -> bytes | Denied:
        """See :class:`Access`."""
        found = self.view.transactional_id_to_broker(transactional_id)
        if isinstance(found, Denied) or not operation:
            return found
        named = self.id_resource(ResourceType.TRANSACTIONAL_ID, transactional_id)
        return self.denial(operation, named) or found

    def lists_group(self, broker_id: bytes) -> bool:
        """See :class:`Access`."""
        if self.cluster(DESCRIBE) is None:
            return True
        named = self.broker_id_resource(ResourceType.GROUP, broker_id)
        return self.denial(DESCRIBE, named) is None

    def denial(self, operation: int, named: Resource) -> Denied | None:
        """See :class:`Access`."""
        key = (operation, named)
        try:
            return self._verdicts[key]
        except KeyError:
            pass
        asked = Operation(operation)
        verdict = self._authorizer.authorize(self.principal, self.host, asked, named)
        found = self._denied(asked, named, verdict)
        if len(named.namespace) + len(named.name) <= MAX_SPELLED:
            if len(self._verdicts) >= CACHE_LIMIT:
                self._verdicts.clear()
            self._verdicts[key] = found
        return found

    def over(self, view: View) -> Access:
        """See :class:`Access`."""
        made = AuthorizedAccess(view, self.principal, self.host, self._authorizer)
        made.allowed_by = self.allowed_by
        return made

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """See :class:`Access`."""
        return self._authorizer.acls(matching)

    def manages(self, pattern: ResourcePattern) -> bool:
        """See :class:`Access`."""
        manages = self._authorizer.may_manage(self.principal, self.host, pattern)
        namespace = namespace_of(pattern)
        if manages and namespace is not None:
            self.namespace(ALTER, namespace)  # so that the ACL which delegates it counts as used
        return manages

    def any_topic(self, operation: int) -> Denied | None:
        """See :class:`Access`."""
        if operation not in self._any:
            asked, kind = Operation(operation), ResourceType.TOPIC
            verdict = self._authorizer.authorize_any(self.principal, self.host, asked, kind)
            self._any[operation] = self._denied(asked, CLUSTER, verdict)
        return self._any[operation]

    def _denied(self, operation: Operation, named: Resource, verdict: Verdict) -> Denied | None:
        if verdict.allowed:
            self.allowed_by.add(verdict)
            return None
        home = self.view.settings.home
        return denied(self.principal, operation, named, verdict, home)
