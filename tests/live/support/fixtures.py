"""Fixtures for files of live tests that cannot use the session's broker and gateway.

A file declares the special properties of its own, under the names of the session's fixtures::

    kafka = own_kafka(nodes=2)
    gateway = own_gateway(Listener("colon", "all"), namespaces=["org"], policies=POLICIES)

They start with the first test that needs them and stop after the file's last test; the gateway's
clean stop is checked. The fixtures of addresses (``servers``, ``colon``, ``admin``, ...) follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Literal

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import authorized

COLON: Final = Listener("colon", "every namespace, names with colons")

Scope = Literal["function", "module"]


def own_kafka(nodes: int = 1) -> Any:
    """A fixture: a cluster of so many brokers."""

    @pytest.fixture(scope="module")
    def kafka() -> Iterator[KafkaCluster]:
        with KafkaCluster(nodes) as cluster:
            yield cluster

    return kafka


def own_gateway(
    *listeners: Listener,
    namespaces: Sequence[str] = (),
    workers: int = 1,
    scope: Scope = "module",
    **overrides: Any,
) -> Any:
    """A fixture: a gateway in front of ``kafka``, by default with the listener ``colon``.

    ``overrides`` are top-level keys of its configuration.
    """

    @pytest.fixture(scope=scope)
    def gateway(kafka: KafkaCluster) -> Iterator[GatewayProcess]:
        with GatewayProcess(
            kafka.bootstrap_servers,
            listeners or [COLON],
            namespaces,
            workers=workers,
            overrides=overrides,
        ) as process:
            yield process

    return gateway


def several_gateways(*gateway_ids: str, workers: int) -> Any:
    """A fixture: gateways in front of ``kafka`` that share its catalog, one for each id."""

    @pytest.fixture(scope="module")
    def gateways(kafka: KafkaCluster) -> Iterator[list[GatewayProcess]]:
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    GatewayProcess(
                        kafka.bootstrap_servers,
                        [COLON],
                        [],
                        workers=workers,
                        overrides={"gateway_id": gateway_id},
                    )
                )
                for gateway_id in gateway_ids
            ]

    return gateways


def own_users_gateway(
    *,
    mechanisms: Sequence[str] = ("PLAIN",),
    namespaces: Sequence[str] = (),
    homes: Mapping[str, str] | None = None,
    workers: int = 1,
    **overrides: Any,
) -> Any:
    """A fixture: a gateway with ``authorization:`` and the users of ``authorized``, before
    ``kafka``.

    ACLs are in the catalog, so at the end all of them are deleted.
    """

    @pytest.fixture(scope="module")
    def gateway(
        kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[GatewayProcess]:
        with authorized.gateway(
            kafka.bootstrap_servers,
            authorized.listener(tmp_path_factory.mktemp("secrets"), mechanisms),
            namespaces,
            homes=homes,
            workers=workers,
            **overrides,
        ) as process:
            yield process
            authorized.delete_acls(process.bootstrap_servers(authorized.USERS_LISTENER))

    return gateway
