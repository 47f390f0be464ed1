"""gateway.checks.starting, ``serve --dry-run``: errors that end a worker before it meets a
broker."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from devkit.waiting import wait_until
from gateway import cli, exit_codes
from gateway.checks.check import find_problems
from gateway.checks.starting import why_not_writable
from gateway.config_file.loading import load_config
from tests.config import config_samples

MODULE = """
from gateway.acls.authorizer import Authorizer
from gateway.policies.interface import CreateTopicPolicy

class Good(Authorizer):
    def authorize(self, *_): ...
    def acls(self, *_): return ()

class Raising(Good):
    def __init__(self): raise SystemExit(7)

class Unconfigured(Good):
    def configure(self, configs, changed): raise KeyError("x\\ny")

class Incomplete(Authorizer): ...

class Policy(CreateTopicPolicy):
    def validate(self, request_metadata): ...
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"authorizers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def problems(directory: Path, **overrides: Any) -> list[tuple[object, ...]]:
    return [one.key for one in find_problems(config_samples.config(directory, **overrides))]


@pytest.mark.parametrize(
    "name",
    [
        "{module}.Missing",
        "{module}.Raising",
        "{module}.Unconfigured",
        "{module}.Incomplete",
        "{module}.Policy",
        "{module}_broken.Good",
        "{module}_missing.Good",
        "builtins.input",  # which would wait for a terminal
        "os.abort",
        "Good",
        ".Good",
        "..",
        "a b",
    ],
)
def test_an_authorizer_that_cannot_be_made(name: str, module: str, tmp_path: Path) -> None:
    block = {"authorizer.class.name": name.format(module=module)}
    found = problems(tmp_path, authorization=block)
    assert found == [("authorization", "authorizer.class.name")]


def test_an_authorizer_that_can_be_made(module: str, tmp_path: Path) -> None:
    block = {"authorizer.class.name": f"{module}.Good", "configs": {"any": [1, "x"]}}
    assert problems(tmp_path, authorization=block) == []


def file_in(directory: Path) -> Path:
    path = directory / "file"
    path.touch()
    return path


def link_in(directory: Path) -> Path:
    path = directory / "link"
    path.symlink_to("nothing")
    return path


NO_DIRECTORIES: dict[str, Callable[[Path], Path]] = {
    "a file": file_in,
    "below a file": lambda directory: file_in(directory) / "logs",
    "far below a file": lambda directory: file_in(directory) / "a" / "b",
    "a link to nothing": link_in,
    "below a link to nothing": lambda directory: link_in(directory) / "logs",
    "a device": lambda _: Path("/dev/null"),
    "a long name": lambda directory: directory / "missing" / ("x" * 300),
    "a long path": lambda directory: directory.joinpath(*["x" * 200] * 30),
}
if sys.platform == "linux":
    NO_DIRECTORIES["no place for files"] = lambda _: Path("/proc/logs")


@pytest.mark.parametrize("kind", NO_DIRECTORIES)
def test_directories_that_cannot_be_written(kind: str, tmp_path: Path) -> None:
    """Neither can they be created, which is the rule that they are compared with."""
    directory = NO_DIRECTORIES[kind](tmp_path)
    assert why_not_writable(directory) is not None
    with pytest.raises(OSError, match=r"\[Errno"):
        directory.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("kind", ["below a file", "a long name"])
@pytest.mark.parametrize("key", ["traffic_log", "audit"])
def test_each_directory_is_tried(kind: str, key: str, tmp_path: Path) -> None:
    block = {"directory": str(NO_DIRECTORIES[kind](tmp_path))}
    assert problems(tmp_path, **{key: block}) == [(key, "directory")]


def test_the_directory_of_a_tree_is_tried(tmp_path: Path) -> None:
    values = config_samples.peer_values(tmp_path)
    values["tree"]["directory"] = str(file_in(tmp_path))
    path = config_samples.write_tree(tmp_path, **values)
    config = load_config(path)
    assert [one.key for one in find_problems(config)] == [("tree", "directory")]


