"""An npm that serves archives of a test, for devkit.npm and its users."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

_NODE = """#!/bin/sh
# node -e SCRIPT FROM TO: copies, as if that were unpacking.
echo unpacked >> "$LOG"
cp "$3" "$4"
"""
_NPM = """#!/bin/sh
# npm ci ...: lays out what the lock file says. npm pack PACKAGE ...: the next of the archives that
# a test has laid out.
if [ "$1" = ci ]; then
    echo ci >> "$LOG"
    test -z "$FAIL" || { echo "another integrity" >&2; exit 1; }
    mkdir node_modules && cp package-lock.json node_modules/index.js && exit
fi
echo "$2" >> "$LOG"
first=$(ls "$ARCHIVES" | head -n 1)
test -n "$first" || { echo "no network" >&2; exit 1; }
mv "$ARCHIVES/$first" ./package.tgz
"""


class Registry:
    """Stands for npm, its Node.js and the registry."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "log"
        self.archives = directory / "archives"
        self.archives.mkdir()
        self.programs = directory / "bin"
        self.programs.mkdir()
        for name, script in (("npm", _NPM), ("node", _NODE)):
            program = self.programs / name
            program.write_text(script)
            program.chmod(0o755)

    def offer(self, content: bytes) -> None:
        """Serve another archive to the next request of npm."""
        (self.archives / str(len(list(self.archives.iterdir())))).write_bytes(content)

    @property
    def fetches(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line != "unpacked"]


def npm_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Put npm and a Node.js that a test controls on the PATH, and an empty cache in place."""
    made = Registry(tmp_path)
    monkeypatch.setenv("PATH", f"{made.programs}:/bin:/usr/bin")
    monkeypatch.setenv("LOG", str(made.log))
    monkeypatch.setenv("ARCHIVES", str(made.archives))
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    return made


def archive(files: dict[str, bytes]) -> bytes:
    """An archive of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as packer:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packer.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
