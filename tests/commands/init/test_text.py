"""gateway.commands.init.text: the text is a valid configuration, whatever was found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devkit.certificates import Authority
from gateway.commands.init.front import Front, listener_tls
from gateway.commands.init.login import Login
from gateway.commands.init.text import config_text
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.node_ids import MAX_NODE_ID
from tests.commands.init import plans
from tests.docs import markdown

TIERS = st.text("abcABC019.-", min_size=1, max_size=12)
PATHS = st.lists(TIERS, min_size=1, max_size=3).map(":".join)


def loaded(path: Path, text: str) -> Config:
    path.write_text(text)
    return load_config(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    node_ids=st.sets(st.integers(0, MAX_NODE_ID) | st.integers(0, 30), min_size=1, max_size=20),
    namespaces=st.lists(PATHS, max_size=3, unique=True),
    like=st.dictionaries(PATHS, st.integers(1, 9), max_size=10),
    first=st.none() | st.integers(1_024, 50_000),
    bind=st.sampled_from(["127.0.0.1", "0.0.0.0", "::1", "::"]),  # noqa: S104
    host=st.sampled_from(["kafka.example", "192.0.2.7", "2001:db8::1", "yes", "1"]),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_it_loads(
    tmp_path: Path,
    node_ids: set[int],
    namespaces: list[str],
    like: dict[str, int],
    first: int | None,
    bind: str,
    host: str,
    flags: tuple[bool, bool],
) -> None:
    found = plans.asked(
        sorted(node_ids), namespaces=like, has_authorizer=flags[0], has_catalog=flags[1]
    )
    path = tmp_path / "gateway.yaml"
    plan = plans.plan(path, found, namespaces=namespaces, front=Front(bind, host), first=first)
    config = loaded(path, config_text(plan))
    (cluster,) = config.clusters
    assert [str(one) for one in cluster.bootstrap_servers] == ["kafka-1.example:9092"]
    assert list(config.namespaces) == namespaces
    assert {one.name: one.port for one in config.listeners} == dict(plan.ports.listeners)
    assert {(one.bind, one.advertised_host) for one in config.listeners} == {(bind, host)}
    homes = [one.home for one in config.listeners if one.name == "home"]
    assert homes == (namespaces if len(namespaces) == 1 else [])
    assert config.metrics.port == plan.ports.metrics
    assert config.traffic_log.directory == tmp_path / "traffic"
    replicas = min(3, len(node_ids))
    is_set = not flags[1] and replicas > 1
    assert config.catalog.replication_factor == (replicas if is_set else -1)


def test_its_listeners_are_those_of_the_quickstart(tmp_path: Path) -> None:
    """Except for the facts that init knows: the names, and the number of brokers."""
    quickstart = yaml.safe_load(markdown.read("config/quickstart.yaml"))
    text = config_text(plans.plan(tmp_path / "g.yaml", plans.asked([1]), namespaces=["team-a"]))
    written = yaml.safe_load(text)
    assert written["listeners"] == quickstart["listeners"]
    assert written["metrics"] == quickstart["metrics"]
    # The quick start may be run anywhere; a gateway that stays has a name of its own.
    assert written.pop("gateway_id")
    assert written.keys() <= quickstart.keys()


def test_tls_is_every_listeners(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    server = ca.server()
    tls = listener_tls(server.certificate, server.key, ca.file)
    path = tmp_path / "gateway.yaml"
    front = Front("::", "localhost", tls)
    config = loaded(path, config_text(plans.plan(path, namespaces=["team-a"], front=front)))
    assert len(config.listeners) == 3
    for listener in config.listeners:
        assert (listener.security_protocol, listener.tls) == ("SSL", tls)
        assert listener.tls is not None
        assert listener.tls.client_auth == "required"


def test_the_login_at_the_brokers(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    password = tmp_path / "gateway.password"
    password.write_text("secret\n")
    sasl = {"mechanism": "PLAIN", "username": "5", "password": {"file": str(password)}}
    security = {"protocol": "SASL_SSL", "tls": {"ca": str(ca.file)}, "sasl": sasl}
    path = tmp_path / "gateway.yaml"
    text = config_text(plans.plan(path, login=Login(security, {password: "secret"})))
    assert "secret" not in text
    found = loaded(path, text).clusters[0].security
    assert found.protocol == "SASL_SSL"
    assert found.tls.ca == ca.file
    assert found.sasl is not None
    assert (found.sasl.username, found.sasl.password.read()) == ("5", "secret")


def offered(text: str) -> list[list[int]]:
    """The lines of each block of settings that are only offered."""
    blocks: list[list[int]] = []
    for number, line in enumerate(text.splitlines()):
        if re.match(r" *#(\S|  )", line):
            if blocks and blocks[-1][-1] == number - 1:
                blocks[-1].append(number)
            else:
                blocks.append([number])
    return blocks


def test_every_setting_that_is_offered_can_be_set(tmp_path: Path) -> None:
    """By removing the character before it; all of them together, too."""
    ca = Authority(tmp_path / "ca")
    server = ca.server()
    path = tmp_path / "gateway.yaml"
    text = config_text(plans.plan(path))
    text = text.replace("/etc/kafka-gateway/server.pem", str(server.certificate))
    text = text.replace("/etc/kafka-gateway/server.key", str(server.key))
    blocks = offered(text)
    assert len(blocks) == 7
    before = loaded(path, text)
    settings_found = set()
    for block in [*blocks, [number for one in blocks for number in one]]:
        lines = text.splitlines()
        for number in block:
            lines[number] = lines[number].replace("#", "", 1)
        after = loaded(path, "\n".join(lines))
        assert after != before
        settings_found |= {
            name for name in Config.model_fields if getattr(after, name) != getattr(before, name)
        }
    expected = {"namespaces", "listeners", "authorization", "audit", "policies", "workers"}
    assert settings_found == expected


def test_it_names_pages_that_are_there(tmp_path: Path) -> None:
    found = plans.asked(namespaces={"team-b": 2}, has_authorizer=True)
    text = config_text(plans.plan(tmp_path / "gateway.yaml", found))
    pages = set(re.findall(r"docs/[a-z-]+\.md", text))
    assert {"docs/access.md", "docs/policies.md", "docs/tls.md", "docs/brokers.md"} <= pages
    assert all((markdown.ROOT / page).is_file() for page in pages)
    assert "team-b" in text


def test_what_check_compares_of_the_rights(tmp_path: Path) -> None:
    """checks/broker_rights.py: the rights on the catalog's topic and id; of clients only excess
    rights."""
    found = plans.asked(has_authorizer=True)
    lines = config_text(plans.plan(tmp_path / "gateway.yaml", found)).splitlines()
    text = " ".join(line.strip(" #") for line in lines)
    _, _, rest = text.partition("These brokers have ACLs")
    said = rest.partition("namespaces:")[0]
    assert "on the catalog's topic and transactional id are missing" in said
    assert "those that its clients need are not compared" in said


@pytest.mark.parametrize("line", config_text(plans.plan(Path("gateway.yaml"))).splitlines())
def test_no_line_is_longer_than_a_screen(line: str) -> None:
    assert len(line) <= 100
