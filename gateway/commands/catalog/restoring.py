"""``catalog restore``: restores a lost catalog from an export, whole or not at all."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from gateway.catalog.entities import CatalogFormat, Change
from gateway.catalog.log.records import FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from gateway.changes.base.context import Context
from gateway.commands import backend
from gateway.commands.catalog.diff import (
    Difference,
    differences,
    differences_json,
    differences_text,
    problems,
)
from gateway.commands.catalog.file import (
    Imported,
    exported,
    main_kinds,
    read_export,
    read_secrets,
    secret_kinds,
)
from gateway.commands.catalog.importing import confirm
from gateway.commands.catalog.judging import judged
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.output import Output, Progress
from gateway.config.errors import ConfigError
from gateway.config.models import Config


async def restore_file(config: Config, options: argparse.Namespace) -> Output:
    """Restore the file that the options name. Raises CommandError, and ConfigError if the file
    does not fit the cluster."""
    imported = read_export(options.input)
    if imported.only_namespaces:
        raise CommandError(f"{options.input}: holds namespaces only; restore a whole export")
    if imported.catalog_format > FORMAT:
        raise CommandError(
            f"{options.input}: the catalog had format {imported.catalog_format}, and this software"
            f" reads up to {FORMAT}; use the version that wrote the file"
        )
    notes = []
    if options.secrets_from is not None:
        imported.entities += read_secrets(options.secrets_from)
    else:
        notes.append("Users of SCRAM have no passwords then; they are in --secrets-from FILE.")
    found = await _wanted(config, imported)
    text = "\n".join([differences_text(found), *notes])
    if not options.json:
        print(text, flush=True)
    done = ""
    if not options.dry_run:
        confirm("Restore this?", text, options)
        snapshot = await _commit(config, imported.catalog_format, found)
        done = f"Restored; the catalog has version {snapshot.version:,}."
        if config.catalog.key_file is not None:
            done += " Its records are not signed: kafka-gateway catalog sign."
    return Output({"committed": not options.dry_run, "changes": differences_json(found)}, done)


async def _wanted(config: Config, imported: Imported) -> list[Difference]:
    """All entities of the file, as additions to an empty catalog. Raises
    CommandError and ConfigError."""
    async with backend.open_backend(config, read_only=True, or_empty=True, anew=True) as opened:
        snapshot = opened.catalog.snapshot
        _check_lost(snapshot)
        raised = snapshot.apply(_raised(snapshot, imported.catalog_format), snapshot.version + 1)
        kinds = {*main_kinds().values(), *secret_kinds().values()}
        now = time.time_ns() // 1_000_000
        found = differences(raised, imported.entities, prune=False, now=now, kinds=kinds)
        reasons = problems(raised, imported, found, now)
        if not reasons:
            context = Context(opened.catalog, opened.cluster, opened.admin)
            # The topics of a namespace were its own before the catalog was lost.
            reasons = await judged(context, imported, found, adopt=True)
    if reasons:
        raise ConfigError(imported.path, reasons)
    return found


def _check_lost(snapshot: Snapshot) -> None:
    """Raises CommandError if the catalog holds anything but the gateways'
    descriptions of themselves."""
    there = exported(snapshot.entities())
    if there:
        raise CommandError(
            f"the catalog is not lost: it holds {len(there):,} namespaces, topics, ACLs and the"
            " like, at version"
            f" {snapshot.version:,}; kafka-gateway catalog import changes one that is there"
        )


def _raised(snapshot: Snapshot, level: int) -> list[Change]:
    return [CatalogFormat(level)] if snapshot.format < level else []


async def _commit(config: Config, level: int, found: Sequence[Difference]) -> Snapshot:
    """Commit all differences as a single decision: a reader of the catalog sees all of them or no
    change, so no gateway ever serves with half of the ACLs."""

    def decide(snapshot: Snapshot) -> list[Change]:
        _check_lost(snapshot)
        return [*_raised(snapshot, level), *(one.change for one in found)]

    async with (
        backend.open_backend(config, read_only=False, anew=True) as opened,
        Progress("restoring"),
    ):
        try:
            return await opened.catalog.change(decide)
        except CatalogUnavailable as error:
            raise Unavailable(f"{error} Nothing, or all, was restored.") from None
