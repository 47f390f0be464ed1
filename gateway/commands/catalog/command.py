"""``kafka-gateway catalog``: what the gateways of a cluster share, for its operators.

They read and write the cluster's catalog directly: no gateway has to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from gateway.catalog.source import ACTOR
from gateway.changes.base.context import Context
from gateway.commands import operator
from gateway.commands.catalog.diff import Difference, differences, problems
from gateway.commands.catalog.file import (
    Imported,
    export_text,
    main_kinds,
    read_export,
    read_secrets,
    secret_kinds,
    secrets_text,
    write_secrets,
)
from gateway.commands.catalog.importing import commit, judged
from gateway.commands.catalog.shown import as_json, shown
from gateway.commands.catalog.upkeep import (
    forget_gateway,
    mend,
    read_catalog,
    sign,
    status,
    upgrade,
)
from gateway.commands.failure import CommandError
from gateway.commands.running import run
from gateway.commands.told import confirmed, print_json
from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config

_EXAMPLES = """\
examples:
  kafka-gateway catalog export --config gateway.yaml --output catalog.yaml
  kafka-gateway catalog import --config gateway.yaml --dry-run catalog.yaml
  kafka-gateway catalog import --config gateway.yaml --prune catalog.yaml
  kafka-gateway catalog status --config gateway.yaml
  kafka-gateway catalog upgrade --config gateway.yaml --format 1
  kafka-gateway catalog forget --config gateway.yaml --gateway gateway-2
  kafka-gateway catalog mend --config gateway.yaml
  kafka-gateway catalog mend --config gateway.yaml
  kafka-gateway catalog sign --config gateway.yaml
  kafka-gateway catalog sign --config gateway.yaml --off

exit status:
   0  done
   1  refused; standard error says why, and what to do next
   2  the command line cannot be understood
  69  the cluster, or its catalog, does not answer
  78  the configuration, or the file to import, is refused
"""

_Run = Callable[[Config, argparse.Namespace], Awaitable[int]]
_Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_parser(commands: _Parsers) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "catalog",
        help="export, import and upgrade what the gateways of a cluster share",
        description="The catalog on the cluster that a configuration names; no gateway has to run.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = _add(inner, "export", _export, "write it as YAML").add_argument
    add("--output", type=Path, metavar="FILE", help="where to (default: standard output)")
    add("--secrets-to", type=Path, metavar="FILE", help="its secrets, which go nowhere else")
    add = _add(inner, "import", _import, "show what a file would change, ask, do it").add_argument
    add("input", type=Path, metavar="INPUT.yaml", help="what export has written")
    add("--prune", action="store_true", help="remove what the file does not hold")
    add(
        "--adopt-existing",
        action="store_true",
        help="new namespaces take over the existing topics whose names are in them",
    )
    add("--dry-run", action="store_true", help="show only")
    add("--yes", action="store_true", help="do not ask")
    add("--secrets-from", type=Path, metavar="FILE", help="what export --secrets-to has written")
    add("--json", action="store_true", help="print JSON")
    add = _add(inner, "status", status, "version, format, gateways, counts").add_argument
    add("--json", action="store_true", help="print JSON")
    add = _add(inner, "upgrade", upgrade, "allow what needs a newer format").add_argument
    add("--format", type=int, required=True, metavar="N", help="it cannot be lowered again")
    add = _add(inner, "forget", forget_gateway, "a gateway that is gone for good").add_argument
    add("--gateway", required=True, metavar="ID", help="its gateway_id")
    _add(inner, "mend", mend, "write again, or remove, what junk stands for in its topic")
    add = _add(
        inner, "sign", sign, "sign all of it, with catalog.key_file's first key"
    ).add_argument
    add("--off", action="store_true", help="from now on nothing needs to be signed")


def _add(inner: _Parsers, name: str, command: _Run, about: str) -> argparse.ArgumentParser:
    parser = inner.add_parser(
        name,
        help=about,
        description=f"catalog {name}: {about}.",
        epilog=_examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    parser.set_defaults(run=lambda options: _run(command, options))
    return parser


def _examples(name: str) -> str:
    """Those of one subcommand."""
    lines = [line for line in _EXAMPLES.splitlines() if f" catalog {name} " in line]
    return "\n".join(["examples:", *lines])


def _run(command: _Run, options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _as_operator(command, config, options))


async def _as_operator(command: _Run, config: Config, options: argparse.Namespace) -> int:
    ACTOR.set(operator.actor(f"kafka-gateway catalog {options.action}"))
    return await command(config, options)


async def _export(config: Config, options: argparse.Namespace) -> int:
    snapshot = await read_catalog(config)
    try:
        if options.secrets_to is not None:
            write_secrets(options.secrets_to, secrets_text(snapshot))
        if options.output is not None:
            options.output.write_text(export_text(snapshot))
    except OSError as error:
        raise CommandError(
            f"{error.filename}: cannot be written: {error.strerror}; choose another file"
        ) from None
    if options.output is None:
        sys.stdout.write(export_text(snapshot))
    return 0


async def _import(config: Config, options: argparse.Namespace) -> int:
    imported = read_export(options.input)
    if options.secrets_from is not None:
        imported.entities += read_secrets(options.secrets_from)
    changes = await _wanted(config, imported, options)
    if not options.json:
        print(shown(changes), flush=True)
    commits = bool(changes) and not options.dry_run
    if commits:
        # The catalog is let go of meanwhile: what was seen of it is checked when it is changed.
        _ask(changes, options)
        async with operator.backend(config, read_only=False) as found:
            snapshot = await commit(found.catalog, changes)
    if options.json:
        print_json({"committed": commits, "changes": as_json(changes)})
    elif commits:
        print(f"Imported; the catalog has version {snapshot.version:,}.")
    return 0


async def _wanted(
    config: Config, imported: Imported, options: argparse.Namespace
) -> list[Difference]:
    """What the file changes. Raises ConfigError where it fits neither catalog nor cluster."""
    async with operator.backend(config, read_only=True, or_empty=True) as found:
        snapshot = found.catalog.snapshot
        now = time.time_ns() // 1_000_000
        kinds = set(main_kinds().values())
        if options.secrets_from is not None:
            kinds |= set(secret_kinds().values())
        changes = differences(
            snapshot, imported.entities, prune=options.prune, now=now, kinds=kinds
        )
        told = problems(snapshot, imported, changes)
        if not told:
            context = Context(found.catalog, found.cluster, found.admin)
            told = await judged(context, imported, changes, adopt=options.adopt_existing)
    if told:
        raise ConfigError(imported.path, told)
    return changes


def _ask(changes: list[Difference], options: argparse.Namespace) -> None:
    """Raises CommandError unless somebody agrees, who has seen the changes."""
    if options.json and not options.yes:
        # Standard output is one JSON document, so the changes are shown beside it.
        print(shown(changes), file=sys.stderr)
    agreed = confirmed("Import this?", yes=options.yes)
    if agreed is None:
        raise CommandError(
            "nothing was imported: nobody can be asked here; say --yes, or --dry-run"
        )
    if not agreed:
        raise CommandError("nothing was imported")
