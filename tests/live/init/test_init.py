"""From ``init`` to a client, in front of real brokers: by the commands that init prints."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.broker_security import jaas_config
from devkit.certificates import Authority
from devkit.process import ManagedProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.fixtures import own_kafka
from tests.live.support.secured_brokers import PASSWORDS, SecuredBrokers

Names = Callable[[str], str]
FILE = "gateway.yaml"

kafka = own_kafka()


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``kafka-gateway`` with these arguments, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=clients.SECONDS,
        check=False,
    )


def init(*words: str) -> dict[str, Any]:
    """The plan that ``init`` prints as JSON: the facts it found and its choices."""
    done = run("init", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(*words: str) -> str:
    """The warnings of ``check``, which must find no problem."""
    done = run("check", *words, FILE)
    assert done.returncode == 0, done.stderr
    return done.stderr


@contextmanager
def serving(plan: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The gateway while it runs: the addresses of its listeners, by listener name."""
    host, _, port = plan["metrics"].rpartition(":")

    def ready() -> bool:
        assert process.running, process.tail()
        connection = http.client.HTTPConnection(host, int(port), timeout=clients.SECONDS)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    command = [sys.executable, "-m", "gateway", "serve", "--config", FILE]
    with ManagedProcess("kafka-gateway", command, Path("gateway.log")) as process:
        wait_until(ready, "the gateway's /readyz", clients.SECONDS)
        yield {one["name"]: one["bootstrap_servers"] for one in plan["listeners"]}
        assert process.terminate(clients.SECONDS) == 0, process.tail()


@pytest.mark.usefixtures("ports_of_init")
def test_from_init_to_a_client(kafka: KafkaCluster, unique: Names) -> None:
    """A topic that a client creates under its bare name in the home has its full name elsewhere."""
    team, topic = unique("team"), unique("orders")
    plan = init("--bootstrap-server", kafka.bootstrap_servers, "--namespace", team)
    assert set(plan["found"]["brokers"]) == {str(node) for node in kafka.running}
    assert plan["found"]["authorizer"] is False
    assert plan["found"]["software"].startswith("Kafka 4.3 (metadata.version ")
    assert check() == check("--cluster") == ""
    with serving(plan) as servers:
        clients.create(servers["home"], topic)
        clients.produce(servers["home"], topic, ["first", "second"])
        name = f"{team}:{topic}"
        assert name in clients.listed(servers["colon"])
        read = clients.consume(servers["colon"], name, 2, unique("readers"))
        assert read == ["first", "second"]
        legal = clients.consume(servers["legal"], f"{team}..{topic}", 2, unique("readers"))
        assert legal == read


def properties(brokers: SecuredBrokers, *lines: str) -> Path:
    path = Path("client.properties")
    path.write_text("\n".join([*lines, f"ssl.truststore.location={brokers.ca.file}", ""]))
    path.chmod(0o600)
    return path


def scram(password: str, user: str = "gateway") -> Sequence[str]:
    mechanism = "SCRAM-SHA-512"
    return (
        "security.protocol=SASL_SSL",
        "ssl.truststore.type=PEM",
        f"sasl.mechanism={mechanism}",
        f"sasl.jaas.config={jaas_config(mechanism, user, password)}",
    )


@pytest.mark.usefixtures("ports_of_init")
def test_brokers_with_tls_and_scram(
    secured_brokers: SecuredBrokers, directory: Path, unique: Names
) -> None:
    """Clients, too, use TLS. If the user may not even describe a topic, ``init`` says so."""
    servers = ("--bootstrap-server", secured_brokers.kafka.servers("SASL_SSL"))
    file = properties(secured_brokers, *scram(PASSWORDS["bob"], "bob"))
    hidden = init(*servers, "--command-config", str(file), "--output", "bob.yaml")["found"]
    assert (hidden["topics"], hidden["sees_all_topics"], hidden["authorizer"]) == (0, False, True)
    topic, ca = unique("orders"), Authority(directory / "ca")
    file, server = properties(secured_brokers, *scram(PASSWORDS["gateway"])), ca.server()
    plan = init(
        *servers,
        *("--command-config", str(file)),
        *("--tls-certificate", str(server.certificate), "--tls-key", str(server.key)),
    )
    assert plan["found"]["authorizer"] is plan["found"]["sees_all_topics"] is True
    file.unlink()  # from now on the gateway has the credentials in files of its own
    assert PASSWORDS["gateway"] not in Path(FILE).read_text()
    assert check() == ""
    check("--cluster")  # if an earlier test's catalog is there, ``check`` warns about it
    with serving(plan) as listeners:
        tls = {"security_protocol": "SSL", "ssl_ca_location": str(ca.file)}
        settings = clients.settings(listeners["colon"], **tls)
        admin = AdminClient(settings)  # kept, because its requests fail when it is collected
        create_topics(admin, [NewTopic(topic, 1, 1)])
        clients.await_stored(secured_brokers.kafka, topic)
        assert clients.round_trip(settings, topic, unique("readers"), ["kept"]) == ["kept"]


@pytest.mark.parametrize(
    ("spoken", "lines", "text"),
    [
        (
            "SSL",
            None,
            "speaks TLS there, and has no login\n  give a file with security.protocol=SSL",
        ),
        ("SASL_SSL", None, "speaks TLS there, and asks for a login by "),
        ("SASL_PLAINTEXT", None, "speaks no TLS there, and asks for a login by "),
        ("PLAINTEXT", ["security.protocol=SSL"], "speaks no TLS there, and has no login\n  write"),
        ("SASL_SSL", scram("wrong"), "refuses user 'gateway' by SCRAM-SHA-512"),
    ],
)
def test_what_does_not_fit(
    secured_brokers: SecuredBrokers, spoken: str, lines: Sequence[str] | None, text: str
) -> None:
    """Real brokers close a mismatched connection in different ways; the error names their
    protocol."""
    servers = secured_brokers.kafka.servers(spoken)
    words = ["init", "--bootstrap-server", servers]
    if lines is not None:
        words += ["--command-config", str(properties(secured_brokers, *lines))]
    done = run(*words)
    assert done.returncode == (1 if lines is not None and len(lines) > 1 else 69)
    assert f"{servers}: {text}" in done.stderr or f"{servers} {text}" in done.stderr
    assert "wrong" not in done.stderr
    assert not Path(FILE).exists()
