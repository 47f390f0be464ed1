"""docs/policies.md: its keys against the models, its messages and its class against the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gateway.config.policies import (
    CATALOG_LIMITS,
    AcksGuarantee,
    ConfigRules,
    PolicyBlock,
    ProducerGuarantee,
)
from gateway.config_file.loading import load_config
from gateway.policies.catalog_limits import DEFAULTS, DEFAULTS_OF_ALL, catalog_violations
from gateway.policies.declared import violations
from gateway.policies.instance import GROUP
from gateway.policies.interface import PolicyViolation, RequestMetadata
from gateway.policies.judge import MAX_LOGGED, MAX_NAMED
from gateway.policies.limits import Counts, over
from gateway.policies.tree import NO_POLICIES, Policies
from tests.config import config_samples
from tests.docs import markdown
from tests.policies.samples import policies

PAGE = markdown.read("docs/policies.md")
SECTIONS: Mapping[str, type[BaseModel]] = {"configs": ConfigRules, "producer": ProducerGuarantee}


def keys() -> Iterator[tuple[str, FieldInfo]]:
    """Every key of a block as the page writes it."""
    for name, field in PolicyBlock.model_fields.items():
        key = field.alias or name
        if key in SECTIONS:
            inner = SECTIONS[key].model_fields.items()
            yield from ((f"{key}.{each}", found) for each, found in inner)
        else:
            yield key, field


KEYS = dict(keys())
ROWS = {markdown.code(row[0]): row[1:] for row in markdown.table(PAGE, "policy key")}


def test_every_key_has_its_row_in_order() -> None:
    assert list(ROWS) == list(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_default(key: str) -> None:
    field = KEYS[key]
    default = field.get_default(call_default_factory=True, validated_data={})
    shown = default if isinstance(default, str) else json.dumps(default)
    assert markdown.code(ROWS[key][1]) == shown


@pytest.mark.parametrize("key", KEYS)
def test_bounds(key: str) -> None:
    """A number's bounds stand in the column of its type."""
    for bound in _metadata(KEYS[key].metadata, KEYS[key].annotation):
        for kind, name in ((Ge, "ge"), (Le, "le"), (MaxLen, "max_length")):
            if isinstance(bound, kind):
                assert str(getattr(bound, name)) in ROWS[key][0]


def _metadata(found: list[Any], annotation: Any) -> Iterator[Any]:
    yield from found
    for inner in getattr(annotation, "__args__", ()):
        for each in getattr(inner, "__metadata__", ()):
            yield from each.metadata if isinstance(each, FieldInfo) else [each]


