"""The declared rules on configs: ranges, and what has to, may and may not be set."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from gateway.config_policies import UNLIMITED, UNLIMITED_KEYS, ConfigRules, PolicyBlock, Range
from gateway.names import DELIMITER
from gateway.policies.findings import Finding, allowance, broken_bound, cut, listed
from gateway.policies.interface import RequestMetadata

_NUMBER: Final = re.compile(
    r"[+-]?[0-9]{1,40}(?P<fraction>\.[0-9]{0,40})?(?P<power>[eE][+-]?[0-9]{1,4})?"
)


def config_findings(block: PolicyBlock, metadata: RequestMetadata) -> Iterator[Finding]:
    """What a topic's configs violate.

    Of a namespace only what it sets itself is looked at: what it leaves open, and what is required,
    its topics are asked about.
    """
    is_namespace = metadata.topic.endswith(DELIMITER)
    for key, allowed in block.ranges().items():
        if not is_namespace:
            yield from _range(key, allowed, _value(metadata, key))
        elif key in metadata.configs:
            yield from _range(key, allowed, metadata.configs[key])
    if not is_namespace:
        yield from _required(block.configs.required, metadata.configs)
    yield from _settable(block.configs, metadata.configs)


def number(key: str, value: str) -> float | None:
    """The number that a value is: infinity for a retention without limit; None: it is no number."""
    text = value.strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match["fraction"] is not None or match["power"] is not None:
        return float(text)
    whole = int(text)  # exact, as a float would not be for the largest of Kafka's numbers
    return math.inf if key in UNLIMITED_KEYS and whole == UNLIMITED else whole


def _value(metadata: RequestMetadata, key: str) -> str | None:
    if key in metadata.effective_configs:
        return metadata.effective_configs[key]
    return metadata.configs.get(key)


def _range(key: str, allowed: Range, value: str | None) -> Iterator[Finding]:
    if value is None:
        # It may be outside, and nobody can tell.
        yield (
            key,
            f"does not set {key}, and the cluster does not tell its default; {allowance(allowed)}"
            " here, so it has to be set",
        )
        return
    found = number(key, value)
    if found is None:
        yield key, f"has {key}='{cut(value)}', which is no number, and {allowance(allowed)} here"
        return
    bound = broken_bound(allowed, found)
    if bound is not None:
        unlimited = " (no limit)" if found == math.inf else ""
        yield (
            f"{key}.{bound}",
            f"has {key}={cut(value.strip())}{unlimited}, and {allowance(allowed, bound)} here",
        )


def _required(required: Mapping[str, str | None], configs: Mapping[str, str]) -> Iterator[Finding]:
    for key, wanted in required.items():
        found = configs.get(key)
        if found is None:
            to = "" if wanted is None else f" to '{cut(wanted)}'"
            yield "configs.required", f"does not set {key}, which has to be set{to} here"
        elif wanted is not None and found != wanted:
            clause = f"has {key}='{cut(found)}', and '{cut(wanted)}' is required here"
            yield "configs.required", clause


def _settable(rules: ConfigRules, configs: Mapping[str, str]) -> Iterator[Finding]:
    if rules.allowed is not None:
        others = sorted(set(configs).difference(rules.allowed))
        if others:
            only = f"only {listed(rules.allowed)}" if rules.allowed else "no config"
            yield "configs.allowed", f"sets {listed(others)}, and {only} may be set here"
    refused = sorted(set(configs).intersection(rules.forbidden))
    if refused:
        yield "configs.forbidden", f"sets {listed(refused)}, which may not be set here"
