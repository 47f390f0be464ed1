"""A Spark standalone cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from devkit.process import ManagedProcess
from devkit.waiting import DeadlineError, progress, wait_until
from spark.session import find_java

MASTER: Final = "org.apache.spark.deploy.master.Master"
WORKER: Final = "org.apache.spark.deploy.worker.Worker"

_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 120.0
_AT_ANY_PORT: Final = ("--host", _HOST, "--port", "0", "--webui-port", "0")

# The cluster runs for a few minutes: the C1 compiler starts fastest, the serial collector is small.
_JAVA_OPTIONS: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

_MASTER_AT: Final = re.compile(r"Starting Spark master at (spark://\S+)\n")
_PAGE_AT: Final = re.compile(r"Bound MasterWebUI to .*http://[^:\s]+:(\d+)\n")


class SparkClusterError(Exception):
    """The cluster did not start; the message holds the end of a log."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """A master's addresses: the URL for ``--master``, and the port of its page."""

    master: str
    page_port: int

    @classmethod
    def of_log(cls, text: str) -> Addresses | None:
        """The addresses in the master's log, or None until it has all of them."""
        master, page = _MASTER_AT.search(text), _PAGE_AT.search(text)
        return cls(master[1], int(page[1])) if master and page else None


@dataclass(frozen=True, slots=True)
class Application:
    """An application that the master knows. ``state`` is Spark's, such as ``FINISHED``; ``workers``
    is the number of workers that ran executors of it."""

    name: str
    state: str
    workers: int


class SparkCluster:
    """A master and ``workers``, each with ``cores`` and ``memory`` for executors.

    They run from pyspark's own archives, at ports that they choose themselves. Their files are in a
    temporary directory that ``stop`` removes.
    """

    def __init__(self, workers: int = 2, *, cores: int = 1, memory: str = "1g") -> None:
        self.workers = workers
        self._cores = cores
        self._memory = memory
        self._directory: Path | None = None
        self._processes: list[ManagedProcess] = []
        self._at: Addresses | None = None

    # --- life ---

    def start(self) -> Self:
        """Start all processes, and wait until the master knows every worker.

        Raises SparkClusterError, and SetupError if there is no Java for Spark.
        """
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-spark-"))
        try:
            with progress("starting a Spark cluster"):
                self._start()
        except DeadlineError as error:
            tails = "\n".join(process.tail() for process in self._processes)
            self.stop()
            raise SparkClusterError(f"{error}\n{tails}") from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process at once, with the executors. May be called again."""
        for process in reversed(self._processes):
            process.kill()
        self._processes.clear()
        self._at = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- what is running ---

    @property
    def master(self) -> str:
        """``spark://HOST:PORT``, for ``--master``."""
        return self._addresses().master

    def applications(self) -> list[Application]:
        """The applications that run or have run, oldest first."""
        state = self._state()
        found = sorted(
            (*state["activeapps"], *state["completedapps"]), key=lambda one: str(one["id"])
        )
        assert self._directory
        # A worker keeps a directory for each application of which it had executors.
        return [
            Application(
                one["name"], one["state"], len(list(self._directory.glob(f"work-*/{one['id']}")))
            )
            for one in found
        ]

    # --- inside ---

    def _start(self) -> None:
        master = self._launch("Spark master", MASTER, _AT_ANY_PORT)
        self._at = wait_until(
            lambda: Addresses.of_log(_text_of(master)), master.name, _START_SECONDS
        )
        assert self._directory
        for number in range(self.workers):
            own = ["--cores", str(self._cores), "--memory", self._memory]
            own += ["--work-dir", str(self._directory / f"work-{number}"), self.master]
            self._launch(f"Spark worker {number}", WORKER, [*_AT_ANY_PORT, *own])
        wait_until(self._is_complete, "the workers at the master", _START_SECONDS)

    def _launch(self, name: str, main_class: str, arguments: Sequence[str]) -> ManagedProcess:
        assert self._directory
        log_path = self._directory / f"{name.replace(' ', '-').lower()}.log"
        command = [str(spark_home() / "bin" / "spark-class"), main_class, *arguments]
        process = ManagedProcess(name, command, log_path, env=environment(self._directory))
        self._processes.append(process)
        return process

    def _is_complete(self) -> bool:
        for process in self._processes:
            _text_of(process)
        return bool(self._state()["aliveworkers"] == self.workers)

    def _addresses(self) -> Addresses:
        if self._at is None:
            raise SparkClusterError("the cluster is not running")
        return self._at

    def _state(self) -> dict[str, Any]:
        """The state that the master's page shows, as JSON."""
        connection = http.client.HTTPConnection(_HOST, self._addresses().page_port, timeout=30)
        try:
            connection.request("GET", "/json/")
            state: dict[str, Any] = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return state


def spark_home() -> Path:
    """The directory of pyspark, which contains all of Spark. Raises SparkClusterError."""
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SparkClusterError("pyspark is not installed: run 'make spark'")
    return Path(found.submodule_search_locations[0])


def environment(directory: Path) -> Mapping[str, str]:
    """The environment of Spark's own programs, without variables that are set for another Spark."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    return own | {
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(directory),
        "SPARK_LOCAL_DIRS": str(directory),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_PUBLIC_DNS": _HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
    }


def _text_of(process: ManagedProcess) -> str:
    """The output of a process so far. Raises SparkClusterError if it has ended."""
    if not process.running:
        raise SparkClusterError(f"{process.name} ended by itself\n{process.tail()}")
    return process.log_path.read_text(errors="replace")
