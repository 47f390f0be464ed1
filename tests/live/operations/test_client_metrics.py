"""Subscriptions of client metrics, beside the same requests and tools at the broker itself.

The broker and the gateway keep subscriptions apart, so the same names are free at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.apis.table import APIS
from protocol.messages import changed
from protocol.schema import api_key_of
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

CLIENT_METRICS: Final = "org.apache.kafka.tools.ClientMetricsCommand"
TYPE: Final = 16
NAMESPACES: Final = ("measured", "measured-b")
LISTENERS: Final = (
    Listener("colon", "for administrators"),
    Listener("home", "measured is home", home="measured"),
    Listener("other", "measured-b is home", home="measured-b"),
)
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(scope="module")
def served(kafka: KafkaCluster) -> Iterator[GatewayProcess]:
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES) as process:
        yield process


def wire(servers: str) -> Wire:
    return Wire(clients.any_broker(servers))


@pytest.fixture
def both(served: GatewayProcess, kafka: KafkaCluster) -> Iterator[tuple[Wire, Wire]]:
    """The home, and the broker."""
    with wire(served.bootstrap_servers("home")) as home, wire(kafka.bootstrap_servers) as broker:
        yield home, broker


# -- tools -----------------------------------------------------------------------------------------


def lines(result: Any) -> list[str]:
    """The lines that a tool prints, in any order: Java's maps have none, and descriptions of
    several subscriptions come in the order of their listing."""
    return sorted(result.stdout.split("\n"))


def told(servers: str, name: str, prefix: str = "") -> list[list[str]]:
    """What Kafka's tools print of a subscription, from its first config to its deletion. ``prefix``
    is taken off the names that the tools print."""

    def metrics(*words: str, wrong: bool = False) -> list[str]:
        run = java_tools.attempt if wrong else java_tools.run
        return [line.replace(prefix, "") for line in lines(run(CLIENT_METRICS, servers, *words))]

    def configs(*words: str) -> list[str]:
        entity = ("--entity-type", "client-metrics")
        found = java_tools.configs(servers, *words, *entity)
        return [line.replace(prefix, "") for line in lines(found)]

    def listed() -> list[str]:
        return metrics("--list")

    def until(wanted: Callable[[list[str]], bool], seen: Callable[[], list[str]]) -> list[str]:
        """A broker applies a change after it has answered it."""
        wait_until(lambda: wanted(seen()), "the change of the subscription", clients.SECONDS)
        return seen()

    def described() -> list[str]:
        return metrics("--describe", "--name", name)

    own = name.removeprefix(prefix)
    every = ("--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.")
    match = ("--match", "client_id=app.*,client_software_name=apache-kafka-java")
    printed = [described()]
    printed.append(metrics("--alter", "--name", name, *every, "--interval", "15000", *match))
    printed.append(until(lambda found: own in found, listed))
    printed += [described(), metrics("--describe")]
    printed.append(configs("--describe", "--entity-name", name))
    printed.append(configs("--describe"))
    added = ("--add-config", "interval.ms=20000")
    printed.append(configs("--alter", "--entity-name", name, *added))
    printed.append(until(lambda found: "  interval.ms=20000" in found, described))
    for wrong in (
        ("--interval", "99"),
        ("--match", "principal=alice"),
        ("--metrics", "a.,,b."),
        ("--match", "client_id"),
    ):
        printed.append(metrics("--alter", "--name", name, *wrong, wrong=True))
    printed.append(described())
    printed.append(configs("--alter", "--entity-name", name, "--delete-config", "match"))
    printed.append(until(lambda found: "  match=" in found, described))
    printed.append(metrics("--delete", "--name", name))
    printed.append(until(lambda found: own not in found, listed))
    printed.append(described())
    return printed


@pytest.mark.parametrize(("listener", "prefix"), [("home", ""), ("colon", "measured:")])
def test_kafka_client_metrics(
    listener: str, prefix: str, served: GatewayProcess, kafka: KafkaCluster
) -> None:
    """Alter, describe, list and delete, with kafka-configs, too: the same lines as at a broker."""
    servers = served.bootstrap_servers(listener)
    name = f"latencies-{listener}"
    here, there = told(servers, prefix + name, prefix), told(kafka.bootstrap_servers, name)
    assert here == there
    assert "  interval.ms=15000" in here[3]


def test_a_home_sees_its_own(served: GatewayProcess, kafka: KafkaCluster) -> None:
    """Names at a home, without a home, at another home, and at the broker."""
    home, colon, other = map(served.bootstrap_servers, ("home", "colon", "other"))
    interval = ("--interval", "1000")
    made = [(home, "own"), (other, "own"), (colon, "everyone")]
    try:
        java_tools.run(CLIENT_METRICS, home, "--alter", "--name", "own", *interval)
        java_tools.run(CLIENT_METRICS, other, "--alter", "--name", "own", "--interval", "2000")
        java_tools.run(CLIENT_METRICS, colon, "--alter", "--name", "everyone", *interval)
        assert listed(home) == listed(other) == ["own"]
        assert listed(colon) == ["everyone", "measured-b:own", "measured:own"]
        assert not {*listed(kafka.bootstrap_servers)} & {"own", "everyone", "measured:own"}
        generated = java_tools.run(
            CLIENT_METRICS, home, "--alter", "--generate-name", "--metrics", "*"
        ).stdout
        new = generated.removeprefix("Altered client metrics config for ").strip().removesuffix(".")
        made.append((home, new))
        assert listed(home) == sorted(["own", new])
        missing = ("--name", "measured-nowhere:own", *interval)
        denied = java_tools.attempt(CLIENT_METRICS, colon, "--alter", *missing)
        assert "namespace 'measured-nowhere' does not exist" in denied.stdout
    finally:  # what is left would count for the clients of other tests
        for servers, name in made:
            java_tools.attempt(CLIENT_METRICS, servers, "--delete", "--name", name)
    assert listed(colon) == []


def listed(servers: str) -> list[str]:
    return sorted(java_tools.run(CLIENT_METRICS, servers, "--list").stdout.split())


# -- the wire --------------------------------------------------------------------------------------


def altered(
    each: Wire, version: int, *resources: tuple[str, list[dict[str, Any]]], **more: Any
) -> Any:
    items = [
        {"resource_type": TYPE, "resource_name": name, "configs": configs}
        for name, configs in resources
    ]
    return each.ask("IncrementalAlterConfigs", version, resources=items, **more)


def change(name: str, value: str | None, operation: int = SET) -> dict[str, Any]:
    return {"name": name, "value": value, "config_operation": operation}


OF_ONE: Final[dict[str, list[dict[str, Any]]]] = {
    "unknown key": [change("other", "1")],
    "unknown key deleted": [change("other", None, DELETE)],
    "key twice": [change("metrics", "a."), change("metrics", "b.")],
    "null": [change("metrics", None), change("match", None)],
    "no configs": [],
    "append": [change("metrics", "a.", APPEND)],
    "append to a number": [change("interval.ms", "1000", APPEND)],
    "append to an unknown key": [change("other", "1", APPEND)],
    "subtract": [change("match", "client_id=a", SUBTRACT)],
    "empty lists": [change("metrics", ""), change("match", " ")],
    "an empty item": [change("metrics", "a.,,b.")],
    "an empty item at the end": [change("match", "client_id=a,")],
    "a comma": [change("metrics", ",")],
    "an item twice": [change("metrics", "a. , a.")],
    "all and more": [change("metrics", "*,a.")],
    "no number": [change("interval.ms", "soon")],
    "an empty number": [change("interval.ms", "")],
    "a number with a sign": [change("interval.ms", " +1000 ")],
    "a number with a fraction": [change("interval.ms", "1000.0")],
    "a large number": [change("interval.ms", "2147483648")],
    "least": [change("interval.ms", "100")],
    "less": [change("interval.ms", "99")],
    "negative": [change("interval.ms", "-1")],
    "most": [change("interval.ms", "3600000")],
    "more": [change("interval.ms", "3600001")],
    "no expression": [change("match", "client_id")],
    "nothing after the sign": [change("match", "client_id=")],
    "nothing before the sign": [change("match", "=a")],
    "two signs": [change("match", "client_id=a=b")],
    "a sign at the end": [change("match", "client_id=a=")],
    "an unknown selector": [change("match", "principal=a")],
    "a selector twice": [change("match", "client_id=a,client_id=b")],
    "spaces": [change("match", "\tclient_id = a.* , client_source_port =9.*")],
    "no regular expression": [change("match", "client_id=(")],
    "a wrong range": [change("match", "client_id=[z-a]")],
    "several mistakes": [
        change("match", "principal=a"),
        change("interval.ms", "1"),
        change("metrics", "a,,b"),
    ],
    "mistakes of two configs": [change("match", "principal=a"), change("interval.ms", "1")],
}
"""What the configs of a subscription that does not exist are changed to."""

NO_EXPRESSIONS: Final = ("no regular expression", "a wrong range")


@pytest.mark.parametrize("title", OF_ONE)
def test_what_a_broker_says_of_configs(title: str, both: tuple[Wire, Wire]) -> None:
    """The same error, and its text, for each change; and the same configs afterwards."""
    name = f"wire-{title.replace(' ', '-')}"
    (home,), (broker,) = (altered(each, 1, (name, OF_ONE[title])).responses for each in both)
    if title in NO_EXPRESSIONS:  # the gateway adds what RE2 says
        assert home.error_message.startswith(broker.error_message)
        home = changed(home, {"error_message": broker.error_message})
    assert home == broker
    assert configs_of(both[0], name) == eventually(both[1], name, configs_of(both[0], name))
    for each in both:
        every = [change(key, None, DELETE) for key in ("metrics", "interval.ms", "match")]
        altered(each, 1, (name, every))


def eventually(broker: Wire, name: str, wanted: Any, version: int = 4) -> Any:
    """What the broker describes, which applies a change after it has answered it."""

    def is_there() -> bool:
        found: bool = configs_of(broker, name, version) == wanted
        return found

    wait_until(is_there, "the configs at the broker", clients.SECONDS)
    return configs_of(broker, name, version)


def configs_of(each: Wire, name: str, version: int = 4, **more: Any) -> Any:
    resource = {"resource_type": TYPE, "resource_name": name, "configuration_keys": None}
    found = each.ask("DescribeConfigs", version, resources=[resource | more], **_whole(version))
    return found.results


def _whole(version: int) -> dict[str, Any]:
    wanted = {"include_synonyms": True, "include_documentation": True}
    return wanted if version >= 3 else {"include_synonyms": True}


def test_a_subscription_is_described_as_by_a_broker_in_every_version(
    both: tuple[Wire, Wire],
) -> None:
    configs = [change("metrics", " a. , b. "), change("interval.ms", "5000")]
    for each in both:
        altered(each, 1, ("described", configs))
    for version in APIS[api_key_of("DescribeConfigsRequest")].versions:
        home = configs_of(both[0], "described", version)
        assert len(home[0].configs) == 3
        assert eventually(both[1], "described", home, version) == home
        for keys in ([], ["match"], ["other", "interval.ms"]):
            found = [
                configs_of(each, "described", version, configuration_keys=keys) for each in both
            ]
            assert found[0] == found[1], (version, keys)
        for name in ("", "none"):
            assert configs_of(both[0], name, version) == configs_of(both[1], name, version)
    for each in both:
        every = [change(key, None, DELETE) for key in ("metrics", "interval.ms")]
        altered(each, 1, ("described", every))


def test_several_at_once_and_one_twice(both: tuple[Wire, Wire]) -> None:
    good, bad = [change("metrics", "a.")], [change("metrics", "a,,b")]
    asked = (("m1", good), ("m2", bad), ("m3", good), ("m3", good), ("", good))
    home, broker = ({_fields(one) for one in altered(each, 1, *asked).responses} for each in both)
    assert home == broker
    for each in both:
        altered(each, 1, ("m1", [change("metrics", None, DELETE)]))


def _fields(one: Any) -> tuple[Any, ...]:
    return one.resource_name, int(one.error_code), one.error_message


def test_only_validated(both: tuple[Wire, Wire]) -> None:
    asked = (("v1", [change("metrics", "a.")]), ("v2", [change("interval.ms", "1")]))
    home, broker = (
        {_fields(one) for one in altered(each, 1, *asked, validate_only=True).responses}
        for each in both
    )
    assert home == broker
    assert configs_of(both[0], "v1") == configs_of(both[1], "v1")


def test_alter_configs_in_every_version(both: tuple[Wire, Wire]) -> None:
    """The configs of the request take the place of all."""
    for version in APIS[api_key_of("AlterConfigsRequest")].versions:
        for configs in (
            [("metrics", "a."), ("interval.ms", "1000")],
            [("match", "client_id=a")],
            [("match", None)],
            [("other", "a")],
            [],
        ):
            items = [{"name": name, "value": value} for name, value in configs]
            resource = {"resource_type": TYPE, "resource_name": "legacy", "configs": items}
            home, broker = (
                each.ask("AlterConfigs", version, resources=[resource]) for each in both
            )
            assert home == broker, (version, configs)
            wanted = configs_of(both[0], "legacy")
            assert eventually(both[1], "legacy", wanted) == wanted


def test_the_listing_in_every_version(both: tuple[Wire, Wire]) -> None:
    for each in both:
        altered(each, 1, ("listed", [change("metrics", "a.")]))
    for version in APIS[api_key_of("ListConfigResourcesRequest")].versions:
        home, broker = (partial(listing, each, version) for each in both)
        assert len(home()) == 1
        wait_until(partial(_same, home, broker), "the same listing", clients.SECONDS)
    for each in both:
        altered(each, 1, ("listed", [change("metrics", None, DELETE)]))


def listing(each: Wire, version: int) -> set[Any]:
    """The entries of the subscription ``listed``."""
    asked: dict[str, Any] = {"resource_types": [TYPE]} if version else {}
    found = each.ask("ListConfigResources", version, **asked)
    assert not found.error_code
    return {one for one in found.config_resources if one.resource_name == "listed"}


def _same(one: Callable[[], set[Any]], other: Callable[[], set[Any]]) -> bool:
    return one() == other()
