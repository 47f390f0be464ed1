"""Containerfile, without an engine: its user, the files it copies, and that its commands work."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from devkit import build_backend
from gateway.cli import parser
from gateway.config.models import Config
from tests.deploy.containerfile import stages
from tests.docs import markdown
from tests.docs.test_files import FILES

BUILDER, FINAL = stages()

INSTRUCTIONS = {
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "HEALTHCHECK",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
}


def test_only_instructions_that_every_engine_knows() -> None:
    assert {name for stage in (BUILDER, FINAL) for name, _ in stage.steps} <= INSTRUCTIONS


def test_both_stages_are_of_one_python_and_one_debian() -> None:
    """Code that the first stage compiles runs in the second. No registry is named."""
    (python, debian) = BUILDER.image.removeprefix("python:").split("-")
    assert f"python:{python}-slim-{debian}" == FINAL.image
    assert "/" not in BUILDER.image + FINAL.image
    version = tuple(map(int, python.split(".")))
    (least,) = re.findall(r'requires-python = ">=([\d.]+)"', markdown.read("pyproject.toml"))
    assert version >= tuple(map(int, least.split(".")))


def test_it_does_not_run_as_root() -> None:
    """The user is a number, because Kubernetes cannot tell whether a name is root
    (``runAsNonRoot``)."""
    user, _, group = FINAL.text("USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0
    # The only directory that it may write to, where a configuration's relative paths begin.
    made = f"install --directory --owner={user} --group={group} {FINAL.text('WORKDIR')}"
    assert FINAL.texts("RUN") == [made]


def test_the_last_stage_copies_from_the_first_alone() -> None:
    assert {flags["from"] for flags, _, _ in FINAL.copies()} == {BUILDER.name}
    made = BUILDER.texts("RUN")
    for _, sources, destination in FINAL.copies():
        (source,) = sources
        assert source == destination, "a virtual environment cannot be moved"
        assert any(f"venv {source}" in line for line in made)


def sources() -> list[str]:
    """The paths that are copied from the source tree."""
    return [source.rstrip("/") for _, found, _ in BUILDER.copies() for source in found]


def test_what_is_copied_is_in_git_and_not_ignored() -> None:
    ignore = markdown.read(".dockerignore").splitlines()
    assert "*" in ignore
    let_in = {line[1:] for line in ignore if line.startswith("!")}
    assert let_in == set(sources())
    for source in sources():
        assert any(name == source or name.startswith(f"{source}/") for name in FILES), source


def test_what_is_copied_is_enough_to_build(tmp_path: Path) -> None:
    """The walkers are generated, and the wheel is built (pure, here), from the copied files
    alone."""
    for name in FILES:
        if any(name == source or name.startswith(f"{source}/") for source in sources()):
            target = tmp_path / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((markdown.ROOT / name).read_bytes())
    program = (
        "from devkit import build_backend, build_tree\n"
        "build_tree.compiled_sources(['protocol'])\n"
        f"print(build_backend.build_wheel({str(tmp_path)!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path / "source",
        env={**os.environ, "PYTHONPATH": "", build_backend.VARIABLE: "pure"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.whl"))


def test_the_compiled_form_is_built_or_nothing() -> None:
    (installed,) = [line for line in BUILDER.texts("RUN") if "--no-deps ." in line]
    assert installed.startswith(f"{build_backend.VARIABLE}={build_backend.COMPILED} ")
    (locked,) = [line for line in BUILDER.texts("RUN") if "runtime.txt" in line]
    assert "--require-hashes" in locked


def test_it_starts_the_command() -> None:
    program, *words = [*FINAL.words("ENTRYPOINT"), *FINAL.words("CMD")]
    assert program == "kafka-gateway"
    assert parser().parse_args(words).command == "serve"
    assert "/opt/kafka-gateway/bin:" in FINAL.text("ENV")


class Answers(http.server.BaseHTTPRequestHandler):
    """A server: ``/readyz`` responds with its status, all other paths with 200."""

    def do_GET(self) -> None:
        status: int = self.server.status if self.path == "/readyz" else 200  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize(("status", "ended"), [(200, 0), (503, 1), (None, 1)])
def test_the_health_check(status: int | None, ended: int) -> None:
    """It ends with 0 if the gateway is ready; it requests /readyz at the default port."""
    check = re.search(r"CMD (\[.*\])", FINAL.text("HEALTHCHECK"))
    assert check is not None
    (default,) = re.findall(r"KAFKA_GATEWAY_HTTP=(\S+)", FINAL.text("ENV"))
    metrics = Config.model_fields["metrics"].get_default(call_default_factory=True)
    assert default == f"{metrics.host}:{metrics.port}"
    server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    server.status = status  # type: ignore[attr-defined]
    address = f"127.0.0.1:{server.server_port}"
    if status is None:
        server.server_close()
    else:
        threading.Thread(target=server.handle_request, daemon=True).start()
    program, *words = json.loads(check[1])
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *words],
        env={"KAFKA_GATEWAY_HTTP": address},
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == ended
    server.server_close()
