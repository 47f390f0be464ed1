"""docs/kubernetes.md: its table of values, and its examples, against the chart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from devkit.chart import CHART, read_by_the_gateway, values_files
from tests.deploy.chart_files import DEFAULTS, SCHEMA
from tests.docs import markdown
from tests.policies.json_schema import mistakes

PAGE = markdown.read("docs/kubernetes.md")


def documented() -> set[str]:
    rows = markdown.table(PAGE.partition("## Every value")[2], "value")
    return {span for row in rows for span in markdown.spans(row[0])}


def leaves(schema: dict[str, Any], at: str = "") -> set[str]:
    """Every value that is no group of values."""
    found = set()
    for key, inner in schema["properties"].items():
        path = f"{at}{key}"
        group = inner.get("additionalProperties") is False
        found |= leaves(inner, f"{path}.") if group else {path}
    return found


def test_every_value() -> None:
    assert documented() == leaves(SCHEMA) - {"global"}


def test_the_examples_are_values(tmp_path: Path) -> None:
    blocks = [block for block in markdown.blocks(PAGE) if block.language == "yaml"]
    first, second = (yaml.safe_load(block.text) for block in blocks)
    assert mistakes({**DEFAULTS, **first}, SCHEMA, SCHEMA) == []
    config = first["config"]
    assert read_by_the_gateway(yaml.safe_dump(config), tmp_path).clusters[0].name == "main"
    second["config"] = config | second["config"]
    assert mistakes({**DEFAULTS, **second}, SCHEMA, SCHEMA) == []
    names = {secret["path"] for secret in second["secrets"]}
    listener = second["config"]["listeners"][0]
    assert {str(Path(path).parent) for path in listener["tls"].values()} == names


def test_how_many_files_of_values_there_are() -> None:
    words = {5: "five", 6: "six", 7: "seven"}
    assert f"with {words[len(values_files())]} files of values" in " ".join(PAGE.split())


def test_the_versions_that_manifests_are_validated_by() -> None:
    source = markdown.read("devkit/chart_schemas.py")
    found = re.search(r'VERSIONS: Final = \("([\d.]+)", "([\d.]+)"\)', source)
    assert found is not None
    assert f"Kubernetes {found[1]} and {found[2]} (" in " ".join(PAGE.split())
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={found[1]}.0-0"
    locked = markdown.read("requirements/chart.in")
    assert f"kubernetes-validate=={found[2]}." in locked
    (operator,) = re.findall(r"prometheus-operator==(\d+\.\d+)\.", locked)
    assert f"its version {operator}" in PAGE


def test_defaults_that_the_page_tells() -> None:
    assert (DEFAULTS["replicas"], DEFAULTS["workers"], DEFAULTS["http"]["port"]) == (2, 2, 9404)
    assert DEFAULTS["drain"]["preStopSeconds"] == 5
    assert DEFAULTS["fleet"]["enabled"] is True
