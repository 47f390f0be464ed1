"""Changes that wait for requests under way, in the world of ``fakes``."""

from __future__ import annotations

from dataclasses import replace

from gateway.catalog.entities import CatalogFormat, Freeze, Worker
from gateway.catalog.freezes import Frozen, freezes_in
from gateway.catalog.schema.table import FREEZE_FORMAT
from gateway.changes.base.freezing import Freezer
from gateway.changes.base.virtual_configs import Move
from gateway.changes.topics.delete_topics import delete_topics
from gateway.changes.topics.move_topics import move_topic
from gateway.views.access import Access
from protocol import messages
from tests.changes.fakes import FakeGateway, World, allowed, body_of

HERE = Worker("here", "gw-1", 0)
SILENCE = 120_000


class Holders:
    """The clients with requests under way in this process, or None until it has read the freeze."""

    def __init__(self, *answers: list[str] | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, freeze_id: str) -> list[str] | None:
        self.asked += 1
        return self.answers.pop(0) if self.answers else []


def frozen_world() -> World:
    """Two topics in a catalog whose changes freeze names, in which this worker takes part."""
    world = World(["org", "team"])
    world.broker.make("org..x", "org..y")
    world.log.append([CatalogFormat(FREEZE_FORMAT), HERE])
    return world


def freezing(world: World, here: Holders | None = None, patience: float = 60.0) -> FakeGateway:
    """A gateway whose changes wait."""
    gateway = world.gateway()
    freezer = Freezer(
        gateway.catalog,
        HERE.run,
        here or Holders(),
        clock=world.clock,
        silence=SILENCE,
        patience=patience,
    )
    gateway.context = replace(gateway.context, freezer=freezer)
    return gateway


def freezes(world: World) -> list[Freeze]:
    """Every freeze that was ever begun."""
    return [one for decision in world.log.decisions for one in decision if isinstance(one, Freeze)]


async def moved(gateway: FakeGateway, *, forced: bool = False) -> None:
    await move_topic(gateway.context, allowed(gateway), "org:x", Move("team", forced=forced))


async def deleted(gateway: FakeGateway, *names: str, access: Access | None = None) -> list[int]:
    """Error codes of a DeleteTopics, with the rights of ``access``, or by default with all
    rights."""
    body = body_of("DeleteTopicsRequest", 5, {"topic_names": names})
    answer = await delete_topics(gateway.context, access or allowed(gateway), 5, body)
    parsed = messages.parse("DeleteTopicsResponse", 5, answer.body)
    return [int(one.error_code) for one in parsed.responses]


class Working(Holders):
    """The requests that a gateway's own changes have at the broker."""

    gateway: FakeGateway

    def __call__(self, freeze_id: str) -> list[str] | None:
        snapshot = self.gateway.catalog.snapshot
        frozen = Frozen.of([freezes_in(snapshot)[freeze_id]])
        work = self.gateway.context.at_work
        held = work.concerns(lambda flat: frozen.concerns(snapshot, flat.decode()))
        return ["a change"] if held else []


def working(world: World, patience: float = 60.0) -> FakeGateway:
    """A gateway whose changes wait for its own requests at the broker."""
    here = Working()
    here.gateway = freezing(world, here, patience)
    return here.gateway
