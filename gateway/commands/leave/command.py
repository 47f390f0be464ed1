"""``kafka-gateway leave --plan``: plans how clients go on at the brokers, without a gateway.

An operator's tool: it reads the cluster and the catalog, and changes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Final

from gateway.acl_model import ResourceType
from gateway.acls.authorizer import AuthorizerError, load_authorizer
from gateway.brokers.messages import ClusterAdmin
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.existing_ids import IdListing, Ids
from gateway.changes.base.rejected import Rejected
from gateway.commands import backend
from gateway.commands.actions import run
from gateway.commands.backend import Backend
from gateway.commands.errors import CommandError
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.leave.compared import CarriedAcls, carried, resources
from gateway.commands.leave.flat_acls import translated
from gateway.commands.leave.names import Names
from gateway.commands.leave.plan import LeavePlan, shapes_of
from gateway.commands.leave.script import Script
from gateway.commands.output import Output, Progress, counted
from gateway.commands.volumes import CLUSTER_FLAG, of_cluster
from gateway.config.models import Config
from gateway.config.security import STANDARD_AUTHORIZER
from gateway.config_file.loading import load_config
from gateway.mirror_maker import HEARTBEATS
from gateway.names import RESERVED_PREFIX, is_end_topic
from gateway.rules.shadows import is_shadow

FLAT: Final = "flat"
PLAIN: Final = "plain"

_EXAMPLES: Final = """\
examples:
  kafka-gateway leave --config gateway.yaml --plan
  kafka-gateway leave --config gateway.yaml --plan --names plain > leave.sh
  kafka-gateway leave --config gateway.yaml --plan --json
"""
_FLAGS: Final = (
    CLUSTER_FLAG,
    Flag("--plan", "", "print what to do, as a script; nothing is changed", {"required": True}),
    Flag(
        "--names",
        "NAMES",
        "flat: topics and groups keep the names that they have at the brokers, nothing is copied;"
        " plain: those of namespaces get names without (default: %(default)s)",
        {"choices": (FLAT, PLAIN), "default": FLAT},
    ),
    Flag("--json", "", "print JSON"),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="Plan how clients go on at the brokers without a gateway: names of topics and"
        " groups, copies, offsets, ACLs and users as commands of Kafka's own tools, and what to"
        " delete afterwards. See docs/leaving.md.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _leave(of_cluster(config, options.cluster), options), options)


async def _leave(config: Config, options: argparse.Namespace) -> Output:
    async with (
        Progress("planning") as progress,
        backend.open_backend(config, read_only=True) as found,
    ):
        plan = await _plan(config, found, progress, plain=options.names == PLAIN)
    script = Script(plan)
    sections = [
        {
            "title": one.title,
            "notes": list(one.notes),
            "commands": list(one.commands),
            "deletes": one.deletes,
        }
        for one in script.sections()
    ]
    notes = []
    if plan.acls is not None and plan.acls.left_out:
        notes.append(
            f"{counted(len(plan.acls.left_out), 'ACL')} left out, because brokers would allow more"
            " by them than the gateway does; the section on ACLs lists them"
        )
    return Output({**plan.as_json(), "sections": sections}, script.text(), notes)


async def _plan(config: Config, found: Backend, progress: Progress, *, plain: bool) -> LeavePlan:
    cluster, snapshot = config.clusters[0], found.catalog.snapshot
    flats = sorted(flat.decode() for flat in found.cluster.index.names())
    names = Names(snapshot, flats, plain=plain)
    progress.text = "listing groups and transactional ids"
    ids = await _ids(found.admin, found)
    progress.text = "describing the topics that are copied"
    copied = [topic.flat for topic in names.topics.values() if topic.is_copied]
    shapes = await shapes_of(found.admin, copied)
    progress.text = f"comparing ACLs, on {counted(len(flats), 'topic')}"
    acls, no_acls = await _acls(config, snapshot, names, ids)
    own = [flat for flat in flats if flat.startswith(RESERVED_PREFIX) or is_end_topic(flat)]
    shadows = [flat for flat in own if is_shadow(flat.encode())]
    security, authorization = cluster.security, config.authorization
    users = {
        user: None
        for listener in config.listeners
        if listener.sasl is not None and not listener.sasl.pass_through
        for user in listener.sasl.users
    }
    return LeavePlan(
        cluster=cluster.name,
        servers=",".join(map(str, cluster.bootstrap_servers)),
        brokers=len(found.cluster.brokers),
        logs_in=security.protocol != "PLAINTEXT",
        own_user=None if security.sasl is None else security.sasl.username,
        version=snapshot.version,
        plain=plain,
        topics=list(names.topics.values()),
        shapes=shapes,
        groups=names.of_ids(ids.groups),
        ids=names.of_ids(ids.transactional),
        acls=acls,
        no_acls=no_acls,
        super_users=() if authorization is None else authorization.super_users,
        allow_everyone=authorization is not None and authorization.allow_everyone,
        users=[snapshot.scram[key] for key in sorted(snapshot.scram)],
        plain_users=sorted(users),
        has_heartbeats=HEARTBEATS in flats,
        own_topics=[flat for flat in own if flat not in shadows],
        shadows=shadows,
    )


async def _ids(admin: ClusterAdmin, found: Backend) -> Ids:
    """Every group and transactional id of the cluster. Raises CommandError."""
    try:
        return await IdListing().beginning(admin, found.cluster.api_versions, ("",))
    except (Rejected, TimeoutError):
        raise CommandError(
            f"not all brokers of cluster '{found.cluster.name}' list their groups and transactional"
            " ids now; see that all of them run, then try again"
        ) from None


async def _acls(
    config: Config, snapshot: Snapshot, names: Names, ids: Ids
) -> tuple[CarriedAcls | None, str]:
    """The ACLs for the brokers; or None, and the reason why there are no ACLs."""
    authorization = config.authorization
    if authorization is None:
        text = (
            "The configuration has no authorization: the gateway lets everybody do everything."
            " If the brokers have\nan authorizer, give the applications' users ACLs there, on the"
            " names of section 1."
        )
        if snapshot.acls:
            text += " The catalog's ACLs are not in force, and not carried."
        return None, text
    if authorization.authorizer != STANDARD_AUTHORIZER:
        return None, (
            f"The gateway decides by {authorization.authorizer}, which is a class of yours: give"
            " the brokers its rules by hand."
        )
    try:
        authorizer = load_authorizer(authorization, lambda: None)
    except AuthorizerError as error:
        raise CommandError(f"{error}; correct the configuration") from None
    assert authorizer is not None
    authorizer.see(snapshot)
    found = resources(snapshot, names, _typed(snapshot, ids))
    return await carried(
        translated(snapshot, names),
        authorizer,
        found,
        super_users=authorization.super_users,
    ), ""


def _typed(snapshot: Snapshot, ids: Ids) -> Sequence[tuple[ResourceType, str]]:
    groups: Iterable[tuple[ResourceType, str]] = ((ResourceType.GROUP, one) for one in ids.groups)
    transactional = ((ResourceType.TRANSACTIONAL_ID, one) for one in ids.transactional)
    return [*groups, *transactional]
