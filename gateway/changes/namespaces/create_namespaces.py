"""Creates one namespace of a CreateTopics request, with every missing tier above it (KIP-37:
Create): validated by the broker, judged by policies, then decided and committed.

Existing topics whose flat names are in the namespace would belong to it from then on. Such topics
are *captured*, and so are groups and transactional ids (``captured_ids``). The namespace is
rejected, with their names, unless they are adopted. MirrorMaker's own topics (KIP-1074) are never
adopted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.acl_model import Resource, ResourceType
from gateway.catalog.entities import Change, Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import carrying
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import read_dynamic, validate_configs
from gateway.changes.base.catalog_limits import CatalogLimits
from gateway.changes.base.config_policies import namespace_violation
from gateway.changes.base.context import Context
from gateway.changes.base.existing_ids import NO_IDS, Ids
from gateway.changes.base.flat_acls import FlatAcls
from gateway.changes.base.inherited import inherited
from gateway.changes.base.rejected import (
    Rejected,
    list_names,
    reject_if,
    respelled,
    shown_namespace,
    shown_topic,
    try_again,
)
from gateway.changes.base.topic_policies import Arrival, check_arrivals, check_counted_limits
from gateway.changes.base.usage import LISTING_HOLDS
from gateway.changes.base.virtual_configs import is_virtual, read_adopt
from gateway.changes.namespaces.captured_ids import (
    captured_ids_and_acls,
    reject_captured,
    why_not_adopted,
)
from gateway.changes.namespaces.namespace_settings import SETTINGS, read_setting
from gateway.error_codes import (
    INVALID_CONFIG,
    INVALID_TOPIC_EXCEPTION,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
)
from gateway.mirror_maker import DEFAULT
from gateway.names import (
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    decode,
    encode,
    flat_prefix,
    fold,
    is_reserved,
    is_reserved_name,
    parents,
)
from gateway.views.access import DESCRIBE, Access
from gateway.views.spelling import hidden_by
from gateway.views.view import View


@dataclass(frozen=True, slots=True)
class NewNamespace:
    """A namespace that is requested."""

    path: str
    configs: Mapping[str, str]
    """Its own configs, validated."""
    settings: Mapping[str, str]
    """Its own settings, validated."""
    captured: Mapping[str, tuple[str, ...]]
    """The flat names that :func:`captured_by` found, with the config keys set on each topic."""
    adopt: bool
    now: int
    """Milliseconds since the epoch."""
    ids: Ids = NO_IDS
    """The groups and transactional ids that may be captured."""
    flat_acls: FlatAcls = field(default_factory=FlatAcls)


async def create_namespace(
    context: Context, access: Access, path: str, topic: Any, *, validate_only: bool
) -> dict[str, str]:
    """Create the namespace at ``path``, and every missing tier above it, in one decision.

    ``topic``: the entry of the request that names the namespace. Its configs become the namespace's
    own, and are returned. They, and adopted topics, are subject to policies. Raises
    :class:`Rejected`, and OSError if the catalog or the cluster cannot be reached.
    """
    settings = access.view.settings
    view = View(settings, context.catalog.snapshot)
    tiers = check_tiers(view, path)
    configs, own_settings, adopt = _read_configs(topic)
    if configs:
        values = inherited(view.snapshot, path) | configs
        reject_if(await validate_configs(context, values))
        why = await namespace_violation(context, access.principal, path, configs)
        reject_if(why and respelled(why, path, shown_namespace(view, path)))
    listed_at = context.clock()
    await context.cluster.refresh()
    index = context.cluster.index
    listing = index.version
    captured = captured_by(view.snapshot, tiers, list(index.names()))
    keys: dict[str, tuple[str, ...]] = dict.fromkeys(captured, ())
    if adopt and captured:
        keys = {flat: tuple(on) for flat, on in (await read_dynamic(context, captured)).items()}
    ids = NO_IDS if adopt else await _listed_ids(context, path)
    now, acls = context.clock(), context.flat_acls
    new = NewNamespace(path, configs, own_settings, keys, adopt, now, ids, acls)
    arrivals = await _check_adopted(context, access.over(view), tiers, new)
    limits, shown = CatalogLimits(context, access), f"namespace '{shown_namespace(view, path)}'"

    def decide_now(snapshot: Snapshot) -> Sequence[Change]:
        if context.clock() - listed_at > LISTING_HOLDS:
            raise Rejected.of(try_again("It took too long until the namespace could be created"))
        newest = access.on(snapshot)
        # Brokers were queried meanwhile, and a right may have been revoked.
        reject_if(next(iter(admin_rights.creations(newest, [topic]).values()), None))
        flats = list(index.names()) if index.version != listing else None
        changes = decide(newest, new, flats)
        check_counted_limits(context, access.principal, snapshot, arrivals, listed_at)
        reject_if(limits.why_not(snapshot, changes, shown, f"{path}:"))
        return changes

    await context.decide(decide_now, validate_only)
    return configs | own_settings


async def _listed_ids(context: Context, path: str) -> Ids:
    """The groups and transactional ids with the prefix of a namespace or of a namespace above it.
    Raises :class:`Rejected` if they cannot be listed."""
    prefixes = tuple(map(flat_prefix, parents(path)))
    return await context.ids.beginning(context.admin, context.cluster.api_versions, prefixes)


async def _check_adopted(
    context: Context, access: Access, tiers: Collection[str], new: NewNamespace
) -> list[Arrival]:
    """The topics that are adopted, if policies allow them. Raises :class:`Rejected`."""
    if not (new.adopt and new.captured and context.judge.policies.judges):
        return []
    decide(access, new)  # rejects impossible adoptions before policies judge them
    # They are adopted with their present configs: the namespace's configs have not reached them.
    names = {flat: _name_inside(access, tiers, flat) for flat in new.captured}
    arrivals = [
        Arrival(flat, name, {}, shown_topic(access.view, name)) for flat, name in names.items()
    ]
    return await check_arrivals(context, access.principal, access.view.snapshot, arrivals)


def _read_configs(topic: Any) -> tuple[dict[str, str], dict[str, str], bool]:
    """The namespace's own configs and settings, and whether topics are to be adopted."""
    given = {config.name: config.value for config in topic.configs}
    configs: dict[str, str] = {}
    for key, value in given.items():
        if is_virtual(key):
            continue
        if value is None:
            raise Rejected(INVALID_CONFIG, f"Config '{key}' has no value.")
        configs[key] = value
    virtual = {key: value for key, value in given.items() if is_virtual(key)}
    settings = {key: read_setting(key, virtual.pop(key)) for key in given if key in SETTINGS}
    return configs, settings, read_adopt(virtual)


