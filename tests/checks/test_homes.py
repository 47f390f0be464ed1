"""gateway.checks.named: principals whose home does not exist."""

from __future__ import annotations

from pathlib import Path

from gateway.catalog.entities import Change, Namespace, PrincipalHome, Seeds
from gateway.catalog.snapshot import Snapshot
from gateway.checks.check import homes_not_seeded
from gateway.checks.cluster import homes_not_there
from gateway.config.errors import key_text
from gateway.config.models import Config
from tests.config import config_samples


def config(directory: Path, home: str) -> Config:
    return config_samples.config(
        directory,
        namespaces=["org:apache", "team-a"],
        principals={"User:alice": {"home": home}},
    )


def test_a_home_that_the_file_makes_is_none_of_them(tmp_path: Path) -> None:
    for home in ("org", "org:apache", "team-a"):
        assert list(homes_not_seeded(config(tmp_path, home))) == []


def test_one_that_it_does_not_make(tmp_path: Path) -> None:
    (problem,) = homes_not_seeded(config(tmp_path, "team-aa"))
    assert key_text(problem.key) == "principals.User:alice.home"
    assert problem.text.startswith("'team-aa' is not among the namespaces of this file")
    assert "did you mean 'team-a'?" in problem.text
    (problem,) = homes_not_seeded(config(tmp_path, "elsewhere"))
    assert "add it there, or make it before" in problem.text


def told(directory: Path, home: str, *held: Change) -> list[str]:
    snapshot = Snapshot().apply(held, 3)
    return [problem.text for problem in homes_not_there(config(directory, home), snapshot)]


def test_with_the_catalog_at_hand(tmp_path: Path) -> None:
    # The file creates it when a gateway starts.
    assert told(tmp_path, "team-a") == []
    # It was created once, and deleted, so it is not created again.
    (text,) = told(tmp_path, "team-a", Seeds(frozenset({"team-a"})))
    assert text.startswith("namespace 'team-a' does not exist, so User:alice reaches nothing")
    assert told(tmp_path, "elsewhere", Namespace("elsewhere")) == []
    (text,) = told(tmp_path, "elsewhere", Namespace("elsewhere", deleting=5))
    assert "'elsewhere' does not exist" in text


def test_homes_in_the_catalog(tmp_path: Path) -> None:
    (text,) = told(tmp_path, "team-a", PrincipalHome("User:bob", "gone"))
    assert text.startswith("the catalog gives User:bob the home 'gone'")
    # The configuration has precedence.
    assert told(tmp_path, "team-a", PrincipalHome("User:alice", "gone")) == []