def test_the_example_is_taken(tmp_path: Path) -> None:
    (block,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = config_samples.write(tmp_path)
    path.write_text(f"{path.read_text()}{block.text}\n")
    config = load_config(path)
    assert config.policies.everywhere.partitions is not None
    assert list(config.policies.namespaces) == ["org", "org:apache"]
    assert yaml.safe_load(block.text).keys() == {"policies"}


def test_an_inner_block_loosens_nothing() -> None:
    """The numbers of the page."""
    written = policies({"partitions": {"max": 12}}, org={"partitions": {"max": 50}})
    metadata = RequestMetadata("org:x", num_partitions=13, namespace="org")
    assert [one for placed in written.of("org") for one in violations(placed, metadata)]


# -- messages --------------------------------------------------------------------------------

MESSAGES = {markdown.code(row[0]): row[1] for row in markdown.table(PAGE, "violated rule")}


def asked(topic: str, **given: Any) -> RequestMetadata:
    return RequestMetadata(topic, namespace=topic.removesuffix(":").rpartition(":")[0], **given)


DECLARED: Mapping[str, tuple[Policies, RequestMetadata]] = {
    "partitions.max": (
        policies(org={"partitions": {"max": 12}}),
        asked("org:apache:orders", num_partitions=64),
    ),
    "partitions.min": (
        policies(default_namespace={"partitions": {"min": 3}}),
        asked("orders", num_partitions=1),
    ),
    "partitions": (policies(org={"partitions": {"max": 12}}), asked("org:orders")),
    "replication_factor.max": (
        policies(org={"replication_factor": {"max": 3}}),
        asked("org:orders", replication_factor=5),
    ),
    "replication_factor.min": (
        policies({"replication_factor": {"min": 3}}),
        asked("org:orders", replicas_assignments={6: [1, 2, 3], 7: [1]}),
    ),
    "replication_factor": (policies({"replication_factor": {"min": 3}}), asked("org:orders")),
    "retention.ms.max": (
        policies(org={"retention.ms": {"max": 604_800_000}}),
        asked("org:orders", configs={"retention.ms": "-1"}),
    ),
    "min.insync.replicas.min": (
        policies({"min.insync.replicas": {"min": 2}}),
        asked("org:orders", effective_configs={"min.insync.replicas": "1"}),
    ),
    "segment.ms": (
        policies(org={"configs": {"ranges": {"segment.ms": {"min": 60_000}}}}),
        asked("org:orders"),
    ),
    "configs.required": (
        policies(org={"configs": {"required": ["retention.ms"]}}),
        asked("org:orders"),
    ),
    "configs.allowed": (
        policies(org={"configs": {"allowed": ["cleanup.policy", "retention.ms"]}}),
        asked("org:orders", configs={"segment.ms": "1"}),
    ),
    "configs.forbidden": (
        policies({"configs": {"forbidden": ["unclean.leader.election.enable"]}}),
        asked("org:apache:", configs={"unclean.leader.election.enable": "true"}),
    ),
    "name_pattern": (policies(org={"name_pattern": "[a-z][a-z0-9-]*"}), asked("org:Orders")),
}


class Usage(Counts):
    """A usage with this number of topics and partitions, whatever namespace is counted."""

    def __init__(self, there: int) -> None:
        super().__init__()
        self.there = there

    def topics(self, path: str) -> int:
        return self.there

    def tree_topics(self, path: str | None) -> int:
        return self.there

    partitions, tree_partitions = topics, tree_topics


COUNTED: Mapping[str, tuple[Policies, str, int, int]] = {
    "max_topics": (policies(org={"max_topics": 100}), "org:apache:orders", 100, 1),
    "max_partitions": (policies(default_namespace={"max_partitions": 1_000}), "orders", 1_000, 2),
    "max_topics_in_tree": (policies(org={"max_topics_in_tree": 500}), "org:apache:orders", 500, 1),
    "max_partitions_in_tree": (policies({"max_partitions_in_tree": 5_000}), "orders", 5_000, 3),
}


HELD: Mapping[str, tuple[Policies, str, int]] = {
    "max_namespaces_in_tree": (NO_POLICIES, "namespace 'org:apache:kafka'", 500),
    "max_acls_in_tree": (
        policies(org={"max_acls_in_tree": 2_000}),
        "the ACLs of 'org:orders'",
        2_000,
    ),
    "max_links_in_tree": (NO_POLICIES, "link 'org:orders'", 1_000),
    "max_aliases_in_tree": (
        policies({"max_aliases_in_tree": 50}),
        "topic 'org:apache:orders'",
        50,
    ),
}


class Tallies:
    """The same tally for every rule and tier."""

    def __init__(self, there: int) -> None:
        self.there = there

    def __call__(self, what: str, tier: str | None) -> int:
        return self.there


def test_every_rule_has_its_message() -> None:
    assert list(MESSAGES) == [*DECLARED, *COUNTED, *HELD]


@pytest.mark.parametrize("rule", HELD)
def test_messages_of_limits_of_the_catalog(rule: str) -> None:
    written, subject, there = HELD[rule]
    found = catalog_violations(written, Tallies(there), Tallies(1), ["org"], subject, defaults=True)
    assert [one.message for one in found if one.rule == rule and not one.near] == [MESSAGES[rule]]


def test_the_defaults_of_the_catalog() -> None:
    rows = markdown.table(PAGE, "limit")
    found = [(markdown.code(row[0]), int(row[1])) for row in rows]
    expected = [(rule, getattr(DEFAULTS, rule)) for rule in CATALOG_LIMITS]
    expected.insert(1, ("max_namespaces_in_tree", DEFAULTS_OF_ALL.max_namespaces_in_tree))
    assert found == expected


@pytest.mark.parametrize("rule", DECLARED)
def test_messages(rule: str) -> None:
    written, metadata = DECLARED[rule]
    found = [one for each in written.of(metadata.namespace) for one in violations(each, metadata)]
    assert [(one.rule, one.message) for one in found] == [(rule, MESSAGES[rule])]


@pytest.mark.parametrize("rule", COUNTED)
def test_messages_of_limits(rule: str) -> None:
    written, topic, there, more = COUNTED[rule]
    namespace = topic.rpartition(":")[0]
    added = Counts()
    added.add(namespace, more, more)
    found = over(written, Usage(there), added, topic, namespace)
    assert [(one.rule, one.message) for one in found] == [(rule, MESSAGES[rule])]


def test_numbers_that_the_page_names() -> None:
    assert f"it lists up to {MAX_NAMED} violated" in PAGE
    assert f"(at most {MAX_LOGGED} lines a second and worker)" in PAGE
    assert f"`{GROUP}`" in PAGE


# -- classes ---------------------------------------------------------------------------------


def test_the_class_and_its_test() -> None:
    """Both as the page has them, one after the other."""
    names: dict[str, Any] = {}
    for block in markdown.blocks(PAGE):
        if block.language == "python":
            exec(block.text, names)  # noqa: S102 - the page's own text
    names["test_orders_are_compacted"]()
    with pytest.raises(PolicyViolation):
        policy = names["OrdersAreCompacted"]()
        policy.configure({})
        policy.validate(RequestMetadata("orders"))


def test_every_field_of_the_metadata_has_its_row() -> None:
    rows = [markdown.code(row[0]) for row in markdown.table(PAGE, "`request_metadata.…`")]
    assert rows == [field.name for field in fields(RequestMetadata)]


def test_values_of_the_producer_guarantee() -> None:
    rows = [markdown.code(row[0]) for row in markdown.table(PAGE, "guarantee")]
    assert tuple(rows) == get_args(AcksGuarantee)
