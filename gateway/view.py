"""A view: what one client sees, by its listener's settings (and later its principal).

It turns the names a client writes into flat names and back. Every answer is cached, since the
hot path asks for the same few names again and again; a new catalog snapshot makes a new view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_GROUP_ID,
    INVALID_REQUEST,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    InvalidName,
    LogicalName,
    encode,
    flat_prefix,
    is_reserved,
)
from protocol.primitives import compact_string, legacy_string

Spelling = Literal["colon", "legal"]


CACHE_LIMIT: Final = 100_000
"""Names kept per direction; a client that asks for more distinct ones starts the cache afresh."""

MAX_ID_BYTES: Final = 32_767
"""The longest string of a non-flexible version (int16 length)."""


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """A listener's part of a view.

    ``home`` is the namespace that bare names resolve in and that confines the view (``""``: none).
    ``escape`` lets a name with a leading ``:`` (legal: ``..``) reach the root all the same.
    """

    listener: str
    spelling: Spelling = "colon"
    home: str = ""
    escape: bool = False


class View:
    """Names as one kind of client sees them, over one catalog snapshot."""

    def __init__(self, settings: ViewSettings, snapshot: Snapshot) -> None:
        self.settings = settings
        self.snapshot = snapshot
        self.id_prefix = flat_prefix(settings.home).encode()
        self._resolved: dict[bytes, Resolved | Denied] = {}
        self._spelled: dict[bytes, bytes | None] = {}

    def resolve(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names; denied as unknown when it may not be named."""
        found = self._resolved.get(spelled)
        if found is None:
            if len(self._resolved) >= CACHE_LIMIT:
                self._resolved.clear()
            found = self._resolved[spelled] = self._resolve(spelled)
        return found

    def spell(self, flat: bytes) -> bytes | None:
        """A flat name in the listener's spelling; None when this view may not see it."""
        try:
            return self._spelled[flat]
        except KeyError:
            if len(self._spelled) >= CACHE_LIMIT:
                self._spelled.clear()
            found = self._spelled[flat] = self._spell(flat)
            return found

    def lists(self, flat: bytes) -> bool:
        """Whether a listing shows this flat name: under a home only what is in the home itself."""
        spelled = self.spell(flat)
        if spelled is None:
            return False
        home = self.settings.home
        return not home or self.snapshot.owner(flat.decode()).namespace == home

    def parse(self, spelled: str) -> LogicalName:
        """The logical name a spelling stands for, whether or not its namespace exists.

        Raises :class:`gateway.names.InvalidName` for what names no topic, or none in this view.
        """
        home, escape = self.settings.home, self.settings.escape
        if not home:
            return self._parse_from_root(spelled.removeprefix(DELIMITER))
        for mark in (DELIMITER, END_OF_NAMESPACE):
            if spelled.startswith(mark):
                if escape:
                    return self._parse_from_root(spelled.removeprefix(mark))
                raise InvalidName(f"'{spelled}' is outside namespace '{home}' of this listener")
        namespace, topic = _split(spelled)
        return LogicalName(f"{home}{DELIMITER}{namespace}" if namespace else home, topic)

    def group_to_broker(self, group: bytes) -> bytes | Denied:
        """A group id as the broker knows it: under a home it carries the home's flat prefix."""
        if not group and self.id_prefix:
            return Denied(INVALID_GROUP_ID, "The group id is empty.", "names")
        return self._id_to_broker(group, GROUP_AUTHORIZATION_FAILED, "Group")

    def transactional_id_to_broker(self, transactional_id: bytes) -> bytes | Denied:
        """A transactional id as the broker knows it, prefixed as a group id is."""
        if not transactional_id and self.id_prefix:
            return Denied(INVALID_REQUEST, "The transactional id is empty.", "names")
        code = TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return self._id_to_broker(transactional_id, code, "Transactional id")

    def id_to_client(self, broker_id: bytes) -> bytes | None:
        """A group or transactional id as this view shows it; None when it is not this view's."""
        if self.id_prefix:
            if not broker_id.startswith(self.id_prefix):
                return None
            return broker_id[len(self.id_prefix) :]
        return None if is_reserved(broker_id.decode(errors="replace")) else broker_id

    def _id_to_broker(self, client_id: bytes, code: int, what: str) -> bytes | Denied:
        broker_id = self.id_prefix + client_id
        if len(broker_id) > MAX_ID_BYTES:
            room = MAX_ID_BYTES - len(self.id_prefix)
            return Denied(INVALID_REQUEST, f"{what} is longer than {room} bytes.", "names")
        shown = broker_id.decode(errors="replace")
        if is_reserved(shown):
            return Denied(code, f"{what} '{shown}' is reserved for the gateway.", "reserved")
        return broker_id

    def _parse_from_root(self, spelled: str) -> LogicalName:
        if DELIMITER in spelled:
            return LogicalName(*_split(spelled))
        return self.snapshot.spelled(spelled)

    def _resolve(self, spelled: bytes) -> Resolved | Denied:
        text = spelled.decode(errors="replace")
        try:
            name = self.parse(text)
            missing = self.snapshot.missing_tier(name.namespace)
            flat = self.snapshot.flat_of(name)
        except InvalidName as error:
            return _unknown(f"{_sentence(str(error))}", "names")
        if missing is not None:
            return _unknown(
                f"InvalidNamespaceException: namespace '{missing}' does not exist, "
                f"so topic '{text}' cannot be used; create the namespace first.",
                "namespace",
            )
        if flat is None:
            return _unknown(f"Topic '{text}' does not exist.", "names")
        if is_reserved(flat):
            return _unknown(f"Topic '{text}' is reserved and does not exist here.", "reserved")
        wire = flat.encode()
        return Resolved(name.namespace, str(name), wire, legacy_string(wire), compact_string(wire))

    def _spell(self, flat: bytes) -> bytes | None:
        text = flat.decode(errors="replace")
        if is_reserved(text):
            return None
        name = self.snapshot.owner(text)
        home = self.settings.home
        if home:
            inside = _below(name.namespace, home)
            shown = "" if inside is None else str(LogicalName(inside, name.topic))
            # A topic that begins with ".." reads as one outside the home: it has no name here.
            if shown and not shown.startswith(END_OF_NAMESPACE):
                return shown.encode()
            if not self.settings.escape:
                return None
        legal = self.settings.spelling == "legal"
        try:
            shown = encode(name) if legal else str(name)
        except InvalidName:
            return None
        if home:
            shown = (END_OF_NAMESPACE if legal else DELIMITER) + shown
        elif not name.namespace and self.snapshot.spelled(shown) != name:
            shown = DELIMITER + shown
        return shown.encode()


def _split(spelled: str) -> tuple[str, str]:
    namespace, _, topic = spelled.rpartition(DELIMITER)
    if not topic:
        raise InvalidName(f"'{spelled}' names a namespace, not a topic in it")
    return namespace, topic


def _below(namespace: str, home: str) -> str | None:
    """``namespace`` relative to ``home``; None when it is not in its subtree."""
    if namespace == home:
        return ""
    inside = namespace.removeprefix(home + DELIMITER)
    return inside if inside != namespace else None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _unknown(message: str, rule: str) -> Denied:
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, rule)
