"""Blocks of ``policies.namespaces`` as plain values, which another configuration can take over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gateway.config.errors import Problem
from gateway.config.model_problems import problems_of
from gateway.config.policies import PolicySettings
from gateway.names import parents


def blocks_of(settings: PolicySettings, below: str = "") -> dict[str, dict[str, Any]]:
    """The blocks by path, sorted: each as a configuration has it, without keys at their defaults.

    If ``below`` is a namespace, only its blocks, and the blocks of namespaces below and above it.
    """
    found = {}
    for path, block in sorted(settings.namespaces.items()):
        if not below or below in parents(path) or path in parents(below):
            found[path] = block.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {path: block for path, block in found.items() if block}


def read_blocks(values: Mapping[str, object]) -> dict[str, dict[str, Any]] | list[Problem]:
    """Check blocks by path, and return them in the form of :func:`blocks_of`, or the problems in
    them, at keys that begin with their paths."""
    try:
        return blocks_of(PolicySettings.model_validate({"namespaces": dict(values)}))
    except ValidationError as error:
        found = problems_of(error, PolicySettings)
        return [problem._replace(key=problem.key[1:]) for problem in found]
