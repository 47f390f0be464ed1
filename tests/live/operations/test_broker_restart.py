"""After a cluster's restart, the gateway's own requests to it succeed again."""

from __future__ import annotations

import socket
from functools import partial

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients

pytestmark = pytest.mark.long("kills")


def test_namespaces_and_their_topics_are_made_after_a_restart() -> None:
    """The connections that the gateway keeps for its own requests have ended meanwhile."""
    listeners = (Listener("colon", "all"),)
    with (
        KafkaCluster(missed_quickly=True) as kafka,
        GatewayProcess(kafka.bootstrap_servers, listeners, ["team-a"]) as process,
    ):
        servers = process.bootstrap_servers("colon")
        clients.create(servers, "team-a:before")
        kafka.kill_broker(1)
        # A gateway without a cluster closes to clients, which back off then.
        host, _, port = servers.rpartition(":")
        wait_until(partial(_is_refused, host, int(port)), "a closed port", clients.SECONDS)
        kafka.restart_broker(1)
        wait_until(lambda: process.get("/readyz")[0] == 200, "200 from /readyz", clients.SECONDS)
        for name in ("team-a:after", "team-b:", "team-b:after"):
            wait_until(partial(_is_created, servers, name), name, clients.SECONDS)
        clients.await_stored(kafka, "team-a..before", "team-a..after", "team-b..after")


def _is_refused(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), clients.SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False


def _is_created(servers: str, name: str) -> bool:
    """Whether a topic was created; a retriable error, or an earlier success, is no failure."""
    error = (
        clients.admin(servers).create_topics([NewTopic(name, 1)])[name].exception(clients.SECONDS)
    )
    if error is None:
        return True
    assert isinstance(error, KafkaException)
    code = error.args[0].code()
    assert code in (KafkaError.REQUEST_TIMED_OUT, KafkaError.TOPIC_ALREADY_EXISTS), error
    return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