# -- decisions -------------------------------------------------------------------------------------


def check_tiers(view: View, path: str) -> list[str]:
    """The tiers to be created, outermost first, on the view's snapshot.

    Raises :class:`Rejected` if the namespace exists, it or a namespace above it is being deleted,
    or its name leaves no room for a topic's name.
    """
    snapshot = view.snapshot
    deleting = snapshot.deleting_tier(path)
    if deleting is not None:
        shown = shown_namespace(view, deleting)
        raise _invalid(f"Namespace '{shown}' is being deleted; try again later.")
    shown = shown_namespace(view, path)
    mount = hidden_by(view.settings, path)
    if mount is not None:
        raise _invalid(
            f"Namespace '{shown}' would be hidden by the cluster mounted at '{mount}'; choose"
            " another name."
        )
    missing = [tier for tier in parents(path) if tier not in snapshot.namespaces]
    if not missing:
        raise Rejected(TOPIC_ALREADY_EXISTS, f"Namespace '{shown}' already exists.")
    if len(flat_prefix(path)) >= MAX_FLAT_LENGTH:
        raise _invalid(
            f"Namespace '{shown}' is too long: it leaves none of Kafka's "
            f"{MAX_FLAT_LENGTH} characters for a topic."
        )
    home = view.settings.home
    if home and not view.settings.escape and snapshot.missing_tier(home) is not None:
        raise _invalid(
            f"InvalidNamespaceException: namespace '{home}' of this listener does not exist."
        )
    return missing


