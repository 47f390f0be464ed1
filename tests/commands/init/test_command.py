"""kafka-gateway init: its flags, its files, its output, and its errors."""

from __future__ import annotations

import re
import socket
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port, free_ports
from gateway.commands.init import command as init_command
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from tests.commands.init.fake_brokers import TOPIC_AUTHORIZATION_FAILED, FakeBrokers
from tests.commands.running import Said, command

FILE = "gateway.yaml"
VALID = """\
clusters: [{name: main, bootstrap_servers: ["127.0.0.1:9092"], node_ids: ["1-3"]}]
listeners: [{name: colon, port: 9192}]
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def init(brokers: FakeBrokers, *words: str) -> Said:
    return await command("init", "--bootstrap-server", brokers.address, *words)


async def written(brokers: FakeBrokers, *words: str) -> Config:
    """The configuration that is written, which works on this machine without a warning."""
    said = await init(brokers, *words)
    assert said.status == 0, said.err
    return load_config(Path(FILE))


def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


async def test_what_is_written_passes_check() -> None:
    async with FakeBrokers([1, 2, 3]) as brokers:
        config = await written(brokers, "--namespace", "team-a")
        assert [str(one) for one in config.clusters[0].bootstrap_servers] == [brokers.address]
    assert [one.name for one in config.listeners] == ["colon", "home", "legal"]
    assert config.namespaces == ("team-a",)
    assert mode(FILE) == 0o600
    checked = await command("check", FILE)
    assert (checked.status, checked.err) == (0, "")


async def test_what_is_printed() -> None:
    ports = free_ports(120)
    async with FakeBrokers([1, 2], flat_topics={"orders": [1, 3]}) as brokers:
        said = await init(brokers, "--port", str(ports[0]))
    first, metrics = ports[0], load_config(Path(FILE)).metrics.port
    assert (
        said.out.replace(str(first), "BASE").replace(str(metrics), "METRICS")
        == f"""\
cluster id    kafka-1
software      Kafka 4.3 (metadata.version 30)
brokers       1, 2, controller 1
brokers down  3
topics        1
authorizer    no

listener  bootstrap.servers  node ids  their ports
colon     127.0.0.1:BASE    1-8       {first + 1}-{first + 8}
legal     127.0.0.1:{first + 100}    1-8       {first + 101}-{first + 108}
metrics   127.0.0.1:METRICS

Wrote gateway.yaml.
Next:
  kafka-gateway check gateway.yaml
  kafka-gateway check --cluster gateway.yaml
  kafka-gateway serve --config gateway.yaml
