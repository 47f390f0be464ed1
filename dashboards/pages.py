"""All dashboards, by the names of their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboards import catalog, client, namespace, overview, tree
from dashboards.panels import Page

PAGES: Final[Mapping[str, Page]] = {
    "overview": overview.page(),
    "namespace": namespace.page(),
    "client": client.page(),
    "catalog": catalog.page(),
    "tree": tree.page(),
}
