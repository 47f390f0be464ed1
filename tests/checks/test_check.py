"""gateway.checks.check: settings that would not work on this machine, and advertised addresses."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority, Credentials
from gateway.checks import check
from gateway.commands.output import table
from gateway.config.errors import key_text
from gateway.config.models import Config
from tests.config import config_samples

UNKNOWN = "no-such-host.invalid"


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no DNS: ``.invalid`` is unknown at once (RFC 6761), all other names are resolved as
    usual."""
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: Any, **named: Any) -> Any:
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def test_all_is_well(tmp_path: Path) -> None:
    assert check.find_problems(config_samples.config(tmp_path)) == []


def test_every_name_is_looked_up(tmp_path: Path) -> None:
    values = config_samples.values()
    values["clusters"][0]["bootstrap_servers"].append(f"{UNKNOWN}:9092")
    values["listeners"][0]["advertised_host"] = UNKNOWN
    values["metrics"]["host"] = UNKNOWN
    problems = check.find_problems(config_samples.config(tmp_path, **values))
    text = f"'{UNKNOWN}' does not resolve: name or service not known; correct it, or make it known"
    assert [key_text(problem.key) for problem in problems] == [
        "clusters[0].bootstrap_servers[1]",
        "listeners[0].advertised_host",
        "metrics.host",
    ]
    assert all(problem.text.startswith(text) for problem in problems)


def test_hosts_and_the_port_among_gateways(tmp_path: Path) -> None:
    at_unknown = {"addresses": ["127.0.0.1:9500", f"{UNKNOWN}:9500"]}
    child = {"name": "deep", "mount": "la:tracking:deep", **at_unknown}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        values = config_samples.peer_values(
            tmp_path,
            parents=[{"name": "root", **at_unknown}],
            children=[child],
            listener={"port": taken.getsockname()[1]},
        )
        problems = check.find_problems(config_samples.tree(tmp_path, **values))
        assert [key_text(problem.key) for problem in problems] == [
            "tree.parents[0].addresses[1]",
            "tree.children[0].addresses[1]",
            "tree.listener.port",
        ]
        assert problems[-1].text.startswith("the peers' port (")
        values["tree"]["listener"]["bind"] = UNKNOWN
        problems = check.find_problems(config_samples.tree(tmp_path, **values))
        assert key_text(problems[0].key) == "tree.listener.bind"
        assert len(problems) == 3


def test_a_bind_address_that_does_not_resolve_is_told_once(tmp_path: Path) -> None:
    values = config_samples.values()
    values["listeners"][0]["bind"] = UNKNOWN
    problems = check.find_problems(config_samples.config(tmp_path, **values))
    assert [key_text(problem.key) for problem in problems] == ["listeners[0].bind"]


