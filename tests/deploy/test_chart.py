"""deploy/helm without helm: values, their schema, and values in templates (``make chart`` has
helm)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from devkit.chart import CHART, read_by_the_gateway, values_files
from gateway import version
from gateway.config.models import Config
from gateway.processes.supervisor import Timing
from tests.deploy.chart_files import DEFAULTS, SCHEMA, TEMPLATES, all_values, references
from tests.deploy.containerfile import stages
from tests.docs import markdown
from tests.policies.json_schema import mistakes

VALUES = all_values()


def template(name: str) -> str:
    return (CHART / "templates" / name).read_text()


def test_the_files_are_found() -> None:
    assert {"statefulset.yaml", "services.yaml"} <= {path.name for path in TEMPLATES}
    assert len(values_files()) >= 5
    assert {path.name for path in (CHART / "ci").iterdir()} == {one.name for one in values_files()}


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == version()


# -- values and their schema ------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_values_are_what_the_schema_says(name: str) -> None:
    assert mistakes(VALUES[name], SCHEMA, SCHEMA) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replica", 2),
        ("replicas", 0),
        ("replicas", "2"),
        ("fleet.enable", True),
        ("config.clusters", []),
        ("config.listeners", [{"name": "clients"}]),
        ("config.listeners", [{"name": "clients", "port": 70000}]),
        ("config.listeners", [{"name": "clients", "port": 1, "broker_names": "b.example"}]),
        ("config.metrics", {"port": 1}),
        ("config.workers", 2),
        ("secrets", [{"name": "tls", "path": "etc"}]),
        ("service.type", "ExternalName"),
        ("podDisruptionBudget.maxUnavailable", "half"),
    ],
)
def test_mistakes_in_values_are_found(path: str, value: Any) -> None:
    *above, key = path.split(".")
    values = yaml.safe_load(yaml.safe_dump(DEFAULTS))
    at = values
    for one in above:
        at = at[one]
    at[key] = value
    assert mistakes(values, SCHEMA, SCHEMA) != []


def test_every_value_is_in_the_schema_and_used() -> None:
    """The gateway's own configuration is taken as a whole."""
    leaves = {leaf for leaf in _leaves(DEFAULTS, "") if not leaf.startswith("config.")}
    assert {leaf for leaf in leaves if not _in_schema(leaf)} == set()
    named = references()
    # The values of monitoring are taken inside of `with`.
    unused = {leaf for leaf in leaves if not any(_covers(one, leaf) for one in named)}
    assert unused == set()


def test_what_templates_take_is_there() -> None:
    missing = {}
    for reference, name in references().items():
        if reference in {"config.drain_seconds", "config.metrics"}:
            continue  # the gateway has defaults of its own
        at: Any = DEFAULTS
        for key in reference.split("."):
            if not isinstance(at, dict) or key not in at:
                missing[reference] = name
                break
            at = at[key]
    assert missing == {}


def _leaves(values: dict[str, Any], at: str) -> set[str]:
    found = set()
    for key, value in values.items():
        path = f"{at}{key}"
        if isinstance(value, dict) and value and key not in {"requests", "limits", "labels"}:
            found |= _leaves(value, f"{path}.")
        else:
            found.add(path)
    return found


def _in_schema(leaf: str) -> bool:
    at = SCHEMA
    for key in leaf.split("."):
        if "properties" not in at:
            return True
        if key not in at["properties"]:
            return False
        at = at["properties"][key]
    return True


def _covers(reference: str, leaf: str) -> bool:
    return leaf == reference or leaf.startswith(f"{reference}.")


# -- the gateway's configuration --------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_the_gateway_accepts_the_configuration(name: str, tmp_path: Path) -> None:
    """With the additions of templates/_helpers.tpl: addresses, workers, the HTTP port."""
    values = VALUES[name]
    config = dict(values["config"])
    config["listeners"] = [
        {"bind": "0.0.0.0", "advertised_host": "gateway.example", **listener}  # noqa: S104
        for listener in config["listeners"]
    ]
    config |= {"workers": values["workers"], "metrics": {"host": "0.0.0.0"}}  # noqa: S104
    config["metrics"]["port"] = values["http"]["port"]
    text = yaml.safe_dump(config)
    assert read_by_the_gateway(text, tmp_path).workers == values["workers"]
    mounted = {secret["path"] for secret in values["secrets"]}
    assert set(re.findall(r"(/etc/[^\s'\"]+)/[^/\s'\"]+", text)) == mounted


