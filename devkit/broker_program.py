"""The program of a broker: Kafka's archives, the rest of the class path, and Java's options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devkit.class_archive import archive_options
from devkit.java import fetch_java, java_command
from devkit.lagging import lag_options
from devkit.maven import ENDPOINTS

# The serial collector stays small, the C1 compiler starts fastest; log lines have a time.
_OPTIONS = (
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)
_QUICK_START_OPTIONS = ("-XX:TieredStopAtLevel=1",)


@dataclass(frozen=True, slots=True)
class BrokerProgram:
    """A broker's program. ``jar_set`` is a lock file of devkit/jars; ``classes`` is a directory
    with further classes, such as policies, that precede it; ``archive_classes`` is the file to
    which the broker writes its class data when it ends."""

    jar_set: str = "kafka"
    classes: Path | None = None
    heap: str = "512m"
    quick_start: bool = True
    archive_classes: Path | None = None

    @property
    def version(self) -> str:
        """The version of Kafka."""
        return ENDPOINTS[self.jar_set][0].rpartition(":")[2]

    def fetch(self) -> None:
        """Make sure that Java and the archives are on this machine. Raises JavaError or
        MavenError."""
        fetch_java(self.jar_set)

    def format_command(self, arguments: Sequence[str]) -> list[str]:
        """The command that prepares a data directory."""
        return java_command(
            "kafka.tools.StorageTool", arguments, jar_set=self.jar_set, classes=self.classes
        )

    def serve_command(self, properties_path: Path) -> list[str]:
        """The command that runs a broker."""
        quick: tuple[str, ...] = _QUICK_START_OPTIONS if self.quick_start else ()
        if self.archive_classes is not None:
            quick += (f"-XX:ArchiveClassesAtExit={self.archive_classes}",)
        elif self.classes is None:  # with ``classes`` the class path differs from the archive's
            quick += archive_options(self.jar_set)
        return java_command(
            "kafka.Kafka",
            [str(properties_path)],
            options=(f"-Xmx{self.heap}", *_OPTIONS, *quick, *lag_options()),
            jar_set=self.jar_set,
            classes=self.classes,
        )
