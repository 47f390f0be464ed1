"""``kafka-gateway check``: principals whose home is a namespace that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.catalog.snapshot import Snapshot
from gateway.config.errors import Problem, nearest
from gateway.config.models import Config
from gateway.names import parents


def homes_not_seeded(config: Config) -> Iterator[Problem]:
    """Homes that the file itself does not make. They may be in the catalog all the same."""
    known = {tier for namespace in config.namespaces for tier in parents(namespace)}
    for principal, settings in config.principals.items():
        if settings.home not in known:
            near = nearest(settings.home, sorted(known))
            hint = f"did you mean '{near}'?" if near else "add it there, or make it before"
            yield Problem(
                ("principals", principal, "home"),
                f"'{settings.home}' is not among the namespaces of this file, and a principal"
                f" without its home reaches nothing; {hint} (check --cluster looks in the catalog)",
            )


def homes_not_there(config: Config, snapshot: Snapshot) -> Iterator[Problem]:
    """Homes that neither the file makes nor the catalog has."""
    seeded = {tier for namespace in config.namespaces for tier in parents(namespace)}
    new = seeded - {tier for path in snapshot.seeded for tier in parents(path)}
    for principal, settings in config.principals.items():
        missing = snapshot.missing_tier(settings.home)
        if missing is not None and settings.home not in new:
            yield Problem(
                ("principals", principal, "home"),
                f"namespace '{missing}' does not exist, so {principal} reaches nothing; create it,"
                " or correct its home",
            )
    for principal, home in snapshot.homes.items():
        missing = snapshot.missing_tier(home)
        if missing is not None and principal not in config.principals:
            yield Problem(
                (),
                f"the catalog gives {principal} the home '{home}', and namespace '{missing}' does"
                " not exist, so it reaches nothing; create it, or give it another home",
            )
