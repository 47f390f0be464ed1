"""``catalog export``: the catalog, or its namespaces alone, as a file."""

from __future__ import annotations

import argparse

from gateway.catalog.log.held import Head
from gateway.catalog.snapshot import Snapshot
from gateway.commands import backend
from gateway.commands.actions import reject_flags
from gateway.commands.catalog.carrying import selected
from gateway.commands.catalog.file import (
    export_text,
    namespaces_text,
    secrets_text,
)
from gateway.commands.catalog.from_memory import held_catalog
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.output import Output, Progress, counted
from gateway.commands.output_files import check_free, write_file
from gateway.config.models import Config
from gateway.config.policy_blocks import blocks_of


async def read_catalog(config: Config) -> Snapshot:
    """The cluster's current catalog. Raises CommandError."""
    async with (
        Progress("reading the catalog"),
        backend.open_backend(config, read_only=True) as found,
    ):
        return found.catalog.snapshot


async def export_file(config: Config, options: argparse.Namespace) -> Output:
    """Write the files that the options name. Raises CommandError."""
    notes: list[str] = []
    if options.below is not None and not options.namespaces:
        raise UsageError("--below goes with --namespaces")
    if options.namespaces:
        reject_flags(options, "secrets_to", "does not go with --namespaces, which has no secrets")
    force: bool = options.force
    check_free(options.output, "--output", force=force)
    check_free(options.secrets_to, "--secrets-to", force=force)
    if options.from_memory:
        head, snapshot = await held_catalog(config)
        notes.append(_held_text(head, snapshot, options))
    else:
        snapshot = await read_catalog(config)
    if options.namespaces:
        text, more = _namespaces_text(config, snapshot, options.below or "")
        notes += more
    else:
        text = export_text(snapshot)
    if options.secrets_to is not None:
        secrets = secrets_text(snapshot)
        write_file(options.secrets_to, "--secrets-to", secrets, force=force, owner_alone=True)
    if options.output is not None:
        write_file(options.output, "--output", text, force=force)
    return Output({}, text.removesuffix("\n") if options.output is None else "", notes)


def _held_text(head: Head, snapshot: Snapshot, options: argparse.Namespace) -> str:
    age = "never" if head.seconds is None else f"{head.seconds:,.0f} s ago"
    text = (
        f"As process {head.pid} of gateway {head.gateway_id} has it in memory: version"
        f" {head.version:,}, read {age}."
    )
    if snapshot.scram and options.secrets_to is None and not options.namespaces:
        text += f" {counted(len(snapshot.scram), 'SCRAM credential')} left out; pass --secrets-to."
    return text


def _namespaces_text(config: Config, snapshot: Snapshot, below: str) -> tuple[str, list[str]]:
    """The text of the file of namespaces, and a sentence for each reason why
    entities are left out."""
    if below and (below not in snapshot.namespaces or snapshot.deleting_tier(below)):
        raise CommandError(
            f"--below: namespace '{below}' does not exist, or is being deleted; "
            "kafka-gateway catalog export shows all that there are"
        )
    kept, left_out = selected(snapshot.entities(), below)
    left_out.kinds.clear()  # a file of namespaces holds no such kind
    return namespaces_text(kept, blocks_of(config.policies, below), below), left_out.lines
