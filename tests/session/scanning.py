"""The scan that every byte to a client passes in tests of sessions and in scenarios: no broker's
address, no name as brokers store it, nothing from outside the client's home (docs/isolation.md).

It searches bytes, not fields, so it depends on no table of what fields carry: strings of tagged
fields, error texts, subscriptions and assignments are all bytes. What the client has written
itself, it may read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gateway.views.view import View

HOSTS: Final = re.compile(rb"kafka-\d+\.internal|broker-\d+\.internal")
"""Every address that tests give to brokers."""


class Leak(AssertionError):
    """Bytes that a client must not see were written to it."""


class Scan:
    """The scan of one connection."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self.has_names = True
        """False: only addresses are searched for, because a broker's bytes are mutated."""

    def from_client(self, data: bytes) -> None:
        """Take in bytes that the client has sent."""
        self._written.append(data)  # joined when it is needed: tests send 100 MiB in pieces

    def _wrote(self, name: bytes) -> bool:
        """Whether the client has written a name itself."""
        self._written = [b"".join(self._written)]
        return name in self._written[0]

    def to_client(self, data: bytes, stored: Iterable[bytes], view: View) -> None:
        """Raise Leak if ``data``, to a client of ``view``, holds a broker's address; the flat name
        of a topic in a namespace, on a listener with colons or with a home; or, under a home that
        may not be left, any name from outside it. ``stored`` are the flat names at the brokers."""
        host = HOSTS.search(data)
        if host is not None and not self._wrote(host[0]):
            raise Leak(f"a broker's address, {host[0]!r}, is shown: {data!r}")
        if not self.has_names:
            return
        settings, namespaces = view.settings, view.snapshot.namespaces
        legal, home = settings.spelling == "legal", settings.home
        of_namespace: dict[bytes, list[bytes]] = {}
        for flat in stored:
            namespace, delimiter, topic = flat.rpartition(b"..")
            if delimiter:
                of_namespace.setdefault(namespace, []).append(topic)
        for namespace, topics in of_namespace.items():
            tiers = namespace.decode(errors="replace").replace(".", ":")
            if tiers not in namespaces:
                continue  # topics of the default namespace, whose names are what is stored
            hidden = [] if legal else [namespace + b".."]
            if home and not (tiers == home or tiers.startswith(f"{home}:")):
                hidden = [] if settings.escape else [namespace + b"..", f"{tiers}:".encode()]
            elif home:
                hidden = [namespace + b".."]
            for begin in hidden:
                if begin in data:  # mostly it is not, and there may be 100,000 topics
                    self._look_for([begin + topic for topic in topics], data)

    def _look_for(self, names: Iterable[bytes], data: bytes) -> None:
        for name in names:
            if name in data and not self._wrote(name):
                raise Leak(f"{name!r} is shown: {data!r}")
