"""Configs of brokers, broker loggers and groups, beside what the broker itself describes.

Each config of a broker is compared, in each version, with the direct response; the text configs of
this Kafka must all be decided: shown, or withheld.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from devkit import java
from devkit.broker import KafkaCluster
from devkit.broker_security import BrokerSecurity
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.apis.configs.shown_values import GROUP_CONFIGS, HARMLESS, OF_LISTENERS, WITHHELD
from gateway.apis.table import APIS
from protocol.schema import api_key_of
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

BROKER, LOGGER, GROUP = 4, 8, 32
NUMBERS: Final = frozenset({1, 3, 4, 5, 6})
"""BOOLEAN, INT, SHORT, LONG, DOUBLE (DescribeConfigsResponse.ConfigType)."""
INVALID_CONFIG, INVALID_REQUEST = 40, 42
VERSIONS: Final = APIS[api_key_of("DescribeConfigsRequest")].versions
NODE = 2
"""The broker that is not the bootstrap."""
HIDDEN: Final = "a-secret-of-the-broker"


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaCluster]:
    """Two brokers with a rack, an authorizer, and a listener with users."""
    security = BrokerSecurity(plain_users={"alice": HIDDEN}, authorizer=True)
    with KafkaCluster(2, overrides={"broker.rack": "17"}, security=security) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def served(brokers: KafkaCluster) -> Iterator[GatewayProcess]:
    listeners = (Listener("colon", "all"), Listener("home", "team-a is home", home="team-a"))
    with GatewayProcess(brokers.bootstrap_servers, listeners, ("team-a",)) as process:
        yield process


@pytest.fixture(scope="module")
def direct(brokers: KafkaCluster) -> Iterator[Wire]:
    with Wire(brokers.addresses[NODE]) as wire:
        yield wire


@pytest.fixture(scope="module")
def through(served: GatewayProcess) -> Iterator[Wire]:
    with Wire(address(served.bootstrap_servers("colon"), NODE)) as wire:
        yield wire


def address(servers: str, node_id: int) -> str:
    """The gateway's address that stands for a broker."""
    metadata = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=clients.SECONDS)
    broker = metadata.brokers[node_id]
    return f"{broker.host}:{broker.port}"


def described(wire: Wire, version: int, *resources: tuple[int, str]) -> list[Any]:
    named = [{"resource_type": kind, "resource_name": name} for kind, name in resources]
    more = {"include_documentation": True} if version >= 3 else {}
    response = wire.ask(
        "DescribeConfigs",
        version,
        resources=[{**one, "configuration_keys": None} for one in named],
        include_synonyms=True,
        **more,
    )
    return list(response.results)


def by_name(result: Any) -> dict[str, Any]:
    assert (result.error_code, result.error_message or None) == (0, None)
    return {config.name: config for config in result.configs}


def is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+(E-?\d+)?)?|true|false", value) is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_each_config_of_a_broker(direct: Wire, through: Wire, version: int) -> None:
    (here,) = described(direct, version, (BROKER, str(NODE)))
    (there,) = described(through, version, (BROKER, str(NODE)))
    kafkas, shown = by_name(here), by_name(there)
    assert kafkas.keys() - shown.keys() == {
        name for name in kafkas if name.startswith(OF_LISTENERS)
    }
    assert [*shown] == [name for name in kafkas if name in shown], "in the broker's order"
    for name, config in shown.items():
        kafka = kafkas[name]
        same = ("read_only", "config_source", "config_type", "documentation")
        for attribute in same:
            assert getattr(config, attribute, None) == getattr(kafka, attribute, None), name
        _compare(name, config, kafka)
        if config.value is None and kafka.value is not None:
            assert config.is_sensitive
        else:
            assert config.is_sensitive == kafka.is_sensitive
        assert len(config.synonyms) == len(kafka.synonyms)
        for one, other in zip(config.synonyms, kafka.synonyms, strict=True):
            assert (one.name, one.source) == (other.name, other.source)
            _compare(one.name, one, other)
    assert shown["compression.type"].value == "producer"
    assert shown["broker.rack"].value is None, "a number, but of a config that is withheld"


def _compare(name: str, config: Any, kafka: Any) -> None:
    """A value passes if it is null, of a harmless config, or a number."""
    value = kafka.value
    if value is None or (name not in WITHHELD and (name in HARMLESS or is_number(value))):
        assert config.value == value, name
    else:
        assert config.value is None, name


def test_no_value_tells_of_the_brokers_machine(
    through: Wire, brokers: KafkaCluster, direct: Wire
) -> None:
    resources = [(BROKER, str(NODE)), (BROKER, ""), (LOGGER, str(NODE))]
    told = [
        one.value or ""
        for result in described(through, 4, *resources)
        for config in result.configs
        for one in (config, *config.synonyms)
    ]
    ports = {at.rpartition(":")[2] for at in brokers.addresses.values()}
    (plain,) = described(direct, 4, (BROKER, str(NODE)))
    assert any(port in (one.value or "") for one in plain.configs for port in ports)
    for secret in (*ports, HIDDEN, "127.0.0.1", "/", "PLAINTEXT:", "CONTROLLER"):
        assert not any(secret in value for value in told), secret


