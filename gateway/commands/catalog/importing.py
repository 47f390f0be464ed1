"""``catalog import``: compares a file with the catalog, lets the brokers judge
it, and commits it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from gateway.catalog.entities import Change, Entity, Namespace, ResourceAcls
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable, Decide
from gateway.changes.base.context import Context
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
from gateway.commands.catalog.judging import judged, lost_topics
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.output import Output, Progress, confirmed, counted, shortened
from gateway.commands.output_files import check_free
from gateway.config.errors import ConfigError
from gateway.config.models import Config

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
        now = time.time_ns() // 1_000_000
        changes = _changes(snapshot, imported, options, within, now)
        reasons += problems(snapshot, imported, changes, now)
        if not reasons:
            context = Context(found.catalog, found.cluster, found.admin)
            reasons = await judged(context, imported, changes, adopt=options.adopt_existing)
            if is_carried(imported, options) and options.prune:
                reasons += await lost_topics(context, imported, changes)
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
    now: int,
) -> list[Difference]:
    kinds = set(main_kinds().values())
    if options.secrets_from is not None:
        kinds |= set(secret_kinds().values())
    if options.no_acls:
        kinds.discard(KINDS[ResourceAcls.KIND])
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
