"""The page's files, read on their first request, so that a gateway without readers holds no files.

ECharts is in ``spark/assets``, which the same distribution installs. If it is missing, the page has
tables and no curves, and says so.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Final

HTML: Final = "index.html"
ECHARTS: Final = "echarts.min.js"

_OWN: Final = (
    HTML,
    "page.css",
    "theme.js",
    "format.js",
    "rows.js",
    "charts.js",
    "tree.js",
    "sections.js",
    "fleet.js",
    "page.js",
    "icon.svg",
)
NAMES: Final = frozenset({*_OWN, ECHARTS})
"""The only files that are served, even if the folder has others."""

_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_WITHOUT_CHARTS: Final = b"<!-- charts -->"
_CHARTS: Final = f'<script src="page/{ECHARTS}" defer></script>'.encode()


@dataclass(frozen=True, slots=True)
class Asset:
    """A file: its bytes, the same compressed, its media type and its entity tag."""

    body: bytes
    compressed: bytes
    content_type: str
    tag: str


class Assets:
    """The files by name, kept after the first read."""

    def __init__(self) -> None:
        self._read: dict[str, Asset] = {}

    def get(self, name: str) -> Asset:
        """A file of :data:`NAMES`. Raises FileNotFoundError if it is not installed."""
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = _asset(name)
        return found


def has_charts() -> bool:
    """Whether ECharts is installed."""
    if find_spec("spark") is None:
        return False
    return resources.files("spark").joinpath("assets", ECHARTS).is_file()


def _asset(name: str) -> Asset:
    if name not in NAMES:
        raise FileNotFoundError(name)
    if name == ECHARTS:
        if not has_charts():
            raise FileNotFoundError(name)
        body = resources.files("spark").joinpath("assets", name).read_bytes()
    else:
        body = resources.files("gateway.page").joinpath("assets", name).read_bytes()
    if name == HTML and has_charts():
        body = body.replace(_WITHOUT_CHARTS, _CHARTS)
    tag = hashlib.sha256(body).hexdigest()[:24]
    kind = _TYPES[PurePosixPath(name).suffix]
    return Asset(body, gzip.compress(body, 9, mtime=0), kind, tag)
