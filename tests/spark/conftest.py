"""One Spark for the whole session, and the mark of the tests that need it.

They run in a step of their own (``make jobs``), because Spark takes seconds to start and not every
developer has its jars. If pyspark is missing, only the tests of the schema can be imported.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devkit.suite.stages import EXAMPLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from devkit.broker import KafkaCluster
    from spark.table import Table

_HERE = Path(__file__).parent
_WITHOUT_SPARK = _HERE / "test_schema.py"

_SECONDS = 900
"""Time limit of a test, which may be the test that Spark starts for, on a busy machine."""

# py4j leaves its sockets to the garbage collector.
_PY4J = "ignore:unclosed <socket:ResourceWarning"

if importlib.util.find_spec("pyspark") is None:
    collect_ignore = [path.name for path in _HERE.glob("test_*.py") if path != _WITHOUT_SPARK]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this directory, except tests of the schema, as a test of the Spark
    step."""
    for item in items:
        if item.path.is_relative_to(_HERE) and item.path != _WITHOUT_SPARK:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings(_PY4J))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """A broker for the live tests."""
    from devkit.broker import KafkaCluster

    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as the jobs make it: in ``make test`` for a few records (``tiny``), as these tests
    have, and otherwise for many, so that both are tested."""
    from spark.session import make_session
    from tests.spark import quick_java

    scratch = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.driver.memory": "1g",
        quick_java.DRIVER: quick_java.OPTIONS,
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    with pytest.MonkeyPatch.context() as patch:
        # No job may start Python on executors, so it would fail there.
        patch.setenv("PYSPARK_PYTHON", "/nowhere/python")
        tiny = EXAMPLES in os.environ
        session = make_session("tests", master="local[2]", tiny=tiny, conf=conf)
        yield session
        session.stop()


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    """An empty table."""
    from spark.table import Table

    return Table(spark, str(tmp_path / "table"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A directory for the traffic log."""
    directory = tmp_path / "logs"
    directory.mkdir()
    return directory
