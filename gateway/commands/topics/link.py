"""``topics --link``, ``--unlink``, ``--links``: further names of topics in other namespaces."""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple

from gateway.commands.admin import APPEND, DELETE, Admin
from gateway.commands.answers import Described
from gateway.commands.errors import CommandError, UsageError, rejection
from gateway.commands.namespaces import (
    ROOT,
    Name,
    is_default,
    missing_namespace,
    namespace_resource,
    namespace_text,
    namespaces_below,
    request_name,
    topic_argument,
)
from gateway.commands.output import Output, Progress, table
from gateway.commands.spelling import shown
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION

LINK: Final = "gateway.link"
LINK_TO: Final = "gateway.link.to"
LINKS: Final = "gateway.links"

_DANGLING: Final = "(deleted)"


class Listed(NamedTuple):
    """A link as the gateway lists it: ``topic`` is empty if it may not be described."""

    link: Name
    topic: str
    dangling: bool


async def link(admin: Admin, options: argparse.Namespace) -> Output:
    """Give a topic a further name. Raises CommandError if the request is rejected."""
    target = options.to_namespace
    if options.topic is None or target is None:
        raise UsageError(
            "--link needs --topic, such as team-a:orders, and --to-namespace, such as team-b; --as"
            " gives the link another name than the topic's"
        )
    topic = topic_argument(options.topic, options.namespace)
    name = Name(target, options.as_name or topic.topic)
    async with Progress(f"linking topic '{topic}'"):
        # A link in the default namespace stays there, even if its name reads as
        # a namespace's topic.
        written = str(name) if name.namespace else ROOT + name.topic
        outcome = await admin.alter(
            request_name(topic), [(LINK, APPEND, written)], validate_only=options.validate_only
        )
    if outcome.code:
        raise CommandError(rejection(f"topic '{topic}'", "linked", outcome))
    content = {"link": str(name), "topic": str(topic), "validate_only": options.validate_only}
    if options.validate_only:
        return Output(content, f"Topic {topic} could be linked as {name}.")
    return Output(content, f"Linked topic {topic} as {name}.")


async def unlink(admin: Admin, options: argparse.Namespace) -> Output:
    """Remove a link; its topic stays. Raises CommandError if the request is rejected."""
    if options.topic is None:
        raise UsageError("--unlink needs --topic, the link's name, such as team-b:orders")
    name = topic_argument(options.topic, options.namespace)
    async with Progress(f"removing link '{name}'"):
        outcome = await admin.alter(
            request_name(name), [(LINK_TO, DELETE, None)], validate_only=options.validate_only
        )
    unknown = outcome.code == UNKNOWN_TOPIC_OR_PARTITION
    removed = outcome.code == 0 or (outcome.repeated and unknown)
    if not removed and not (unknown and options.if_exists):
        step = "see what links there are: kafka-gateway topics --links"
        raise CommandError(rejection(f"link '{name}'", "removed", outcome, step))
    content = {"link": str(name), "removed": removed, "validate_only": options.validate_only}
    if not removed:
        return Output(content, f"There is no link {name}.")
    if options.validate_only:
        return Output(content, f"Link {name} could be removed.")
    return Output(content, f"Removed link {name}; its topic stays.")


async def links(admin: Admin, options: argparse.Namespace) -> Output:
    """List the links of a namespace and of all below it, dangling links too.
    Raises CommandError."""
    path = options.namespace or ""
    async with Progress("listing links"):
        paths = [path, *await namespaces_below(admin, path)]
        resources = [namespace_resource(each) for each in paths]
        described = await admin.describe(resources, [LINKS])
    found: list[Listed] = []
    for each, one in zip(paths, described, strict=True):
        if one.outcome.code == 0:
            found += _listed(each, one)
        elif each == path:
            if one.outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
                raise CommandError(missing_namespace(path))
            raise CommandError(rejection(namespace_text(path), "described", one.outcome))
    content = {
        "links": [
            {"link": str(one.link), "topic": one.topic or None, "dangling": one.dangling}
            for one in found
        ]
    }
    if not found:
        where = "" if is_default(path) else f" in or below namespace {shown(path)}"
        return Output(content, f"There are no links{where}.")
    rows = [
        (
            str(one.link),
            one.topic or "(not yours to see)",
            "dangling: its topic was deleted" if one.dangling else "",
        )
        for one in found
    ]
    return Output(content, table([("link", "topic", ""), *rows]))


def _listed(path: str, described: Described) -> list[Listed]:
    found = []
    for item in filter(None, described.value(LINKS).split(",")):
        name, _, topic = item.partition("=")
        dangling = topic.endswith(_DANGLING)
        target = shown(topic.removesuffix(_DANGLING))
        found.append(Listed(Name(path, name), target, dangling))
    return found
