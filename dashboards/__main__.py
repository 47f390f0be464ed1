"""``python -m dashboards`` writes the JSON of every dashboard beside its source."""

from __future__ import annotations

from dashboards.files import json_path
from dashboards.pages import PAGES
from dashboards.panels import to_json


def main() -> None:
    """Write all of them again."""
    for name, page in PAGES.items():
        json_path(name).write_text(to_json(page))


if __name__ == "__main__":
    main()
