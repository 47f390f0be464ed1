"""Whether this gateway's file agrees with the descriptions of its peers. Pure.

Gateways that disagree do not fail at once: clients of one gateway do not find the other's clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateway.config.errors import Key, Problem
from gateway.config.models import Config
from gateway.mounts import Mount, Mounts
from gateway.names import DELIMITER
from gateway.referrals.description import DescribedListener, GatewayDescription


class Described(NamedTuple):
    """A gateway that has described itself."""

    name: str
    """Its name in this file, or its id if the file does not have it."""
    key: Key
    """The configuration key that leads to it."""
    description: GatewayDescription


def identity_problems(config: Config, found: Iterable[Described]) -> Iterator[Problem]:
    """Gateways with the same id: the ids in a query's path show whether it goes in a circle."""
    first = {config.gateway_id: "this gateway"}
    for one in found:
        who = f"gateway '{one.name}'"
        other = first.setdefault(one.description.gateway, who)
        if other != who:
            text = (
                f"{who} has the gateway_id '{one.description.gateway}', as {other} has, so that "
                "questions which pass both seem to go in a circle; give each gateway its own"
            )
            yield Problem(one.key, text)


def number_problems(config: Config, found: Iterable[Described]) -> Iterator[Problem]:
    """Mounts that two gateways have, and numbers that two mounts have."""
    numbers = GatewayDescription.of_config(config).numbers
    owners = dict.fromkeys(numbers, "this gateway")
    for one in found:
        who = f"gateway '{one.name}'"
        for mount, number in one.description.numbers.items():
            if (other := owners.setdefault(mount, who)) != who:
                text = f"{who} has a cluster at {_shown(mount)}, as {other} has; a mount is one"
                yield Problem(one.key, f"{text} gateway's, so correct one of the two files")
                continue
            taken = [path for path, its in numbers.items() if its == number and path != mount]
            if taken:
                text = f"{who} gives {_shown(mount)} number {number}, which is that of"
                yield Problem(one.key, f"{text} {_shown(taken[0])}; choose another for one of them")
            numbers[mount] = number


def child_problems(
    child: Described, mounts: Sequence[tuple[Key, str]], subject: str
) -> Iterator[Problem]:
    """A child without a mount that this file gives it (``mounts``: with their keys), or without
    this gateway among its parents (``subject``: the subject of this gateway's certificate)."""
    who = f"gateway '{child.name}'"
    for key, mount in mounts:
        if mount not in child.description.numbers:
            has = ", ".join(map(_shown, child.description.numbers)) or "none"
            text = f"{who} has no cluster at {_shown(mount)}, its mounts are {has}"
            yield Problem((*key, "mount"), f"{text}; correct one of the two files")
    if subject not in [parent.certificate for parent in child.description.parents]:
        text = f"{who} does not have this gateway ('{subject}') among its tree.parents, so its"
        yield Problem(child.key, f"{text} clients find nothing above it; add it there")


def parent_problems(config: Config, parent: Described, subject: str) -> Iterator[Problem]:
    """A parent that does not lead to this gateway's mounts."""
    who = f"gateway '{parent.name}'"
    children = {child.mount or "": child.certificate for child in parent.description.children}
    standing = Mounts(map(Mount, dict.fromkeys((*parent.description.numbers, *children))))
    for mount in GatewayDescription.of_config(config).numbers:
        if mount in children:
            if children[mount] != subject:
                text = f"{who} has '{children[mount]}' as its child at {_shown(mount)}, which is a"
                yield Problem(
                    parent.key, f"{text} mount of this gateway ('{subject}'); correct one"
                )
            continue
        above = standing.standing(mount)
        if above is None or above.path not in children:
            text = f"{who} does not have {_shown(mount)} among the mounts of its tree.children, so"
            yield Problem(parent.key, f"{text} nothing there is found from above; add it there")


def listener_problems(config: Config, other: Described) -> Iterator[Problem]:
    """Listeners for the same volume, here and at a gateway to which they lead, that differ.

    A gateway leads a client to its first listener that is for the client's volume and reaches the
    mount.
    """
    found = (*_led_there(config, other), *_led_here(config, other))
    yield from dict.fromkeys(found)


def _led_there(config: Config, other: Described) -> Iterator[Problem]:
    theirs = other.description.listeners
    for mine in GatewayDescription.of_config(config).listeners:
        where = _key(config, mine)
        for mount in other.description.numbers:
            if mount not in mine.reach:
                continue
            meant = [one for one in theirs if one.volume == mine.volume and mount in one.reach]
            if not meant:
                text = (
                    f"has {_shown(mount)}, and gateway '{other.name}', which has that, has no "
                    f"listener with volume {_shown(mine.volume)} that reaches it, so clients are "
                    "not led there; give it one"
                )
                yield Problem((*where, "reach"), text)
            else:
                yield from _differences(where, mine, other.name, meant[0])


def _led_here(config: Config, other: Described) -> Iterator[Problem]:
    own = GatewayDescription.of_config(config)
    for theirs in other.description.listeners:
        for mount in own.numbers:
            if mount not in theirs.reach:
                continue
            meant = [
                one for one in own.listeners if one.volume == theirs.volume and mount in one.reach
            ]
            if not meant:
                text = (
                    f"lack one with volume {_shown(theirs.volume)} that reaches {_shown(mount)}, "
                    f"so clients of listener '{theirs.name}' of gateway '{other.name}' are not "
                    "led here; add one"
                )
                yield Problem(("listeners",), text)
            else:
                yield from _differences(_key(config, meant[0]), meant[0], other.name, theirs)


def _key(config: Config, listener: DescribedListener) -> Key:
    names = [one.name for one in config.listeners]
    return ("listeners", names.index(listener.name))


def _differences(
    key: Key, mine: DescribedListener, name: str, theirs: DescribedListener
) -> Iterator[Problem]:
    """The differences that a client would find when it goes from one of the two listeners to the
    other."""
    there = f"listener '{theirs.name}' of gateway '{name}', of the same volume"
    lacking = [path for path in mine.reach if path not in theirs.reach]
    more = [path for path in theirs.reach if path not in mine.reach]
    if lacking or more:
        differs = [f"lacks {', '.join(map(_shown, lacking))}"] if lacking else []
        differs += [f"has {', '.join(map(_shown, more))} besides"] if more else []
        text = f"is another than that of {there}, which {' and '.join(differs)}; make them alike"
        yield Problem((*key, "reach"), text)
    for name_of_key in ("spelling", "security_protocol"):
        own, other = getattr(mine, name_of_key), getattr(theirs, name_of_key)
        if own != other:
            text = f"is {own}, and {other} at {there}, where the same clients go; make them alike"
            yield Problem((*key, name_of_key), text)
    missing = [one for one in mine.mechanisms if one not in theirs.mechanisms]
    if missing and theirs.mechanisms:
        text = f"has {', '.join(missing)}, which {there}, lacks; clients log in at both, so make"
        yield Problem((*key, "sasl", "mechanisms"), f"{text} them alike")


def _shown(path: str) -> str:
    return f"'{DELIMITER}{path}'"