def test_ports_in_use(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    port = config.listeners[0].port
    with socket.create_server(("127.0.0.1", port + 2)):
        (problem,) = check.find_problems(config)
    assert key_text(problem.key) == "listeners[0].broker_base_port"
    assert f"broker ports of listener 'colon' ({port + 1}-{port + 3})" in problem.text
    assert f"port {port + 2}: address already in use" in problem.text


def test_the_table(tmp_path: Path) -> None:
    listeners = [
        {"name": "a", "port": 9000, "advertised_host": "gw.example"},
        {"name": "home", "port": 9100, "broker_base_port": 9200},
    ]
    plans = check.plan(config_samples.config(tmp_path, listeners=listeners))
    assert table(check.plan_rows(plans)).splitlines() == [
        "listener  bootstrap.servers  node id  address",
        "a         gw.example:9000    1        gw.example:9001",
        "                             2        gw.example:9002",
        "                             3        gw.example:9003",
        "home      127.0.0.1:9100     1        127.0.0.1:9200",
        "                             2        127.0.0.1:9201",
        "                             3        127.0.0.1:9202",
    ]


def test_a_long_table_is_cut(tmp_path: Path) -> None:
    values = config_samples.values(listeners=[{"name": "a", "port": 9000}])
    values["clusters"][0]["node_ids"] = ["1-1000"]
    lines = table(
        check.plan_rows(check.plan(config_samples.config(tmp_path, **values)))
    ).splitlines()
    assert len(lines) == 1 + check.MAX_ROWS
    assert lines[-3].split() == ["14", "127.0.0.1:9014"]
    assert lines[-2].split() == ["...", "985", "more"]
    assert lines[-1].split() == ["1000", "127.0.0.1:10000"]


def test_json(tmp_path: Path) -> None:
    listeners = [{"name": "a", "port": 9000}]
    plans = check.plan(config_samples.config(tmp_path, listeners=listeners))
    assert json.loads(check.as_json([], plans)) == {
        "ok": True,
        "problems": [],
        "warnings": [],
        "listeners": [
            {
                "name": "a",
                "security_protocol": "PLAINTEXT",
                "bootstrap_servers": "127.0.0.1:9000",
                "brokers": {
                    "1": "127.0.0.1:9001",
                    "2": "127.0.0.1:9002",
                    "3": "127.0.0.1:9003",
                },
            }
        ],
    }


# -- TLS ----------------------------------------------------------------------------------------


def secure(directory: Path, made: Credentials, **listener: Any) -> Config:
    values = config_samples.values()
    values["listeners"][0] |= {
        "port": 9000,
        "security_protocol": "SSL",
        "tls": {"certificate": str(made.certificate), "key": str(made.key)},
        **listener,
    }
    return config_samples.config(directory, **values)


def test_certificates_are_looked_at(tmp_path: Path) -> None:
    made = Authority(tmp_path / "pki").server("gw", ["gw.example"], valid=timedelta(days=2.5))
    config = secure(tmp_path, made)
    (problem,) = check.find_problems(config)
    assert key_text(problem.key) == "listeners[0].tls.certificate"
    assert problem.text.startswith(f"'{made.certificate}' is not for '127.0.0.1', which")
    (warning,) = check.find_warnings(config)
    assert warning.text == f"'{made.certificate}' expires in 2 days; renew it"


def test_names_of_brokers_in_the_table_and_in_json(tmp_path: Path) -> None:
    hosts = ["gw.localhost", "*.gw.localhost"]
    made = Authority(tmp_path / "pki").server("gw", hosts)
    names = {"advertised_host": "gw.localhost", "broker_names": "b{node_id}.gw.localhost"}
    plans = check.plan(secure(tmp_path, made, **names))
    assert table(check.plan_rows(plans)).splitlines() == [
        "listener  bootstrap.servers  node id  address",
        "colon     gw.localhost:9000  1        b1.gw.localhost:9000",
        "                             2        b2.gw.localhost:9000",
        "                             3        b3.gw.localhost:9000",
    ]
    (shown,) = json.loads(check.as_json([], plans, ["a line"]))["listeners"]
    assert shown["brokers"]["3"] == "b3.gw.localhost:9000"
    assert shown["security_protocol"] == "SSL"
    assert shown["certificate"]["names"] == hosts
    left = datetime.fromisoformat(shown["certificate"]["expires"]) - datetime.now(UTC)
    assert 364 < left.total_seconds() / 86_400 <= 365
    assert json.loads(check.as_json([], plans, ["a line"]))["warnings"] == ["a line"]


def test_names_of_brokers_that_are_not_known_here_are_a_warning(tmp_path: Path) -> None:
    made = Authority(tmp_path / "pki").server("gw", ["localhost", "*.kafka.invalid"])
    names = {"advertised_host": "localhost", "broker_names": "b{node_id}.kafka.invalid"}
    config = secure(tmp_path, made, **names)
    assert [key_text(each.key) for each in check.find_problems(config)] == []
    warnings = check.find_warnings(config)
    assert {key_text(each.key) for each in warnings} == {"listeners[0].broker_names"}
    assert [each.text for each in warnings] == [
        f"'b{node}.kafka.invalid' does not resolve here: name or service not known; "
        "its clients have to know it"
        for node in (1, 2, 3)
    ]


def test_a_listener_that_is_open_to_other_machines_is_a_warning(tmp_path: Path) -> None:
    values = config_samples.values()
    values["listeners"][0] |= {"bind": "0.0.0.0", "advertised_host": "localhost"}  # noqa: S104
    (warning,) = check.find_warnings(config_samples.config(tmp_path, **values))
    assert key_text(warning.key) == "listeners[0].bind"
    assert warning.text == "'0.0.0.0' is open to other machines: clients need not authenticate"
    assert check.find_warnings(config_samples.config(tmp_path)) == []
