"""Uses kaskade, a terminal UI, as a person would, and prints what its pages show.

Arguments: ``admin`` or ``consumer``, bootstrap servers, a topic, and for ``admin`` the name of
another topic, to create and delete. It runs in the environment of ``devkit.locked_python``, and
prints a JSON object a line: the page, and the rows of its table.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from kaskade.admin import KaskadeAdmin
from kaskade.consumer import KaskadeConsumer
from kaskade.deserializers import Deserialization
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import DataTable, Input

SECONDS = 100.0
PAGES = ("partitions", "configurations", "groups", "group-offsets", "group-members")


def show(page: str, found: Any) -> None:
    """Print what a page shows."""
    print(json.dumps({"page": page, "shows": found}), flush=True)


def rows(table: DataTable[Any]) -> list[list[str]]:
    """The text of a table's cells."""
    found = (table.get_row_at(number) for number in range(table.row_count))
    return [[cell.plain if isinstance(cell, Text) else str(cell) for cell in row] for row in found]


async def until(pilot: Pilot[Any], what: str, condition: Callable[[], bool]) -> None:
    """Wait until a page shows something. Raises TimeoutError with what it shows instead."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            notes = [note.message for note in pilot.app._notifications]
            raise TimeoutError(f"{what}: {pilot.app.screen!r}, {notes}")
        await pilot.pause(0.05)


async def fill(pilot: Pilot[Any], **values: str) -> None:
    """Type values into the fields of a form."""
    for name, value in values.items():
        field = pilot.app.screen.query_one(f"#{name}", Input)
        field.focus()
        field.clear()
        await pilot.press(*value)


class Admin:
    """The pages of topics, filtered by the name of one topic."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        self.table = pilot.app.query_one("#topics-table", DataTable)

    async def key(self, key: str) -> None:
        """Press a key on the list of topics, which loses the focus while it loads."""
        self.table.focus()
        await self.pilot.pause()
        await self.pilot.press(key)

    def listed(self, topic: str) -> list[str] | None:
        """The row of a topic, if it is complete."""
        found = [row for row in rows(self.table) if row[0] == topic]
        return found[0] if found and not {"…", "—"} & set(found[0]) else None

    def partitions(self, topic: str) -> str | None:
        row = self.listed(topic)
        return row[1] if row else None

    async def reload_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Reload the list of topics until it shows something."""
        deadline = time.monotonic() + SECONDS
        while True:
            await self.key("ctrl+r")
            refreshed = time.monotonic() + 2
            while time.monotonic() < refreshed:
                if condition():
                    return
                await self.pilot.pause(0.05)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: {rows(self.table)}")

    async def select(self, topic: str, lag: str | None = None) -> None:
        """Filter by a topic's name and show its row, once it is complete and has this lag."""
        await self.key("escape")

        def complete() -> bool:
            row = self.listed(topic)
            return row is not None and (lag is None or row[-1] == lag)

        await self.reload_until(f"the row of {topic}", complete)
        await self.key("slash")
        await until(self.pilot, "the filter", lambda: self.shows("topic-filter"))
        await fill(self.pilot, **{"topic-filter": topic})
        await self.pilot.press("enter")
        await until(self.pilot, "one topic", lambda: self.table.row_count == 1)
        show("topics", rows(self.table))

    def shows(self, name: str) -> bool:
        return len(self.pilot.app.screen.query(f"#{name}")) == 1

    async def describe(self) -> None:
        """Show the pages of the selected topic."""
        await self.key("d")
        await until(self.pilot, "details", lambda: self.shows("topic-details-tabs"))
        for page in PAGES:
            show(page, rows(self.pilot.app.screen.query_one(f"#{page}-table", DataTable)))
        await self.pilot.press("escape")
        await until(self.pilot, "topics", lambda: not self.shows("topic-details-tabs"))

    async def create(self, topic: str) -> None:
        """Create a topic, or show that the form rejects its name."""
        await self.key("n")
        await until(self.pilot, "a form", lambda: self.shows("replicas"))
        await fill(self.pilot, name=topic, partitions="2", retention="86400000")
        await self.pilot.press("ctrl+s")
        await self.pilot.pause(0.5)
        if self.shows("replicas"):
            show("rejected", [str(each.id) for each in self.pilot.app.screen.query(".-invalid")])
            await self.pilot.press("escape")

    async def edit(self) -> None:
        """Change the selected topic's partitions and its retention."""
        await self.key("e")
        await until(self.pilot, "a form", lambda: self.shows("min_insync_replicas"))
        await fill(self.pilot, partitions="3", retention="172800000")
        await self.pilot.press("ctrl+s")
        await until(self.pilot, "topics", lambda: not self.shows("min_insync_replicas"))

    async def delete(self, topic: str) -> None:
        """Delete the selected topic."""
        await self.key("ctrl+d")
        await until(self.pilot, "a question", lambda: self.shows("topic-confirmation"))
        await fill(self.pilot, **{"topic-confirmation": topic})
        await self.pilot.press("enter")
        await self.key("escape")
        await self.reload_until(
            "no topic", lambda: all(row[0] != topic for row in rows(self.table))
        )


async def admin(servers: str, topic: str, created: str) -> None:
    app = KaskadeAdmin({"bootstrap.servers": servers}, refresh_interval=0)
    async with app.run_test(size=(220, 60)) as pilot:
        pages = Admin(pilot)
        await pages.select(topic, lag="≈2")
        await pages.describe()
        await pages.edit()
        await pages.reload_until("an edited topic", lambda: pages.partitions(topic) == "3")
        show("topics", rows(pages.table))
        await pages.describe()
        await pages.create(created)
        if ":" not in created:
            await pages.select(created)
            await pages.describe()
            await pages.delete(created)


async def consumer(servers: str, topic: str) -> None:
    config = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
    kind = Deserialization.STRING
    app = KaskadeConsumer(topic, config, {}, {}, {}, kind, kind)
    async with app.run_test(size=(220, 60)) as pilot:
        table = app.query_one("#records-table", DataTable)
        await until(pilot, "records", lambda: table.row_count >= 5)
        show("records", rows(table))


if __name__ == "__main__":
    _, page, *rest = sys.argv
    asyncio.run(admin(*rest) if page == "admin" else consumer(*rest))