@pytest.mark.parametrize("name", VALUES)
def test_passwords_are_given_by_the_environment_that_is_set(name: str) -> None:
    values = VALUES[name]
    named = set(re.findall(r"env: (\w+)", yaml.safe_dump(values["config"])))
    assert named == {one["name"] for one in values["env"]}


# -- agreement with the image and the gateway -------------------------------------------------


def test_pods_run_as_the_image_does() -> None:
    _, final = stages()
    user, group = final.text("USER").split(":")
    pod = template("statefulset.yaml")
    assert f"runAsUser: {user}\n" in pod
    assert f"runAsGroup: {group}\n" in pod
    assert "runAsNonRoot: true" in pod
    assert "readOnlyRootFilesystem: true" in template("_helpers.tpl")
    written = final.text("WORKDIR")
    assert f"mountPath: {written}\n" in pod
    *_, config = final.words("CMD")
    assert f"mountPath: {Path(config).parent}\n" in pod
    assert f"  {Path(config).name}: |" in template("configmap.yaml")


def test_a_gateway_has_time_to_drain() -> None:
    """Workers are killed ``margin`` after ``drain_seconds``; the chart gives 10 s more."""
    default = Config.model_fields["drain_seconds"].default
    helpers = template("_helpers.tpl")
    assert f"$drain := default {default:g} .Values.config.drain_seconds" in helpers
    (more,) = re.findall(r"preStopSeconds\) \(int \(ceil \$drain\)\) (\d+)\)", helpers)
    assert Timing().margin < int(more)


def test_a_worker_that_is_started_again_is_no_reason_to_end() -> None:
    """docs/operations.md: let /livez fail for ten seconds before that."""
    probe = re.search(r"livenessProbe:\n((?: {12,}.*\n)+)", template("statefulset.yaml"))
    assert probe is not None
    found = yaml.safe_load(probe[1])
    assert found["periodSeconds"] * (found["failureThreshold"] - 1) >= 10
    assert found["terminationGracePeriodSeconds"] == 1, "one that hangs hears no SIGTERM"
    assert found["httpGet"] == {"path": "/livez", "port": "http"}


def test_dashboards_and_rules_are_the_projects_own() -> None:
    """By a link, so that they cannot differ; helm follows it."""
    link = CHART / "files" / "dashboards"
    assert link.is_symlink()
    assert link.resolve() == markdown.ROOT / "dashboards"
    monitoring = template("monitoring.yaml")
    for pattern in re.findall(r'Glob "([^"]+)"', monitoring):
        assert list(CHART.glob(pattern)), pattern
    ignored = (CHART / ".helmignore").read_text().splitlines()
    for path in link.rglob("*"):
        taken = path.suffix == ".json" or path.name in {"alerts.yaml", "recording.yaml"}
        name = path.relative_to(CHART)
        is_ignored = any(one.match(line) for one in (name, *name.parents) for line in ignored)
        assert path.is_dir() or taken != is_ignored, name


def test_what_is_scraped() -> None:
    """The labels of a target would rename the label ``namespace`` of the gateway's metrics, by
    which the dashboards ask, to ``exported_namespace``."""
    monitoring = template("monitoring.yaml")
    endpoints = monitoring[monitoring.index("  endpoints:") : monitoring.index("PrometheusRule")]
    paths = re.findall(r"- port: http\n +path: (\S+)\n", endpoints)
    assert paths == ["/metrics", "/metrics/clients"]
    dropped = r"relabelings:\n(?: +#.*\n)* +- action: labeldrop\n +regex: namespace\n"
    assert len(re.findall(dropped, endpoints)) == len(paths)
    assert endpoints.index(".clientMetrics") < endpoints.index("/metrics/clients")
    assert DEFAULTS["monitoring"]["serviceMonitor"]["clientMetrics"]["enabled"] is False
