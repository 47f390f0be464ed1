"""The ``policies:`` of a configuration: limits of topics, and the guarantee of producers.

docs/policies.md describes every key.
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

import math
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import re2
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from gateway.config.policy_modes import Mode
from gateway.config.security import StrictModel, namespace_path
from gateway.names import InvalidName, check_room

RANGE_KEYS = ("min.insync.replicas", "retention.ms", "retention.bytes")
"""Configs whose range may be written beside ``partitions``."""

UNLIMITED_KEYS = ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes")
"""Configs for which :data:`UNLIMITED` means infinity."""

UNLIMITED = -1

MAX_NAME_PATTERN = 1_000
MAX_COMPILED_BYTES = 1 << 20
"""A ``name_pattern`` is rejected if it would take more bytes than this when compiled."""

CATALOG_LIMITS = (
    "max_namespaces_in_tree",
    "max_acls_in_tree",
    "max_links_in_tree",
    "max_aliases_in_tree",
)
"""The limits on entries of the catalog that are not topics."""

_NAMESPACE_PATTERN = "^[a-zA-Z0-9.-]+(:[a-zA-Z0-9.-]+)*$"

AcksGuarantee = Literal["require", "upgrade", "observe"]
IdempotenceGuarantee = Literal["require", "observe"]
Count = Annotated[int, Field(ge=0, le=10_000_000)]


def namespace_of(value: str) -> str:
    """Check that a tier path leaves room for a topic's name. Raises ValueError with one
    sentence."""
    namespace_path(value)
    try:
        check_room(value)
    except InvalidName as error:
        raise ValueError(f"{error}; shorten it") from None
    return value


@lru_cache(maxsize=1_000)
def compiled_pattern(pattern: str) -> Any:
    """Compile a ``name_pattern`` of RE2. Raises ValueError with one sentence."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_COMPILED_BYTES
    try:
        return re2.compile(pattern, options=options)
    except (re2.error, UnicodeError) as error:
        reason = error.args[0] if error.args else error
        why = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        text = f"'{pattern}' is no regular expression of RE2: {why}; correct it"
        raise ValueError(text) from None


def _pattern(value: str) -> str:
    compiled_pattern(value)
    return value


def _idempotence(value: object) -> object:
    if value == "upgrade":
        raise ValueError(
            "a proxy cannot make a producer idempotent, only the producer can"
            " (enable.idempotence=true); write require or observe"
        )
    return value


def _required(value: object) -> object:
    """Turn a list of keys into a map of each key to "any value"."""
    if not isinstance(value, list | tuple):
        return value
    for key in value:
        if not isinstance(key, str):
            raise ValueError("lists something that is no key; write it like [retention.ms]")
    return dict.fromkeys(value)


_REQUIRED_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}},
        {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    ]
}


def _unset(description: str, **options: Any) -> Any:
    return Field(default=None, description=description, **options)


