"""``catalog sign``: everything in the catalog is signed from now on, or nothing needs to be; and
``catalog mend``: what junk stands for in its topic is written again, or removed."""

from __future__ import annotations

import argparse

from gateway.catalog.members import FormatRefused, raise_format
from gateway.catalog.signatures import KeyFile, KeyFileError, SigningKey
from gateway.catalog.signing import SIGNING_FORMAT, sign_all, sign_nothing
from gateway.commands import operator
from gateway.commands.failure import CommandError
from gateway.commands.progress import Progress
from gateway.commands.told import counted
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
