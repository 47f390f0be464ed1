"""Rules for every file: links resolve, and no text reveals the machine on which it was written."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.docs import markdown


def files() -> list[str]:
    """Every file that is, or would be, committed, by its path from the project's root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=markdown.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if (markdown.ROOT / name).is_file()]


FILES = files()
PAGES = [name for name in FILES if name.endswith(".md")]

# Hosts that may be linked to or served at. A package index is not among them, because each user
# chooses one. A JSON Schema's dialect, and SVG, are named by an address.
HOSTS = {
    "127.0.0.1",
    "echarts.apache.org",
    "example.org",
    "json-schema.org",
    "kafka.apache.org",
    "localhost",
    "www.w3.org",
}

# Third-party files, as they were published, and their licences.
OTHERS = {"spark/assets/echarts.LICENSE.txt", "spark/assets/echarts.min.js"}

_EXAMPLE = ".example.org"
"""Names below it belong to nobody (RFC 2606)."""

_URL = re.compile(r"\bhttps?://([A-Za-z0-9.-]+)")
_SOMEONE_S = re.compile(r"(?<![\w.)}/-])/(?:home|root|tmp|work|Users)/[\w.-]+")


def test_the_files_are_found() -> None:
    assert {"README.md", "Makefile", "docs/names.md", "gateway/names.py"} <= set(FILES)


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    broken = [target for target in markdown.links(markdown.read(page)) if not _leads(page, target)]
    assert broken == []


def _leads(page: str, target: str) -> bool:
    if _URL.match(target):
        return True
    name, _, anchor = target.partition("#")
    path = (markdown.ROOT / page).parent / name if name else markdown.ROOT / page
    if not path.exists():
        return False
    return not anchor or anchor in markdown.anchors(path.read_text())


def foreign(text: str) -> list[str]:
    """Paths of a machine, and hosts that the project does not know."""
    here = [str(markdown.ROOT), str(Path.home()), tempfile.gettempdir()]
    own = [re.escape(path) for path in here if len(Path(path).parts) > 1]
    paths = re.findall(rf"(?<![\w.)}}/-])(?:{'|'.join(own)})(?=/)", text)
    urls = (host.rstrip(".") for host in _URL.findall(text))
    hosts = [host for host in urls if host not in HOSTS and not host.endswith(_EXAMPLE)]
    return [*paths, *_SOMEONE_S.findall(text), *hosts]


def test_no_file_tells_of_a_machine() -> None:
    found = {}
    assert set(FILES) >= OTHERS
    for name in sorted({*FILES} - OTHERS):
        told = foreign((markdown.ROOT / name).read_text(errors="replace"))
        if told:
            found[name] = told
    assert found == {}


def test_what_would_be_found() -> None:
    assert foreign(f"see {markdown.ROOT}/README.md")
    assert foreign("in '/" + "home/someone/x'")
    assert foreign("http" + "s://packages.example/simple")
    assert not foreign("http://127.0.0.1:9404/metrics, tests/home/x.py, https://kafka.apache.org.")


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("requirements/")])
def test_locks_name_no_index(name: str) -> None:
    """Only packages with their hashes: no option that says where they come from."""
    lines = (line.strip() for line in markdown.read(name).splitlines())
    options = [line for line in lines if line.startswith("-") and not line.startswith("--hash=")]
    assert options == []
