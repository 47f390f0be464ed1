"""The declared rules on configs: ranges, and what has to, may and may not be set."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from gateway.config.policies import UNLIMITED, UNLIMITED_KEYS, ConfigRules, PolicyBlock, Range
from gateway.names import DELIMITER
from gateway.policies.interface import RequestMetadata
from gateway.policies.violation import Finding, allowance, broken_bound, cut, listed

SAME_AS: Final = {
    "local.retention.ms": "retention.ms",
    "local.retention.bytes": "retention.bytes",
}
"""Configs (KIP-405) of which :data:`AS_THE_OTHER` is no number but the value of another one."""

AS_THE_OTHER: Final = -2

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
        value = metadata.configs.get(key) if is_namespace else _value(metadata, key)
        if value is not None:
            yield from _range(key, allowed, value, metadata)
        elif not is_namespace:
            # It may be outside, and nobody can tell.
            clause = f"does not set {key}, and the cluster does not tell its default"
            yield key, f"{clause}; {allowance(allowed)} here, so it has to be set"
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


def _range(key: str, allowed: Range, value: str, metadata: RequestMetadata) -> Iterator[Finding]:
    told, found = key, number(key, value)
    if key in SAME_AS and found == AS_THE_OTHER:
        other = SAME_AS[key]
        same = _value(metadata, other)
        if same is None:
            # Topics are asked about what a namespace leaves open.
            if not metadata.topic.endswith(DELIMITER):
                clause = (
                    f"has {key}={AS_THE_OTHER}, which is what {other} is, and nobody tells that"
                )
                yield key, f"{clause}; {allowance(allowed)} here"
            return
        told, value, found = f"{key}={AS_THE_OTHER}, which is {other}", same, number(other, same)
    if found is None:
        yield key, f"has {told}='{cut(value)}', which is no number, and {allowance(allowed)} here"
        return
    bound = broken_bound(allowed, found)
    if bound is not None:
        unlimited = " (no limit)" if found == math.inf else ""
        yield (
            f"{key}.{bound}",
            f"has {told}={cut(value.strip())}{unlimited}, and {allowance(allowed, bound)} here",
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
