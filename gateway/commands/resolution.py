"""The way from a name to its volume in a tree, mount by mount, as ``explain`` shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gateway.mounts import Mount, Mounts, join
from gateway.names import DELIMITER, InvalidName, below
from gateway.views import absolute
from gateway.views.view import View


class MountStep(NamedTuple):
    """A mount on the way to a name: its path (``:la``), its cluster, and a verdict on how it
    concerns the name. If the mount is another gateway's, ``cluster`` is empty."""

    mount: str
    cluster: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The way of a name."""

    volume: Mount
    """The mount of the name's cluster, whose view was used."""
    listener_volume: Mount
    absolute: str | None
    """The name from the root; None if a mount hides it, or if it is not a legal name."""
    steps: tuple[MountStep, ...]

    def rows(self) -> list[tuple[str, str]]:
        """The way as rows of a table, a row for each fact."""
        view = f"that of {self.volume} (cluster {self.volume.cluster}, number {self.volume.number})"
        if self.volume == self.listener_volume:
            view += ", the listener's volume"
        else:
            view += f"; the listener's volume is {self.listener_volume}"
        rows = [("view", view)]
        rows += [
            ("mount", f"{one.mount} ({_whose(one.cluster)}) {one.verdict}") for one in self.steps
        ]
        rows.append(("absolute", self.absolute or "none"))
        return rows

    def as_json(self) -> dict[str, object]:
        """The way as JSON."""
        return {
            "volume": str(self.volume),
            "listener_volume": str(self.listener_volume),
            "absolute_name": self.absolute,
            "mounts": [{**one._asdict(), "cluster": one.cluster or None} for one in self.steps],
        }


def _whose(cluster: str) -> str:
    return f"cluster {cluster}" if cluster else "another gateway's"


def resolution(spelled: str, view: View, mounts: Mounts) -> Resolution:
    """The way of the name ``spelled`` to the volume of a view; the name need not exist there."""
    settings = view.settings
    volume, own = mounts.at(settings.volume), mounts.standing(settings.listener_volume)
    assert volume is not None
    assert own is not None
    try:
        path = view.namespace_named(spelled)
        name = f"{path}{DELIMITER}" if path is not None else str(view.parse(spelled))
    except InvalidName:
        return Resolution(volume, own, None, ())
    namespace = name.rpartition(DELIMITER)[0]
    hiding = absolute.hidden_by(settings, namespace)
    shown = None if hiding is not None else DELIMITER + join(volume.path, name)
    return Resolution(volume, own, shown, tuple(_steps(mounts, volume, namespace)))


def _steps(mounts: Mounts, volume: Mount, namespace: str) -> Iterator[MountStep]:
    """The mounts above a namespace of a volume, the outermost first."""
    path = join(volume.path, namespace)
    above = [mount for mount in mounts if below(path, mount.path) is not None]
    longest = max(above, key=lambda mount: len(mount.path))
    for mount in sorted(above, key=lambda mount: len(mount.path)):
        if mount == volume:
            verdict = (
                "owns it" if mount == longest else "has it, hidden: relative names alone reach it"
            )
        elif len(mount.path) < len(volume.path):
            verdict = f"does not: {volume} hides what it has there"
        else:
            verdict = "hides it: absolute names there are its own"
        yield MountStep(str(mount), mount.cluster, verdict)
