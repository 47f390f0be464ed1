"""``catalog export``: the catalog, or its namespaces alone, as a file."""

from __future__ import annotations

import argparse

from gateway.catalog.snapshot import Snapshot
from gateway.commands import backend
from gateway.commands.actions import reject_flags
from gateway.commands.catalog.carrying import selected
from gateway.commands.catalog.file import (
    export_text,
    namespaces_text,
    secrets_text,
    write_secrets,
)
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.output import Output, Progress
from gateway.config.models import Config
from gateway.config.policy_blocks import blocks_of


async def read_catalog(config: Config) -> Snapshot:
    """The cluster's catalog as it is now. Raises CommandError."""
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
    snapshot = await read_catalog(config)
    if options.namespaces:
        text, notes = _namespaces_text(config, snapshot, options.below or "")
    else:
        text = export_text(snapshot)
    try:
        if options.secrets_to is not None:
            write_secrets(options.secrets_to, secrets_text(snapshot))
        if options.output is not None:
            options.output.write_text(text)
    except OSError as error:
        raise CommandError(
            f"{error.filename}: cannot be written: {error.strerror}; choose another file"
        ) from None
    return Output({}, text.removesuffix("\n") if options.output is None else "", notes)


def _namespaces_text(config: Config, snapshot: Snapshot, below: str) -> tuple[str, list[str]]:
    """The file of namespaces, and sentences about what is not in it."""
    if below and (below not in snapshot.namespaces or snapshot.deleting_tier(below)):
        raise CommandError(
            f"--below: namespace '{below}' does not exist, or is being deleted; "
            "kafka-gateway catalog export shows all that there are"
        )
    kept, left_out = selected(snapshot.entities(), below)
    left_out.kinds.clear()  # a file of namespaces has none of them
    return namespaces_text(kept, blocks_of(config.policies, below), below), left_out.lines
