"""kafka-gateway init at a terminal: its questions, their defaults, and Ctrl-C."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port, free_ports
from gateway.commands.init import command as init_command
from gateway.commands.init.questions import Questions
from gateway.config_file.loading import load_config
from tests.commands.init.fake_brokers import FakeBrokers
from tests.commands.running import Said, command

FILE = Path("gateway.yaml")
OF_ALL_LISTENERS = 220
"""Ports from the first listener's to the last of the third listener."""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def answered(monkeypatch: pytest.MonkeyPatch, answers: list[str], *words: str) -> Said:
    """The command at a terminal, at which these lines are typed."""
    monkeypatch.setattr(init_command, "terminal", lambda: Questions(at_terminal=True))
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{one}\n" for one in answers)))
    return await command("init", *words)


async def test_enter_takes_every_default(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeBrokers([1, 2, 3]) as brokers:
        said = await answered(monkeypatch, [brokers.address, "", "", "", ""])
        assert said.status == 0, said.err
        by_questions = FILE.read_text()
        FILE.unlink()
        await command("init", "--bootstrap-server", brokers.address, "--yes")
    assert FILE.read_text() == by_questions
    asked = [
        "Brokers (HOST:PORT,..) [localhost:9092]: ",
        "Found Kafka 4.3 (metadata.version 30): 3 brokers, 0 topics.\n",
        "Namespaces to begin with, such as team-a (Enter: none): ",
        "Address to listen on (0.0.0.0: every one) [127.0.0.1]: ",
        "Certificate (PEM) for TLS with clients (Enter: no TLS): ",
        "First port of the first listener [",
    ]
    assert all(text in said.err for text in asked)
    assert [said.err.index(text) for text in asked] == sorted(map(said.err.index, asked))


async def test_answers(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    ca = Authority(directory / "ca")
    server = ca.server(hosts=["kafka.example", "127.0.0.1"])
    port = free_ports(OF_ALL_LISTENERS)[0]
    files = [str(server.certificate), "", str(ca.file)]
    async with FakeBrokers() as brokers:
        answers = [brokers.address, "team-a, org:apache", "0.0.0.0", *files, "kafka.example"]  # noqa: S104
        said = await answered(monkeypatch, [*answers, str(port)])
    assert said.status == 0, said.err
    config = load_config(FILE)
    first = config.listeners[0]
    assert config.namespaces == ("team-a", "org:apache")
    assert (first.bind, first.advertised_host, first.port) == ("0.0.0.0", "kafka.example", port)  # noqa: S104
    assert first.tls is not None
    assert (first.tls.key, first.tls.client_ca) == (server.key, ca.file)


async def test_what_is_wrong_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = f"127.0.0.1:{free_port()}"
    async with FakeBrokers() as brokers:
        answers = [
            "nowhere",
            closed,
            brokers.address,
            "a b:c!",
            "team-a",
            "",
            "no.pem",
            "",
            "x",
            "",
        ]
        said = await answered(monkeypatch, answers)
        assert said.status == 0, said.err
        taken = await answered(
            monkeypatch, [str(brokers.port), ""], *_all_but_the_port(brokers.address)
        )
    assert "'nowhere' is not HOST:PORT" in said.err
    assert f"{closed}: cannot connect: Connection refused" in said.err
    assert "tier 'c!' of namespace 'b:c!' is not" in said.err
    assert "there is no file 'no.pem'" in said.err
    assert "'x' is no port" in said.err
    assert load_config(FILE).namespaces == ("team-a",)
    assert taken.status == 0, taken.err
    assert f"port {brokers.port} of listener 'colon' cannot be bound" in taken.err


def _all_but_the_port(address: str) -> list[str]:
    bind = ["--bind", "127.0.0.1", "--advertised-host", "127.0.0.1", "--force"]
    ca = Authority(Path("ca"))
    server = ca.server()
    tls = ["--tls-certificate", str(server.certificate), "--tls-key", str(server.key)]
    return ["--bootstrap-server", address, "--namespace", "team-a", *bind, *tls]


async def test_with_enough_flags_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeBrokers() as brokers:
        words = [
            *_all_but_the_port(brokers.address),
            "--port",
            str(free_ports(OF_ALL_LISTENERS)[0]),
        ]
        said = await answered(monkeypatch, [], *words)
    assert said.status == 0, said.err
    assert ": " not in said.err.partition("Found")[0]


async def test_files_and_hosts_that_do_not_go_together(
    monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    ca = Authority(directory / "ca")
    server, other = ca.server(hosts=["kafka.example"]), ca.server("other")
    wrong, right = [str(server.certificate), str(other.key), ""], [str(server.certificate), "", ""]
    hosts = ["0.0.0.0", "x.example", ""]  # noqa: S104
    async with FakeBrokers() as brokers:
        bind = ["192.0.2.1", "::"]
        answers = [brokers.address, "", *bind, *wrong, *right, *hosts, ""]
        said = await answered(monkeypatch, answers)
    assert said.status == 0, said.err
    assert "--bind: '192.0.2.1' cannot be bound: " in said.err
    assert f"'{other.key}' is not the key of the certificate" in said.err
    assert "'0.0.0.0' is no name or address that clients could connect to" in said.err
    assert "the certificate is not for 'x.example', and it is for kafka.example" in said.err
    first = load_config(FILE).listeners[0]
    assert (first.bind, first.advertised_host) == ("::", "kafka.example")


async def test_a_login_that_the_brokers_want(
    monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    """The properties file is asked for as soon as it is known to be needed."""
    ca = Authority(directory / "ca")
    Path("client.properties").write_text(
        f"security.protocol=SSL\nssl.truststore.location={ca.file}\n"
    )
    async with FakeBrokers(credentials=ca.server()) as brokers:
        answers = [brokers.address, "nothing", "client.properties", "", "", "", ""]
        said = await answered(monkeypatch, answers)
        stopped = await answered(monkeypatch, [brokers.address, ""], "--output", "other.yaml")
    assert said.status == 0, said.err
    assert "speaks TLS there" in said.err
    assert "there is no file 'nothing'" in said.err
    assert load_config(FILE).clusters[0].security.tls.ca == ca.file
    assert stopped.status == 69
    assert not Path("other.yaml").exists()


async def test_input_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeBrokers() as brokers:
        said = await answered(monkeypatch, [brokers.address])
    assert said.status == 1
    assert "the input has ended; nothing was written" in said.err
    assert not FILE.exists()


async def test_a_terminal_and_ctrl_c() -> None:
    """The command itself, with a terminal of its own."""
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "gateway", "init"]
    root = str(Path(init_command.__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": root}
    # If tests run in the background, SIGINT may be ignored, and programs inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        words, stdin=secondary, stdout=secondary, stderr=secondary, env=environment
    )
    signal.signal(signal.SIGINT, before)
    os.close(secondary)
    try:
        shown = b""
        while b"[localhost:9092]: " not in shown:
            shown += await asyncio.to_thread(os.read, primary, 1_000)
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 120) == 130
    finally:
        process.kill()
        process.wait()
        os.close(primary)
    assert not FILE.exists()
