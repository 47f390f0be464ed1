"""The cluster's verdict on an import, before it is committed: configs, names that are taken, and
what new namespaces would take over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from gateway.catalog.entities import Link, Namespace, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import validate_configs
from gateway.changes.base.context import Context
from gateway.changes.base.rejected import Rejected
from gateway.changes.namespaces.captured_ids import captured_ids
from gateway.changes.namespaces.create_namespaces import captured_by
from gateway.commands.catalog.as_requested import names_of
from gateway.commands.catalog.diff import Difference
from gateway.commands.catalog.file import Imported
from gateway.commands.errors import Unavailable
from gateway.commands.output import Progress, shortened
from gateway.config.errors import Problem
from gateway.names import decode, encode, flat_prefix


async def judged(
    context: Context, imported: Imported, found: Sequence[Difference], *, adopt: bool
) -> list[Problem]:
    """The reasons why these differences must not be committed; empty if they may be.

    The differences start from the snapshot of the context's catalog. If ``adopt``, new namespaces
    may take over the topics, groups and transactional ids whose names fall in them. Raises OSError
    if no broker responds, and Unavailable if a broker does not list its groups.
    """
    snapshot = context.catalog.snapshot
    result = snapshot.apply([one.change for one in found], snapshot.version + 1)
    changed = [one.after for one in found if isinstance(one.after, Namespace)]
    made = {one.path for one in changed if one.path not in snapshot.namespaces}
    async with Progress("asking the brokers about the configs of namespaces") as progress:
        reasons = await _config_problems(context, imported, result, changed, progress)
    named = [one for one in found if isinstance(one.after, TopicEntry | Link)]
    if made or named:
        await context.cluster.refresh()
        reasons += _taken_problems(context, imported, result, named)
    if made:
        reasons += _capture_problems(context, imported, result, made, adopt=adopt)
        reasons += [] if adopt else await _id_problems(context, imported, made)
    return reasons


async def _config_problems(
    context: Context,
    imported: Imported,
    result: Snapshot,
    changed: Sequence[Namespace],
    progress: Progress,
) -> list[Problem]:
    problems_found = []
    good: set[frozenset[tuple[str, str]]] = {frozenset()}
    for number, one in enumerate(changed):
        progress.text = f"{number:,} of {len(changed):,}"
        inherited = result.effective_configs(one.path)
        effective = {key: value for key, (value, _) in inherited.items()}
        if not one.configs or frozenset(effective.items()) in good:
            continue
        denied = await validate_configs(context, effective)
        if denied is None:
            good.add(frozenset(effective.items()))
            continue
        key, message = await _culprit(context, one.configs, denied.message)
        text = f"{message.rstrip('.')}, says the broker of namespace '{one.path}'; correct it"
        problems_found.append(imported.problem(key_of(one), text, key))
    return problems_found


async def _culprit(context: Context, configs: Mapping[str, str], message: str) -> tuple[str, str]:
    """The key that the broker rejects by itself, and the reason; ``""`` if the broker rejects
    only all configs together."""
    for key, value in configs.items():
        denied = await validate_configs(context, {key: value})
        if denied is not None:
            return key, denied.message
    return "", message


def _taken_problems(
    context: Context, imported: Imported, result: Snapshot, named: Sequence[Difference]
) -> Iterator[Problem]:
    """A problem for each name of an entry or a link that a topic of the cluster has already,
    because that topic could not be reached any more."""
    for one in named:
        assert isinstance(one.after, TopicEntry | Link)
        for name in names_of(one.after):
            flat = encode(name)
            is_own = isinstance(one.after, TopicEntry) and one.after.flat == flat
            if is_own or flat in result.topics:
                continue
            if context.cluster.index.exists(flat.encode()):
                text = (
                    f"'{name}' is the name of an existing topic; choose another, or move the topic"
                )
                yield imported.problem(one.key, text)


def _capture_problems(
    context: Context, imported: Imported, result: Snapshot, made: Set[str], *, adopt: bool
) -> Iterator[Problem]:
    flats: defaultdict[str, list[bytes]] = defaultdict(list)
    for flat in context.cluster.index.names():
        tier = result.folds_into(flat.decode())
        if tier is not None and tier in made:
            flats[tier].append(flat)
    step = "--adopt-existing makes them its own"
    if adopt:
        step = "give them an entry in 'topics', with 'flat' and a 'name' in it"
    for path, inside in sorted(flats.items()):
        captured = captured_by(result, [path], inside)
        if adopt:
            captured = [flat for flat in captured if decode(flat).namespace != path]
        if captured:
            text = f"would take over existing topics: {shortened(captured)}; {step}"
            yield imported.problem(("namespace", path), text)


async def _id_problems(context: Context, imported: Imported, made: Set[str]) -> list[Problem]:
    prefixes = tuple(map(flat_prefix, made))
    versions = context.cluster.api_versions
    try:
        ids = await context.ids.beginning(context.admin, versions, prefixes)
    except Rejected as rejected:
        raise Unavailable(rejected.why.message) from None
    kinds = (("groups", ids.groups), ("transactional ids", ids.transactional))
    return [
        imported.problem(
            (Namespace.KIND, path),
            f"would take over existing {kind}: {shortened(inside)}; --adopt-existing makes them"
            " its own",
        )
        for kind, listed in kinds
        for path, inside in sorted(captured_ids(made, listed).items())
    ]


async def lost_topics(
    context: Context, imported: Imported, found: Sequence[Difference]
) -> list[Problem]:
    """A problem for each namespace that would be removed while it has topics, because the topics
    would be left behind in the default namespace."""
    gone = {one.key[1] for one in found if one.after is None and one.key[0] == Namespace.KIND}
    if not gone:
        return []
    await context.cluster.refresh()
    inside: defaultdict[str, list[bytes]] = defaultdict(list)
    for flat in context.cluster.index.names():
        tier = context.catalog.snapshot.folds_into(flat.decode())
        if tier is not None and tier in gone:
            inside[tier].append(flat)
    return [
        imported.problem(
            (Namespace.KIND, path),
            f"namespace '{path}' would be removed, and topics are in it: {shortened(captured)};"
            f" delete them first (kafka-gateway topics --delete --namespace {path} --recursive),"
            " or keep it in the file",
        )
        for path in sorted(inside)
        if (captured := captured_by(context.catalog.snapshot, [path], inside[path]))
    ]
