"""The configs of a subscription of client metrics (KIP-714), as a broker reads and rejects them.

===============  =================================================================================
``metrics``      prefixes of metrics' names, separated by commas; ``*`` for all metrics
``interval.ms``  milliseconds between two pushes, 100 to 3,600,000
``match``        ``selector=expression``, separated by commas: every expression must match the whole
                 of its selector's value, or the subscription does not concern the client
===============  =================================================================================

Order, codes and texts are those of Kafka's ClientMetricsConfigs and ConfigDef (4.3.1). The
expressions are RE2's, which match in linear time, where a broker has Java's. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.name_regex import InvalidRegex, NameRegex
from protocol.pausing import paced

METRICS: Final = "metrics"
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"

CONFIGS: Final = (INTERVAL, MATCH, METRICS)
"""The configs of a subscription, in the order in which a broker describes them."""

LISTS: Final = frozenset({METRICS, MATCH})
"""The configs whose values are lists."""

ALL: Final = "*"
"""Stands for all metrics, in a subscription and in what a client is asked for."""

DEFAULT_INTERVAL_MS: Final = 300_000
MIN_INTERVAL_MS: Final = 100
MAX_INTERVAL_MS: Final = 3_600_000

MAX_ITEMS: Final = 100
"""Items of a list of one subscription. A broker has no limit."""

MAX_BYTES: Final = 65_536
"""Bytes of a subscription's name and values. A broker has no limit."""

MAX_STRING: Final = 32_767
"""Bytes of a value, so that every version of DescribeConfigs can hold it (int16 length)."""

MAX_INSTRUCTIONS: Final = 1_000
"""Instructions of the compiled expressions of a subscription together: matching may visit all of
them for each byte. An expression of ordinary names has fewer than a hundred."""

_SPACE: Final = " \t\n\x0b\f\r"
"""What ``\\s`` of Java's expressions matches."""

_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""What Java's ``String.trim`` removes."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_MAX_INT: Final = 2**31 - 1

SELECTORS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The selectors of ``match``."""


class WrongConfig(ValueError):
    """A value, or a name, that Kafka or this gateway rejects: ``code`` is the error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check(name: str, configs: Mapping[str, str]) -> None:
    """Raise :class:`WrongConfig` unless a broker would take these configs of a subscription, and
    they keep to the gateway's own limits."""
    if not name:
        raise WrongConfig(INVALID_REQUEST, "Subscription name can't be empty")
    for key in configs:
        if key not in CONFIGS:
            raise WrongConfig(INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
    _check_size(name, configs)
    _check_list(METRICS, configs)
    interval = configs.get(INTERVAL)
    interval_ms = DEFAULT_INTERVAL_MS if interval is None else read_interval(interval)
    _check_list(MATCH, configs)
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        raise WrongConfig(
            INVALID_REQUEST,
            f"Invalid value {interval_ms} for {INTERVAL}, interval must be between"
            f" {MIN_INTERVAL_MS} and {MAX_INTERVAL_MS} (1 hour)",
        )
    read_patterns(configs.get(MATCH, ""))


def described(key: str, value: str) -> str:
    """A value as a broker describes it: parsed, and written again."""
    return ",".join(read_list(value)) if key in LISTS else str(read_interval(value))


DEFAULTS: Final[Mapping[str, str]] = {METRICS: "", INTERVAL: str(DEFAULT_INTERVAL_MS), MATCH: ""}
"""The value of each config that is not set, as a broker describes it."""


def read_list(value: str) -> list[str]:
    """The items of a list, each once (ConfigDef.parseType)."""
    trimmed = value.strip(_TRIMMED)
    items = [item.strip(_SPACE) for item in trimmed.split(",")] if trimmed else []
    return [*dict.fromkeys(items)]


def read_interval(value: str) -> int:
    """The milliseconds of an interval, in or out of its range. Raises :class:`WrongConfig`."""
    trimmed = value.strip(_TRIMMED)
    found = int(trimmed) if _INTEGER.fullmatch(trimmed) else _MAX_INT + 1
    if not -_MAX_INT - 1 <= found <= _MAX_INT:
        raise WrongConfig(
            INVALID_CONFIG,
            f"Invalid value {value} for configuration {INTERVAL}: Not a number of type INT",
        )
    return found


def read_patterns(match: str) -> dict[str, NameRegex]:
    """The expression of each selector that ``match`` names; the last one of a selector that it
    names twice. Raises :class:`WrongConfig`."""
    found: dict[str, NameRegex] = {}
    for item in paced(read_list(match), every=1):
        parts = item.split("=")
        while parts and not parts[-1]:  # as Java's String.split
            parts.pop()
        illegal = f"Illegal client matching pattern: {item}"
        selector = parts[0].strip(_TRIMMED) if len(parts) == 2 else ""
        if selector not in SELECTORS:
            raise WrongConfig(INVALID_CONFIG, illegal)
        expression = parts[1].strip(_TRIMMED)
        too_large = WrongConfig(INVALID_CONFIG, f"{illegal} (the expression is too large)")
        if len(expression) > MAX_INSTRUCTIONS:  # before it is compiled, which takes milliseconds
            raise too_large
        try:
            pattern = NameRegex(expression)
        except InvalidRegex as error:
            reason = f"this gateway reads it as RE2, which reports: {error}"
            raise WrongConfig(INVALID_CONFIG, f"{illegal} ({reason})") from None
        if pattern.instructions > MAX_INSTRUCTIONS:
            raise too_large
        found[selector] = pattern
        if sum(each.instructions for each in found.values()) > MAX_INSTRUCTIONS:
            together = f"{illegal} (the expressions together are too large)"
            raise WrongConfig(INVALID_CONFIG, together)
    return found


def _check_size(name: str, configs: Mapping[str, str]) -> None:
    for key, value in configs.items():
        if len(value) > MAX_STRING or len(value.encode()) > MAX_STRING:
            raise WrongConfig(INVALID_CONFIG, f"'{key}' is longer than {MAX_STRING:,} bytes.")
    size = sum(len(text.encode()) for text in (name, *configs.values()))
    if size > MAX_BYTES:
        raise WrongConfig(
            INVALID_CONFIG,
            f"A client metrics subscription has at most {MAX_BYTES:,} bytes of name and configs,"
            f" and this one has {size:,}.",
        )


def _check_list(key: str, configs: Mapping[str, str]) -> None:
    """Reject empty items (ConfigDef.ValidList), and too many."""
    items = read_list(configs.get(key, ""))
    if not all(items):
        raise WrongConfig(INVALID_CONFIG, f"Configuration '{key}' values must not be empty.")
    if len(items) > MAX_ITEMS:
        raise WrongConfig(
            INVALID_CONFIG,
            f"A client metrics subscription has at most {MAX_ITEMS} values in '{key}', and this one"
            f" has {len(items):,}.",
        )
