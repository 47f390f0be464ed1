"""Blocks of ``policies.namespaces`` as plain values, to be carried to another configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gateway.config.errors import Problem
from gateway.config.model_problems import problems_of
from gateway.config.policies import PolicySettings
from gateway.names import parents


def blocks_of(settings: PolicySettings, below: str = "") -> dict[str, dict[str, Any]]:
    """By path, sorted: each block as a configuration has it, without keys that say nothing.

    With ``below`` those of that namespace, of what is below it, and of what is above it.
    """
    found = {}
    for path, block in sorted(settings.namespaces.items()):
        if not below or below in parents(path) or path in parents(below):
            found[path] = block.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {path: block for path, block in found.items() if block}


def read_blocks(values: Mapping[str, object]) -> dict[str, dict[str, Any]] | list[Problem]:
    """Blocks by path, checked, in the form of :func:`blocks_of`; else what is wrong with them, at
    keys that begin with their paths."""
    try:
        return blocks_of(PolicySettings.model_validate({"namespaces": dict(values)}))
    except ValidationError as error:
        found = problems_of(error, PolicySettings)
        return [problem._replace(key=problem.key[1:]) for problem in found]
