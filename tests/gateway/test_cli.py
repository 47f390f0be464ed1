"""gateway.cli: the command, as users run it."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.waiting import wait_until
from gateway import cli, exit_codes, version
from gateway.checks import command as check_command
from tests.config import config_samples

ROOT = Path(__file__).parents[2]


def test_check_prints_what_clients_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config_samples.write(tmp_path)
    assert cli.main(["check", str(path)]) == exit_codes.OK
    out, err = capsys.readouterr()
    assert out.startswith("listener  bootstrap.servers  node id  address\ncolon     127.0.0.1:")
    assert err == ""


def test_check_of_a_rejected_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config_samples.write(tmp_path, worker=1, drain_seconds=-1)
    assert cli.main(["check", str(path)]) == exit_codes.CONFIG
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{path}:") for line in lines)
    assert "unknown key 'worker'; did you mean 'workers'?" in err


def test_check_of_ports_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = config_samples.values()
    path = config_samples.write(tmp_path, **values)
    with socket.create_server(("127.0.0.1", values["metrics"]["port"])):
        assert cli.main(["check", str(path)]) == exit_codes.FAILED
        out, err = capsys.readouterr()
        assert out == ""
        assert "metrics.port: the metrics port" in err
        assert "address already in use" in err
        assert cli.main(["check", "--json", str(path)]) == exit_codes.FAILED
        content = json.loads(capsys.readouterr().out)
        assert content["ok"] is False
        assert content["problems"] == err.splitlines()


def test_warnings_of_check_are_told_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = config_samples.values()
    values["listeners"][0] |= {"bind": "0.0.0.0", "advertised_host": "localhost"}  # noqa: S104
    path = config_samples.write(tmp_path, **values)
    assert cli.main(["check", str(path)]) == exit_codes.OK
    out, err = capsys.readouterr()
    assert out.startswith("listener ")
    (line,) = err.splitlines()
    assert line.startswith(f"warning: {path}:")
    assert line.endswith(
        "listeners[0].bind: '0.0.0.0' is open to other machines: clients need not authenticate"
    )
    assert cli.main(["check", "--json", str(path)]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["warnings"] == [line]


def test_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--json", str(config_samples.write(tmp_path))]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--config", "/no/such.yaml"]) == exit_codes.CONFIG
    told = capsys.readouterr().err
    assert told == (
        "/no/such.yaml: cannot be read: No such file or directory; give the path of a YAML file\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"]]
    + [[one] for one in ("serve", "check", "topics", "configs", "catalog", "explain", "policies")],
)
def test_command_lines_that_cannot_be_understood(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == exit_codes.USAGE


@pytest.mark.parametrize("command", ["topics", "configs", "explain", "serve", "catalog status"])
def test_unknown_flags_are_told_by_their_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {"topics": ["--bootstrap-server", "a:1", "--list"], "explain": ["--name", "x"]}
    flags["configs"] = ["--bootstrap-server", "a:1", "--describe"]
    config = [] if command in {"topics", "configs"} else ["--config", "c.yaml"]
    with pytest.raises(SystemExit) as caught:
        cli.main([*command.split(), "--frob", *flags.get(command, []), *config])
    assert caught.value.code == exit_codes.USAGE
    told = capsys.readouterr().err
    assert told.startswith(f"usage: kafka-gateway {command} ")
    assert told.endswith(f"kafka-gateway {command}: error: unrecognized arguments: --frob\n")


@pytest.mark.parametrize(
    "command",
    ["serve", "check", "topics", "configs", "explain", "policies", "policies schema", "catalog"]
    + [f"catalog {one}" for one in ("export", "import", "status", "upgrade", "forget")],
)
def test_every_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help"])
    assert f"examples:\n  kafka-gateway {command} " in capsys.readouterr().out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for argument in ("--help", "--version"):
        with pytest.raises(SystemExit) as caught:
            cli.main([argument])
        assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "kafka-gateway check config/quickstart.yaml" in out
    assert "78  the configuration is not valid" in out
    assert f"kafka-gateway {version()}" in out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    out = capsys.readouterr().out
    for command in ("serve", "check", "topics", "configs", "catalog", "explain", "policies"):
        assert f"\n    {command} " in out
    documented = {int(line.split()[0]) for line in _below(out, "exit status:")}
    assert documented == {
        exit_codes.OK,
        exit_codes.FAILED,
        exit_codes.USAGE,
        exit_codes.UNAVAILABLE,
        exit_codes.CONFIG,
        exit_codes.INTERRUPTED,
    }


def _below(text: str, heading: str) -> list[str]:
    """The lines under a heading that begin with a number."""
    lines = text.partition(heading)[2].splitlines()
    return [line for line in lines if line.split() and line.split()[0].isdigit()]


def test_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_command, "load_file", interrupted)
    path = config_samples.write(tmp_path)
    assert cli.main(["check", str(path)]) == exit_codes.INTERRUPTED


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    """As ``kafka-gateway ... | head -1`` ends it: no traceback."""
    command = [sys.executable, "-m", "gateway", "check", str(config_samples.write(tmp_path))]
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (exit_codes.FAILED, b"")


class Gateway:
    """``python -m gateway serve`` in a process of its own."""

    def __init__(self, directory: Path, path: Path) -> None:
        self.log = directory / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "serve", "--config", str(path)],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=log,
            )

    def wait(self) -> int:
        try:
            return self.process.wait(120)
        finally:
            self.process.kill()


def test_serve_rejects_a_port_in_use_in_one_line(tmp_path: Path) -> None:
    values = config_samples.values()
    port = values["listeners"][0]["port"]
    path = config_samples.write(tmp_path, **values)
    with socket.create_server(("127.0.0.1", port)):
        gateway = Gateway(tmp_path, path)
        assert gateway.wait() == exit_codes.CONFIG
    assert gateway.log.read_text() == (
        f"kafka-gateway: the bootstrap port of listener 'colon' ({port}) cannot be bound on "
        f"'127.0.0.1': port {port}: address already in use; free them or choose others\n"
    )


def test_sigterm_while_the_cluster_is_still_waited_for(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, config_samples.write(tmp_path, workers=2))
    try:
        wait_until(lambda: "worker 1 is process" in gateway.log.read_text(), "two workers", 120)
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.wait() == exit_codes.OK
    finally:
        gateway.process.kill()
    log = gateway.log.read_text()
    assert "SIGTERM: stopping" in log
    assert log.endswith("gateway.processes.supervisor stopped\n")
    assert "Traceback" not in log


def test_a_defect_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise KeyError("x\ny")

    monkeypatch.setattr("gateway.commands.version.running_form", fail)
    assert cli.main(["version"]) == exit_codes.FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kafka-gateway: internal error: KeyError: 'x\\ny' (test_cli.py:")


def test_a_full_disk_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("gateway.commands.version.running_form", fail)
    assert cli.main(["version"]) == exit_codes.FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "kafka-gateway: OSError: [Errno 28] No space left on device"
