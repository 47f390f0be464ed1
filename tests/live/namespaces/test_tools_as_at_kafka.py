"""Tools that own the configs of topics see no difference between a gateway and a plain Kafka.

A topic of a namespace is compared with a topic of a Kafka whose defaults for all brokers are the
namespace's configs. Brokers return such a default as DYNAMIC_DEFAULT_BROKER_CONFIG, and so does the
gateway for inherited configs. Each tool runs at least twice, with changes of the inherited configs
in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.namespaces.test_config_tools import described, dynamic, reconcile
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.fixtures import own_gateway, own_kafka
from tests.live.support.namespaces import INHERITED, INVALID_CONFIG, INVALID_REQUEST, OWN, describe
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Configs = Mapping[str, str]
State = dict[str, tuple[str, int]]

DECLARED: Final = {"segment.ms": "600000"}
ABOVE: Final = {"retention.ms": "3600000", "max.message.bytes": "500000"}
LATER: Final = {"retention.ms": "1800000", "max.message.bytes": "500000"}

TOPIC: Final = 2
BROKER: Final = 4

BROKER_KEYS: Final = {"retention.ms": "log.retention.ms", "max.message.bytes": "message.max.bytes"}
"""The brokers' names for the defaults of topics' configs (ServerTopicConfigSynonyms)."""

kafka = own_kafka()
plain = own_kafka()
gateway = own_gateway(
    Listener("colon", "names with colons"),
    Listener("legal", "kafka-configs takes no colons", spelling="legal"),
)


@pytest.fixture(scope="module", autouse=True)
def _format(gateway: GatewayProcess) -> None:
    config = str(gateway.config_path)
    namespaces.command("catalog", "upgrade", "--format", "3", "--config", config)


@dataclass(frozen=True, slots=True)
class Site:
    """A topic, and how to set inherited configs.

    ``java`` is the listener and name for Kafka's tools.
    """

    servers: str
    topic: str
    java: tuple[str, str]
    set_above: Callable[[Configs], None]

    def state(self) -> State:
        """Value and source of each of the topic's configs that are Kafka's."""
        found = describe(self.servers, self.topic)
        return {key: one for key, one in found.items() if not key.startswith("gateway.")}

    def own(self) -> dict[str, str]:
        """The configs that are set on the topic."""
        return {key: value for key, (value, source) in self.state().items() if source == OWN}


@pytest.fixture
def namespace(colon: str, unique: Names) -> str:
    name = unique("org")
    namespaces.create(colon, f"{name}:", configs=ABOVE)
    return name


@pytest.fixture
def site(colon: str, legal: str, kafka: KafkaCluster, namespace: str) -> Site:
    """A topic of a namespace, beside another topic."""
    namespaces.create_topic(colon, kafka, f"{namespace}:other")
    namespaces.create_topic(colon, kafka, f"{namespace}:orders", DECLARED)

    def set_above(configs: Configs) -> None:
        namespaces.alter(colon, f"{namespace}:", configs)

    return Site(colon, f"{namespace}:orders", (legal, f"{namespace}..orders"), set_above)


@pytest.fixture
def twin(plain: KafkaCluster, unique: Names) -> Site:
    """The same topic at a broker."""
    servers, name = plain.bootstrap_servers, unique("twin")

    def set_above(configs: Configs) -> None:
        entries = [
            {"name": BROKER_KEYS[key], "config_operation": 0, "value": value}
            for key, value in configs.items()
        ]
        resource = {"resource_type": BROKER, "resource_name": "", "configs": entries}
        with Wire(servers) as wire:
            answer = wire.ask("IncrementalAlterConfigs", 1, resources=[resource])
        assert not answer.responses[0].error_code, answer.responses[0].error_message

    set_above(ABOVE)
    namespaces.create_topic(servers, plain, name, DECLARED)
    found = Site(servers, name, (servers, name), set_above)
    await_above(found, ABOVE)
    return found


def await_above(site: Site, configs: Configs) -> None:
    """Wait for the change, because brokers respond before they apply it."""

    def applied() -> bool:
        state = site.state()
        wanted = [(value, INHERITED) for value in configs.values()]
        return all(state[key] in wanted or state[key][1] == OWN for key in configs)

    wait_until(applied, f"{configs} above {site.topic}", clients.SECONDS, poll=0.05)


def await_own(site: Site, spec: Configs, own: Configs | None) -> None:
    """Wait until the configs set on the topic are ``own``, or include ``spec`` if that is None."""

    def reached() -> bool:
        found = site.own()
        return found == own if own is not None else found.items() >= spec.items()

    wait_until(reached, f"{own or spec} of {site.topic}", clients.SECONDS, poll=0.05)


# -- tools: each applies a specification to a topic, and reports its changes -----------------------


def operator(site: Site, spec: Configs) -> object:
    """Strimzi's Topic Operator (BatchingTopicController.buildAlterConfigOps).

    It sets a config that has another value, whatever the source, and deletes a DYNAMIC_TOPIC_CONFIG
    that is not specified.
    """
    return reconcile(site.servers, site.topic, spec)


def kafka_configs(site: Site, spec: Configs) -> object:
    """The same by Kafka's own tool, which describes only the dynamic configs."""
    servers, topic = site.java
    entity = ["--entity-type", "topics", "--entity-name", topic]
    lines = java_tools.configs(servers, "--describe", *entity).lines[1:]
    known = dict(line.split()[0].split("=", 1) for line in lines)
    put = {key: value for key, value in spec.items() if known.get(key) != value}
    drop = known.keys() - spec.keys()
    change = []
    if put:
        change += ["--add-config", ",".join(f"{key}={value}" for key, value in put.items())]
    if drop:
        change += ["--delete-config", ",".join(sorted(drop))]
    if change:
        java_tools.configs(servers, "--alter", *entity, *change)
    return put, set(drop)


