"""The Spark session of the jobs, and the Java that it needs.

The same settings apply on a laptop and on a cluster; settings of ``spark-submit`` or of the cluster
have precedence.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

JAVA_VERSIONS: Final = (17, 21)
"""Java versions that Spark 4.0 runs on."""

KAFKA_JARS: Final = "KAFKA_GATEWAY_SPARK_JARS"
"""Environment variable: the directory of the Kafka connector's jars, which ``make spark`` fills."""

CONNECTOR: Final = "spark-sql-kafka-0-10"
"""Part of the name of the connector's jar, and of its package."""

WHAT_TO_INSTALL: Final = (
    "Spark needs Java 17 or 21, and there is none here: install openjdk-17-jre-headless (Debian, "
    "Ubuntu), java-21-openjdk-headless (Fedora, RHEL) or openjdk@21 (Homebrew), or set JAVA_HOME"
)

_INSTALLED: Final = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk@*",
    "/usr/local/opt/openjdk@*",
    "~/.sdkman/candidates/java/*",
)
"""Where packages install a Java that is not on the PATH."""

# Results and partitions must not depend on where a job runs, and an overflow is an error (ANSI).
# Strict JSON: see spark/records.py.
_SQL: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.json.enablePartialResults": "false",
    # Records are wide, and HotSpot never compiles a method of more than 8,000 bytes: code that
    # Spark generates for a whole stage would be interpreted, four times slower than in pieces.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}

# The UI would take a port for each job. Jobs report their progress themselves.
_ANYWHERE: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # Tables are read by lists of files, and a Spark job that looks at each file costs more.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Small partitions are joined also if their rows are persisted: a task costs 30 ms of CPU. A
    # partition stays small enough for what usage makes of it to fit into 2 GiB with another.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
}

# spark-submit's logging is used until there is a session, which then reduces it.
_SUBMITTED: Final = {"spark.log.level": "ERROR"}
_LOG4J: Final = Path(__file__).parent / "assets" / "log4j2.properties"

# Little input: most CPU time would go into compiling code that runs once, planning empty
# partitions, and compressing intermediate results.
_SMALL: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
# A few records: generating code costs more than interpreting expressions.
_TINY: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_SMALL_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# A laptop's host name often does not resolve, or resolves to an address that a firewall closes.
_LOOPBACK: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


class SetupError(Exception):
    """Something is not installed; the text is a line that says what to install."""


def make_session(
    job: str,
    *,
    master: str | None = None,
    kafka: bool = False,
    small: bool = False,
    tiny: bool = False,
    conf: Mapping[str, str] = {},
) -> SparkSession:
    """A session for ``job``, or the existing session.

    ``master`` is Spark's (``local[4]``, ``spark://host:7077``); if neither it nor ``spark-submit``
    gives a master, all cores of this machine are used. ``kafka`` adds the connector. ``small``
    chooses settings that are fast on little input, ``tiny`` also settings for a few records; both
    apply only if this process starts Java and all tasks run in it. ``conf`` overrides all other
    settings. Raises SetupError.
    """
    submitted = _is_submitted()
    if not submitted:
        os.environ["JAVA_HOME"] = str(find_java())
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SetupError("pyspark is not installed: run 'make spark'") from error
    given = _given()
    builder = SparkSession.builder.appName(job)
    chosen = master or given.get("spark.master", None) or "local[*]"
    builder = builder.master(chosen)
    here = not submitted and chosen.startswith("local")
    small, tiny = here and (small or tiny), here and tiny
    settings = _ANYWHERE | (_SUBMITTED if submitted else _started_here(small=small))
    if small:
        settings |= _SMALL | (_TINY if tiny else {})
    if _is_on_this_machine(chosen):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= _LOOPBACK
    if kafka:
        settings |= _connector(given, submitted=submitted)
    settings = {key: value for key, value in settings.items() if not given.contains(key)}
    for key, value in (settings | dict(conf)).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    for key, value in _SQL.items():
        session.conf.set(key, value)
    return session


def find_java() -> Path:
    """The home of a Java that Spark runs on: JAVA_HOME's, the PATH's, or an installed one.

    Raises SetupError if no Java is found.
    """
    for home in _homes():
        if (home / "bin" / "java").is_file() and java_version(home) in JAVA_VERSIONS:
            return home
    raise SetupError(WHAT_TO_INSTALL)


def java_version(home: Path) -> int:
    """The major version of a Java, or 0 if it does not run, or lacks a module that Spark needs."""
    command = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return 0
    match = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match and answer.returncode == 0 else 0


