"""docs/spark.md: every command is run as it is written, and makes the tables that it names."""

from __future__ import annotations

import importlib
import json
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs import markdown
from tests.spark import samples
from tests.spark.lines import finished_file

PYTHON = ".venv/bin/python -m "
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in markdown.DOCS.glob("*.md"))]
DESCRIBED = markdown.read("docs/spark.md")


def commands() -> list[str]:
    """The commands that the pages run with the project's Python, once each."""
    lines = [
        line.strip()
        for page in PAGES
        for block in markdown.blocks(markdown.read(page))
        for line in block.text.splitlines()
    ]
    return sorted({line.removeprefix(PYTHON) for line in lines if line.startswith(PYTHON)})


def columns() -> dict[str, list[str]]:
    """The documented columns of each table."""
    found = {}
    for line in DESCRIBED.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 2 and line.startswith("| `") and cells[1].startswith("`"):
            for table in markdown.spans(cells[0]):
                found[table] = markdown.spans(cells[1])
    return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Replacements for the paths of the page: a log to ingest, a table, reports, a page."""
    base = tmp_path_factory.mktemp("documented")
    log = base / "log"
    log.mkdir()
    rows = [*samples.random_flows(3, 60), samples.denial(), samples.policy()]
    lines = [json.dumps(row | {"id": str(number)}) for number, row in enumerate(rows)]
    finished_file(log / "traffic-gateway-w0-1.jsonl.gz", lines)
    return {
        "/var/log/kafka-gateway": str(log),
        "/data/traffic": str(base / "table"),
        "/data/reports": str(base / "reports"),
        "report.html": str(base / "report.html"),
    }


def run(command: str, places: dict[str, str]) -> int:
    """Run a documented command in this process."""
    module, *words = shlex.split(command)
    given = [places.get(word, word) for word in words]
    if module == "spark.ingest":
        given.append("--once")
    status: int = importlib.import_module(module).main(given)
    return status


@pytest.mark.long("spark")
def test_the_commands_run(spark: SparkSession, places: dict[str, str]) -> None:
    found = commands()
    first = [command for command in found if command.startswith("spark.ingest ")]
    assert first
    for command in first + [command for command in found if command not in first]:
        assert run(command, places) == 0, command
    assert Path(places["report.html"]).read_text().startswith("<!DOCTYPE html>")
    written = {path.name for path in Path(places["/data/reports"]).iterdir()}
    told = columns()
    assert set(told) - written == {"unused_acls"}  # it needs a catalog
    for table in written:
        reports = spark.read.parquet(f"{places['/data/reports']}/{table}")
        assert reports.columns == told[table], table


def test_every_job_is_described() -> None:
    jobs = {
        path.stem
        for path in (markdown.ROOT / "spark").glob("*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    assert {command.split()[0].removeprefix("spark.") for command in commands()} == jobs
    assert jobs <= markdown.anchors(DESCRIBED)