def test_every_text_config_of_this_kafka_is_decided(direct: Wire) -> None:
    (broker,) = described(direct, 4, (BROKER, str(NODE)))
    texts = {
        config.name
        for config in broker.configs
        if config.config_type not in NUMBERS and not config.name.startswith(OF_LISTENERS)
    }
    # The authorizer's own configs, which Kafka does not know: their values are secret in Kafka.
    unknown = {config.name for config in broker.configs if config.config_type == 0}
    assert all(config.value is None for config in broker.configs if config.name in unknown)
    assert texts - unknown <= HARMLESS | WITHHELD
    assert not HARMLESS & WITHHELD
    (group,) = described(direct, 4, (GROUP, "app"))
    assert {config.name for config in group.configs} == GROUP_CONFIGS
    of_group = {one.name for one in group.configs if one.config_type not in NUMBERS}
    assert of_group <= HARMLESS


@pytest.mark.parametrize("version", VERSIONS)
def test_wrong_names_get_the_brokers_errors(direct: Wire, through: Wire, version: int) -> None:
    names = ["1", "", "x", "-1", f"+{NODE}", f"0{NODE}", "99999999999", " 2"]
    resources = [(kind, name) for name in names for kind in (BROKER, LOGGER)]
    resources.append((GROUP, ""))
    here, there = (described(wire, version, *resources[:9]) for wire in (direct, through))
    here += described(direct, version, *resources[9:])
    there += described(through, version, *resources[9:])
    shown = [
        (one.resource_type, one.resource_name, int(one.error_code), one.error_message)
        for one in there
    ]
    assert shown == [
        (one.resource_type, one.resource_name, int(one.error_code), one.error_message)
        for one in here
    ]
    assert {code for _, _, code, _ in shown} == {0, INVALID_REQUEST}


@pytest.mark.parametrize("version", VERSIONS)
def test_loggers(direct: Wire, through: Wire, version: int) -> None:
    (here,) = described(direct, version, (LOGGER, str(NODE)))
    (there,) = described(through, version, (LOGGER, str(NODE)))
    kafkas, shown = by_name(here), by_name(there)
    assert "root" in shown
    assert all(
        (one.value, one.config_source) == (kafkas[name].value, kafkas[name].config_source)
        for name, one in shown.items()
    )


# -- groups ----------------------------------------------------------------------------------------


def altered(
    wire: Wire, api: str, version: int, name: str, **configs: str
) -> tuple[int, str | None]:
    items: list[Mapping[str, object]] = [
        {"name": key.replace("__", "."), "value": value}
        | ({"config_operation": 0} if api.startswith("Inc") else {})
        for key, value in configs.items()
    ]
    resource = {"resource_type": GROUP, "resource_name": name, "configs": items}
    (got,) = wire.ask(api, version, resources=[resource], validate_only=False).responses
    assert got.resource_name == name
    return int(got.error_code), got.error_message


@pytest.mark.parametrize(("api", "version"), [("IncrementalAlterConfigs", 1), ("AlterConfigs", 2)])
def test_configs_of_a_homes_groups(
    served: GatewayProcess, direct: Wire, api: str, version: int
) -> None:
    name, flat, timeout = f"app-{api}", f"team-a..app-{api}", "50001"
    with Wire(address(served.bootstrap_servers("home"), NODE)) as wire:
        assert altered(wire, api, version, name, consumer__session__timeout__ms=timeout)[0] == 0

        def applied() -> bool:
            (found,) = described(direct, 4, (GROUP, flat))
            return bool(by_name(found)["consumer.session.timeout.ms"].value == timeout)

        wait_until(applied, "the group's config", clients.SECONDS)
        for served_version in VERSIONS:
            (here,) = described(direct, served_version, (GROUP, flat))
            (there,) = described(wire, served_version, (GROUP, name))
            assert there.resource_name == name
            assert there.configs == here.configs
        wrong = [
            ("", {"consumer__session__timeout__ms": timeout}),
            (name, {"no__such": "1"}),
            (name, {"consumer__session__timeout__ms": "x"}),
            (name, {"consumer__session__timeout__ms": "1"}),
        ]
        for group, configs in wrong:
            got = altered(wire, api, version, group, **configs)
            kafkas = altered(direct, api, version, group and flat, **configs)
            assert got == kafkas
            assert got[0] in (INVALID_CONFIG, INVALID_REQUEST)


# -- stock tools -----------------------------------------------------------------------------------


def test_kafka_configs_describes_brokers(served: GatewayProcess) -> None:
    arguments = ("--describe", "--all", "--entity-type", "brokers", "--entity-name", str(NODE))
    printed = java_tools.run(java.CONFIGS, served.bootstrap_servers("home"), *arguments).stdout
    assert f"All configs for broker {NODE} are:" in printed
    assert "  log.cleanup.policy=delete sensitive=false" in printed
    assert "  log.dirs=null sensitive=true" in printed
    assert "127.0.0.1" not in printed


def test_an_admin_client_describes_every_broker(served: GatewayProcess) -> None:
    admin = AdminClient({"bootstrap.servers": served.bootstrap_servers("colon")})
    nodes = admin.list_topics(timeout=clients.SECONDS).brokers
    for node_id in nodes:
        resource = ConfigResource(ResourceType.BROKER, str(node_id))
        (future,) = admin.describe_configs([resource]).values()
        found = future.result(timeout=clients.SECONDS)
        assert found["node.id"].value == str(node_id)