def captured_by(snapshot: Snapshot, tiers: Collection[str], flats: Iterable[bytes]) -> list[str]:
    """The existing topics that would be in these tiers, or whose names fold into the tiers' flat
    names, sorted.

    A topic with an entry keeps its name in spite of new namespaces. Topics that were created a
    moment ago are captured all the same, because they have an entry only until every listing has
    them.
    """
    prefixes = tuple(fold(flat_prefix(tier)) for tier in tiers)
    held = snapshot.topics
    names = {
        name for flat in flats if (name := flat.decode()) not in held and not is_reserved(name)
    }
    names |= {flat for flat, entry in held.items() if _is_new(entry) and not entry.creating}
    return sorted(flat for flat in names if fold(flat).startswith(prefixes))


def decide(access: Access, new: NewNamespace, flats: Iterable[bytes] | None = None) -> list[Change]:
    """The changes that create the namespace, on the snapshot of ``access``: all of them are one
    decision.

    Topics that the client may not describe are not named. ``flats``: the cluster's topics, if they
    were listed after ``new`` was captured. Raises :class:`Rejected`.
    """
    view = access.view
    tiers = check_tiers(view, new.path)
    if flats is not None:
        _check_captured(captured_by(view.snapshot, tiers, flats), new)
    _check_names(access, new.path, tiers)
    captured = captured_by(view.snapshot, tiers, [flat.encode() for flat in new.captured])
    _check_mirror_maker(access, new.path, captured)
    if new.adopt:
        reject_if(why_not_adopted(access, tiers, topics=bool(captured)))
    else:
        topics = {"topics": [_seen(access, flat) for flat in captured]}
        besides = captured_ids_and_acls(access, tiers, new.ids, new.flat_acls)
        reject_captured(access.view, new.path, {**topics, **besides})
    _check_captured(captured, new)
    entries = [entry for flat in captured if (entry := _adopted(access, tiers, new, flat))]
    made = [
        Namespace(tier, new.configs, settings=new.settings) if tier == new.path else Namespace(tier)
        for tier in tiers
    ]
    names = {entry.flat: entry.name for entry in entries}
    renamed = [(view.snapshot.owner(f), names.get(f) or decode(f)) for f in captured]
    return carrying(view.snapshot, [*made, *entries], renamed)


def _check_mirror_maker(access: Access, path: str, captured: Sequence[str]) -> None:
    """Reject a namespace that would capture MirrorMaker's own topics (by their names without the
    namespace), adopted or not, because MirrorMaker starts over if it does not find them by name."""
    own = [flat for flat in captured if DEFAULT.is_mm2_internal_topic(decode(flat).topic)]
    if not own:
        return
    seen = [found for flat in own if (found := _seen(access, flat))]
    raise _invalid(
        f"Namespace '{shown_namespace(access.view, path)}' would take over topics of MirrorMaker's"
        f" own: {list_names(seen, len(own) - len(seen))}. MirrorMaker would not find them again:"
        " choose another name, or delete them if no MirrorMaker uses them. (A lost catalog is"
        " restored with kafka-gateway catalog import --adopt-existing.)"
    )


def _check_captured(captured: Iterable[str], new: NewNamespace) -> None:
    if any(flat not in new.captured for flat in captured):
        raise Rejected(REQUEST_TIMED_OUT, "Topics were made in the meantime; try again.")


def _is_new(entry: TopicEntry) -> bool:
    """Whether an entry records only that a topic of the default namespace is being created, or was
    created a moment ago."""
    name, plain = LogicalName("", entry.flat), replace(entry, creating=False, since=0, counted=0)
    return bool(entry.creating or entry.counted) and plain == TopicEntry(entry.flat, name)


