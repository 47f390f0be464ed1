"""Runs MirrorMaker 2 in its dedicated mode, as its users do, in a process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from devkit.java import java_command
from devkit.process import ManagedProcess, ProcessError

MIRROR_MAKER: Final = "org.apache.kafka.connect.mirror.MirrorMaker"

QUICK: Final[Mapping[str, str]] = {
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "sync.topic.acls.interval.seconds": "1",
    "emit.heartbeats.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "offset.lag.max": "10",
    "replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "offset.storage.partitions": "2",
    "status.storage.partitions": "1",
    "tasks.max": "2",
}
"""Settings for a single machine: everything once a second, one replica. MirrorMaker's defaults are
minutes, and three replicas."""

_OPTIONS: Final = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.connect.mirror=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)
_STOP_SECONDS: Final = 120.0


def read_properties(text: str) -> dict[str, str]:
    """The properties in the text of a MirrorMaker file."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


class MirrorMakerProcess:
    """A running MirrorMaker 2, which replicates between ``clusters``: bootstrap servers by alias.

    ``flows`` are pairs of aliases, from and to; ``settings`` are further properties, which override
    :data:`QUICK`. ``start`` does not wait for it; tests watch the clusters. Its files are in a
    temporary directory that ``stop`` removes.
    """

    def __init__(
        self,
        clusters: Mapping[str, str],
        flows: Sequence[tuple[str, str]],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.properties = _properties(clusters, flows, settings or {})
        self._directory: Path | None = None
        self._process: ManagedProcess | None = None

    def start(self) -> Self:
        """Start MirrorMaker, also again after a kill."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-mirror-"))
        file = self._directory / "mm2.properties"
        file.write_text("".join(f"{key} = {value}\n" for key, value in self.properties.items()))
        command = java_command(MIRROR_MAKER, [str(file)], options=_OPTIONS, jar_set="mirror-maker")
        self._process = ManagedProcess("MirrorMaker 2", command, self._directory / "log")
        return self

    def stop(self) -> None:
        """End MirrorMaker like an operator does, with its offsets committed, and remove its files.
        Raises ProcessError if it had ended before."""
        process, self._process = self._process, None
        try:
            if process is not None:
                if not process.running:
                    raise ProcessError(f"{process.name} has ended\n{process.tail()}")
                process.terminate(_STOP_SECONDS)
        finally:
            self.close()

    def kill(self) -> None:
        """End MirrorMaker at once, like ``kill -9``; its files stay."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End MirrorMaker at once, if it still runs, and remove its files."""
        self.kill()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    @property
    def running(self) -> bool:
        """Whether MirrorMaker runs."""
        return self._process is not None and self._process.running

    @property
    def log(self) -> str:
        """The whole log: warnings, and messages of its connectors."""
        return (self._directory / "log").read_text() if self._directory is not None else ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        # The body's error matters, not whether MirrorMaker stops cleanly.
        if kind is None:
            self.stop()
        else:
            self.close()


def _properties(
    clusters: Mapping[str, str], flows: Sequence[tuple[str, str]], settings: Mapping[str, str]
) -> dict[str, str]:
    properties = {"clusters": ", ".join(clusters)}
    properties |= {f"{alias}.bootstrap.servers": servers for alias, servers in clusters.items()}
    for source, target in flows:
        properties[f"{source}->{target}.enabled"] = "true"
    # Set per cluster, because it is a worker's setting; offsets are translated only after this
    # interval.
    properties |= {f"{alias}.offset.flush.interval.ms": "1000" for alias in clusters}
    return properties | dict(QUICK) | dict(settings)
