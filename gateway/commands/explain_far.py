"""``kafka-gateway explain`` for names of other gateways' volumes: their
owner, and the way there."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Final, NamedTuple

from gateway.catalog.snapshot import Snapshot
from gateway.commands.asking import Asker
from gateway.commands.output import Output, Progress, table
from gateway.config.models import Config, Listener
from gateway.config.reach import far_paths, mounts_of
from gateway.foreign_text import shown_text
from gateway.mounts import Mount, join
from gateway.names import DELIMITER, InvalidName
from gateway.referrals.questions import MAX_TEXT, Answer, Hop, Kind, Outcome
from gateway.views import absolute
from gateway.views.spelling import volume_of, with_colons
from gateway.views.view import View
from gateway.views.view_settings import ViewSettings

_MAX_ID: Final = 64


class FarName(NamedTuple):
    """A name that is in no volume of this gateway."""

    path: str
    """The path of the name's namespace, from the root."""
    mount: str | None
    """The mount that holds the name, as far as the configuration knows; None
    if it does not know."""
    text: str | None = None
    """The whole name from the root; None if the name has no such form."""
    rejection: str | None = None
    """The error message for clients, if the name is not legal in that volume."""
    home: str = ""


def far_name(whole: Config, settings: ViewSettings, spelled: str) -> FarName | None:
    """The name, if it is in another gateway's volume, or on a path that no mount of the
    configuration holds. None if the name is this gateway's to explain. ``settings`` are the
    settings of its listener."""
    known = mounts_of(whole)
    if whole.tree is None or known is None:
        return None
    everything = known.within([*(mount.path for mount in known), *far_paths(whole)])
    settings = replace(settings, mounts=everything)
    owner = volume_of(settings, spelled)
    if owner is None:
        try:
            path = absolute.path_of(with_colons(settings, spelled))
        except InvalidName:
            return None
        named = FarName(path, None)
    elif owner.far:
        named = _in_far_volume(settings, owner, spelled)
    else:
        return None
    return named._replace(home=settings.home or settings.home_elsewhere)


def _in_far_volume(settings: ViewSettings, owner: Mount, spelled: str) -> FarName:
    """A name in another gateway's volume. If it is a relative name in legal spelling, it counts as
    a topic's, because the catalog there is not known here."""
    home = settings.home or settings.home_elsewhere
    homes = (home, "") if owner.path == settings.listener_volume else ("", home)
    there = replace(settings, volume=owner.path, home=homes[0], home_elsewhere=homes[1])
    view = View(there, Snapshot())
    try:
        namespace = view.namespace_named(spelled)
        if namespace is not None:
            name = f"{namespace}{DELIMITER}"
        else:
            topic = view.parse(spelled)
            view.snapshot.flat_of(topic)
            namespace, name = topic.namespace, str(topic)
    except InvalidName as error:
        return FarName(owner.path, owner.path, rejection=str(error))
    path = join(owner.path, namespace)
    return FarName(path, owner.path, DELIMITER + join(owner.path, name))


async def explain_far(
    whole: Config,
    listener: Listener,
    options: argparse.Namespace,
    name: FarName,
    progress: Progress,
) -> Output:
    """Find the owner of the name, by queries to the other gateways of the tree."""
    assert whole.tree is not None
    progress.text = "asking the other gateways"
    with Asker(whole, whole.tree) as asker:
        answer = await _located(asker, name.path)
    found = answer.outcome is Outcome.ANSWERED
    text = shown_text(answer.text, MAX_TEXT)
    warnings = [] if not found else _warnings(listener, name, answer)
    content = {
        "name": options.name,
        "principal": options.principal,
        "listener": listener.name,
        "cluster": None,
        "home": name.home or None,
        "path": DELIMITER + name.path,
        "absolute_name": name.text,
        "refusal": name.rejection,
        "outcome": answer.outcome.name,
        "message": text or None,
        "owner": _owner_json(answer) if found else None,
        "micros": answer.hops[0].micros if answer.hops else None,
        "hops": [hop._asdict() for hop in _hops(answer)],
        "warnings": warnings,
    }
    facts = [
        ("name", options.name),
        ("principal", options.principal),
        ("listener", listener.name),
        ("home", name.home or "none"),
        ("cluster", "none of this gateway's"),
        ("path", DELIMITER + name.path),
        ("absolute", name.text or "none"),
        *([] if name.rejection is None else [("is", f"no name there: {name.rejection}")]),
        ("owner", _owner_text(answer) if found else f"not found: {text}"),
        *([("found in", _ms(answer.hops[0].micros))] if answer.hops else []),
    ]
    parts = [table(facts)]
    if answer.hops:
        rows = [(hop.gateway, _ms(hop.micros), hop.way) for hop in _hops(answer)]
        rows[0] = (f"{rows[0][0]} (this command)", *rows[0][1:])
        parts.append(table([("gateway", "time", "way"), *rows]))
    parts += [f"warning: {warning}" for warning in warnings]
    return Output(content, "\n\n".join(parts), failed=answer.outcome in _UNKNOWN)


_UNKNOWN: Final = (Outcome.UNREACHABLE, Outcome.DENIED, Outcome.REJECTED)


async def _located(asker: Asker, path: str) -> Answer:
    """The owner of a path. The hops are the hops of a query for the mount, as for clients'
    requests, because gateways cache the locations of mounts."""
    answer = await asker.ask(Kind.LOCATE, path)
    if answer.outcome is Outcome.ANSWERED and answer.mount != path:
        again = await asker.ask(Kind.LOCATE, answer.mount)
        if again.outcome is Outcome.ANSWERED:
            return again
    return answer


class _Hop(NamedTuple):
    """A gateway that the query has reached; ``way`` is how the query went on from there."""

    gateway: str
    micros: int
    cached: bool
    way: str


def _hops(answer: Answer) -> list[_Hop]:
    found = answer.outcome is Outcome.ANSWERED
    last = len(answer.hops) - 1
    return [
        _Hop(
            shown_text(hop.gateway_id, _MAX_ID),
            hop.micros,
            hop.cached,
            "owns it" if found and place == last else _way(hop),
        )
        for place, hop in enumerate(answer.hops)
    ]


def _way(hop: Hop) -> str:
    return "known by its cache" if hop.cached else "not in its cache"


def _ms(micros: int) -> str:
    return f"{micros / 1000:.1f} ms"


def _owner_of(answer: Answer) -> str:
    return shown_text(answer.hops[-1].gateway_id, _MAX_ID) if answer.hops else ""


def _owner_text(answer: Answer) -> str:
    return f"{DELIMITER}{answer.mount} (number {answer.number}) of gateway {_owner_of(answer)}"


def _owner_json(answer: Answer) -> dict[str, object]:
    return {
        "mount": DELIMITER + answer.mount,
        "number": answer.number,
        "gateway": _owner_of(answer),
    }


def _warnings(listener: Listener, name: FarName, answer: Answer) -> list[str]:
    """A warning if settings keep the listener's clients from the owner."""
    mount = DELIMITER + answer.mount
    if answer.mount == listener.volume or answer.mount in (listener.reach or ()):
        return []
    text = f"'{mount}' is not in the reach of listener '{listener.name}': add it to `reach`"
    if name.mount is not None and name.mount != answer.mount:
        text += f"; until then its clients are led to '{DELIMITER}{name.mount}', which has it not"
    return [text]
