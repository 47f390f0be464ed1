"""gateway.config_file.mirror_rules: aliases of source clusters, and their namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config.errors import ConfigError, key_text
from gateway.config.models import Listener
from gateway.config_file.loading import load_config
from gateway.config_file.mirror_rules import mirror_problems
from gateway.config_file.parts import Parts


def told(**values: Any) -> list[str]:
    listener = Listener(name="a", port=9000, **values)
    parts = Parts({}, None, {0: listener}, None)
    return [f"{key_text(problem.key)}: {problem.text}" for problem in mirror_problems(parts)]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"mirrors": {"A": "dr:a", "B": "dr:b", "AA": "dr:aa"}},
        {"mirrors": {"A": "dr:a"}, "home": "dr"},
        {"mirrors": {"A": "dr"}, "home": "dr"},
        {"mirrors": {"us.west": "dr:a"}, "mirror_separator": "_"},
        {"mirrors": {"A": "dr:a"}, "mirror_separator": "-x-"},
    ],
)
def test_what_is_right(values: dict[str, Any]) -> None:
    assert told(**values) == []


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ({"mirrors": {"": "dr"}}, "mirrors.", "'' is no alias"),
        ({"mirrors": {"a:b": "dr"}}, "mirrors.a:b", "'a:b' is no alias"),
        ({"mirrors": {"a/b": "dr"}}, "mirrors.a/b", "'a/b' is no alias"),
        ({"mirrors": {"A.B": "dr"}}, "mirrors.A.B", "cannot be told apart in a name"),
        ({"mirrors": {"a-": "dr"}, "mirror_separator": "--"}, "mirrors.a-", "cannot be told apart"),
        ({"mirrors": {"..a": "dr"}, "mirror_separator": "_"}, "mirrors...a", "is no alias"),
        ({"mirrors": {"A": "dr:a", "B": "dr:a"}}, "mirrors.B", "overlap"),
        ({"mirrors": {"A": "dr:a", "B": "dr:a:b"}}, "mirrors.B", "overlap"),
        (
            {"mirrors": {"A": "dr:a", "B": "dr"}},
            "mirrors.B",
            "'dr' and 'dr:a' of alias 'A' overlap",
        ),
        ({"mirrors": {"A": "x:a"}, "home": "dr"}, "mirrors.A", "'x:a' is outside namespace 'dr'"),
        ({"mirrors": {"A": "dra"}, "home": "dr"}, "mirrors.A", "outside namespace 'dr'"),
        ({"mirrors": {"A": "dr"}, "mirror_separator": ""}, "mirror_separator", "no separator"),
        ({"mirrors": {"A": "dr"}, "mirror_separator": ":"}, "mirror_separator", "no separator"),
        ({"mirrors": {"A": "dr"}, "mirror_separator": "/"}, "mirror_separator", "no separator"),
        ({"mirrors": {"A": "dr"}, "mirror_separator": ".."}, "mirror_separator", "no separator"),
        ({"mirror_separator": "_"}, "mirror_separator", "means nothing without mirrors"),
    ],
)
def test_what_is_wrong(values: dict[str, Any], key: str, said: str) -> None:
    (text,) = told(**values)
    assert text.startswith(f"listeners[0].{key}: ")
    assert said in text


def test_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        "clusters:\n"
        "  - {name: main, bootstrap_servers: ['127.0.0.1:9092'], node_ids: [1]}\n"
        "listeners:\n"
        "  - name: mm2\n"
        "    port: 9192\n"
        "    mirrors:\n"
        "      B: dr:b\n"
        "      A.B: dr:a\n"
        "      C: dr_c\n"
    )
    with pytest.raises(ConfigError) as error:
        load_config(file)
    lines = str(error.value).splitlines()
    assert any(f"{file}:9: listeners[0].mirrors.C: " in line for line in lines), lines
    file.write_text(file.read_text().replace("dr_c", "dr:c"))
    with pytest.raises(ConfigError) as error:
        load_config(file)
    (line,) = [line for line in str(error.value).splitlines() if "mirrors" in line]
    assert line.strip().startswith(f"{file}:8: listeners[0].mirrors.A.B: alias 'A.B' and separator")
