"""A namespace is made, with every missing tier above it (KIP-37: Create). Pure decisions.

What exists under its flat names already would belong to it from then on: such topics are
*captured*. That is refused, with their names, unless they are adopted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.acl_model import Resource, ResourceType
from gateway.catalog.entities import Change, Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import carrying
from gateway.changes.base.refused import Refused
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS
from gateway.names import (
    DELIMITER,
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    decode,
    encode,
    flat_prefix,
    fold,
    is_reserved,
    parents,
)
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View

NAMED: Final = 10
"""Names in one error message; of the others it says how many there are."""


@dataclass(frozen=True, slots=True)
class NewNamespace:
    """What is asked for. ``configs`` and ``settings`` are the namespace's own, validated;
    ``captured`` the flat names that :func:`captured_by` found, with the config keys that are set on
    each topic; ``now`` is in milliseconds since the epoch."""

    path: str
    configs: Mapping[str, str]
    settings: Mapping[str, str]
    captured: Mapping[str, tuple[str, ...]]
    adopt: bool
    now: int


def check_tiers(view: View, path: str) -> list[str]:
    """The tiers to be made, outermost first, by the view's snapshot.

    Raises :class:`Refused` for a namespace that exists, one that is
    being deleted or below such a one, and one that no name has room in.
    """
    snapshot = view.snapshot
    deleting = snapshot.deleting_tier(path)
    if deleting is not None:
        raise _invalid(f"Namespace '{shown(view, deleting)}' is being deleted; try again later.")
    missing = [tier for tier in parents(path) if tier not in snapshot.namespaces]
    if not missing:
        message = f"Namespace '{shown(view, path)}' already exists."
        raise Refused(TOPIC_ALREADY_EXISTS, message)
    if len(flat_prefix(path)) >= MAX_FLAT_LENGTH:
        raise _invalid(
            f"Namespace '{shown(view, path)}' is too long: it leaves none of Kafka's "
            f"{MAX_FLAT_LENGTH} characters for a topic."
        )
    home = view.settings.home
    if home and not view.settings.escape and snapshot.missing_tier(home) is not None:
        raise _invalid(
            f"InvalidNamespaceException: namespace '{home}' of this listener does not exist."
        )
    return missing


def captured_by(snapshot: Snapshot, tiers: Collection[str], flats: Iterable[bytes]) -> list[str]:
    """The existing topics that would be these tiers', or fold into their flat names, sorted.

    A topic that has an entry keeps its name, whatever namespaces there are; but for one that was
    made a moment ago, whose entry is there because not every listing tells of it yet.
    """
    prefixes = tuple(fold(flat_prefix(tier)) for tier in tiers)
    held = snapshot.topics
    names = {
        name for flat in flats if (name := flat.decode()) not in held and not is_reserved(name)
    }
    names |= {flat for flat, entry in held.items() if is_new(entry) and not entry.creating}
    return sorted(flat for flat in names if fold(flat).startswith(prefixes))


def decide(access: Access, creation: NewNamespace) -> list[Change]:
    """The changes that make the namespace, by the snapshot of ``access``: all of them are one
    decision. Topics that may not be described are not named.

    Raises :class:`Refused`.
    """
    view = access.view
    tiers = check_tiers(view, creation.path)
    _check_names(access, creation.path, tiers)
    captured = captured_by(view.snapshot, tiers, [flat.encode() for flat in creation.captured])
    if captured and not creation.adopt:
        raise _captures(access, creation.path, captured)
    if any(flat not in creation.captured for flat in captured):
        raise _made_meanwhile()
    entries = [entry for flat in captured if (entry := _adopted(access, tiers, creation, flat))]
    made = [
        Namespace(tier, creation.configs, settings=creation.settings)
        if tier == creation.path
        else Namespace(tier)
        for tier in tiers
    ]
    return carrying(view.snapshot, [*made, *entries], _renamed(view, captured, entries))


def adopted_name(access: Access, tiers: Collection[str], flat: str) -> LogicalName:
    """What a captured topic is called as one of these tiers' own.

    Raises :class:`Refused` if it cannot be one.
    """
    name = decode(flat)
    return name if name.namespace in tiers else _folded_name(access, tiers, flat)


def check_capture(view: View, creation: NewNamespace, flats: Iterable[bytes]) -> None:
    """Raise Refused if more is captured by now than ``creation`` knows of."""
    tiers = check_tiers(view, creation.path)
    found = captured_by(view.snapshot, tiers, flats)
    if any(flat not in creation.captured for flat in found):
        raise _made_meanwhile()


def is_new(entry: TopicEntry) -> bool:
    """Whether an entry says of a topic of the default namespace no more than that it is being made,
    or was made a moment ago."""
    name, plain = LogicalName("", entry.flat), replace(entry, creating=False, since=0, counted=0)
    return bool(entry.creating or entry.counted) and plain == TopicEntry(entry.flat, name)


def shown(view: View, path: str) -> str:
    """A namespace as messages name it: the view's spelling without the final colon."""
    return (view.spell_namespace(path) or path).removesuffix(DELIMITER)


