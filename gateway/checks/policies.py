"""``kafka-gateway check``: the policy classes of a configuration, loaded and not made."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.config.errors import Key, Problem
from gateway.config.models import Config
from gateway.config.policies import PolicyBlock
from gateway.policies.loading import KEY, PolicyError, load_class


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