def _adopted(
    access: Access, tiers: Collection[str], new: NewNamespace, flat: str
) -> TopicEntry | None:
    """The entry that an adopted topic needs; None if its flat name holds all of the entry.

    A flat name that only folds into the namespace's (``org__x`` for ``org``) is no name of the
    namespace, so the topic's entry records its name in the namespace.
    """
    view = access.view
    if view.spell(flat.encode()) is None:
        raise _invalid(
            f"Namespace '{shown_namespace(view, new.path)}' would take over topics that this"
            " listener does not see; a listener that sees them can adopt them."
        )
    own = tuple(sorted(new.captured[flat]))
    held = view.snapshot.topics.get(flat)
    counted = 0 if held is None else held.counted
    entry = TopicEntry(flat, decode(flat), own_configs=own, since=new.now, counted=counted)
    name = _name_inside(access, tiers, flat)
    if is_reserved_name(name):
        raise _invalid(
            f"Topic '{_spelled(access, flat)}' cannot be adopted: in a namespace the name"
            f" '{name.topic}' is reserved, so nobody could reach it. Delete it first."
        )
    if name == entry.name:
        return entry if own or counted else None
    if view.snapshot.entry_of(name) is not None:
        raise _invalid(f"Topic '{_spelled(access, flat)}' cannot be adopted: '{name}' is taken.")
    return replace(entry, name=name)


def _name_inside(access: Access, tiers: Collection[str], flat: str) -> LogicalName:
    """The name of a captured topic in one of these tiers. Raises :class:`Rejected`."""
    name = decode(flat)
    if name.namespace in tiers:
        return name
    tier = next(t for t in tiers if fold(flat).startswith(fold(flat_prefix(t))))
    name = LogicalName(tier, flat[len(flat_prefix(tier)) :])
    try:
        encode(name)
    except InvalidName:
        raise _invalid(
            f"Topic '{_spelled(access, flat)}' cannot be adopted, and it stands in the way of"
            f" namespace '{shown_namespace(access.view, tier)}': nothing of its name is left for a"
            " topic in it."
        ) from None
    return name


def _check_names(access: Access, path: str, tiers: Collection[str]) -> None:
    """Reject a namespace that would take over names of topics that are stored under other flat
    names: aliases, and names in the default namespace to which topics were moved."""
    view, snapshot = access.view, access.view.snapshot
    shown = shown_namespace(view, path)
    prefixes = tuple(fold(flat_prefix(tier)) for tier in tiers)
    taken = [name for name in snapshot.default_names() if fold(name.topic).startswith(prefixes)]
    entries = {name: snapshot.entry_of(name) for name in taken}
    if any(entry is not None and _is_new(entry) and entry.creating for entry in entries.values()):
        raise Rejected(
            REQUEST_TIMED_OUT,
            f"A topic is being created whose name would be in namespace '{shown}'; try again.",
        )
    taken = [
        name
        for name, entry in entries.items()
        if entry is None or name in snapshot.links or not _is_new(entry)
    ]
    if not taken:
        return
    with_links = any(
        entry is not None and snapshot.links_of(entry.flat) for entry in entries.values()
    )
    linked = " or are linked" if with_links else ""
    inside = not view.settings.home or view.settings.escape
    seen: list[str] = []
    for name in taken if inside else ():
        # A topic's main name authorizes the topic; a link's own name authorizes the link.
        entry = entries[name]
        main = name if entry is None or name in snapshot.links else entry.name
        named = Resource(ResourceType.TOPIC, main.namespace, main.topic)
        if access.denial(DESCRIBE, named) is None:
            seen.append(name.topic)
    raise _invalid(
        f"Namespace '{shown}' would take over names of topics that were moved{linked}:"
        f" {list_names(seen, len(taken) - len(seen))}. Move them to other names, or wait until"
        " their aliases have expired."
    )


def _seen(access: Access, flat: str) -> str | None:
    """A topic in this view's spelling; None if the client may describe it under no name."""
    shown = access.shown(flat.encode())
    return None if shown is None else shown.decode()


def _spelled(access: Access, flat: str) -> str:
    return _seen(access, flat) or "(another topic)"


def _invalid(message: str) -> Rejected:
    return Rejected(INVALID_TOPIC_EXCEPTION, message)
