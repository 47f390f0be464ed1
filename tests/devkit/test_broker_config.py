"""devkit.broker_config."""

from __future__ import annotations

from pathlib import Path

from devkit.broker_config import MISSED_QUICKLY, NodePlan, properties_text, server_properties
from devkit.broker_security import BrokerSecurity

_CONTROLLER = NodePlan(1, 9092, 9093, Path("/data/node-1"))
_BROKER = NodePlan(2, 9094, None, Path("/data/node-2"))


def test_the_first_node_is_broker_and_controller() -> None:
    properties = server_properties(_CONTROLLER, [_CONTROLLER], 1, {})
    assert properties["process.roles"] == "broker,controller"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:9093"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9092"


def test_another_node_is_a_broker_alone_and_knows_the_controller() -> None:
    properties = server_properties(_BROKER, [_CONTROLLER], 3, {})
    assert properties["process.roles"] == "broker"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9094"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:9093"
    assert properties["offsets.topic.replication.factor"] == "3"


def test_a_controller_of_one_broker_writes_nothing_while_nothing_changes() -> None:
    """Others learn by these records which records are committed."""
    interval = "metadata.max.idle.interval.ms"
    assert server_properties(_CONTROLLER, [_CONTROLLER], 1, {})[interval] == "0"
    assert interval not in server_properties(_CONTROLLER, [_CONTROLLER], 3, {})


def test_overrides_come_first() -> None:
    properties = server_properties(_BROKER, [_CONTROLLER], 1, {"num.partitions": "4"})
    assert "num.partitions=4\n" in properties_text(properties)
    assert "num.partitions=1\n" not in properties_text(properties)


def test_a_busy_machine_fences_no_broker_unless_one_is_killed() -> None:
    """Kafka fences a broker after 9 s without a heartbeat; a busy machine stops one for longer."""
    timeout = "broker.session.timeout.ms"
    assert int(server_properties(_BROKER, [_CONTROLLER], 1, {})[timeout]) >= 60_000
    quick = server_properties(_BROKER, [_CONTROLLER], 1, MISSED_QUICKLY)
    assert int(quick[timeout]) < 9_000


def test_listeners_with_security_have_ports_of_their_own() -> None:
    node = NodePlan(1, 9092, 9093, Path("/data"), {"SSL": 9192, "SASL_SSL": 9292})
    security = BrokerSecurity(protocols=("SSL", "SASL_SSL"), authorizer=True)
    properties = server_properties(node, [node], 1, {"super.users": "User:x"}, security)
    advertised = "PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.1:9192,SASL_SSL://127.0.0.1:9292"
    assert properties["advertised.listeners"] == advertised
    assert properties["listeners"] == f"{advertised},CONTROLLER://127.0.0.1:9093"
    assert properties["listener.security.protocol.map"] == (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL"
    )
    assert properties["inter.broker.listener.name"] == "PLAINTEXT"
    assert properties["super.users"] == "User:x"
    assert node.address_of("PLAINTEXT") == node.address == "127.0.0.1:9092"
    assert node.address_of("SSL") == "127.0.0.1:9192"