Clients: bootstrap.servers=127.0.0.1:BASE
Page: http://127.0.0.1:METRICS/
"""
    )
    assert said.err == (
        "kafka-gateway: only clients on this machine can connect to 127.0.0.1; for others:"
        " --bind and --advertised-host\n"
    )


async def test_topics_that_the_user_may_not_describe() -> None:
    async with FakeBrokers(acls=31, named=TOPIC_AUTHORIZATION_FAILED) as brokers:
        said = await init(brokers)
        assert said.status == 0
        (row,) = [line for line in said.lines if line.startswith("topics ")]
        assert row.endswith("0 that this user may Describe")
        assert "warning: this user may not Describe every topic" in said.err
        assert "Describe on Topic '*'" in said.err
        head = Path(FILE).read_text().partition("\n\n")[0]
        assert "0 topics that its user may Describe" in " ".join(head.replace("#", "").split())
        again = await init(brokers, "--force", "--json")
        assert again.json["found"]["sees_all_topics"] is False


async def test_as_json() -> None:
    async with FakeBrokers([1, 2], flat_topics={"team-a..orders": [1]}) as brokers:
        said = await init(brokers, "--namespace", "team-a", "team-b", "--json")
        address = brokers.address
    found = said.json["found"]
    assert found["brokers"] == {"1": address, "2": address}
    assert found["topics_like_namespaces"] == {"team-a": 1}
    assert found["authorizer"] is False
    assert said.json["namespaces"] == ["team-a", "team-b"]
    assert [one["name"] for one in said.json["listeners"]] == ["colon", "legal"]
    first = said.json["listeners"][0]
    base = int(first["bootstrap_servers"].rpartition(":")[2])
    assert (first["first_broker_port"], first["last_broker_port"]) == (base + 1, base + 7)
    assert "1 topic of the cluster will be in namespace 'team-a'" in said.err
    assert said.json["next"][0] == "kafka-gateway check gateway.yaml"


async def test_a_file_that_is_there_is_kept() -> None:
    Path(FILE).write_text("mine")
    async with FakeBrokers() as brokers:
        said = await init(brokers)
        assert (said.status, said.out) == (1, "")
        assert "'gateway.yaml' is there already, and was not touched" in said.err
        assert not brokers.asked("Metadata")
        assert Path(FILE).read_text() == "mine"
        assert (await init(brokers, "--force")).status == 0
    load_config(Path(FILE))
    assert mode(FILE) == 0o600
    assert sorted(path.name for path in Path().iterdir()) == [FILE]


async def test_a_link_is_not_followed_to_a_new_file() -> None:
    Path(FILE).symlink_to("elsewhere.yaml")
    async with FakeBrokers() as brokers:
        assert (await init(brokers)).status == 1
    assert not Path("elsewhere.yaml").exists()


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("no/such/gateway.yaml", "its directory does not exist; make it"),
        (".", "is a directory; give a file: --output"),
    ],
)
async def test_files_that_cannot_be_written(output: str, reason: str) -> None:
    async with FakeBrokers() as brokers:
        said = await init(brokers, "--output", output)
        assert not brokers.asked("Metadata")
    assert (said.status, said.out) == (1, "")
    assert reason in said.err


async def test_a_directory_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ordinary user would find it, because the superuser may write anywhere."""

    def rejected(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", rejected)
    async with FakeBrokers() as brokers:
        said = await init(brokers)
    assert said.status == 1
    assert said.err.startswith("kafka-gateway: 'gateway.yaml' cannot be written: permission denied")


async def test_a_file_system_without_hard_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def rejected(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", rejected)
    async with FakeBrokers() as brokers:
        await written(brokers)
    assert (mode(FILE), [path.name for path in Path().iterdir()]) == (0o600, [FILE])


async def test_a_file_that_somebody_else_writes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file is there when init has asked everything."""

    def text(_: object) -> str:
        Path(FILE).write_text("theirs")
        return VALID

    monkeypatch.setattr(init_command, "config_text", text)
    async with FakeBrokers() as brokers:
        said = await init(brokers)
    assert (said.status, Path(FILE).read_text()) == (1, "theirs")
    assert "'gateway.yaml' is there already" in said.err


async def test_a_text_that_would_not_load_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_command, "config_text", lambda _: "clusters: []\n")
    async with FakeBrokers() as brokers:
        said = await init(brokers)
    assert said.status == 1
    assert "gateway.yaml:1: clusters: is an empty list; add an item" in said.err
    assert "nothing was written" in said.err
    assert list(Path().iterdir()) == []


async def test_the_password_has_a_file_of_its_own() -> None:
    properties = Path("client.properties")
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.username=gateway\nsasl.password=se cret\n"
    )

    class LettingIn(FakeBrokers):
        """Brokers that accept every login."""

        def handlers(self) -> dict[str, Any]:
            return {**super().handlers(), "SaslAuthenticate": lambda *_: {"error_code": 0}}

        def _answer(self, payload: bytes) -> bytes | None:
            return super(FakeBrokers, self)._answer(payload)

    async with LettingIn(mechanisms=["PLAIN"]) as brokers:
        config = await written(brokers, "--command-config", str(properties))
        again = await init(brokers, "--command-config", "client.properties", "--output", "g.yaml")
    security = config.clusters[0].security
    assert security.protocol == "SASL_PLAINTEXT"
    assert security.sasl is not None
    assert (security.sasl.mechanism, security.sasl.username) == ("PLAIN", "gateway")
    assert security.sasl.password.file == Path("gateway.password").absolute()
    assert security.sasl.password.read() == "se cret"
    assert "se cret" not in Path(FILE).read_text() + again.out + again.err
    assert mode("gateway.password") == 0o600
    assert (again.status, Path("g.password").read_text()) == (0, "se cret\n")


async def test_clients_with_tls(directory: Path) -> None:
    ca = Authority(directory / "ca")
    server = ca.server(hosts=["*.example", "kafka.example"])
    words = ("--tls-certificate", str(server.certificate), "--tls-key", str(server.key))
    async with FakeBrokers() as brokers:
        config = await written(brokers, *words, "--client-ca", str(ca.file), "--bind", "0.0.0.0")  # noqa: S104
        for listener in config.listeners:
            assert (listener.bind, listener.advertised_host) == ("0.0.0.0", "kafka.example")  # noqa: S104
            assert listener.tls is not None
            assert listener.tls.client_auth == "required"
        both = await init(brokers, "--force", "--tls-certificate", str(server.both))
        assert both.status == 0
        assert load_config(Path(FILE)).listeners[0].tls is not None


async def test_certificates_that_clients_would_not_accept(directory: Path) -> None:
    ca = Authority(directory / "ca")
    server, other = ca.server(hosts=["kafka.example"]), ca.server("other")
    expired = ca.server("expired", valid=timedelta(seconds=-60))
    cases = {
        "--advertised-host: the certificate is not for 'x.example', and it is for kafka.example;": (
            *("--tls-certificate", str(server.certificate), "--tls-key", str(server.key)),
            *("--advertised-host", "x.example"),
        ),
        f"--tls-key: '{other.key}' is not the key of the certificate": (
            *("--tls-certificate", str(server.certificate), "--tls-key", str(other.key)),
        ),
        f"--tls-certificate: '{expired.certificate}' has expired; renew it": (
            *("--tls-certificate", str(expired.certificate), "--tls-key", str(expired.key)),
        ),
        "--client-ca: 'nothing.pem' cannot be read: no such file": (
            *("--tls-certificate", str(server.certificate), "--tls-key", str(server.key)),
            *("--client-ca", "nothing.pem"),
        ),
        "--tls-key goes with --tls-certificate": ("--tls-key", str(server.key)),
        f"--tls-key: '{server.certificate}' holds no PEM private key": (
            *("--tls-certificate", str(server.certificate)),
        ),
    }
    async with FakeBrokers() as brokers:
        for reason, words in cases.items():
            said = await init(brokers, *words)
            assert said.status in (1, 2)
            assert reason in said.err.replace(f"{directory}/nothing", "nothing")
            assert not Path(FILE).exists()


@pytest.mark.parametrize(
    ("words", "bind", "host"),
    [
        ((), "127.0.0.1", "127.0.0.1"),
        (("--advertised-host", "kafka.example"), "0.0.0.0", "kafka.example"),  # noqa: S104
        (("--advertised-host", "localhost"), "127.0.0.1", "localhost"),
        (("--bind", "::", "--advertised-host", "kafka.example"), "::", "kafka.example"),
        (("--bind", "127.0.0.1", "--advertised-host", "a.example"), "127.0.0.1", "a.example"),
    ],
)
async def test_where_it_listens(words: tuple[str, ...], bind: str, host: str) -> None:
    async with FakeBrokers() as brokers:
        config = await written(brokers, *words)
    assert {(one.bind, one.advertised_host) for one in config.listeners} == {(bind, host)}


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (("--bind", "0.0.0.0"), 2, "so say which name or address clients connect to"),  # noqa: S104
        (("--advertised-host", "::"), 2, "is every address of a machine"),
        (("--bind", "192.0.2.1"), 1, "'192.0.2.1' cannot be bound"),
        (("--port", "0"), 2, "'0' is no port"),
        (("--namespace", "a b"), 2, "tier 'a b' of namespace 'a b' is not"),
        (("--command-config", "nothing"), 2, "'nothing' cannot be read: No such file"),
    ],
)
async def test_flags_that_cannot_be(words: tuple[str, ...], status: int, reason: str) -> None:
    async with FakeBrokers() as brokers:
        said = await init(brokers, *words)
    assert (said.status, said.out) == (status, "")
    assert reason in said.err
    assert not Path(FILE).exists()


async def test_ports_that_are_taken() -> None:
    ports = free_ports(120)
    with socket.create_server(("127.0.0.1", ports[103])):
        async with FakeBrokers() as brokers:
            said = await init(brokers, "--port", str(ports[0]))
            (other,) = re.findall(r"free it, or give --port (\d+)\n", said.err)
            assert (await init(brokers, "--port", other)).status == 0
    assert said.status == 1
    assert f"port {ports[103]} of listener 'legal' cannot be bound on '127.0.0.1'" in said.err


async def test_a_broker_that_cannot_be_reached_where_it_says_it_is() -> None:
    port = free_port()
    async with FakeBrokers([1, 2], addresses={2: ("127.0.0.1", port)}) as brokers:
        said = await init(brokers)
    assert said.status == 0
    assert f"warning: broker 2 advertises 127.0.0.1:{port}, where it cannot be reached" in said.err
    assert str(port) not in str(load_config(Path(FILE)).clusters[0].bootstrap_servers)


async def test_other_brokers_are_bootstrap_servers_too() -> None:
    async with FakeBrokers() as second, FakeBrokers() as third:
        addresses = {2: ("127.0.0.1", second.port), 3: ("127.0.0.1", third.port)}
        async with FakeBrokers([1, 2, 3], addresses=addresses) as brokers:
            config = await written(brokers)
            expected = [brokers.address, second.address, third.address]
    assert [str(one) for one in config.clusters[0].bootstrap_servers] == expected


async def test_without_a_terminal_the_brokers_are_needed() -> None:
    said = await command("init", "--yes")
    assert (said.status, said.out) == (2, "")
    assert "give the address of a broker: --bootstrap-server HOST:PORT" in said.err


async def test_brokers_that_do_not_answer() -> None:
    said = await command("init", "--bootstrap-server", f"127.0.0.1:{free_port()}")
    assert (said.status, said.out) == (69, "")
    assert "Connection refused; see that Kafka runs there" in said.err
    assert not Path(FILE).exists()
