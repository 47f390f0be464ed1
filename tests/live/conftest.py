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
    """Mark every test of this directory as live. Without Spark, leave out the tests that need it,
    because only ``make test`` installs it."""
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
    """A broker that the tests of a whole pytest session share."""
    with KafkaCluster() as cluster:
        _SHARED.append(cluster)
        yield cluster


_SHARED: Final[list[KafkaCluster]] = []


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    """Make the next files' changes not wait for workers that this file ended.

    A killed worker that a broker was still serving would hold up moves and deletions for a minute.
    """
    yield
    for cluster in _SHARED:
        processes.forget_ended(cluster)


@pytest.fixture(scope="session")
def gateway(kafka: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway in front of the shared broker, with all the listeners that tests name.

    The session ends with a clean stop, which is a test of its own.
    """
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES) as process:
        yield process


@pytest.fixture(scope="session")
def secured(kafka: KafkaCluster) -> Iterator[SecuredGateway]:
    """The session's gateway whose clients authenticate by SASL."""
    with SecuredGateway(kafka.bootstrap_servers) as process:
        yield process


@pytest.fixture(scope="session")
def secured_brokers() -> Iterator[SecuredBrokers]:
    """A broker to which the gateway, and clients, authenticate."""
    with SecuredBrokers() as brokers:
        yield brokers


# -- addresses: of the gateway above, or of the gateway that a file starts in its place ----------


@pytest.fixture(scope="module")
def servers(gateway: GatewayProcess) -> str:
    """The address of the first listener, which may be the only listener."""
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
    """Query the broker itself for the flat names that it stores, except Kafka's own topics."""
    return kafka.topics


@pytest.fixture
def ports_of_init() -> Iterator[None]:
    """The ports that ``init`` chooses, for one test at a time.

    ``init`` takes the first free ports, and another test's ``init`` would take the same ports if
    this gateway is not up yet.
    """
    with one_at_a_time("ports-of-init"):
        yield


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names that no other test has: ``unique("orders")`` is ``orders-<test>-<n>``."""
    test = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    numbers = itertools.count(1)
    return lambda stem: f"{stem}-{test}-{next(numbers)}"
