"""Access: the operations that one principal may do in one view.

The view looks a name up first, then the authorizer decides, if there is one
(``authorized_access``). Without one, everything that a view shows is allowed, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.acl_model import (
    CLUSTER,
    AclBinding,
    AclFilter,
    Operation,
    Resource,
    ResourcePattern,
    ResourceType,
    resource,
)
from gateway.acls.authorizer import AllowedBy
from gateway.decision import Denied, Resolved
from gateway.error_codes import INVALID_REQUEST
from gateway.names import InvalidName, owner_of_id
from gateway.views.view import View
from protocol.pausing import pause_point

READ: Final = int(Operation.READ)
WRITE: Final = int(Operation.WRITE)
CREATE: Final = int(Operation.CREATE)
DELETE: Final = int(Operation.DELETE)
ALTER: Final = int(Operation.ALTER)
DESCRIBE: Final = int(Operation.DESCRIBE)


def own_name(spelled: bytes, found: Resolved | Denied) -> Resolved | Denied:
    """What a name stands for in an operation that needs a topic's own name (``NOT_BY_LINK``)."""
    if not isinstance(found, Denied) and found.link:
        return Denied(INVALID_REQUEST, link_sentence(spelled.decode(errors="replace")), "link")
    return found


def link_sentence(name: str) -> str:
    """Why a topic cannot be changed under a link; the client may not be allowed to know which."""
    return f"'{name}' is a link to a topic; change or delete the topic under its own name."


NOT_BY_LINK: Final = frozenset({ALTER, DELETE, int(Operation.ALTER_CONFIGS)})
"""Operations on a topic that need its own name: under a link it is read, written and described."""


class Access:
    """The rights of ``principal`` at ``host`` (an IP address) in a view: everything is allowed,
    but in :class:`gateway.views.authorized_access.AuthorizedAccess`. ``operation`` is a code of
    :class:`Operation` throughout."""

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
        """The topic that a client's spelling names, if ``operation`` is allowed on it (0: no
        operation is checked). Under a link nothing changes a topic or deletes of it."""
        found = self.view.resolve(spelled)
        return own_name(spelled, found) if operation in NOT_BY_LINK else found

    def subscribed(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a name in a member's subscription or assignment stands for, if the client
        may describe it: what is left out tells nothing, and a name that is kept tells that it leads
        to a topic, and to which. It may be frozen (:meth:`View.subscribed`)."""
        return self.view.subscribed(spelled)

    def by_id(self, operation: int, flat: bytes, topic_id: bytes) -> Denied | None:
        """Why ``operation`` is not allowed on the topic, stored as ``flat``, that a client knows by
        this id; a link's id stands for the link."""
        return None

    def shown(self, flat: bytes) -> bytes | None:
        """The name, in the view's spelling, of a topic of the broker's that the client did not
        name, or None if it may describe it under no name."""
        return self.view.spell(flat)

    def flat(self, operation: int, flat: bytes) -> Denied | None:
        """Why ``operation`` is not allowed on a topic of the broker's that the view shows."""
        return None

    # -- groups and transactional ids -------------------------------------------------------------

    def group(self, operation: int, group: bytes) -> bytes | Denied:
        """A client's group id as the broker knows it, if ``operation`` is allowed on it."""
        return self.view.group_to_broker(group)

    def transactional_id(self, operation: int, transactional_id: bytes) -> bytes | Denied:
        """A transactional id as the broker knows it, if ``operation`` is allowed on it."""
        return self.view.transactional_id_to_broker(transactional_id)

    def id_denial(self, operation: int, kind: ResourceType, client_id: bytes) -> Denied | None:
        """Why ``operation`` is denied on a group or transactional id that a client names, in the
        client's words."""
        return None

    # -- the rest ---------------------------------------------------------------------------------

    def denial(self, operation: int, named: Resource) -> Denied | None:
        """Why ``operation`` is denied on a resource, or None if it is allowed."""
        return None

    def cluster(self, operation: int) -> Denied | None:
        """Why ``operation`` is denied on the cluster."""
        return self.denial(operation, CLUSTER)

    def any_topic(self, operation: int) -> Denied | None:
        """Why ``operation`` is denied on every topic (KIP-679), or None if it is allowed on
        some."""
        return None

    def anything(self) -> bool:
        """Whether any operation is allowed on any resource of the volume at all."""
        return True

    def lists_group(self, broker_id: bytes) -> bool:
        """Whether a listing shows this group; DESCRIBE on the cluster shows all of the view's
        (KafkaApis: ListGroups)."""
        return True

    # -- namespaces -------------------------------------------------------------------------------

    def namespace(self, operation: int, path: str) -> Denied | None:
        """Why ``operation`` is denied on a namespace; for the default one (``""``) the cluster's
        ACLs count."""
        if not path:
            return self.cluster(operation)
        return self.denial(operation, Resource(ResourceType.TOPIC, path, ""))

    def creation(self, named: Resource) -> Denied | None:
        """Why a topic or namespace may not be created: in the default namespace CREATE on the
        cluster is enough (Kafka's rule for CreateTopics)."""
        denied = self.denial(CREATE, named)
        if denied is None or (not named.namespace and self.cluster(CREATE) is None):
            return None
        return denied

    def thawed(self) -> Access:
        """The same access as if nothing were frozen; itself if nothing is."""
        return self.over(self.view.thawed()) if self.view.frozen else self

    # -- ACLs themselves --------------------------------------------------------------------------

    def over(self, view: View) -> Access:
        """The access of the same principal in another view."""
        return Access(view, self.principal, self.host)

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The ACLs that match a filter, in absolute names."""
        return ()

    def manages(self, pattern: ResourcePattern) -> bool:
        """Whether the principal may see and change a pattern's ACLs as its namespace is delegated
        to it."""
        return False

    # -- resources by name ------------------------------------------------------------------------

    def topic_resource(self, spelled: bytes) -> Resource | None:
        """The resource of a topic name, whether or not it exists: the topic, or the namespace if
        it ends in ``:``; None for a name that is not valid in this view.

        An alias stands for the main name of the moved topic: its ACLs moved along. A link stands
        for itself.
        """
        pause_point()  # it is parsed each time
        view, text = self.view, spelled.decode(errors="replace")
        try:
            path = view.namespace_named(text)
            if path is not None:
                return Resource(ResourceType.TOPIC, path, "")
            name = view.parse(text)
        except InvalidName:
            return None
        entry = view.snapshot.entry_of(name)
        if entry is not None and (name not in view.snapshot.links or name in entry.names):
            name = entry.name
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def flat_resource(self, flat: bytes) -> Resource:
        """The topic that the broker stores under a flat name, by its name in this view."""
        name = self.view.name_of(flat)
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def id_resource(self, kind: ResourceType, client_id: bytes) -> Resource:
        """A group or transactional id as this view's clients write it: one of its home's."""
        text = self.view.own_id(client_id).decode(errors="replace")
        home = self.view.settings.home
        return Resource(kind, home, text) if home else self._root_id(kind, text)

    def broker_id_resource(self, kind: ResourceType, broker_id: bytes) -> Resource:
        """A group or transactional id as the broker knows it: a home's carries its flat prefix."""
        return self._root_id(kind, broker_id.decode(errors="replace"))

    def _root_id(self, kind: ResourceType, text: str) -> Resource:
        """The resource of an absolute id: ``team-a..app`` is the group ``app`` of home team-a,
        whether or not there is such a namespace."""
        owned = owner_of_id(text)
        return resource(kind, text) if owned is None else Resource(kind, *owned)
