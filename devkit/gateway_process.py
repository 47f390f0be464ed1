"""Runs the gateway as its users do: the command ``kafka-gateway serve`` in a process of its own."""

from __future__ import annotations

import atexit
import http.client
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from devkit import http_get, sums
from devkit.gateway_config import GatewayPlan, Listener, MountedCluster, TreePlace, plan_gateway
from devkit.paths import PROJECT_ROOT
from devkit.process import ManagedProcess, ProcessError
from devkit.waiting import DeadlineError, progress, wait_until

# Long: machines are busy. The wait ends at once when the process has ended.
_START_SECONDS = 240.0
_STOP_SECONDS = 120.0
_LOG_SECONDS = 120.0
_REPORT_SECONDS = 120.0
_ANSWER_SECONDS = 60.0
_START_TRIES = 3
_REPORT_AGE = "kafka_gateway_worker_report_age_seconds{"
_PORT_TAKEN = ("Address already in use", "address already in use")


class GatewayError(Exception):
    """The gateway did not start or stop in good order; the message holds the end of its log."""


COMMAND: Final = "KAFKA_GATEWAY_COMMAND"
"""The environment variable that names the ``kafka-gateway`` of another environment, to be run
instead."""


def gateway_command() -> str:
    """The installed ``kafka-gateway``: the command in :data:`COMMAND`, else this environment's.

    Raises GatewayError if this environment lacks it.
    """
    if COMMAND in os.environ:
        return os.environ[COMMAND]
    command = Path(sys.executable).with_name("kafka-gateway")
    if not command.is_file():
        raise GatewayError(f"{command} is missing: run make, or pip install -e .")
    return str(command)


