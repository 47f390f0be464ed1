"""If either of two gateways dies, all its clients log in at the other at once.

FLEET_CLIENTS=N: the number of clients (``make fleet``: 5,000), with the default limits on
unauthenticated connections. Otherwise there are few clients, and the limits are lower in
proportion.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways
from tests.live.fleet.login_storm import USER, Storm
from tests.live.support import clients, sasl
from tests.live.support.sasl import PASSWORDS
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

CLIENTS: Final = int(os.environ.get("FLEET_CLIENTS", "600"))
BACK_SECONDS: Final = 30.0
FEW: Final[dict[str, Any]] = {"unauthenticated": {"max_connections": 120}}


@pytest.fixture
def secured(own: KafkaCluster, tmp_path: Path) -> Iterator[Gateways]:
    """Two gateways whose clients must all log in."""
    password = tmp_path / USER
    password.write_text(PASSWORDS[USER])
    security = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {
            "mechanisms": ["PLAIN", "SCRAM-SHA-256"],
            "users": {USER: {"file": str(password)}},
        },
    }
    listeners = [Listener("sasl", "all", in_fleet=True, security=security), Listener("tools", "")]
    more = {} if "FLEET_CLIENTS" in os.environ else FEW

    def gateway(gateway_id: str) -> GatewayProcess:
        overrides = {"gateway_id": gateway_id, **more}
        return GatewayProcess(own.bootstrap_servers, listeners, [], overrides=overrides)

    with gateway("gw-a") as one, gateway("gw-b") as two:
        sasl.set_password(one.bootstrap_servers("tools"), USER, PASSWORDS[USER])
        yield one, two


def test_all_are_back_and_none_is_locked_out(secured: Gateways, pace: Pace) -> None:
    servers = [one.bootstrap_servers("sasl") for one in secured]
    with Storm(servers, CLIENTS) as storm:

        def all_served_since(moment: float) -> bool:
            assert not storm.defects, storm.defects
            return storm.served_since(moment) == CLIENTS

        wait_until(lambda: all_served_since(time.monotonic() - 3), "all are there", clients.SECONDS)
        for gateway in secured:
            storm.errors.clear()
            gateway.kill()
            died = time.monotonic()
            wait_until(
                partial(all_served_since, died),
                "all are back",
                pace.stretched(BACK_SECONDS),
            )
            took = time.monotonic() - died
            print(f"{CLIENTS} clients were back after {took:.1f} s; they met {dict(storm.errors)}")
            # A copy, because clients add errors meanwhile.
            assert not [error for error in list(storm.errors) if error.startswith("login")]
            gateway.start_again()
