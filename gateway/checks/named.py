"""``kafka-gateway check``: what a configuration names that has to exist: homes, policy classes."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.catalog.snapshot import Snapshot
from gateway.config.errors import Key, Problem, nearest
from gateway.config.models import Config
from gateway.config.policies import PolicyBlock
from gateway.names import parents
from gateway.policies.instance import KEY, PolicyError, load_class


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


def policy_problems(config: Config) -> list[Problem]:
    """Every class that cannot be loaded on this machine."""
    problems = []
    for key, block in _blocks(config):
        if block.class_name is None:
            continue
        try:
            load_class(block.class_name)
        except PolicyError as error:
            text = f"{error}; correct it, or put its module on PYTHONPATH"
            problems.append(Problem((*key, KEY), text))
    return problems


def _blocks(config: Config) -> Iterator[tuple[Key, PolicyBlock]]:
    policies = config.policies
    yield ("policies", "everywhere"), policies.everywhere
    yield ("policies", "default_namespace"), policies.default_namespace
    for namespace, block in policies.namespaces.items():
        yield ("policies", "namespaces", namespace), block
