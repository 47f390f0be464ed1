"""Kroxylicious with its multitenancy filter: a proxy that does a like job, on a JVM."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.archives import archives
from bench.targets.listening import accepts
from bench.targets.target import Target, TargetError
from devkit.java import find_java
from devkit.maven import jars
from devkit.paths import cache_dir
from devkit.ports import free_ports
from devkit.process import ManagedProcess
from devkit.waiting import DeadlineError, wait_until

_HERE = Path(__file__).parent
_LOCK = _HERE / "kroxylicious.lock"
_MAIN = _HERE / "KroxyliciousMain.java"
_COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
_TENANT = "team-a"
_NODE_IDS = range(1, 5)
_START_SECONDS = 240.0

# A bounded heap, as anyone would run it; the collector and the rest are Java's choice.
_JAVA_OPTIONS = ("-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


class Kroxylicious(Target):
    """The tenant is a virtual cluster: its clients say ``orders``, the broker ``team-a-orders``."""

    name = "kroxylicious"
    title = "Kroxylicious 0.12.0, multitenancy"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = 0
        self._process: ManagedProcess | None = None

    def start(self, broker: str) -> None:
        """Compile its main class, if that was not done before, and start it."""
        class_path = archives(_LOCK)
        classes = _compile(class_path)
        ports = free_ports(1 + len(_NODE_IDS))
        self._port = ports[0]
        config = self._directory / "kroxylicious.yaml"
        config.write_text(yaml.safe_dump(configuration(broker, ports[0])))
        command = [
            find_java(),
            *_JAVA_OPTIONS,
            "-cp",
            os.pathsep.join(map(str, [classes, *class_path])),
            _MAIN.stem,
            str(config),
        ]
        log_path = self._directory / "kroxylicious.log"
        self._process = ManagedProcess("kroxylicious", command, log_path)
        try:
            wait_until(lambda: accepts(self._port), "kroxylicious", _START_SECONDS)
        except DeadlineError as error:
            raise TargetError(f"{error}\n{self._process.tail()}") from error

    def stop(self) -> None:
        """Kill it: it has no state."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    @property
    def port(self) -> int:
        """The virtual cluster's bootstrap port."""
        return self._port

    def processes(self) -> list[int]:
        """The one JVM."""
        assert self._process is not None
        return [self._process.command_pid]


def configuration(broker: str, port: int) -> dict[str, Any]:
    """One virtual cluster, whose bootstrap port is ``port``; its nodes' ports follow."""
    nodes = {"name": "brokers", "start": _NODE_IDS[0], "end": _NODE_IDS[-1]}
    gateway = {
        "name": "loopback",
        "portIdentifiesNode": {
            "bootstrapAddress": f"127.0.0.1:{port}",
            "nodeIdRanges": [nodes],
        },
    }
    return {
        "filterDefinitions": [{"name": "tenants", "type": "MultiTenant"}],
        "defaultFilters": ["tenants"],
        "virtualClusters": [
            {
                "name": _TENANT,
                "targetCluster": {"bootstrapServers": broker},
                "gateways": [gateway],
            }
        ],
    }


def _compile(class_path: Sequence[Path]) -> Path:
    """The directory of the compiled main class."""
    digest = hashlib.sha256(_MAIN.read_bytes() + _LOCK.read_bytes()).hexdigest()[:16]
    target = cache_dir() / "classes" / f"{_MAIN.stem}-{digest}"
    if target.is_dir():
        return target
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    compiler = os.pathsep.join(map(str, jars("ecj")))
    sources = os.pathsep.join(map(str, class_path))
    options = ["-17", "-proc:none", "-cp", sources, "-d", str(unfinished), str(_MAIN)]
    command = [find_java(), "-cp", compiler, _COMPILER, *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise TargetError(f"{_MAIN.name} does not compile\n{ended.stdout}{ended.stderr}")
    unfinished.rename(target)
    return target