def test_trying_a_directory_leaves_nothing(tmp_path: Path) -> None:
    assert why_not_writable(tmp_path / "a" / "b") is None
    assert why_not_writable(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "https:///keys",
        "http://[",
        "http://[::1",
        "http://[x]/",
        "http://localhost:99999/",
        "http://localhost:x/",
        "http://localhost:0/",
        "http://localhost x/",
        "http://localhost/a b",
        "http://localhost/\n",
        "http://" + "." * 2,
        "http://" + "x" * 300,
        "https://\u200b/",
    ],
)
def test_key_sets_at_what_is_no_url(url: str, tmp_path: Path, capsys: Any) -> None:
    path = config_samples.write(tmp_path, listeners=[listener(url)])
    assert cli.main(["check", str(path)]) == exit_codes.CONFIG
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}:")
    assert "listeners[0].sasl.oauthbearer.jwks: " in line


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost/keys?x=1",
        "http://127.0.0.1:8080",
        "http://[::1]:80/k",
        "https://" + "bücher.example/",
    ],
)
def test_key_sets_at_a_url(url: str, tmp_path: Path) -> None:
    assert problems(tmp_path, listeners=[listener(url)]) == []


def listener(url: str) -> dict[str, Any]:
    (own,) = config_samples.values()["listeners"]
    tokens = {"jwks": url, "audience": ["kafka"]}
    sasl = {"mechanisms": ["OAUTHBEARER"], "oauthbearer": tokens}
    return {**own, "security_protocol": "SASL_PLAINTEXT", "sasl": sasl}


def test_a_dry_run_says_what_would_be_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config_samples.write(tmp_path, traffic_log={"directory": str(tmp_path / "log")})
    assert cli.main(["serve", "--config", str(path), "--dry-run"]) == exit_codes.OK
    out, err = capsys.readouterr()
    assert "colon at 127.0.0.1:" in out
    assert err == ""
    assert [one.name for one in tmp_path.iterdir()] == ["gateway.yaml"]


def test_a_dry_run_ends_as_serving_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block = {"directory": str(file_in(tmp_path) / "log")}
    path = config_samples.write(tmp_path, traffic_log=block, audit=block)
    assert cli.main(["serve", "--config", str(path), "--dry-run"]) == exit_codes.CONFIG
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith(f"{path}:") for line in lines] == [True, True]
    assert cli.main(["check", str(path)]) == exit_codes.FAILED
    assert capsys.readouterr().err.splitlines() == lines


def test_a_worker_that_cannot_be_made_ends_the_gateway(tmp_path: Path) -> None:
    """A second worker would end likewise, and the third."""
    block = {"authorizer.class.name": "no.such.Authorizer"}
    path = config_samples.write(tmp_path, authorization=block, workers=2)
    line = [sys.executable, "-m", "gateway", "serve", "--config", str(path)]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == exit_codes.CONFIG
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("kafka-gateway: authorizer.class.name 'no.such.Authorizer' cannot be")
    assert "Traceback" not in ended.stderr


def test_every_worker_gets_a_configuration_that_came_through_a_pipe() -> None:
    """The command of docs/configuration.md, until each worker has connected to the cluster."""
    reading, writing = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as broker:
        values = config_samples.values(workers=2, drain_seconds=0.1)
        port = broker.getsockname()[1]
        values["clusters"][0]["bootstrap_servers"] = [f"127.0.0.1:{port}"]
        line = [sys.executable, "-m", "gateway", "serve", "--config", f"/dev/fd/{reading}"]
        with subprocess.Popen(line, pass_fds=[reading]) as supervisor:
            os.close(reading)
            os.write(writing, yaml.safe_dump(values).encode())
            os.close(writing)
            try:
                wait_until(lambda: connected(supervisor.pid, port) == 2, "both workers", 240)
            finally:
                supervisor.terminate()


def connected(supervisor: int, port: int) -> int:
    """The number of workers that are connected to a port, or try to connect."""
    workers = psutil.Process(supervisor).children()
    remotes = [{one.raddr for one in worker.net_connections("tcp")} for worker in workers]
    return sum(("127.0.0.1", port) in each for each in remotes)
