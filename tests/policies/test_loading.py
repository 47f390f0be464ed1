"""gateway.policies.instance: names of classes, and errors for classes that cannot be used."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from gateway.policies import instance
from gateway.policies.instance import GROUP, PolicyError, load_class
from gateway.policies.interface import CreateTopicPolicy, RequestMetadata

HERE = __name__


class Fits(CreateTopicPolicy):
    """Allows everything."""

    def validate(self, request_metadata: RequestMetadata) -> None:
        return None

    class Inner(CreateTopicPolicy):
        """A class in a class."""

        def validate(self, request_metadata: RequestMetadata) -> None:
            return None


class Unfinished(CreateTopicPolicy):
    """Lacks its method."""


class Async(CreateTopicPolicy):
    """Would never be awaited."""

    async def validate(self, request_metadata: RequestMetadata) -> None:  # type: ignore[override]
        return None


class Unrelated:
    """Is not a policy."""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory from which modules are imported; they are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("policy_exits", "policy_breaks"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"{HERE}:Fits", Fits),
        (f"{HERE}.Fits", Fits),
        (f"{HERE}:Fits.Inner", Fits.Inner),
    ],
)
def test_a_name(name: str, found: type) -> None:
    assert load_class(name) is found


def test_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    known = EntryPoints([EntryPoint("acme.naming", f"{HERE}:Fits", GROUP)])
    monkeypatch.setattr(instance, "entry_points", known.select)
    assert load_class("acme.naming") is Fits
    with pytest.raises(PolicyError, match=r"'acme\.other' cannot be loaded: ModuleNotFoundError"):
        load_class("acme.other")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("naming", f"'naming' is neither module:Class nor an entry point of the group {GROUP}"),
        (":Naming", f"':Naming' is neither module:Class nor an entry point of the group {GROUP}"),
        (
            "no_such_module:Naming",
            "'no_such_module:Naming' cannot be loaded:"
            " ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (
            f"{HERE}:Nothing",
            f"'{HERE}:Nothing' cannot be loaded:"
            f" AttributeError: module '{HERE}' has no attribute 'Nothing'",
        ),
        (
            f"{HERE}:Unrelated",
            f"'{HERE}:Unrelated' is no class that extends"
            " gateway.policies.interface.CreateTopicPolicy",
        ),
        (
            f"{HERE}:HERE",
            f"'{HERE}:HERE' is no class that extends gateway.policies.interface.CreateTopicPolicy",
        ),
        (
            f"{HERE}:Unfinished",
            f"'{HERE}:Unfinished' has no validate(request_metadata); write it",
        ),
        (
            f"{HERE}:Async",
            f"'{HERE}:Async' has an async validate(); write it as a plain method,"
            " which has a thread of its own",
        ),
    ],
)
def test_what_is_no_policy(name: str, told: str) -> None:
    with pytest.raises(PolicyError) as rejected:
        load_class(name)
    assert str(rejected.value) == told


@pytest.mark.parametrize(
    ("module", "text", "told"),
    [
        ("policy_exits", "import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("policy_breaks", "1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_fails(modules: Path, module: str, text: str, told: str) -> None:
    (modules / f"{module}.py").write_text(text)
    with pytest.raises(PolicyError) as rejected:
        load_class(f"{module}:Naming")
    assert str(rejected.value) == f"'{module}:Naming' cannot be loaded: {told}"