def terraform(site: Site, spec: Configs) -> object:
    """Mongey's provider: a plan by DescribeConfigs v1 and an update by AlterConfigs v0.

    The update has all declared configs (client.go, topicConfig and UpdateTopic).
    """
    found = terraform_reads(site)
    if found == spec:
        return None
    entries = [{"name": key, "value": value} for key, value in spec.items()]
    resource = {"resource_type": TOPIC, "resource_name": site.topic, "configs": entries}
    with Wire(site.servers) as wire:
        (answer,) = wire.ask("AlterConfigs", 0, resources=[resource]).responses
    assert not answer.error_code, answer.error_message
    return found


def terraform_reads(site: Site) -> dict[str, str]:
    """The configs that the provider takes for the topic's own (topic.go, isDefault).

    DEFAULT_CONFIG, STATIC_BROKER_CONFIG and DYNAMIC_DEFAULT_BROKER_CONFIG are left out.
    """
    resource = {"resource_type": TOPIC, "resource_name": site.topic, "configuration_keys": None}
    with Wire(site.servers) as wire:
        (found,) = wire.ask("DescribeConfigs", 1, resources=[resource]).results
    assert not found.error_code, found.error_message
    return {one.name: one.value for one in found.configs if one.config_source not in (3, 4, 5)}


def kafka_python(site: Site, spec: Configs) -> None:
    """kafka-python for old brokers: AlterConfigs of all non-default configs.

    So a topic keeps the inherited configs as its own.
    """
    admin = KafkaAdminClient(bootstrap_servers=site.servers)
    try:
        resource = ConfigResource(ConfigResourceType.TOPIC, site.topic, dict(spec))
        admin.alter_configs([resource], incremental=False)
    finally:
        admin.close()


Tool = Callable[[Site, Configs], object]

SPEC: Final = {"retention.ms": "7200000", "cleanup.policy": "delete"}
EQUAL: Final = {"retention.ms": ABOVE["retention.ms"]}

