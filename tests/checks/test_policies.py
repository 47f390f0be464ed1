"""gateway.checks.named: classes that cannot be loaded on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway import cli, exit_codes
from gateway.checks.check import find_problems, policy_problems
from gateway.config.errors import key_text
from gateway.policies.instance import KEY
from tests.config import config_samples
from tests.policies.classes import Obliging, block

WRONG = {KEY: "no_such_module:Naming"}


def test_classes_that_can_be_loaded_are_not_made(tmp_path: Path) -> None:
    policies = {"everywhere": block(), "namespaces": {"org": {"max_topics": 1}}}
    made = len(Obliging.made)
    assert find_problems(config_samples.config(tmp_path, policies=policies)) == []
    assert len(Obliging.made) == made


def test_every_block_is_looked_at(tmp_path: Path) -> None:
    policies = {
        "everywhere": WRONG,
        "default_namespace": WRONG,
        "namespaces": {"org": block(), "org:apache": WRONG},
    }
    problems = list(policy_problems(config_samples.config(tmp_path, policies=policies)))
    assert [key_text(problem.key) for problem in problems] == [
        f"policies.everywhere.{KEY}",
        f"policies.default_namespace.{KEY}",
        f"policies.namespaces.org:apache.{KEY}",
    ]
    assert {problem.text for problem in problems} == {
        "'no_such_module:Naming' cannot be loaded: ModuleNotFoundError: No module named"
        " 'no_such_module'; correct it, or put its module on PYTHONPATH"
    }


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config_samples.write(tmp_path, policies={"namespaces": {"org": WRONG}})
    assert cli.main(["check", str(path)]) == exit_codes.FAILED
    line = path.read_text().splitlines().index(f"      {KEY}: no_such_module:Naming") + 1
    told = f"{path}:{line}: policies.namespaces.org.{KEY}: 'no_such_module:Naming' cannot be loaded"
    assert capsys.readouterr().err.startswith(told)
