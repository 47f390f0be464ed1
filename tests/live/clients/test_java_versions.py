"""Java's clients of the versions that a broker of Kafka 4 serves: the same as direct.

One program uses what all of them have: topics, configs, records of each codec, two members of a
group, transactions, offsets (AnyVersion.java).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import java_tools

# Java starts twice for each version, and a group waits for its members.
pytestmark = pytest.mark.long("versions")

Names = Callable[[str], str]

# By version of kafka-clients: the set of archives that has it.
VERSIONS: Final = {
    "2.1.1": "clients-2.1.1",
    "2.8.2": "clients-2.8.2",
    "3.9.1": "clients-3.9.1",
    "4.3.1": "kafka",
}

# By listener: the prefix of topics, groups and transactional ids.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A version of kafka-clients."""
    return str(request.param)


@pytest.fixture(scope="module")
def direct(version: str, kafka: KafkaCluster) -> dict[str, Any]:
    """What a client of this version prints at the broker itself."""
    found = uses(version, kafka.bootstrap_servers, "direct.", f"any-{version}")
    # What each use must have shown, so that the gateway is not compared with a failure.
    assert found["listed"] == ["[in, out]"]
    assert found["exists"] == ["TopicExistsException"]
    assert found["altered"][0].startswith("7200000 ")
    assert found["members"] == ["2", "range", "[in-0, in-1, in-2, in-3]"]
    assert found["committed"] == ["{in-0=5, in-1=5, in-2=5, in-3=5}"]
    assert found["read_committed"] == ["[out-0@0 a a [], out-0@4 c c []]"]
    assert found["fenced"] != ["not fenced"]
    assert found["begins"] == ["{in-0=2, out-0=0}"]
    assert found["left"] == ["[]"]
    return found


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess, unique: Names, direct: dict[str, Any], version: str, listener: str
) -> None:
    servers = gateway.bootstrap_servers(listener)
    found = uses(version, servers, PREFIXES[listener], unique("any"))
    assert found.keys() == direct.keys()
    assert [each for each in found.items() if each[1] != direct[each[0]]] == []


def uses(version: str, servers: str, prefix: str, stem: str) -> dict[str, Any]:
    """Run AnyVersion.java, compiled against the oldest version; what it prints, by event."""
    program, *parts = (
        java_tools.SOURCES / f"{name}.java"
        for name in ("AnyVersion", "AnyVersionAdmin", "AnyVersionRun")
    )
    classes = java.compile_java(program, VERSIONS["2.1.1"], parts)
    result = java.run_java(
        "AnyVersion", [servers, prefix, stem], classes=classes, jar_set=VERSIONS[version]
    )
    assert result.returncode == 0, f"{version}\n{result.stdout}\n{result.stderr}"
    return {event["event"]: event["value"] for event in java_tools.events(result)}
