"""deploy/systemd: the unit agrees with the gateway, and systemd accepts it if there is one."""

from __future__ import annotations

import shutil
import subprocess
from configparser import ConfigParser, SectionProxy
from pathlib import Path

import pytest

from gateway import exit_codes
from gateway.cli import main
from gateway.config.models import Config
from gateway.processes.supervisor import Timing
from tests.docs import markdown
from tests.live.fleet.service_manager import WATCHDOG_SECONDS

UNIT = markdown.ROOT / "deploy" / "systemd" / "kafka-gateway.service"

ANALYZE = shutil.which("systemd-analyze")


def section(name: str) -> SectionProxy:
    """A section of the unit; if a setting is written several times, the last counts."""
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    return unit[name]


def test_it_agrees_with_the_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    service = section("Service")
    assert service["Type"] == "notify"
    assert float(service["WatchdogSec"]) == WATCHDOG_SECONDS, "as tested"
    never = {exit_codes.USAGE, exit_codes.CONFIG}
    assert {int(one) for one in service["RestartPreventExitStatus"].split()} == never
    drained = Config.model_fields["drain_seconds"].default + Timing().margin
    assert drained < float(service["TimeoutStopSec"]) <= drained + 5
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == "kafka-gateway"
    assert main(arguments) == exit_codes.CONFIG, "this machine has no such file"
    assert capsys.readouterr().err.startswith(arguments[-1])


def test_it_has_no_privilege_and_one_place_to_write() -> None:
    service = section("Service")
    assert service["User"] not in ("", "root", "0")
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == ""
    assert service["ProtectSystem"] == "strict"
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    families = set(service["RestrictAddressFamilies"].split())
    assert families >= {"AF_INET", "AF_INET6", "AF_UNIX"}, "clients, and systemd's socket"


def test_systemd_accepts_it(tmp_path: Path) -> None:
    """The file itself, except for the program and the user, which this machine lacks."""
    lines = UNIT.read_text().splitlines()
    here = [line.replace("/opt/kafka-gateway/bin/kafka-gateway", "/bin/true") for line in lines]
    unit = tmp_path / UNIT.name
    unit.write_text("\n".join(line for line in here if not line.startswith("User=")) + "\n")
    assert unit.read_text().count("\n") == len(lines) - 1
    if ANALYZE is None:  # the tests above hold on any machine
        return
    done = subprocess.run(
        [ANALYZE, "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