def listed(names: Collection[str], hidden: int = 0) -> str:
    """Names for a message: the first few, and how many more there are."""
    told = [f"'{name}'" for name in sorted(names)[:NAMED]]
    more = len(names) - len(told) + hidden
    if more:
        told.append(f"{more} more" if told else f"{more} that you do not see here")
    return ", ".join(told)


def _adopted(
    access: Access, tiers: Collection[str], creation: NewNamespace, flat: str
) -> TopicEntry | None:
    """The entry that an adopted topic needs; None: its flat name says everything.

    A name that only folds into the namespace's (``org__x`` for ``org``) is none of its own, so
    its entry says which it has there.
    """
    view = access.view
    if view.spell(flat.encode()) is None:
        raise _invalid(
            f"Namespace '{shown(view, creation.path)}' would take over topics that this listener "
            "does not see; whoever sees them can adopt them."
        )
    own = tuple(sorted(creation.captured[flat]))
    held = view.snapshot.topics.get(flat)
    counted = 0 if held is None else held.counted
    entry = TopicEntry(flat, decode(flat), own_configs=own, since=creation.now, counted=counted)
    if entry.name.namespace in tiers:
        return entry if own or counted else None
    name = _folded_name(access, tiers, flat)
    if view.snapshot.entry_of(name) is not None:
        raise _invalid(f"Topic '{_spelled(access, flat)}' cannot be adopted: '{name}' is taken.")
    return replace(entry, name=name)


def _renamed(
    view: View, captured: Collection[str], entries: Iterable[TopicEntry]
) -> Iterator[tuple[LogicalName, LogicalName]]:
    """The names that adopted topics had, and those that they get."""
    held = {entry.flat: entry.name for entry in entries}
    for flat in captured:
        yield view.snapshot.owner(flat), held.get(flat) or decode(flat)


def _folded_name(access: Access, tiers: Collection[str], flat: str) -> LogicalName:
    tier = next(t for t in tiers if fold(flat).startswith(fold(flat_prefix(t))))
    name = LogicalName(tier, flat[len(flat_prefix(tier)) :])
    try:
        encode(name)
    except InvalidName:
        raise _invalid(
            f"Topic '{_spelled(access, flat)}' cannot be adopted, and it stands in the way of "
            f"namespace '{shown(access.view, tier)}': nothing of its name is left for a topic in "
            "it."
        ) from None
    return name


def _check_names(access: Access, path: str, tiers: Collection[str]) -> None:
    """Refuse to take over names under which topics are known that are stored elsewhere: aliases,
    and names in the default namespace that topics were moved to."""
    view = access.view
    prefixes = tuple(fold(flat_prefix(tier)) for tier in tiers)
    snapshot = view.snapshot
    taken = [name for name in snapshot.default_names() if fold(name.topic).startswith(prefixes)]
    entries = {name: snapshot.entry_of(name) for name in taken}
    if any(entry is not None and is_new(entry) and entry.creating for entry in entries.values()):
        raise Refused(
            REQUEST_TIMED_OUT,
            f"A topic is being created whose name would be in namespace '{shown(view, path)}'; try"
            " again.",
        )
    taken = [name for name, entry in entries.items() if entry is None or not is_new(entry)]
    if not taken:
        return
    inside = not view.settings.home or view.settings.escape
    seen = [name.topic for name in taken if inside and _may_describe(access, name)]
    raise _invalid(
        f"Namespace '{shown(view, path)}' would take over names of topics that were moved: "
        f"{listed(seen, len(taken) - len(seen))}. Move them to other names, or wait until their "
        "aliases have expired."
    )


def _may_describe(access: Access, name: LogicalName) -> bool:
    """Whether a topic may be described by this name of it: it is asked about by its main one."""
    entry = access.view.snapshot.entry_of(name)
    main = name if entry is None else entry.name
    named = Resource(ResourceType.TOPIC, main.namespace, main.topic)
    return access.denial(DESCRIBE, named) is None


def _made_meanwhile() -> Refused:
    return Refused(REQUEST_TIMED_OUT, "Topics were made in the meantime; try again.")


def _captures(access: Access, path: str, captured: Collection[str]) -> Refused:
    seen = [found for flat in captured if (found := _seen(access, flat))]
    hidden = len(captured) - len(seen)
    return _invalid(
        f"Namespace '{shown(access.view, path)}' would take over existing topics: "
        f"{listed(seen, hidden)}. To adopt them, create it with the config gateway.adopt=true."
    )


def _seen(access: Access, flat: str) -> str | None:
    """A topic as it is called here; None: it is not seen here, or may not be described."""
    found = access.view.spell(flat.encode())
    if found is None or access.flat(DESCRIBE, flat.encode()) is not None:
        return None
    return found.decode()


def _spelled(access: Access, flat: str) -> str:
    return _seen(access, flat) or "(another topic)"


def _invalid(message: str) -> Refused:
    return Refused(INVALID_TOPIC_EXCEPTION, message)
