"""docs/compatibility.md: every row names a test that exists, and the versions that it ran."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version

import pytest

from devkit.maven import ENDPOINTS
from devkit.npm import KAFKAJS
from tests.docs import kip_rows, markdown
from tests.live.clients.test_schema_registry import APICURIO

ROWS = markdown.table(markdown.read("docs/compatibility.md"), "tool")
KAFKA = ENDPOINTS["kafka"][0].rpartition(":")[2]
PACKAGES = ("confluent-kafka", "aiokafka", "kafka-python")
OLD_CLIENTS = {
    found[0].rpartition(":")[2] for name, found in ENDPOINTS.items() if name.startswith("clients-")
}
SPARK = ENDPOINTS["spark-kafka"][0].rpartition(":")[2]
GO = (markdown.ROOT / "tests/live/support/go/go.mod").read_text()
GO_CLIENTS = {
    found
    for path in ("IBM/sarama", "segmentio/kafka-go", "twmb/franz-go")
    for found in re.findall(rf"^\tgithub.com/{path} v(\S+)$", GO, re.MULTILINE)
}
CRATES = tomllib.loads(markdown.read("tests/live/support/rust/Cargo.lock"))["package"]
(RSKAFKA,) = (crate["version"] for crate in CRATES if crate["name"] == "rskafka")
TOOLS = dict(re.findall(r"^(\S+)==(\S+)$", markdown.read("requirements/tools.in"), re.MULTILINE))
CONSOLE = json.loads(markdown.read("tests/live/support/javascript/kafka-console/package-lock.json"))
CONSOLE_VERSIONS = {
    CONSOLE["packages"][f"node_modules/{name}"]["version"]
    for name in ("kafka-console", "@platformatic/kafka")
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}, {row[1]}"[:60] for row in ROWS])
def test_every_row_names_a_test_that_is_there(row: list[str]) -> None:
    tool, listener, ran, test = row
    assert listener
    assert kip_rows.missing([tool, ran, test]) == ""


def test_the_versions_are_those_of_the_tests() -> None:
    assert f"org.apache.kafka:kafka-streams:{KAFKA}" in ENDPOINTS["streams"]
    assert len(GO_CLIENTS) == 3
    assert all(
        any(row[0].startswith(f"{name} {found}") for row in ROWS) for name, found in TOOLS.items()
    )
    ours = {
        KAFKA,
        APICURIO.version,
        KAFKAJS.version,
        SPARK,
        RSKAFKA,
        TOOLS["kaskade"],
        *CONSOLE_VERSIONS,
        *OLD_CLIENTS,
        *GO_CLIENTS,
        *map(version, PACKAGES),
    }
    named = {found for row in ROWS for found in re.findall(r"\b\d+\.\d+\.\d+\b", row[0])}
    assert named == ours
