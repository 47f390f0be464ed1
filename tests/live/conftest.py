"""A real Kafka and a real gateway for the live tests. No broker is a failure, never a skip."""

from __future__ import annotations

import importlib.util
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import one_at_a_time
from tests.live.support import processes
from tests.live.support.sasl import SecuredGateway
from tests.live.support.secured_brokers import SecuredBrokers

# The namespaces that the gateway of the live tests is seeded with.
NAMESPACES = ("team-a", "team-b", "org:apache:kafka")

LISTENERS = (
    Listener("colon", "every namespace, names with colons"),
    Listener("home-a", "team-a is home", home="team-a"),
    Listener("home-b", "team-b is home", home="team-b"),
    Listener("legal", "every namespace, names in the legal spelling", spelling="legal"),
    Listener("admin", "for administrators: namespaces are listed as well", list_namespaces=True),
    Listener(
        "admin-legal", "the same in the legal spelling", spelling="legal", list_namespaces=True
    ),
    Listener("narrow", "lists the default namespace's topics alone", list_subtree=False),
)

_HERE = Path(__file__).parent
_HAS_SPARK = importlib.util.find_spec("pyspark") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test of this directory is a live test; those that need Spark are left out without it:
    ``make test`` installs it before."""
    without = []
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.live)
            if item.get_closest_marker("spark") is not None and not _HAS_SPARK:
                without.append(item)
    if without:
        items[:] = [item for item in items if item not in without]
        config.hook.pytest_deselected(items=without)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One broker for the whole session."""
    with KafkaCluster() as cluster:
        _SHARED.append(cluster)
        yield cluster


_SHARED: Final[list[KafkaCluster]] = []


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    """Files after this one do not wait for workers that it killed, or that ended while a broker was
    at work for them: moves and deletions would be given up for a minute."""
    yield
    for cluster in _SHARED:
        processes.forget_ended(cluster)


@pytest.fixture(scope="session")
def gateway(kafka: KafkaCluster) -> Iterator[GatewayProcess]:
    """One gateway in front of it, with all the listeners that tests name.

    The session ends with a clean stop, which is a test of its own.
    """
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES) as process:
        yield process


@pytest.fixture(scope="session")
def secured(kafka: KafkaCluster) -> Iterator[SecuredGateway]:
    """The session's gateway whose clients log in (SASL)."""
    with SecuredGateway(kafka.bootstrap_servers) as process:
        yield process


@pytest.fixture(scope="session")
def secured_brokers() -> Iterator[SecuredBrokers]:
    """A broker to which the gateway, and clients, log in."""
    with SecuredBrokers() as brokers:
        yield brokers


# -- addresses: of the gateway above, or of the one that a file has in its place ----------------


@pytest.fixture(scope="module")
def servers(gateway: GatewayProcess) -> str:
    """The address of the first listener, which may be the only one."""
    return next(iter(gateway.plan.bootstrap_servers.values()))


def _address(listener: str, about: str) -> Any:
    @pytest.fixture(scope="module")
    def bootstrap_servers(gateway: GatewayProcess) -> str:
        return gateway.bootstrap_servers(listener)

    bootstrap_servers.__doc__ = f"The address of listener {listener}: {about}."
    return bootstrap_servers


colon = _address("colon", "every namespace, names with colons")
home_a = _address("home-a", "team-a is home")
home_b = _address("home-b", "team-b is home")
legal = _address("legal", "every namespace, names in the legal spelling")
admin = _address("admin", "namespaces are listed beside topics, names with colons")
admin_legal = _address("admin-legal", "the same in the legal spelling")
narrow = _address("narrow", "topics in namespaces are reached, but not listed")
users = _address("users", "users log in")


@pytest.fixture
def topics_on_broker(kafka: KafkaCluster) -> Callable[[], set[str]]:
    """Asks the broker itself for the flat names that it stores, but for Kafka's own."""
    return kafka.topics


@pytest.fixture
def ports_of_init() -> Iterator[None]:
    """The ports that ``init`` chooses, for one test at a time: the first that are free, which they
    still are for the next one until the gateway is up."""
    with one_at_a_time("ports-of-init"):
        yield


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names that no other test has: ``unique("orders")`` is ``orders-<test>-<n>``."""
    test = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    numbers = itertools.count(1)
    return lambda stem: f"{stem}-{test}-{next(numbers)}"
