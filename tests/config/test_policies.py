"""gateway.config.policies: the valid content of ``policies:``, and the errors for mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config.policies import (
    MAX_NAME_PATTERN,
    PolicyBlock,
    PolicySettings,
    Range,
    compiled_pattern,
)
from gateway.config_file.loading import load_config
from tests.config import config_samples

EVERY_KEY = """\
everywhere:
  create.topic.policy.class.name: acme.policies:Naming
  create.topic.policy.timeout.ms: 500
  mode: warn
  partitions: {min: 1, max: 12}
  replication_factor: {min: 3}
  min.insync.replicas: {min: 2}
  retention.ms: {max: 604800000}
  retention.bytes: {max: 1073741824}
  configs:
    ranges: {segment.bytes: {min: 1048576}}
    required: [cleanup.policy]
    allowed: [retention.ms, cleanup.policy]
    forbidden: [unclean.leader.election.enable]
  name_pattern: "[a-z][a-z0-9-]*"
  max_topics: 100
  max_partitions: 1000
  max_topics_in_tree: 500
  max_partitions_in_tree: 5000
  max_namespaces_in_tree: 50
  max_acls_in_tree: 2000
  max_links_in_tree: 100
  max_aliases_in_tree: 0
  producer: {acks: require, idempotence: observe}
default_namespace:
  partitions: {max: 1}
namespaces:
  org: {max_topics: 0}
  "org:apache": {producer: {acks: observe}}
"""


def load(directory: Path, policies: str) -> Config:
    """The configuration with this text below ``policies:``, which is its last key."""
    path = config_samples.write(directory)
    indented = "".join(f"  {line}\n" for line in policies.splitlines())
    path.write_text(f"{path.read_text()}policies:\n{indented}")
    return load_config(path)


def rejections(directory: Path, policies: str) -> list[str]:
    """The lines of the error, counted from the line of ``policies:``, without the file's name."""
    with pytest.raises(ConfigError) as caught:
        load(directory, policies)
    before = len(config_samples.write(directory).read_text().splitlines()) + 1
    return [
        f"{problem.line - before}: {line.split(': ', 1)[1]}"
        for problem, line in zip(caught.value.problems, str(caught.value).split("\n"), strict=True)
    ]


def test_everything_can_be_set(tmp_path: Path) -> None:
    config = load(tmp_path, EVERY_KEY)
    block = config.policies.everywhere
    assert (block.class_name, block.timeout_ms, block.mode) == ("acme.policies:Naming", 500, "warn")
    assert block.partitions == Range(min=1, max=12)
    assert list(block.ranges()) == [
        "min.insync.replicas",
        "retention.ms",
        "retention.bytes",
        "segment.bytes",
    ]
    assert block.configs.required == {"cleanup.policy": None}
    assert block.configs.allowed == ("retention.ms", "cleanup.policy")
    assert (block.max_topics, block.max_partitions_in_tree) == (100, 5_000)
    assert (block.max_acls_in_tree, block.max_aliases_in_tree) == (2_000, 0)
    assert (block.producer.acks, block.producer.idempotence) == ("require", "observe")
    assert list(config.policies.namespaces) == ["org", "org:apache"]
    written = yaml.safe_load(EVERY_KEY)["everywhere"]
    assert written.keys() == {
        field.alias or name for name, field in PolicyBlock.model_fields.items()
    }


def test_it_survives_the_way_to_a_worker(tmp_path: Path) -> None:
    for text in (EVERY_KEY, "everywhere: {partitions: {max: 3}}"):
        config = load(tmp_path, text)
        assert Config.from_json(config.to_json()) == config