def _homes() -> Iterator[Path]:
    """Possible homes of a Java, the user's choice first."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for pattern in _INSTALLED:
        base = Path(pattern).expanduser()
        yield from sorted(Path(base.anchor).glob(str(base.relative_to(base.anchor))))


def _is_submitted() -> bool:
    """Whether ``spark-submit`` has started a JVM for this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _given() -> SparkConf:
    """The settings of ``spark-submit`` and of the cluster; empty without ``spark-submit``."""
    from pyspark import SparkConf, SparkContext

    if _is_submitted():
        # The settings are in the JVM that spark-submit has started. SparkConf is empty until this
        # process is connected to that JVM.
        SparkContext._ensure_initialized()
    return SparkConf()


def _started_here(*, small: bool) -> dict[str, str]:
    """The settings for a JVM that this process starts."""
    options = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
    if small:
        options = f"{options} {_SMALL_JAVA}"
    # Spark's own bar shows the progress of a long step's tasks.
    bar = str(sys.stderr.isatty()).lower()
    return {"spark.driver.extraJavaOptions": options, "spark.ui.showConsoleProgress": bar}


def _is_on_this_machine(master: str) -> bool:
    return master.startswith("local") or bool(re.match(r"spark://(127\.|localhost\b)", master))


def _connector(given: SparkConf, *, submitted: bool) -> dict[str, str]:
    """The setting that adds the Kafka connector, unless ``spark-submit`` adds it.

    Raises SetupError if the connector is missing.
    """
    known = (given.get(key, "") or "" for key in ("spark.jars", "spark.jars.packages"))
    if any(CONNECTOR in jars for jars in known):
        return {}
    needed = "reading from Kafka needs Spark's connector"
    if submitted:
        # The submitted JVM runs already, and would send further jars to executors only.
        raise SetupError(f"{needed}: use spark-submit --packages or --jars")
    directory = os.environ.get(KAFKA_JARS, "")
    jars = sorted(Path(directory).glob("*.jar")) if directory else []
    if not any(jar.name.startswith(CONNECTOR) for jar in jars):
        raise SetupError(
            f"{needed}: run 'make spark' and set {KAFKA_JARS} to the directory that it names"
        )
    return {"spark.jars": ",".join(map(str, jars))}


SMALL_BYTES: Final = 100 * 2**20
"""An input of up to this many bytes of lines is small."""

TINY_BYTES: Final = 10 * 2**20
"""An input of up to this many bytes of lines is tiny: generating code for it costs more than it
saves."""

_LINES_PER_BYTE: Final = {".jsonl": 1, ".jsonl.gz": 12, ".parquet": 30}
"""By the end of a file's name: the bytes of lines that each byte of the file stands for."""

_MOST_FILES: Final = 10_000
"""If there are more files than this, the input is not small, and the others are not looked at."""


def is_small(inputs: Sequence[str]) -> bool:
    """Whether all of these sources together are small: paths of this machine with at most
    :data:`SMALL_BYTES` in them. If a source is a topic, or a path elsewhere, it is not looked at
    and not small."""
    return _is_within(SMALL_BYTES, inputs)


def is_tiny(inputs: Sequence[str]) -> bool:
    """Whether all of these sources together are tiny: like :func:`is_small`, with
    :data:`TINY_BYTES`."""
    return _is_within(TINY_BYTES, inputs)


def _is_within(most: int, inputs: Sequence[str]) -> bool:
    if any(_local(source) is None for source in inputs):
        return False
    left, found = most, False
    for number, (path, weight) in enumerate(_files(inputs)):
        try:
            left -= weight * path.stat().st_size
        except OSError:
            continue  # compressed or removed in this moment
        found = True
        if left < 0 or number >= _MOST_FILES:
            return False
    # If no file was found, the path may be a path of HDFS.
    return found


def _files(inputs: Sequence[str]) -> Iterator[tuple[Path, int]]:
    for source in inputs:
        top = Path(_local(source) or "").absolute()
        for path in Path(top.anchor).glob(str(top.relative_to(top.anchor))):
            for file in path.rglob("*") if path.is_dir() else (path,):
                for end, weight in _LINES_PER_BYTE.items():
                    if file.name.endswith(end):
                        yield file, weight


def _local(source: str) -> str | None:
    """The path of a source on this machine, or None if the source is elsewhere."""
    scheme, colon, rest = source.partition(":")
    if not colon or "/" in scheme:
        return source
    return f"/{rest.lstrip('/')}" if scheme == "file" else None
