"""``kafka-gateway catalog``: the catalog that the gateways of a cluster share, for its operators.

The actions read and write the cluster's catalog directly: no gateway has to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gateway.catalog.entities import Member
from gateway.catalog.log.records import FORMAT
from gateway.catalog.log.signatures import KeyFile, KeyFileError, SigningKey
from gateway.catalog.members import (
    SIGNING_FORMAT,
    FormatRejected,
    at_least,
    forget,
    raise_to,
    renumber,
    sign_all,
    sign_nothing,
)
from gateway.catalog.source import ACTOR
from gateway.commands import backend
from gateway.commands.actions import run
from gateway.commands.catalog.exporting import export_file, read_catalog
from gateway.commands.catalog.importing import import_file
from gateway.commands.catalog.restoring import restore_file
from gateway.commands.errors import CommandError
from gateway.commands.flags import OPERATOR_STATUS, Flag, add_config_flags
from gateway.commands.output import Output, Progress, counted, table
from gateway.commands.volumes import CLUSTER_FLAG, of_cluster
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.files import input_path
from gateway.node_ids import FIRST_GATEWAY_ID


class _Action(NamedTuple):
    name: str
    help: str
    run: Callable[[Config, argparse.Namespace], Awaitable[Output]]
    examples: Sequence[str]
    flags: Sequence[Flag] = ()


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    examples = "".join(_examples(action) for action in _ACTIONS)
    parser.description = (
        "Manage the catalog on the cluster that a configuration names; no gateway has to run."
    )
    parser.epilog = f"examples:\n{examples}{OPERATOR_STATUS}"
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action in _ACTIONS:
        one = inner.add_parser(
            action.name,
            help=action.help,
            description=f"catalog {action.name}: {action.help}.",
            epilog=f"examples:\n{_examples(action)}",
        )
        add_config_flags(one, (CLUSTER_FLAG, *action.flags))
        one.set_defaults(run=lambda options, action=action: _run(action, options))


def _examples(action: _Action) -> str:
    start = f"  kafka-gateway catalog {action.name} --config gateway.yaml"
    return "".join(f"{start} {example}".rstrip() + "\n" for example in action.examples)


def _run(action: _Action, options: argparse.Namespace) -> int:
    config = load_config(options.config)

    async def run_action() -> Output:
        ACTOR.set(backend.operator_actor(f"kafka-gateway catalog {action.name}"))
        return await action.run(of_cluster(config, options.cluster), options)

    return run(run_action, options)


async def _status(config: Config, options: argparse.Namespace) -> Output:
    snapshot = await read_catalog(config)
    gateways = [snapshot.gateways[one] for one in sorted(snapshot.gateways)]
    deleting = sum(one.deleting is not None for one in snapshot.namespaces.values())
    aliases = sum(len(entry.aliases) for entry in snapshot.topics.values())
    dangling = sum(bool(link.gone) for link in snapshot.links.values())
    acls = sum(len(one.entries) for one in snapshot.acls.values())
    content = {
        "cluster": config.clusters[0].name,
        "version": snapshot.version,
        "format": snapshot.format,
        "newest_format": FORMAT,
        "signed_with": snapshot.signing or None,
        "number": snapshot.number or None,
        "namespaces": len(snapshot.namespaces),
        "namespaces_deleting": deleting,
        "topic_entries": len(snapshot.topics),
        "aliases": aliases,
        "links": len(snapshot.links),
        "links_dangling": dangling,
        "acls": acls,
        "scram_credentials": len(snapshot.scram),
        "principal_homes": len(snapshot.homes),
        "client_metrics": len(snapshot.client_metrics),
        "gateways": [
            {
                "gateway_id": one.gateway_id,
                "format": one.format,
                "software": one.software,
                **_listed(snapshot.members.get(one.gateway_id)),
            }
            for one in gateways
        ],
    }
    rows = [
        ("cluster", config.clusters[0].name),
        ("version", f"{snapshot.version:,}"),
        ("format", f"{snapshot.format} (this software reads up to {FORMAT})"),
        ("signed", f"with key {snapshot.signing}" if snapshot.signing else "no"),
        *([("number", f"{snapshot.number} in the tree")] if snapshot.number else []),
        ("namespaces", f"{len(snapshot.namespaces):,} ({deleting:,} being deleted)"),
        ("topic entries", f"{len(snapshot.topics):,} ({counted(aliases, 'alias', 'aliases')})"),
        ("links", f"{len(snapshot.links):,} ({dangling:,} dangling)"),
        ("ACLs", f"{acls:,} (of {counted(len(snapshot.acls), 'pattern')})"),
        ("SCRAM", f"{counted(len(snapshot.scram), 'credential')}"),
        ("homes", f"{counted(len(snapshot.homes), 'principal')}"),
        ("subscriptions", f"{len(snapshot.client_metrics):,} of client metrics"),
    ]
    rows += [
        ("gateway", f"{one.gateway_id}, software {one.software}, reads format {one.format}")
        for one in gateways
    ]
    rows += [
        (f"node {FIRST_GATEWAY_ID + one.number}", f"{one.gateway_id} at {_addresses(one)}")
        for one in sorted(snapshot.members.values(), key=lambda one: one.number)
    ]
    return Output(content, table(rows))


def _listed(member: Member | None) -> dict[str, object]:
    """The node id and addresses with which a gateway is listed among the
    brokers; empty if it is not."""
    if member is None:
        return {}
    return {"node_id": FIRST_GATEWAY_ID + member.number, "addresses": dict(member.addresses)}


def _addresses(member: Member) -> str:
    return ", ".join(f"{address} ({name})" for name, address in sorted(member.addresses.items()))


async def _upgrade(config: Config, options: argparse.Namespace) -> Output:
    async with backend.open_backend(config, read_only=False) as found:
        try:
            snapshot = await found.catalog.change(raise_to(options.format))
        except FormatRejected as error:
            raise CommandError(f"the format was not raised: {error}") from None
    return Output({}, f"The catalog has format {snapshot.format}.")


async def _forget(config: Config, options: argparse.Namespace) -> Output:
    async with backend.open_backend(config, read_only=False) as found:
        gateways = found.catalog.snapshot.gateways
        if options.gateway not in gateways:
            raise CommandError(
                f"gateway '{options.gateway}' takes no part in the catalog; those that do: "
                f"{', '.join(sorted(gateways)) or 'none'}"
            )
        await found.catalog.change(forget(options.gateway))
    text = (
        f"Gateway {options.gateway} is forgotten. If it still runs, or starts again, it takes part "
        "again by itself: forget only one that is gone for good."
    )
    return Output({}, text)


async def _renumber(config: Config, options: argparse.Namespace) -> Output:
    number = config.clusters[0].number or 0
    async with backend.open_backend(config, read_only=False) as found:
        before = found.catalog.snapshot.number
        if before == 0:
            text = "The cluster has no number"
            if number:
                text += f" yet; the next gateway that starts gives it {number}"
            return Output({}, f"{text}.")
        await found.catalog.change(renumber(number))
    if not number:
        text = (
            f"The cluster is in no tree any more, and had number {before} there. A gateway that"
            f" mounts it would give it one again: end those that run, and never give {before} to"
            " another cluster."
        )
        return Output({}, text)
    text = (
        f"The cluster has number {number} in the tree, and had {before}. Gateways with {before} "
        f"do not start any more; end those that run, and never give {before} to another cluster."
    )
    return Output({}, text)


async def _mend(config: Config, options: argparse.Namespace) -> Output:
    async with backend.open_backend(config, read_only=False) as found, Progress("mending"):
        mended = await found.catalog.mend()
    return Output({}, f"{counted(mended, 'record')} written in place of junk.")


async def _sign(config: Config, options: argparse.Namespace) -> Output:
    key = _first_key(config)
    async with backend.open_backend(config, read_only=False) as found:
        if options.off:
            await found.catalog.change(sign_nothing)
            return Output({}, "Records of the catalog need not be signed any more.")
        async with Progress("signing"):
            try:
                await found.catalog.change(at_least(SIGNING_FORMAT))
            except FormatRejected as error:
                raise CommandError(f"the catalog was not signed: {error}") from None
            snapshot = await found.catalog.change(sign_all(key.key_id))
    entities = counted(snapshot.size, "entity", "entities")
    signed = f"The catalog is signed with key {key.key_id}: "
    return Output({}, f"{signed}{entities}, version {snapshot.version:,}.")


def _first_key(config: Config) -> SigningKey:
    key = key_text((*config.key_of("catalog"), "key_file"))
    if config.catalog.key_file is None:
        raise CommandError(f"the configuration has no {key}; give all gateways the same one first")
    try:
        return KeyFile(config.catalog.key_file).first
    except KeyFileError as error:
        raise CommandError(f"{key}: {error}") from None


_FILE: Final = {"type": Path}
_INPUT: Final = {"type": input_path}
_JSON: Final = Flag("--json", "", "print JSON")
_ACTIONS: Final = (
    _Action(
        "export",
        "write the catalog as YAML",
        export_file,
        (
            "--output catalog.yaml",
            "--namespaces --below org --output namespaces.yaml",
            "--from-memory --output catalog.yaml --secrets-to secrets.yaml",
        ),
        (
            Flag("--namespaces", "", "only namespaces, with their configs, ACLs and policies"),
            Flag("--below", "NAMESPACE", "only this one and those below it"),
            Flag("--output", "FILE", "the file to write (default: standard output)", _FILE),
            Flag("--secrets-to", "FILE", "a file for the secrets, which go nowhere else", _FILE),
            Flag("--from-memory", "", "as a gateway on this machine has it; no broker is asked"),
            Flag("--force", "", "replace the files if they are there"),
        ),
    ),
    _Action(
        "restore",
        "bring a catalog that is lost back from an export, all of it in one step",
        restore_file,
        ("catalog.yaml", "--yes --secrets-from secrets.yaml catalog.yaml"),
        (
            Flag("input", "INPUT.yaml", "a file that export has written", _INPUT),
            Flag("--secrets-from", "FILE", "a file that export --secrets-to has written", _INPUT),
            Flag("--dry-run", "", "show only"),
            Flag("--yes", "", "do not ask"),
            _JSON,
        ),
    ),
    _Action(
        "import",
        "show what a file would change, ask, and change it",
        import_file,
        ("--dry-run catalog.yaml", "--prune catalog.yaml", "--under dr:a namespaces.yaml"),
        (
            Flag("input", "INPUT.yaml", "a file that export has written", _INPUT),
            Flag("--prune", "", "remove what the file does not hold"),
            Flag(
                "--adopt-existing",
                "",
                "new namespaces take over the topics and groups with their names",
            ),
            Flag("--dry-run", "", "show only"),
            Flag("--yes", "", "do not ask"),
            Flag("--secrets-from", "FILE", "a file that export --secrets-to has written", _INPUT),
            Flag("--under", "NAMESPACE", "carry the namespaces and their ACLs below this one"),
            Flag("--no-acls", "", "leave all ACLs as they are"),
            Flag("--policies-to", "FILE", "write the file's policies for a configuration", _FILE),
            Flag("--force", "", "replace the file of --policies-to if it is there"),
            _JSON,
        ),
    ),
    _Action("status", "show version, format, gateways and counts", _status, ("",), (_JSON,)),
    _Action(
        "upgrade",
        "allow what needs a newer format",
        _upgrade,
        (f"--format {FORMAT}",),
        (Flag("--format", "N", "it cannot be lowered again", {"type": int, "required": True}),),
    ),
    _Action(
        "forget",
        "remove a gateway that is gone for good; clients do not see its node any more",
        _forget,
        ("--gateway gateway-2",),
        (Flag("--gateway", "ID", "its gateway_id", {"required": True}),),
    ),
    _Action(
        "renumber",
        "keep the number in the tree that the file says, in place of a wrong one; without a mount:"
        " none",
        _renumber,
        ("",),
    ),
    _Action("mend", "rewrite, or remove, the records that junk has replaced", _mend, ("",)),
    _Action(
        "sign",
        "sign every record, with the first key of catalog.key_file",
        _sign,
        ("", "--off"),
        (Flag("--off", "", "from now on no record needs a signature"),),
    ),
)
