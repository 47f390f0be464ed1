"""Access: the operations that a principal may do in a view.

The view resolves a name first, then the authorizer decides (``authorized_access``). Without an
authorizer, everything that a view shows is allowed, as in Kafka.
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
from gateway.catalog.freezes import NOTHING_FROZEN, Frozen
from gateway.catalog.snapshot import Snapshot
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
    """The topic of a name for an operation that needs the topic's own name (``NOT_BY_LINK``)."""
    if not isinstance(found, Denied) and found.link:
        return Denied(INVALID_REQUEST, link_sentence(spelled.decode(errors="replace")), "link")
    return found


def link_sentence(name: str) -> str:
    """The message of a denial to change a topic under a link. It does not name the topic, because
    the client may not be allowed to know it."""
    return f"'{name}' is a link to a topic; change or delete the topic under its own name."


NOT_BY_LINK: Final = frozenset({ALTER, DELETE, int(Operation.ALTER_CONFIGS)})
"""Operations that need a topic's own name. A link allows only to read, write and describe."""


class Access:
    """The rights of ``principal`` at ``host`` (an IP address) in a view. This class allows
    everything; :class:`gateway.views.authorized_access.AuthorizedAccess` does not. ``operation`` is
    always a code of :class:`Operation`."""

    authorizes = False

    def __init__(self, view: View, principal: str, host: str) -> None:
        self.view = view
        self.principal = principal
        self.host = host
        self.allowed_by = AllowedBy()

    # -- the hot path -----------------------------------------------------------------------------

    def to_read(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if the client may read it."""
        return self.view.resolve(spelled)

    def to_write(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if the client may write to it."""
        return self.view.resolve(spelled)

    # -- topics -----------------------------------------------------------------------------------

    def topic(self, operation: int, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names, if ``operation`` is allowed on it (0: no
        operation is checked). Operations that change a topic or its records need its own name."""
        found = self.view.resolve(spelled)
        return own_name(spelled, found) if operation in NOT_BY_LINK else found

    def subscribed(self, spelled: bytes) -> Resolved | Denied:
        """The topic of a name in a member's subscription or assignment, if the client may describe
        the topic: a name that is kept reveals the topic that it leads to, a name that is left out
        reveals nothing. The topic may be frozen (:meth:`View.subscribed`)."""
        return self.view.subscribed(spelled)

    def by_id(self, operation: int, flat: bytes, topic_id: bytes) -> Denied | None:
        """The denial of ``operation`` on the topic that is stored as ``flat`` and that a client
        knows by this id. If a link has the id, the link is authorized."""
        return None

    def shown(self, flat: bytes) -> bytes | None:
        """The name, in the view's spelling, of a broker's topic that the client did not name; None
        if the client may describe the topic under no name."""
        return self.view.spell(flat)

    def listed(self, flat: bytes) -> bytes | None:
        """The name, in the view's spelling, by which a listing with one name for each topic shows a
        broker's topic; None if it has no name in a listing that the client may describe."""
        return self.view.listed(flat)

    def flat_denial(self, operation: int, flat: bytes) -> Denied | None:
        """The denial of ``operation`` on a broker's topic under the name that the view spells; None
        if allowed. Only for this folder: the client may have rights under another name, a link, so
        others call :meth:`topic`, :meth:`subscribed`, :meth:`by_id`, :meth:`shown` or
        :meth:`listed`."""
        return None

    # -- groups and transactional ids -------------------------------------------------------------

    def group(self, operation: int, group: bytes) -> bytes | Denied:
        """A client's group id as the broker knows it, if ``operation`` is allowed on the group."""
        return self.view.group_to_broker(group)

    def transactional_id(self, operation: int, transactional_id: bytes) -> bytes | Denied:
        """A transactional id as the broker knows it, if ``operation`` is allowed on the id."""
        return self.view.transactional_id_to_broker(transactional_id)

    def id_denial(self, operation: int, kind: ResourceType, client_id: bytes) -> Denied | None:
        """The denial of ``operation`` on a client's group or transactional id, in the client's
        spelling; None if allowed."""
        return None

    # -- the rest ---------------------------------------------------------------------------------

    def denial(self, operation: int, named: Resource) -> Denied | None:
        """The denial of ``operation`` on a resource; None if allowed."""
        return None

    def cluster(self, operation: int) -> Denied | None:
        """The denial of ``operation`` on the cluster; None if allowed."""
        return self.denial(operation, CLUSTER)

    def any_topic(self, operation: int) -> Denied | None:
        """The denial of ``operation`` on every topic (KIP-679); None if the operation is allowed on
        some topic."""
        return None

    def anything(self) -> bool:
        """Whether any operation is allowed on any resource of the volume."""
        return True

    def lists_group(self, broker_id: bytes) -> bool:
        """Whether a listing shows this group; DESCRIBE on the cluster shows every group of the view
        (KafkaApis: ListGroups)."""
        return True

    # -- namespaces -------------------------------------------------------------------------------

    def namespace(self, operation: int, path: str) -> Denied | None:
        """The denial of ``operation`` on a namespace; None if allowed. The cluster's ACLs decide
        about the default namespace (``""``)."""
        if not path:
            return self.cluster(operation)
        return self.denial(operation, Resource(ResourceType.TOPIC, path, ""))

    def creation(self, named: Resource) -> Denied | None:
        """The denial of creating a topic or namespace; None if allowed. In the default namespace
        CREATE on the cluster is enough (Kafka's rule for CreateTopics)."""
        denied = self.denial(CREATE, named)
        if denied is None or (not named.namespace and self.cluster(CREATE) is None):
            return None
        return denied

    def thawed(self) -> Access:
        """The same access as if nothing were frozen; itself when nothing is frozen."""
        return self.over(self.view.thawed()) if self.view.frozen else self

    # -- ACLs themselves --------------------------------------------------------------------------

    def on(self, snapshot: Snapshot, frozen: Frozen = NOTHING_FROZEN) -> Access:
        """The same client's access on another state of the catalog, read or being decided: its
        names lead where they lead there, and its rights are those that it has there."""
        return self.over(View(self.view.settings, snapshot, frozen=frozen))

    def over(self, view: View) -> Access:
        """The access of the same principal in another view, with the rights of the view's state of
        the catalog, or of a later one that is read."""
        return Access(view, self.principal, self.host)

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """The ACLs that match a filter, in absolute names."""
        return ()

    def manages(self, pattern: ResourcePattern) -> bool:
        """Whether the principal may see and change a pattern's ACLs because the pattern's namespace
        is delegated to the principal."""
        return False

    # -- resources by name ------------------------------------------------------------------------

    def topic_resource(self, spelled: bytes) -> Resource | None:
        """The resource of a topic name, even if it does not exist: the topic, or the namespace for
        a name that ends in ``:`` (legal: ``..``); None for a name that is not valid in this view.

        An alias stands for the main name of the moved topic, because the ACLs moved along. A link
        stands for itself.
        """
        pause_point()  # the name is parsed at each call
        view, text = self.view, spelled.decode(errors="replace")
        try:
            # Whether or not it exists, so that a denial does not tell.
            path = view.namespace_named(text, existing=False)
            if path is not None:
                return Resource(ResourceType.TOPIC, path, "")
            name = view.parse(text)
        except InvalidName:
            return None
        entry = view.snapshot.entry_of(name)
        if entry is not None and (name not in view.snapshot.links or name in entry.names):
            name = entry.name
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def topic_id_resource(self, flat: bytes, topic_id: bytes) -> Resource:
        """The resource that a client names by a topic id: the topic stored as ``flat``, or a link
        to the topic."""
        link = self.view.snapshot.link_under(topic_id)
        if link is not None:
            return Resource(ResourceType.TOPIC, link.namespace, link.topic)
        return self.flat_resource(flat)

    def flat_resource(self, flat: bytes) -> Resource:
        """The topic that the broker stores under a flat name, by its name in this view."""
        name = self.view.name_of(flat)
        return Resource(ResourceType.TOPIC, name.namespace, name.topic)

    def id_resource(self, kind: ResourceType, client_id: bytes) -> Resource:
        """A group or transactional id as this view's clients write it; under a home it belongs to
        the home."""
        text = self.view.own_id(client_id).decode(errors="replace")
        home = self.view.settings.home
        return Resource(kind, home, text) if home else self._root_id(kind, text)

    def broker_id_resource(self, kind: ResourceType, broker_id: bytes) -> Resource:
        """A group or transactional id as the broker knows it; under a home it has the home's flat
        prefix."""
        return self._root_id(kind, broker_id.decode(errors="replace"))

    def _root_id(self, kind: ResourceType, text: str) -> Resource:
        """The resource of an absolute id: ``team-a..app`` is the group ``app`` of home team-a, even
        if there is no such namespace."""
        owned = owner_of_id(text)
        return resource(kind, text) if owned is None else Resource(kind, *owned)
