"""Brokers that lack an API that the catalog needs, or deny it.

``check --cluster`` and ``serve`` report it in one line. If a retry cannot help, the client's error
is not retriable.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, plan_gateway
from devkit.waiting import wait_until
from gateway import exit_codes
from gateway.catalog.log.topics import CATALOG_TOPIC
from protocol import messages
from protocol.schema import api_key_of
from tests.live.records.relay import FaultyRelay
from tests.live.support import clients, namespaces
from tests.live.support.secured_brokers import SecuredBrokers

TRANSACTIONS: Final = ("InitProducerId", "AddPartitionsToTxn", "EndTxn")
"""APIs that a Kafka service without transactions does not serve."""

LIMIT: Final = "max.connections.per.ip"

CHANGE_SECONDS: Final = 15.0
"""Seconds for which the gateway retries a change if a retry may help."""


@pytest.fixture(scope="module")
def relay() -> Iterator[FaultyRelay]:
    """A relay in front of a broker, which hides the broker's transaction APIs."""
    hidden = {api_key_of(f"{name}Request") for name in TRANSACTIONS}

    def edit(version: int, body: bytes) -> bytes:
        answer = messages.parse("ApiVersionsResponse", version, body)
        keys = tuple(key for key in answer.api_keys if key.api_key not in hidden)
        return messages.write(replace(answer, api_keys=keys))

    with FaultyRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(overrides=advertised) as kafka:
            relay.upstream = kafka.addresses[1]
            relay.edits[api_key_of("ApiVersionsRequest")] = edit
            yield relay


def written(directory: Path, servers: str, security: dict[str, Any] | None = None) -> str:
    """Write a configuration for these brokers; its path."""
    plan = plan_gateway(
        servers,
        (Listener("all", "every namespace"),),
        ["team-a"],
        traffic_log_directory=str(directory / "traffic"),
        cluster_security=security,
    )
    path = directory / "gateway.yaml"
    path.write_text(json.dumps(plan.config))
    return str(path)


def test_without_transactions_neither_starts(relay: FaultyRelay, tmp_path: Path) -> None:
    config = written(tmp_path, relay.address)
    checked = namespaces.attempt("check", "--cluster", config)
    served = namespaces.alone("serve", "--config", config)
    created = namespaces.attempt("catalog", "export", "--config", config)
    for ended in (checked, served, created):
        assert ", ".join(TRANSACTIONS) in ended.out + ended.err
    assert checked.status == exit_codes.FAILED
    assert served.status == exit_codes.CONFIG


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    """Brokers that allow every operation that no ACL denies."""
    overrides = {"allow.everyone.if.no.acl.found": "true", LIMIT: "900"}
    with SecuredBrokers(super_users=(), overrides=overrides) as up:
        yield up


@contextmanager
def denied(brokers: SecuredBrokers) -> Iterator[None]:
    """An ACL that denies the gateway's user Write on the catalog's transactional id."""
    denial: Any = (
        *(ResourceType.TRANSACTIONAL_ID, CATALOG_TOPIC, ResourcePatternType.LITERAL),
        *("User:gateway", "*", AclOperation.WRITE, AclPermissionType.DENY),
    )
    admin = clients.admin(brokers.kafka.bootstrap_servers)
    every = AclBindingFilter(*denial)

    def stored() -> int:
        return len(admin.describe_acls(every).result(clients.SECONDS))

    for made in admin.create_acls([AclBinding(*denial)]).values():
        made.result(clients.SECONDS)
    wait_until(lambda: stored() == 1, "the ACL", clients.SECONDS)
    try:
        yield
    finally:
        for gone in admin.delete_acls([every]).values():
            gone.result(clients.SECONDS)
        wait_until(lambda: stored() == 0, "no ACL", clients.SECONDS)


def test_a_denied_transactional_id_is_found_before_there_is_a_catalog(
    brokers: SecuredBrokers, tmp_path: Path
) -> None:
    servers = brokers.kafka.servers("SASL_PLAINTEXT")
    config = written(tmp_path, servers, brokers.identity("SASL_PLAINTEXT"))
    with denied(brokers):
        checked = namespaces.attempt("check", "--cluster", config)
    assert checked.status == exit_codes.FAILED
    assert f"transactional id {CATALOG_TOPIC}" in checked.out + checked.err


def test_a_change_that_brokers_deny_is_answered_at_once(brokers: SecuredBrokers) -> None:
    with brokers.gateway(brokers.identity("SASL_PLAINTEXT")) as gateway:
        servers = gateway.bootstrap_servers("all")
        namespaces.create(servers, "org:before:")
        with denied(brokers):
            began = time.monotonic()
            _, text = namespaces.rejection(namespaces.creation(servers, "org:denied:"))
            assert time.monotonic() - began < CHANGE_SECONDS
            assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in text
            assert "try again" not in text
        namespaces.create(servers, "org:allowed:")


def test_a_limit_of_connections_below_the_listeners_is_found(
    brokers: SecuredBrokers, tmp_path: Path
) -> None:
    servers = brokers.kafka.servers("SASL_PLAINTEXT")
    config = written(tmp_path, servers, brokers.identity("SASL_PLAINTEXT"))

    def warned() -> list[str]:
        told = json.loads(namespaces.attempt("check", "--cluster", "--json", config).out)
        return [line for line in told["warnings"] if LIMIT in line]

    (line,) = warned()
    assert "900" in line
    settings = json.loads(Path(config).read_text())
    settings["listeners"][0]["max.connections"] = 900
    Path(config).write_text(json.dumps(settings))
    assert warned() == []