class GatewayProcess:
    """A running ``kafka-gateway serve`` with free ports.

    If a port is taken between choosing and binding it, the start is tried again with other ports,
    except for the port of ``tree_place``. Its files are in a temporary directory that ``stop``
    removes, which also runs at exit.

    ``brokers``: ``host:port`` joined by commas, a function that returns it, or a tree's clusters.
    ``cluster_security``: the gateway's security to the brokers.
    ``tree_place``: its place among other gateways.
    ``python_path``: the directory of another build of the packages.
    ``interpreter``: the Python of another environment, which needs a ``python_path``.
    ``environment``: variables besides this process's own.
    ``first_port``: the first port that it prefers, if the ports are free.
    """

    def __init__(
        self,
        brokers: str | Callable[[], str] | Sequence[MountedCluster],
        listeners: Sequence[Listener],
        namespaces: Sequence[str],
        *,
        workers: int = 1,
        cluster_security: Mapping[str, Any] | None = None,
        overrides: Mapping[str, Any] | None = None,
        tree_place: TreePlace | None = None,
        python_path: Path | None = None,
        interpreter: Path | None = None,
        environment: Mapping[str, str] | None = None,
        first_port: int | None = None,
    ) -> None:
        self._brokers = brokers
        self._first_port = first_port
        self._environment = environment or {}
        self._interpreter = interpreter
        self._python_path = python_path
        self._listeners = listeners
        self._namespaces = namespaces
        self._workers = workers
        self._cluster_security = cluster_security
        self._overrides = overrides
        self._tree_place = tree_place
        self._directory: Path | None = None
        self._plan: GatewayPlan | None = None
        self._process: ManagedProcess | None = None
        # Its counts are compared with its logs when it is stopped: see devkit.sums.
        own = not (python_path or interpreter or COMMAND in os.environ)
        self._summed = own and sums.asked_for()
        self._logs: sums.Logs | None = None

    def start(self) -> Self:
        """Start the gateway and wait until /readyz reports that it serves. Raises GatewayError."""
        atexit.register(self.close)
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-"))
        try:
            with progress("starting the gateway"):
                self._start(_START_TRIES)
        except BaseException:
            self.close()
            raise
        return self

    def stop(self) -> None:
        """Send SIGTERM and wait for a clean stop. Raises GatewayError if the stop is not clean."""
        process, self._process = self._process, None
        try:
            if process is not None:
                self._stop(process)
        finally:
            self.close()

    def kill(self) -> None:
        """End the supervisor and its workers at once, like ``kill -9``; the files stay."""
        process, self._process = self._process, None
        if process is not None:
            if self._summed:
                sums.note("not compared: what it counted last is lost, it was killed")
                self._summed = False
            process.kill()

    def start_again(self, python_path: Path | None = None) -> None:
        """Start the gateway after a kill, with its former configuration and ports, and from another
        build if ``python_path`` is given. Raises GatewayError."""
        assert self._process is None, "the gateway still runs"
        self._python_path = python_path or self._python_path
        with progress("starting the gateway again"):
            self._launch()
            self._await_ready()

    def keeps(self, text: str) -> bool:
        """Whether a worker has written a text to its file of volumes behind other gateways."""
        assert self._directory is not None
        files = self._directory.glob("tree/tree-*.json")
        return any(text in file.read_text() for file in files)

    def close(self) -> None:
        """End the gateway at once, if it still runs, and remove its files. May be called again."""
        atexit.unregister(self.close)
        self.kill()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # If the body failed, its error matters, not whether the gateway stops cleanly.
        if error is None:
            self.stop()
        else:
            self.close()

    @property
    def plan(self) -> GatewayPlan:
        """The gateway's configuration and addresses."""
        assert self._plan is not None, "the gateway was not started"
        return self._plan

    @property
    def process(self) -> ManagedProcess:
        """The supervisor's process, whose children are the workers."""
        assert self._process is not None, "the gateway does not run"
        return self._process

    @property
    def traffic_log_directory(self) -> Path:
        """The directory to which the gateway writes flow records."""
        assert self._directory is not None, "the gateway does not run"
        return self._directory / "traffic"

    def bootstrap_servers(self, listener: str) -> str:
        """The address of a listener, for clients."""
        return self.plan.bootstrap_servers[listener]

    def url(self, path: str) -> str:
        """The URL of a path at the gateway's HTTP port."""
        return f"http://127.0.0.1:{self.plan.metrics_port}{path}"

    def log(self) -> str:
        """The whole output of the gateway, before a kill and after it."""
        return self._log_path.read_text()

    def wait_for_log(self, text: str, count: int = 1) -> None:
        """Wait until the gateway has printed ``text`` ``count`` times, because clients see an event
        before it is logged.

        Raises DeadlineError.
        """
        wait_until(lambda: self.log().count(text) >= count, f"{text!r} in the log", _LOG_SECONDS)

    def metrics(self) -> str:
        """The current response of /metrics."""
        return self.get("/metrics")[1]

    def fresh_metrics(self) -> str:
        """The response of /metrics once each worker has reported after this call, so that it has
        all earlier counts. Raises DeadlineError."""
        since = time.monotonic()

        def fresh() -> str:
            asked = time.monotonic()
            text = self.metrics()
            lines = (line for line in text.splitlines() if line.startswith(_REPORT_AGE))
            ages = [float(line.rpartition(" ")[2]) for line in lines]
            return text if max(ages, default=0.0) <= asked - since else ""

        return wait_until(fresh, "a report of every worker", _REPORT_SECONDS)

    def get(self, path: str) -> tuple[int, str]:
        """The status and the body of a response of the HTTP port. Raises OSError if it does not
        respond."""
        return http_get.get(self.plan.metrics_port, path, _ANSWER_SECONDS)

    def _start(self, tries: int) -> None:
        assert self._directory is not None
        brokers = self._brokers() if callable(self._brokers) else self._brokers
        traffic_log = self._directory / "traffic"
        traffic_log.mkdir(exist_ok=True)
        overrides = dict(self._overrides or {})
        if (place := self._tree_place) is not None:
            own = {"gateway_id": place.name, "tree": place.section(self._directory / "tree")}
            overrides = own | overrides
        if self._summed:
            overrides = sums.with_audit(overrides, self._directory / "audit")
        self._plan = plan_gateway(
            brokers,
            self._listeners,
            self._namespaces,
            traffic_log_directory=str(traffic_log),
            workers=self._workers,
            cluster_security=self._cluster_security,
            overrides=overrides,
            first_port=self._first_port,
        )
        if self._summed:
            self._logs = sums.logs_of(self._plan.config)
        self.config_path.write_text(yaml.safe_dump(self._plan.config, sort_keys=False))
        self._launch()
        try:
            self._await_ready()
        except GatewayError as error:
            if tries > 1 and any(sign in str(error) for sign in _PORT_TAKEN):
                self._log_path.unlink()
                return self._start(tries - 1)
            raise
        return None

    @property
    def config_path(self) -> Path:
        """The gateway's configuration file."""
        assert self._directory is not None, "the gateway was not started"
        return self._directory / "gateway.yaml"

    @property
    def _log_path(self) -> Path:
        assert self._directory is not None
        return self._directory / "gateway.log"

    @property
    def _final_metrics(self) -> Path:
        assert self._directory is not None
        return self._directory / "final-metrics"

    def _launch(self) -> None:
        program = [gateway_command()]
        if self._interpreter is not None:
            program = [str(self._interpreter), "-P", "-m", "gateway"]
        command = [*program, "serve", "--config", str(self.config_path)]
        env = {**os.environ, "PYTHONUNBUFFERED": "1", **self._environment}
        if self._python_path is not None:
            env["PYTHONPATH"] = str(self._python_path)
        elif COMMAND in env:
            env.pop("PYTHONPATH", None)  # else it would run these sources, not its own
        elif self._interpreter is None:
            # The environment may have another copy of the sources installed.
            paths = (str(PROJECT_ROOT), env.get("PYTHONPATH", ""))
            env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        if self._summed:
            command[:1] = [sys.executable, "-m", sums.PROGRAM]
            env[sums.FILE] = str(self._final_metrics)
        self._process = ManagedProcess("kafka-gateway", command, self._log_path, env=env)

    def _await_ready(self) -> None:
        """Wait until the gateway serves; end it if it does not. Raises GatewayError."""
        try:
            wait_until(self._ready, "the gateway's /readyz", _START_SECONDS)
        except (DeadlineError, ProcessError) as error:
            tail = self.process.tail()
            self.kill()
            raise GatewayError(f"{error}\n{tail}") from error

    def _ready(self) -> bool:
        if not self.process.running:
            raise ProcessError(f"kafka-gateway ended with status {self.process.returncode}")
        try:
            return self.get("/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def _stop(self, process: ManagedProcess) -> None:
        try:
            status = process.terminate(_STOP_SECONDS)
        except ProcessError as error:
            raise GatewayError(str(error)) from error
        if status != 0:
            raise GatewayError(f"kafka-gateway ended with status {status}\n{process.tail()}")
        if self._summed:
            self._compare()

    def _compare(self) -> None:
        """Compare the gateway's counts with its logs. Raises GatewayError if they differ."""
        assert self._logs is not None
        found = sums.compare(self._final_metrics.read_text(), self._logs)
        text = "\n  ".join([found.summary, *found.differences])
        sums.note(text)
        if found.differences:
            raise GatewayError(f"the metrics and the logs differ: {text}")