SEQUENCES: Final[dict[str, list[tuple[Tool | None, Configs, Configs | None]]]] = {
    "reconciled twice": [
        (operator, SPEC, {"retention.ms": "7200000"}),
        (operator, SPEC, {"retention.ms": "7200000"}),
        (None, LATER, {"retention.ms": "7200000"}),
        (operator, SPEC, {"retention.ms": "7200000"}),
        (operator, {}, {}),
        (operator, {}, {}),
    ],
    "specified as inherited": [
        (operator, EQUAL, {}),
        (operator, EQUAL, {}),
        (None, LATER, {}),
        (operator, EQUAL, EQUAL),
        (operator, EQUAL, EQUAL),
        (None, ABOVE, EQUAL),
        (operator, {}, {}),
    ],
    "declared as inherited": [
        (terraform, EQUAL, EQUAL),
        (terraform, EQUAL, EQUAL),
        (None, LATER, EQUAL),
        (terraform, EQUAL, EQUAL),
        (operator, EQUAL, EQUAL),
        (terraform, {}, {}),
        (terraform, SPEC, SPEC),
    ],
    "by kafka-configs": [
        (kafka_configs, SPEC, SPEC),
        (kafka_configs, SPEC, SPEC),
        (None, LATER, SPEC),
        (kafka_configs, {}, {}),
    ],
    "by kafka-python": [(kafka_python, {"cleanup.policy": "compact"}, None), (operator, {}, {})],
}
"""Tool (None if inherited configs change), specification, and the topic's own configs afterwards
(None for whatever Kafka returns)."""


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_tool_does_the_same_to_both(
    site: Site, twin: Site, namespace: str, sequence: str
) -> None:
    around = [f"{namespace}:", f"{namespace}:other"]
    gateways = namespaces_part(site)
    for tool, spec, own in SEQUENCES[sequence]:
        if tool is None:
            for each in (site, twin):
                each.set_above(spec)
                await_above(each, spec)
        else:
            before = [describe(site.servers, name) for name in around]
            assert tool(site, spec) == tool(twin, spec)
            assert [describe(site.servers, name) for name in around] == before
        for each in (site, twin):
            await_own(each, spec, own)
        assert site.state() == twin.state()
        assert terraform_reads(site) == terraform_reads(twin) == site.own()
        assert namespaces_part(site) == gateways


def namespaces_part(site: Site) -> State:
    """The topic's configs that are the gateway's."""
    found = describe(site.servers, site.topic)
    return {key: one for key, one in found.items() if key.startswith("gateway.")}


# -- only at a gateway -----------------------------------------------------------------------------


def test_no_config_of_the_gateway_s_is_deleted(site: Site) -> None:
    """No tool sends this if it heeds the description, in which all are read-only defaults."""
    before = describe(site.servers, site.topic)
    keys = [key for key in before if key.startswith("gateway.")]
    assert keys == ["gateway.namespace", "gateway.policies"]
    for key in keys:
        for drop in ([key], ["segment.ms", key]):
            code, text = namespaces.rejection(
                namespaces.alteration(site.servers, site.topic, drop=drop)
            )
            assert (code, key in text) == (INVALID_CONFIG, True)
    assert describe(site.servers, site.topic) == before


def test_a_link_is_not_reconciled(site: Site, namespace: str) -> None:
    """A link shows the topic's configs, and a specification with these changes nothing.

    Any other is rejected, so that two owners of a topic do not undo each other's changes.
    """
    namespaces.create(site.servers, f"{namespace}-2:", configs={"retention.ms": "-1"})
    link = f"{namespace}-2:orders"
    namespaces.alter(site.servers, site.topic, {"gateway.link": link})
    before = describe(site.servers, site.topic)
    assert dynamic(described(site.servers, link)) == DECLARED.keys()
    assert reconcile(site.servers, link, DECLARED) == (set(), set())
    for put, drop in (({}, ["segment.ms"]), (EQUAL, [])):
        code, text = namespaces.rejection(namespaces.alteration(site.servers, link, put, drop=drop))
        assert (code, "link" in text) == (INVALID_REQUEST, True)
    assert describe(site.servers, site.topic) == before
