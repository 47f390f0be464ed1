"""gateway.policies.schema: config/policies.schema.json, against the models and the example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from gateway.config.policies import PolicyBlock, PolicySettings
from gateway.policies.schema import policies_schema, schema_text
from tests.policies.json_schema import mistakes
from tests.policies.samples import values

CONFIG = Path(__file__).parents[2] / "config"
SCHEMA = policies_schema()


def test_the_file_is_what_the_command_prints() -> None:
    told = "write it again: kafka-gateway policies schema > config/policies.schema.json"
    assert (CONFIG / "policies.schema.json").read_text() == schema_text(), told


def test_every_key_is_described() -> None:
    for name, model in SCHEMA["$defs"].items():
        for key, rule in model["properties"].items():
            assert rule["description"].endswith("."), f"{name}.{key}"


def test_all_keys_are_there() -> None:
    keys = {field.alias or name for name, field in PolicyBlock.model_fields.items()}
    assert SCHEMA["$defs"]["PolicyBlock"]["properties"].keys() == keys


def test_the_example_satisfies_it() -> None:
    text = (CONFIG / "policies.yaml").read_text()
    assert "$schema=policies.schema.json" in text
    assert mistakes(yaml.safe_load(text), SCHEMA, SCHEMA) == []


@pytest.mark.parametrize(
    ("policies", "mistake"),
    [
        ({"everywhere": {"partition": {"max": 1}}}, "everywhere.partition"),
        ({"everywhere": {"partitions": {}}}, "everywhere.partitions"),
        ({"everywhere": {"partitions": {"max": "1"}}}, "everywhere.partitions"),
        ({"everywhere": {"mode": "log"}}, "everywhere.mode"),
        ({"everywhere": {"producer": {"idempotence": "upgrade"}}}, "everywhere.producer.idem"),
        ({"everywhere": {"max_topics": -1}}, "everywhere.max_topics"),
        ({"everywhere": {"create.topic.policy.timeout.ms": 1}}, "everywhere.create.topic.policy"),
        ({"everywhere": {"configs": {"forbidden": "a"}}}, "everywhere.configs.forbidden"),
        ({"everywhere": {"configs": {"required": [1]}}}, "everywhere.configs.required"),
        ({"namespaces": {"org:": {}}}, "namespaces.org:"),
        ({"namespaces": {"org": {"mode": 1}}}, "namespaces.org.mode"),
        ({"everwhere": {}}, "everwhere"),
    ],
)
def test_what_it_rejects_the_models_reject(policies: Any, mistake: str) -> None:
    found = mistakes({"policies": policies}, SCHEMA, SCHEMA)
    assert found
    assert all(one.startswith(f"policies.{mistake}") for one in found)
    with pytest.raises(ValidationError):
        PolicySettings.model_validate(values(policies))


@pytest.mark.parametrize(
    "policies",
    [
        {},
        {"everywhere": {"configs": {"required": ["a"]}}},
        {"everywhere": {"configs": {"required": {"a": None, "b": "c"}}}},
        {"everywhere": {"name_pattern": None}},
        {"namespaces": {"org:apache.kafka-4": {"max_topics": 1}}},
    ],
)
def test_what_the_models_take_it_takes(policies: Any) -> None:
    assert mistakes({"policies": policies, "workers": 2}, SCHEMA, SCHEMA) == []
    PolicySettings.model_validate(values(policies))
