"""``serve`` that cannot start: if ``log.format`` is json, all its output is JSON, to the end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway import cli, exit_codes
from gateway.catalog.log.topics import CatalogLost
from gateway.processes import command
from gateway.processes.supervisor import StartError
from tests.config import config_samples

JSON = {"log": {"format": "json"}}


def objects(text: str) -> list[dict[str, Any]]:
    """The lines, each of which is an object."""
    return [json.loads(line) for line in text.splitlines()]


def served(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status of ``serve``, and its output to standard error."""
    status = cli.main(["serve", "--config", str(path), *words])
    out, err = capsys.readouterr()
    assert out == ""
    return status, err


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def run(*_: object) -> int:
        raise error

    monkeypatch.setattr(command, "run_supervisor", run)


def test_a_port_that_is_in_use(tmp_path: Path) -> None:
    values = config_samples.values(**JSON)
    port = values["listeners"][0]["port"]
    line = [sys.executable, "-m", "gateway", "serve", str(config_samples.write(tmp_path, **values))]
    with socket.create_server(("127.0.0.1", port)):
        ended = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == exit_codes.CONFIG
    last = objects(ended.stderr)[-1]
    assert (last["level"], last["worker"]) == ("ERROR", None)
    assert str(port) in last["message"]
    assert not last["message"].startswith("kafka-gateway:")


def test_each_problem_is_an_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, StartError("one\ntwo"))
    status, err = served(config_samples.write(tmp_path, **JSON), capsys)
    assert status == exit_codes.CONFIG
    assert [one["message"] for one in objects(err)] == ["one", "two"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyError("a defect")])
def test_what_nobody_expects(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    failing(monkeypatch, error)
    status, err = served(config_samples.write(tmp_path, **JSON), capsys)
    assert status == exit_codes.FAILED
    (only,) = objects(err)
    assert str(error.args[-1]) in only["message"]


def test_a_cluster_that_is_not_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config_samples.write(tmp_path, **JSON)
    status, err = served(path, capsys, "--new-catalog", "other")
    assert status == exit_codes.CONFIG
    assert "'other'" in objects(err)[-1]["message"]


def test_a_file_that_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its log settings apply nevertheless, if these are valid."""
    path = config_samples.write(tmp_path, **JSON, worker=2, namespace=["a"])
    status, err = served(path, capsys)
    assert status == exit_codes.CONFIG
    assert [one["level"] for one in objects(err)] == ["ERROR", "ERROR"]
    path = config_samples.write(tmp_path, log={"format": "xml"})
    status, err = served(path, capsys)
    assert status == exit_codes.CONFIG
    assert err.startswith(f"{path}:")


def test_a_dry_run_speaks_to_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config_samples.write(tmp_path, **JSON, worker=2)
    assert served(path, capsys, "--dry-run")[1].startswith(f"{path}:")


def test_text_is_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, StartError("one\ntwo"))
    path = config_samples.write(tmp_path)
    assert served(path, capsys)[1] == "kafka-gateway: one\nkafka-gateway: two\n"


def test_the_step_after_a_lost_catalog_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, StartError(str(CatalogLost("the catalog's topic is not there", "main"))))
    path = config_samples.write(tmp_path)
    _, err = served(path, capsys)
    assert f"kafka-gateway serve --config {path} --new-catalog main\n" in err
    assert f"kafka-gateway catalog restore --config {path}" in err
