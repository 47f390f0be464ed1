"""DescribeConfigs: configs and results in every version."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.changes.base.broker import Default
from gateway.changes.configs.config_shape import Shape
from gateway.decision import Denied
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import message_versions

VERSIONS = [v for v in message_versions("DescribeConfigsResponse") if v > 0]
OWN, INHERITED, STATIC, DEFAULT = 1, 3, 4, 5


def shape(version: int, *, synonyms: bool = True, documentation: bool = True) -> Shape:
    response = messages.message_class("DescribeConfigsResponse", version)
    return Shape(element_class(response, "results"), synonyms, documentation)


def resource(*keys: str) -> Any:
    request = messages.message_class("DescribeConfigsRequest", 4)
    values = {"resource_type": 2, "resource_name": "org:", "configuration_keys": keys or None}
    return make(element_class(request, "resources"), values)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_virtual_config(version: int) -> None:
    config = shape(version).virtual("gateway.topics", "3", config_type=3)
    assert (config.name, config.value) == ("gateway.topics", "3")
    assert (config.read_only, config.config_source) == (True, DEFAULT)
    assert [(s.name, s.value, s.source) for s in config.synonyms] == [
        ("gateway.topics", "3", DEFAULT)
    ]
    if version >= 3:
        assert config.config_type == 3
        assert config.documentation.startswith("How many topics")
    bare = shape(version, synonyms=False, documentation=False)
    config = bare.virtual("gateway.topics", "3")
    assert config.synonyms == ()
    assert getattr(config, "documentation", None) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("own", "above", "value", "source", "layers"),
    [
        ("1", "2", "1", OWN, [("1", OWN), ("2", INHERITED), ("9", STATIC)]),
        (None, "2", "2", INHERITED, [("2", INHERITED), ("9", STATIC)]),
        (None, None, "9", STATIC, [("9", STATIC)]),
    ],
)
def test_layers(
    version: int,
    own: str | None,
    above: str | None,
    value: str,
    source: int,
    layers: list[tuple[str, int]],
) -> None:
    default = Default("segment.ms", "9", STATIC, synonyms=(("log.roll.ms", "9", STATIC),))
    config = shape(version).layered(default, own, above)
    assert (config.value, config.config_source) == (value, source)
    assert [(s.value, s.source) for s in config.synonyms] == layers


def test_a_sensitive_default_is_not_told() -> None:
    default = Default("secret", "x", is_sensitive=True)
    assert shape(4).layered(default, None, None).value is None


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_tells_in_another_version(version: int) -> None:
    newest = shape(4).virtual("gateway.topics", "3")
    config = shape(version).rebuilt(newest)
    assert config == shape(version).virtual("gateway.topics", "3")


@pytest.mark.parametrize("version", VERSIONS)
def test_results(version: int) -> None:
    one = shape(version)
    configs = [one.virtual(key, "1") for key in ("gateway.topics", "gateway.deleting")]
    assert one.described(resource(), configs).configs == tuple(configs)
    told = one.described(resource("gateway.deleting", "no.such"), configs)
    assert (told.resource_name, told.configs) == ("org:", tuple(configs[1:]))
    why = one.rejected(resource(), Denied(3, "No.", "namespace"))
    assert (int(why.error_code), why.error_message, why.resource_name) == (3, "No.", "org:")
