"""The rest of ``kafka-gateway catalog``: status, upgrade and forget; ``sign``: everything is signed
from now on, or nothing needs to be; ``mend``: what junk stands for is written again, or removed."""

from __future__ import annotations

import argparse

from gateway.catalog.log.records import FORMAT
from gateway.catalog.log.signatures import KeyFile, KeyFileError, SigningKey
from gateway.catalog.members import (
    SIGNING_FORMAT,
    FormatRefused,
    forget,
    raise_format,
    sign_all,
    sign_nothing,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands import operator
from gateway.commands.failure import CommandError
from gateway.commands.told import Progress, counted, print_json, table
from gateway.config.models import Config


async def sign(config: Config, options: argparse.Namespace) -> int:
    """Sign the whole catalog with the first key of ``catalog.key_file``, or with none."""
    key = _first_key(config)
    async with operator.backend(config, read_only=False) as found:
        if options.off:
            await found.catalog.change(sign_nothing)
            print("Records of the catalog need not be signed any more.")
            return 0
        async with Progress("signing"):
            try:
                await found.catalog.change(raise_format(SIGNING_FORMAT))
            except FormatRefused as error:
                raise CommandError(f"the catalog was not signed: {error}") from None
            snapshot = await found.catalog.change(sign_all(key.key_id))
    entities = counted(snapshot.size, "entity", "entities")
    print(f"The catalog is signed with key {key.key_id}: {entities}, version {snapshot.version:,}.")
    return 0


async def mend(config: Config, options: argparse.Namespace) -> int:
    """Write again what the catalog holds, and remove what it does not hold."""
    async with operator.backend(config, read_only=False) as found, Progress("mending"):
        mended = await found.catalog.mend()
    print(f"{counted(mended, 'record')} written in place of junk.")
    return 0


def _first_key(config: Config) -> SigningKey:
    if config.catalog.key_file is None:
        raise CommandError(
            "the configuration has no catalog.key_file; give all gateways the same one first"
        )
    try:
        return KeyFile(config.catalog.key_file).first
    except KeyFileError as error:
        raise CommandError(f"catalog.key_file: {error}") from None


async def read_catalog(config: Config) -> Snapshot:
    async with Progress("reading the catalog"), operator.backend(config, read_only=True) as found:
        return found.catalog.snapshot


async def status(config: Config, options: argparse.Namespace) -> int:
    snapshot = await read_catalog(config)
    gateways = [snapshot.gateways[one] for one in sorted(snapshot.gateways)]
    deleting = sum(one.deleting is not None for one in snapshot.namespaces.values())
    aliases = sum(len(entry.aliases) for entry in snapshot.topics.values())
    acls = sum(len(one.entries) for one in snapshot.acls.values())
    if options.json:
        content = {
            "cluster": config.clusters[0].name,
            "version": snapshot.version,
            "format": snapshot.format,
            "newest_format": FORMAT,
            "signed_with": snapshot.signing or None,
            "namespaces": len(snapshot.namespaces),
            "namespaces_deleting": deleting,
            "topic_entries": len(snapshot.topics),
            "aliases": aliases,
            "acls": acls,
            "scram_credentials": len(snapshot.scram),
            "principal_homes": len(snapshot.homes),
            "gateways": [
                {"gateway_id": one.gateway_id, "format": one.format, "software": one.software}
                for one in gateways
            ],
        }
        print_json(content)
        return 0
    rows = [
        ("cluster", config.clusters[0].name),
        ("version", f"{snapshot.version:,}"),
        ("format", f"{snapshot.format} (this software reads up to {FORMAT})"),
        ("signed", f"with key {snapshot.signing}" if snapshot.signing else "no"),
        ("namespaces", f"{len(snapshot.namespaces):,} ({deleting:,} being deleted)"),
        ("topic entries", f"{len(snapshot.topics):,} ({counted(aliases, 'alias', 'aliases')})"),
        ("ACLs", f"{acls:,} (of {counted(len(snapshot.acls), 'pattern')})"),
        ("SCRAM", f"{counted(len(snapshot.scram), 'credential')}"),
        ("homes", f"{counted(len(snapshot.homes), 'principal')}"),
    ]
    rows += [
        ("gateway", f"{one.gateway_id}, software {one.software}, reads format {one.format}")
        for one in gateways
    ]
    print(table(rows))
    return 0


async def upgrade(config: Config, options: argparse.Namespace) -> int:
    async with operator.backend(config, read_only=False) as found:
        try:
            snapshot = await found.catalog.change(raise_format(options.format))
        except FormatRefused as error:
            raise CommandError(f"the format was not raised: {error}") from None
    print(f"The catalog has format {snapshot.format}.")
    return 0


async def forget_gateway(config: Config, options: argparse.Namespace) -> int:
    async with operator.backend(config, read_only=False) as found:
        known = options.gateway in found.catalog.snapshot.gateways
        if not known:
            there = ", ".join(sorted(found.catalog.snapshot.gateways)) or "none"
            raise CommandError(
                f"gateway '{options.gateway}' takes no part in the catalog; those that do: {there}"
            )
        await found.catalog.change(forget(options.gateway))
    print(
        f"Gateway {options.gateway} is forgotten. If it still runs, or starts again, it takes part "
        "again by itself: forget only one that is gone for good."
    )
    return 0