def test_nothing_is_set_by_default(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    assert config.policies == PolicySettings()
    assert not config.policies.everywhere.judges_topics()


def test_required_is_a_list_or_says_values(tmp_path: Path) -> None:
    keys = "everywhere: {configs: {required: {retention.ms: , cleanup.policy: delete}}}"
    assert load(tmp_path, keys).policies.everywhere.configs.required == {
        "retention.ms": None,
        "cleanup.policy": "delete",
    }


@pytest.mark.parametrize(
    ("text", "rejection"),
    [
        (
            "everywhere:\n  partition: {max: 3}",
            "2: policies.everywhere.partition: unknown key 'partition'; did you mean 'partitions'?",
        ),
        (
            "namespaces:\n  org:\n    retention_ms: {max: 3}",
            "3: policies.namespaces.org.retention_ms: unknown key 'retention_ms'; did you mean"
            " 'retention.ms'?",
        ),
        (
            "namespaces:\n  org:\n    configs:\n      ranges:\n        segment.ms: {mx: 3, max: 4}",
            "5: policies.namespaces.org.configs.ranges.segment.ms.mx: unknown key 'mx'; did you"
            " mean 'max'?",
        ),
        (
            "default:\n  partitions: {max: 3}",
            "1: policies.default: unknown key 'default'; the keys here are everywhere,"
            " default_namespace, namespaces",
        ),
        (
            "everywhere:\n  mode: warn\n  partitions: {min: 5, max: 3}",
            "3: policies.everywhere.partitions: min 5 is above max 3, so nothing would be allowed;"
            " correct one of them",
        ),
        (
            "everywhere:\n  partitions: {}",
            "2: policies.everywhere.partitions: has neither a min nor a max; write one, like"
            " {max: 12}",
        ),
        (
            "everywhere:\n  partitions: 12",
            "2: policies.everywhere.partitions: must hold keys of its own, not 12; indent them"
            " below it or remove it",
        ),
        (
            'everywhere:\n  partitions: {max: "12"}',
            "2: policies.everywhere.partitions.max: must be a whole number, not '12'; write it"
            " without quotes",
        ),
        (
            'everywhere:\n  name_pattern: "[a-z"',
            "2: policies.everywhere.name_pattern: '[a-z' is no regular expression of RE2: missing"
            " ]: [a-z; correct it",
        ),
        (
            f'everywhere:\n  name_pattern: "{"x" * (MAX_NAME_PATTERN + 1)}"',
            "2: policies.everywhere.name_pattern: has over 1000 characters; shorten it",
        ),
        (
            "everywhere:\n  producer:\n    idempotence: upgrade",
            "3: policies.everywhere.producer.idempotence: a proxy cannot make a producer"
            " idempotent, only the producer can (enable.idempotence=true); write require or"
            " observe",
        ),
        (
            "everywhere:\n  producer:\n    acks: all",
            "3: policies.everywhere.producer.acks: must be 'require', 'upgrade' or 'observe', not"
            " 'all'; choose one",
        ),
        (
            "everywhere:\n  mode: log",
            "2: policies.everywhere.mode: must be 'enforce' or 'warn', not 'log'; choose one",
        ),
        (
            'namespaces:\n  "org:": {max_topics: 1}',
            "2: policies.namespaces.org:: tier '(empty)' of namespace 'org:' is not one or more of"
            " [a-zA-Z0-9.-]; write it like org:apache:kafka",
        ),
        (
            f'namespaces:\n  "{"n" * 250}": {{max_topics: 1}}',
            f"2: policies.namespaces.{'n' * 250}: '{'n' * 250}' leaves none of Kafka's 249"
            " characters for a topic; shorten it",
        ),
        (
            "everywhere:\n  configs:\n    ranges: {retention.ms: {max: 2}}\n"
            "  retention.ms: {max: 3}",
            "1: policies.everywhere: retention.ms and configs.ranges.retention.ms say the same;"
            " keep one",
        ),
        (
            "everywhere:\n  retention.bytes: {max: -1}",
            "1: policies.everywhere: the range of retention.bytes ends below 0, and -1 is no limit"
            " at all there; leave that end out to allow everything",
        ),
        (
            "everywhere:\n  configs:\n    ranges: {local.retention.ms: {min: -2}}",
            "1: policies.everywhere: the range of local.retention.ms ends below 0, and -1 is no"
            " limit at all there; leave that end out to allow everything",
        ),
        (
            "everywhere:\n  configs: {required: [a], forbidden: [a]}",
            "2: policies.everywhere.configs: a is both required and forbidden; keep one of the two",
        ),
        (
            "everywhere:\n  configs: {required: [a], allowed: [b]}",
            "2: policies.everywhere.configs: a is required and not among allowed; add it there",
        ),
        (
            "everywhere:\n  configs:\n    required: {retention.ms: 60000}",
            "3: policies.everywhere.configs.required.retention.ms: must be text, not 60000; put it"
            " in quotes",
        ),
        (
            "everywhere:\n  configs:\n    required: [1]",
            "3: policies.everywhere.configs.required: lists something that is no key; write it"
            " like [retention.ms]",
        ),
        (
            "everywhere:\n  configs:\n    required: retention.ms",
            "3: policies.everywhere.configs.required: must be keys and values, not 'retention.ms';"
            " indent them below it",
        ),
        (
            "everywhere:\n  configs:\n    forbidden: retention.ms",
            "3: policies.everywhere.configs.forbidden: must be a list, not 'retention.ms'; write it"
            " like [a, b]",
        ),
        (
            "everywhere:\n  max_topics: -1",
            "2: policies.everywhere.max_topics: must be at least 0, not -1; raise it",
        ),
        (
            "everywhere:\n  create.topic.policy.timeout.ms: 60000",
            "2: policies.everywhere.create.topic.policy.timeout.ms: must be at most 30,000, not"
            " 60000; lower it",
        ),
        (
            'everywhere:\n  create.topic.policy.class.name: ""',
            "2: policies.everywhere.create.topic.policy.class.name: is empty; give it or leave it"
            " out",
        ),
        (
            "everywhere:",
            "1: policies.everywhere: must hold keys of its own, not nothing; indent them below it"
            " or remove it",
        ),
    ],
)
def test_rejected(tmp_path: Path, text: str, rejection: str) -> None:
    assert rejections(tmp_path, text) == [rejection]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "everywhere:\n  mode: no\nnamespaces:\n  'a b': {}\n  org:\n    partitions: {max: x}"
    assert [line.partition(": ")[0] for line in rejections(tmp_path, text)] == ["2", "4", "6"]


def test_null_is_as_if_it_was_left_out(tmp_path: Path) -> None:
    keys = [
        field.alias or name
        for name, field in PolicyBlock.model_fields.items()
        if field.default is None
    ]
    assert "name_pattern" in keys
    text = "everywhere:\n" + "".join(f"  {key}: null\n" for key in keys)
    assert load(tmp_path, text).policies == PolicySettings()


@given(st.integers() | st.none(), st.integers() | st.none(), st.integers() | st.just(math.inf))
def test_ranges(low: int | None, high: int | None, value: float) -> None:
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        return
    allowed = Range(min=low, max=high).allows(value)
    assert allowed == ((low is None or low <= value) and (high is None or value <= high))


def test_a_pattern_is_compiled_once() -> None:
    assert compiled_pattern("[a-z]+") is compiled_pattern("[a-z]+")
    # RE2 takes time linear in the name, whatever the pattern.
    assert compiled_pattern("(a*)*b").fullmatch("a" * 249) is None


@pytest.mark.parametrize("pattern", ["[", "(?=x)", r"\1", "a{1001}", "\ud800", "(a{900}){900}"])
def test_patterns_that_re2_does_not_take(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is no regular expression of RE2: .*; correct it"):
        compiled_pattern(pattern)


def test_the_example(tmp_path: Path) -> None:
    example: dict[str, Any] = yaml.safe_load(
        (Path(__file__).parents[2] / "config" / "policies.yaml").read_text()
    )
    policies = load(tmp_path, yaml.safe_dump(example["policies"])).policies
    assert list(policies.namespaces) == ["payments", "payments:audit", "search"]
    assert policies.namespaces["payments"].producer.acks == "require"
    assert policies.default_namespace.mode == "warn"
