"""Names in a view: parsing, spelling and the volume of a name; groups and transactional ids.

This is the part of a view (``view``) that depends only on its settings and the catalog's snapshot.
The view caches the names that the hot path looks up.
"""

from __future__ import annotations

from typing import Final

from gateway.catalog.entities import Link
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_GROUP_ID,
    INVALID_REQUEST,
    NOT_COORDINATOR,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.mounts import prefixes
from gateway.names import (
    DELIMITER,
    SLASH,
    InvalidName,
    LogicalName,
    flat_prefix,
    is_reserved_id,
)
from gateway.views import absolute, spelling
from gateway.views.spelling import MAX_SPELLED, ViewSettings

CACHE_LIMIT: Final = 100_000
"""Names cached per direction; if a client uses more distinct names, the cache is emptied."""

NAMESPACE_RULE: Final = "namespace"
"""The rule that denies a name whose namespace does not exist, or is being deleted."""

MAX_ID_BYTES: Final = 32_767
"""Bytes of the longest string of a non-flexible version (int16 length)."""


class Names:
    """The names of one view: see :class:`gateway.views.view.View`."""

    def __init__(self, settings: ViewSettings, snapshot: Snapshot) -> None:
        self.settings = settings
        self.snapshot = snapshot
        self.id_prefix = flat_prefix(settings.home).encode()
        self._volumes: dict[bytes, str] = {}
        self._volumes_of_ids: dict[bytes, str] = {}

    def name_of(self, flat: bytes) -> LogicalName:
        """The name of a topic in this view, by which its clients are authorized: the topic's own
        name, or else its first link in the view."""
        text = flat.decode(errors="replace")
        return spelling.name_shown(self.settings, self.snapshot, text)

    def spell_name(self, name: LogicalName) -> bytes | None:
        """A topic's name, an alias or a link, in the listener's spelling; None for a name that the
        view may not see."""
        shown = spelling.spell_name(self.settings, self.snapshot, name)
        return None if shown is None else shown.encode()

    def link_named(self, spelled: str) -> Link | None:
        """The link that a spelling names, even a dangling link; None for any other spelling."""
        try:
            name = self.parse(spelled)
        except InvalidName:
            return None
        snapshot = self.snapshot
        return None if snapshot.missing_tier(name.namespace) else snapshot.links.get(name)

    def parse(self, spelled: str) -> LogicalName:
        """The logical name that a spelling stands for, even if its namespace does not exist.

        Raises :class:`gateway.names.InvalidName` for a spelling that names no topic of this view.
        """
        return spelling.parse(self.settings, self.snapshot, spelled)

    def namespace_named(self, spelled: str, *, existing: bool = True) -> str | None:
        """The namespace that a name denotes; None for any other name. See ``spelling``.

        Raises :class:`gateway.names.InvalidName`.
        """
        return spelling.parse_namespace(self.settings, self.snapshot, spelled, existing=existing)

    def namespace_at(self, path: str) -> str | None:
        """The namespace at a path without a final delimiter, as for :meth:`namespace_named`; the
        view's mount is the default namespace, ``""``."""
        name = path + (SLASH if SLASH in path else DELIMITER)
        return "" if self.is_own_mount(name) else self.namespace_named(name)

    def ends_as_namespace(self, spelled: str) -> bool:
        """Whether a name has a final delimiter: such a name can only denote a namespace."""
        slash = self.settings.reads_slashes and spelled.endswith(SLASH)
        return slash or spelled.endswith(DELIMITER)

    def directory_named(self, spelled: str) -> str | None:
        """The path of the tree's directory that a name denotes: see ``spelling``."""
        return spelling.directory_named(self.settings, spelled)

    def is_outermost(self, spelled: str) -> bool:
        """Whether a name stands for the outermost namespace of the view: ``:`` alone; in a tree the
        view's mount, and also ``:`` if no cluster is mounted at the root."""
        settings = self.settings
        if spelled != DELIMITER and not (spelled == SLASH and settings.reads_slashes):
            return self.is_own_mount(spelled)
        mounts = settings.mounts
        if mounts is None or settings.home or mounts.at("") is None:
            return settings.is_relative
        return settings.volume == ""

    def is_own_mount(self, spelled: str) -> bool:
        """Whether a name (with its final delimiter) is the mount of the view's volume."""
        settings = self.settings
        if settings.mounts is None or settings.home or settings.shut:
            return False
        return spelled in prefixes(settings.volume)

    def spell_namespace(self, path: str) -> str | None:
        """A namespace in the spelling that :meth:`namespace_named` reads; None for a namespace
        outside this view."""
        return spelling.spell_namespace(self.settings, path)

    # -- volumes of a tree ----------------------------------------------------------------------

    def volume_of_topic(self, spelled: bytes) -> str:
        """The mount of the volume that owns the name of a topic or namespace, whatever the volume
        of this view. If no volume owns the name, the listener's volume answers with the error."""
        try:
            return self._volumes[spelled]
        except KeyError:
            pass
        settings = self.settings
        if settings.mounts is None:
            return settings.volume
        owner = spelling.volume_of(settings, spelled.decode(errors="replace"))
        found = settings.listener_volume if owner is None else owner.path
        return _cached(self._volumes, spelled, found)

    def volume_of_group(self, client_id: bytes) -> str:
        """The mount of the volume that owns a group or transactional id."""
        try:
            return self._volumes_of_ids[client_id]
        except KeyError:
            pass
        settings = self.settings
        if settings.mounts is None:
            return settings.volume
        found = absolute.parse_id(settings, settings.mounts, client_id)[0]
        return _cached(self._volumes_of_ids, client_id, found)

    # -- groups and transactional ids -----------------------------------------------------------

    def group_to_broker(self, group: bytes) -> bytes | Denied:
        """A group id as the broker knows it. Under a home it has the home's flat prefix, so that
        the empty id, too, is a group of this home alone."""
        return self._id_to_broker(group, GROUP_AUTHORIZATION_FAILED, "Group")

    def transactional_id_to_broker(self, transactional_id: bytes) -> bytes | Denied:
        """A transactional id as the broker knows it, with the same prefix as a group id."""
        if not transactional_id and self.id_prefix:
            return Denied(INVALID_REQUEST, "The transactional id is empty.", "names")
        code = TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return self._id_to_broker(transactional_id, code, "Transactional id")

    def id_to_client(self, broker_id: bytes) -> bytes | None:
        """A group or transactional id as this view shows it; None for an id outside this view."""
        if self.id_prefix:
            if not broker_id.startswith(self.id_prefix):
                return None
            return broker_id[len(self.id_prefix) :]
        if is_reserved_id(broker_id.decode(errors="replace")):
            return None
        mounts = self.settings.mounts
        if mounts is None or not broker_id:
            return broker_id
        if self.settings.home_elsewhere:
            return None
        shown = absolute.spell_id(self.settings, mounts, broker_id)
        return shown if len(shown) <= MAX_ID_BYTES else None

    def own_id(self, client_id: bytes) -> bytes:
        """A group or transactional id of this view's volume, without the mount that a client may
        write before the id."""
        settings = self.settings
        if settings.mounts is None:
            return client_id
        return absolute.parse_id(settings, settings.mounts, client_id)[1]

    def _id_to_broker(self, client_id: bytes, code: int, what: str) -> bytes | Denied:
        mounts = self.settings.mounts
        if mounts is not None:
            volume, own = absolute.parse_id(self.settings, mounts, client_id)
            if volume != self.settings.volume:
                named = client_id[:MAX_SPELLED].decode(errors="replace")
                why = f"{what} '{named}' is in the volume mounted at ':{volume}', not in this one."
                return Denied(NOT_COORDINATOR, why, "volume")
            if client_id and not own:
                return Denied(INVALID_GROUP_ID, f"{what} is empty after its mount.", "names")
            client_id = own
        broker_id = self.id_prefix + client_id
        if len(broker_id) > MAX_ID_BYTES:
            room = MAX_ID_BYTES - len(self.id_prefix)
            return Denied(INVALID_REQUEST, f"{what} is longer than {room} bytes.", "names")
        shown = broker_id.decode(errors="replace")
        if is_reserved_id(shown):
            return Denied(code, f"{what} '{shown}' is reserved for the gateway.", "reserved")
        if self.snapshot.deleting:
            owned = spelling.id_owner(self.snapshot, shown)
            # Groups are deleted with their namespace, so their members have to leave.
            if owned is not None and self.snapshot.deleting_tier(owned[0]) is not None:
                return Denied(code, f"{what} '{shown}' is being deleted.", NAMESPACE_RULE)
        return broker_id


def _cached(volumes: dict[bytes, str], name: bytes, volume: str) -> str:
    """The ``volume`` of a name or id; it is cached unless the name is too long."""
    if len(name) <= MAX_SPELLED:
        if len(volumes) >= CACHE_LIMIT:
            volumes.clear()
        volumes[name] = volume
    return volume