class Range(StrictModel):
    """Numbers from ``min`` to ``max``, both included. There is no limit where an end is unset."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: int | None = _unset("The least that is allowed.")
    max: int | None = _unset("The most that is allowed.")

    @model_validator(mode="after")
    def _some(self) -> "Range":
        if self.min is None and self.max is None:
            raise ValueError("has neither a min nor a max; write one, like {max: 12}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(
                f"min {self.min} is above max {self.max}, so nothing would be allowed;"
                " correct one of them"
            )
        return self

    def allows(self, value: float) -> bool:
        """Whether ``value`` is in the range; ``math.inf`` is above every ``max``."""
        low = -math.inf if self.min is None else self.min
        high = math.inf if self.max is None else self.max
        return low <= value <= high


class ConfigRules(StrictModel):
    """Rules on topic configs: ``required`` maps a key to the value that it must have, if not any;
    ``allowed`` are the keys that clients may set, if not all, and ``forbidden`` are keys that they
    may not set."""

    ranges: dict[str, Range] = Field(
        default_factory=dict, description="The range of any numeric config, by its key."
    )
    required: Annotated[
        dict[str, str | None], BeforeValidator(_required), WithJsonSchema(_REQUIRED_SCHEMA)
    ] = Field(
        default_factory=dict,
        description="Configs that have to be set: a list of keys, or keys with their values.",
    )
    allowed: tuple[str, ...] | None = _unset("The configs that may be set; all others may not.")
    forbidden: tuple[str, ...] = Field(default=(), description="Configs that may not be set.")

    @model_validator(mode="after")
    def _possible(self) -> "ConfigRules":
        for key in self.required:
            if key in self.forbidden:
                raise ValueError(f"{key} is both required and forbidden; keep one of the two")
            if self.allowed is not None and key not in self.allowed:
                raise ValueError(f"{key} is required and not among allowed; add it there")
        return self


def _check_unlimited(key: str, allowed: Range) -> None:
    """Raise ValueError for a range in which -1 would be a number of milliseconds or bytes."""
    if key in UNLIMITED_KEYS and any(
        end is not None and end < 0 for end in (allowed.min, allowed.max)
    ):
        raise ValueError(
            f"the range of {key} ends below 0, and -1 is no limit at all there;"
            " leave that end out to allow everything"
        )


class ProducerGuarantee(StrictModel):
    """The treatment of producers with less than the strongest guarantee (KIP-679)."""

    acks: AcksGuarantee | None = _unset("What is done with acks other than all.")
    idempotence: Annotated[IdempotenceGuarantee | None, BeforeValidator(_idempotence)] = _unset(
        "What is done with records of producers that are not idempotent."
    )


# Shared, because pydantic would copy a default for each of 20,000 blocks.
_NO_RULES: Final = ConfigRules()
_NO_GUARANTEE: Final = ProducerGuarantee()


class PolicyBlock(StrictModel):
    """The policies of a place in the tree. ``mode`` is the mode of its rules and its class."""

    class_name: Annotated[str, Field(min_length=1)] | None = _unset(
        "A class of your own: module:Class, or the name of an entry point.",
        alias="create.topic.policy.class.name",
    )
    timeout_ms: Annotated[int, Field(ge=10, le=30_000)] = Field(
        default=1_000,
        alias="create.topic.policy.timeout.ms",
        description="Milliseconds that the class may take for a topic; after them it is refused.",
    )
    mode: Mode = Field(default="enforce", description="Whether this block refuses, or only warns.")
    partitions: Range | None = _unset("Partitions of a topic.")
    replication_factor: Range | None = _unset("Replicas of each partition.")
    min_insync_replicas: Range | None = _unset(
        "The range of min.insync.replicas.", alias="min.insync.replicas"
    )
    retention_ms: Range | None = _unset(
        "The range of retention.ms; -1 is above every max.", alias="retention.ms"
    )
    retention_bytes: Range | None = _unset(
        "The range of retention.bytes; -1 is above every max.", alias="retention.bytes"
    )
    configs: ConfigRules = Field(
        default_factory=lambda: _NO_RULES, description="Rules on the configs of topics."
    )
    name_pattern: (
        Annotated[str, Field(max_length=MAX_NAME_PATTERN), AfterValidator(_pattern)] | None
    ) = _unset("RE2; the whole name of a topic, without its namespace.")
    max_topics: Count | None = _unset("Topics in each namespace by itself.")
    max_partitions: Count | None = _unset("Partitions in each namespace by itself.")
    max_topics_in_tree: Count | None = _unset(
        "Topics in the namespace of the block and all below it, together."
    )
    max_partitions_in_tree: Count | None = _unset(
        "Partitions in the namespace of the block and all below it, together."
    )
    max_namespaces_in_tree: Count | None = _unset("Namespaces below the one of the block.")
    max_acls_in_tree: Count | None = _unset(
        "ACLs of the namespace of the block and of all that is in or below it."
    )
    max_links_in_tree: Count | None = _unset(
        "Links in the namespace of the block and all below it, together."
    )
    max_aliases_in_tree: Count | None = _unset(
        "Aliases in the namespace of the block and all below it, together."
    )
    producer: ProducerGuarantee = Field(
        default_factory=lambda: _NO_GUARANTEE,
        description="The guarantee that producers are held to.",
    )

    @model_validator(mode="after")
    def _said_once(self) -> "PolicyBlock":
        twice = [key for key in RANGE_KEYS if self._short(key) and key in self.configs.ranges]
        if twice:
            raise ValueError(f"{twice[0]} and configs.ranges.{twice[0]} say the same; keep one")
        for key, range_ in self.ranges().items():
            _check_unlimited(key, range_)
        return self

    def ranges(self) -> dict[str, Range]:
        """The ranges of numeric configs, by key."""
        short = {key: found for key in RANGE_KEYS if (found := self._short(key)) is not None}
        return {**short, **self.configs.ranges}

    def judges_topics(self) -> bool:
        """Whether the block has rules for creating and altering topics."""
        unset = PolicyBlock()
        others = ("producer", "mode", "timeout_ms", *CATALOG_LIMITS)
        mine: Any = self.model_copy(update={key: getattr(unset, key) for key in others})
        return bool(mine != unset)

    def counts_topics(self) -> bool:
        """Whether the block limits the number of topics or partitions."""
        in_tree = self.max_topics_in_tree, self.max_partitions_in_tree
        return any(limit is not None for limit in (self.max_topics, self.max_partitions, *in_tree))

    def _short(self, key: str) -> Range | None:
        found: Range | None = getattr(self, key.replace(".", "_"))
        return found


class PolicySettings(StrictModel):
    """Policies of the whole gateway: ``everywhere`` is for all namespaces, the default namespace
    included, ``default_namespace`` for topics of the default namespace alone, and ``namespaces``
    for a namespace and all below it."""

    everywhere: PolicyBlock = Field(
        default=PolicyBlock(), description="For every namespace, the default one too."
    )
    default_namespace: PolicyBlock = Field(
        default=PolicyBlock(), description="For the default namespace alone."
    )
    namespaces: dict[
        Annotated[
            str,
            AfterValidator(namespace_of),
            WithJsonSchema({"type": "string", "pattern": _NAMESPACE_PATTERN}),
        ],
        PolicyBlock,
    ] = Field(default_factory=dict, description="For a namespace and all below it, by its path.")
