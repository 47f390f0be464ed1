"""``catalog import``: a file is compared with the catalog, judged by the brokers, and committed."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from gateway.catalog.entities import Change, Namespace, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable, Decide
from gateway.changes.base.broker import validate_configs
from gateway.changes.base.context import Context
from gateway.changes.namespaces.create_namespaces import captured_by
from gateway.commands import backend
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
from gateway.config.errors import ConfigError, Problem
from gateway.config.models import Config
from gateway.names import decode

BATCH: Final = 500
"""Changes that are committed together."""


async def import_file(config: Config, options: argparse.Namespace) -> Output:
    """Import the file that the options name. Raises CommandError, and ConfigError for a file that
    does not fit the catalog or the cluster."""
    imported = read_export(options.input)
    if options.secrets_from is not None:
        imported.entities += read_secrets(options.secrets_from)
    changes = await _wanted_changes(config, imported, options)
    if not options.json:
        print(differences_text(changes), flush=True)
    commits = bool(changes) and not options.dry_run
    text = ""
    if commits:
        # The catalog is not held open meanwhile: its state is checked again when it is changed.
        _confirm(changes, options)
        async with backend.open_backend(config, read_only=False) as found:
            snapshot = await commit(found.catalog, changes)
        text = f"Imported; the catalog has version {snapshot.version:,}."
    return Output({"committed": commits, "changes": differences_json(changes)}, text)


async def _wanted_changes(
    config: Config, imported: Imported, options: argparse.Namespace
) -> list[Difference]:
    """The changes that the file makes. Raises ConfigError."""
    async with backend.open_backend(config, read_only=True, or_empty=True) as found:
        snapshot = found.catalog.snapshot
        now = time.time_ns() // 1_000_000
        kinds = set(main_kinds().values())
        if options.secrets_from is not None:
            kinds |= set(secret_kinds().values())
        changes = differences(
            snapshot, imported.entities, prune=options.prune, now=now, kinds=kinds
        )
        reasons = problems(snapshot, imported, changes)
        if not reasons:
            context = Context(found.catalog, found.cluster, found.admin)
            reasons = await judged(context, imported, changes, adopt=options.adopt_existing)
    if reasons:
        raise ConfigError(imported.path, reasons)
    return changes


def _confirm(changes: list[Difference], options: argparse.Namespace) -> None:
    """Raises CommandError unless the operator agrees, who has seen the changes."""
    if options.json and not options.yes:
        # Standard output is one JSON document, so the changes are shown beside it.
        print(differences_text(changes), file=sys.stderr)
    agreed = confirmed("Import this?", yes=options.yes)
    if agreed is None:
        raise CommandError(
            "nothing was imported: there is no terminal to ask at; pass --yes, or --dry-run"
        )
    if not agreed:
        raise CommandError("nothing was imported")


class _Outdated(Exception):
    """The catalog has changed since the differences were computed."""


async def commit(catalog: Catalog, found: Sequence[Difference]) -> Snapshot:
    """Commits all differences, in batches, each decided on the newest state.

    Raises CommandError, saying how much was committed, when the catalog has changed in what a
    batch touches; before the first batch, in what any of them does.
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
    """Why these differences must not be committed; empty: they may be.

    They start from the snapshot of the context's catalog. With ``adopt`` new namespaces
    may take over topics whose names are in them. Raises OSError when no broker answers.
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
    """The key that the broker rejects alone, and why; ``""`` if it rejects only all together."""
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
