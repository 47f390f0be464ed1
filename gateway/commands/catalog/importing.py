"""``catalog import``: compares a file with the catalog, lets the brokers judge
it, and commits it."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Final

from gateway.catalog.entities import Change, Entity, Namespace, ResourceAcls, key_of
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable, Decide
from gateway.changes.base.broker import validate_configs
from gateway.changes.base.context import Context
from gateway.changes.base.rejected import Rejected
from gateway.changes.namespaces.captured_ids import captured_ids
from gateway.changes.namespaces.create_namespaces import captured_by
from gateway.commands import backend
from gateway.commands.actions import reject_flags
from gateway.commands.catalog.carried_policies import CarriedPolicies
from gateway.commands.catalog.carrying import (
    LeftOut,
    carried,
    check_under,
    is_inside,
    too_long,
    wider,
)
from gateway.commands.catalog.diff import (
    Difference,
    differences,
    differences_json,
    differences_text,
    entity_text,
    problems,
    stale,
)
from gateway.commands.catalog.file import (
    Imported,
    main_kinds,
    read_export,
    read_secrets,
    secret_kinds,
)
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.output import Output, Progress, confirmed, counted, shortened
from gateway.commands.output_files import check_free
from gateway.config.errors import ConfigError, Problem
from gateway.config.models import Config
from gateway.names import decode, flat_prefix

BATCH: Final = 500
"""Changes that are committed together."""


async def import_file(config: Config, options: argparse.Namespace) -> Output:
    """Import the file that the options name. Raises CommandError, and ConfigError if the file does
    not fit the catalog or the cluster."""
    if options.under is not None:
        reject_flags(options, "secrets_from", "does not go with --under: users have no namespace")
        check_under(options.under)
    check_free(options.policies_to, "--policies-to", force=options.force)
    imported = read_export(options.input)
    policies = CarriedPolicies.of(config, imported, options)
    if options.secrets_from is not None:
        imported.entities += read_secrets(options.secrets_from)
    changes, left_out = await _wanted_changes(config, imported, options)
    notes = [] if options.no_acls else wider(imported, options.under or "")
    text = "\n".join([*left_out.lines, *notes, *policies.lines(), differences_text(changes)])
    policies.write(options.policies_to, force=options.force)
    if not options.json:
        print(text, flush=True)
    commits = bool(changes) and not options.dry_run
    done = ""
    if commits:
        # The catalog is not kept open while the operator decides, so its state is checked
        # again before the commit.
        confirm("Import this?", text, options)
        async with backend.open_backend(config, read_only=False) as found:
            snapshot = await commit(found.catalog, changes)
        done = f"Imported; the catalog has version {snapshot.version:,}."
    content: dict[str, object] = {"committed": commits, "changes": differences_json(changes)}
    if is_carried(imported, options):
        content |= {"left_out": left_out.to_json(), "notes": notes, "policies": policies.to_json()}
    return Output(content, done)


def is_carried(imported: Imported, options: argparse.Namespace) -> bool:
    """Whether the import concerns namespaces and their ACLs only."""
    return imported.only_namespaces or options.under is not None


async def _wanted_changes(
    config: Config, imported: Imported, options: argparse.Namespace
) -> tuple[list[Difference], LeftOut]:
    """The changes that the file makes, and the entities that are left out. Raises ConfigError."""
    async with backend.open_backend(config, read_only=True, or_empty=True) as found:
        snapshot = found.catalog.snapshot
        reasons, left_out, within = [], LeftOut(), _anything
        if is_carried(imported, options):
            under, below = options.under or "", imported.below
            imported, left_out = carried(imported, under, snapshot.namespaces)
            within = partial(_may_be_removed, snapshot=snapshot, under=under, below=below)
            reasons = too_long(imported)
        changes = _changes(snapshot, imported, options, within)
        reasons += problems(snapshot, imported, changes)
        if not reasons:
            context = Context(found.catalog, found.cluster, found.admin)
            reasons = await judged(context, imported, changes, adopt=options.adopt_existing)
            if is_carried(imported, options) and options.prune:
                reasons += await _lost_topics(context, imported, changes)
    if reasons:
        raise ConfigError(imported.path, reasons)
    return changes, left_out


def _anything(_: Entity) -> bool:
    return True


def _may_be_removed(entity: Entity, snapshot: Snapshot, under: str, below: str) -> bool:
    """Whether ``--prune`` may remove an entity that the file of namespaces does not hold. It may
    not if a gateway is still deleting the namespace with its topics."""
    if isinstance(entity, Namespace) and snapshot.deleting_tier(entity.path) is not None:
        return False
    return is_inside(entity, under, below)


def _changes(
    snapshot: Snapshot,
    imported: Imported,
    options: argparse.Namespace,
    within: Callable[[Entity], bool],
) -> list[Difference]:
    kinds = set(main_kinds().values())
    if options.secrets_from is not None:
        kinds |= set(secret_kinds().values())
    if options.no_acls:
        kinds.discard(KINDS[ResourceAcls.KIND])
    now = time.time_ns() // 1_000_000
    wanted = imported.entities
    return differences(snapshot, wanted, prune=options.prune, now=now, kinds=kinds, within=within)


def confirm(question: str, changes: str, options: argparse.Namespace) -> None:
    """Ask the operator, who has seen the changes. Raises CommandError unless
    the operator agrees."""
    if options.json and not options.yes:
        # Standard output is a JSON document, so the changes are shown on standard error.
        print(changes, file=sys.stderr)
    agreed = confirmed(question, yes=options.yes)
    if agreed is None:
        raise CommandError(
            "nothing was imported: there is no terminal to ask at; pass --yes, or --dry-run"
        )
    if not agreed:
        raise CommandError("nothing was imported")


class _Outdated(Exception):
    """The catalog has changed since the differences were computed."""


async def commit(catalog: Catalog, found: Sequence[Difference]) -> Snapshot:
    """Commit all differences in batches, each decided on the newest state.

    If an entity of a batch has changed in the catalog meanwhile, raises CommandError, which reports
    how much was committed. Before the first batch the entities of all batches are compared.
    """
    snapshot = catalog.snapshot
    async with Progress("importing") as progress:
        for start in range(0, len(found), BATCH):
            progress.text = f"{start:,} of {counted(len(found), 'change')}"
            batch = found[start : start + BATCH]
            try:
                snapshot = await catalog.change(_decide(batch, batch if start else found))
            except _Outdated as error:
                done = f"only {start:,} of {counted(len(found), 'change')} were committed"
                raise CommandError(
                    f"the catalog has changed meanwhile ({error}), so "
                    f"{done if start else 'nothing was committed'}; import once more to see what "
                    "is left to do"
                ) from None
            except CatalogUnavailable as error:
                raise Unavailable(
                    f"{error} At least {counted(start, 'change')} of {len(found):,} were "
                    "committed; import once more to see what is left to do"
                ) from None
    return snapshot


def _decide(batch: Sequence[Difference], unchanged: Sequence[Difference]) -> Decide:
    def decide(snapshot: Snapshot) -> list[Change]:
        keys = stale(snapshot, unchanged)
        if keys:
            raise _Outdated(shortened(map(entity_text, keys)))
        return [one.change for one in batch]

    return decide


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
    if made:
        await context.cluster.refresh()
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


async def _lost_topics(
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
