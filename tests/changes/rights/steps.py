"""Requests of a delegate, given or random, through the handlers that serve them."""

from __future__ import annotations

from random import Random

from gateway.acl_model import Operation, PatternType, Resource, ResourceType
from gateway.views.authorized_access import AuthorizedAccess
from tests.changes import acl_requests, admin_requests, config_requests
from tests.changes.config_requests import APPEND, RELEASING, SET, SUBTRACT, deleting, moving
from tests.changes.rights.generation import FRESH, NAMESPACES, TOPICS, random_acl
from tests.changes.rights.worlds import DELEGATE, RightsWorld, Step

UNTIL = "2024-01-01"
"""The end of an alias; tests begin in November 2023."""

_SECONDS = 100 * 86_400
_OPERATIONS = {"SET": SET, "APPEND": APPEND, "SUBTRACT": SUBTRACT}


async def take(world: RightsWorld, step: Step, principal: str = DELEGATE) -> list[int]:
    """Take a step to its end, with the background jobs; returns the error codes."""
    kind, *names = step
    codes = await _take(world, kind, names, principal)
    await world.run_jobs()
    return codes


async def _take(world: RightsWorld, kind: str, names: list[str], principal: str) -> list[int]:
    gateway, access = world.gateway, world.access(principal)
    match kind:
        case "create":
            told = await admin_requests.create(gateway, *names, access=access)
            return admin_requests.codes(told)
        case "adopt":
            configs: dict[str, str | None] = {"gateway.adopt": "true"}
            told = await admin_requests.create(gateway, *names, access=access, configs=configs)
            return admin_requests.codes(told)
        case "delete":
            return admin_requests.codes(await admin_requests.delete(gateway, *names, access=access))
        case "move":
            name, namespace, topic, until = names
            changes = moving(namespace, topic or None, until or None)
        case "release":
            name, changes = names[0], RELEASING
        case "link":
            name, operation, links = names
            changes = [("gateway.link", _OPERATIONS[operation], links)]
        case "unlink":
            name, changes = names[0], deleting("gateway.link.to")
        case "grant":
            return [code for code, _ in await acl_requests.create(gateway, access, *names)]
        case "revoke":
            found = acl_requests.acl(names[0])
            asked = acl_requests.filtering(
                found.pattern.name,
                kind=found.pattern.type,
                pattern_type=PatternType(found.pattern.pattern_type),
                principal=found.entry.principal,
                operation=Operation(found.entry.operation),
            )
            (deleted,) = await acl_requests.delete(gateway, access, asked)
            return [deleted[0] if isinstance(deleted, tuple) else 0]
        case "wait":
            world.world.clock.forward(seconds=_SECONDS)
            return []
        case _:
            raise ValueError(kind)
    code, _ = await config_requests.alter(gateway, name, changes, access=access)
    return [code]


def following(rng: Random, last: Step) -> Step | None:
    """A step that undoes or uses the last step; most often None, and an unrelated step follows."""
    if rng.random() > 0.4:
        return None
    match last:
        case ("create", name) | ("adopt", name):
            return ("delete", name)
        case ("delete", *names):
            return ("create", rng.choice(names))
        case ("move", name, namespace, topic, _):
            former, _, was = name.rpartition(":")
            moved = f"{namespace}:{topic or was}" if namespace else topic or was
            back: Step = ("move", moved, former, was, "")
            return rng.choice([back, ("delete", moved), ("create", name)])
        case ("link", _, _, links):
            return ("delete", links.split(",")[0])
    return None


def random_step(rng: Random, world: RightsWorld) -> Step:
    """A step, more often with names to which the delegate has rights than with others."""
    snapshot, near = world.world.snapshot, _near(rng, world)
    names = [str(snapshot.owner(flat)) for flat in world.world.broker.topics]
    own = [one for one in names if _namespace(one) in near] or names
    links = [str(name) for name in snapshot.links]
    namespaces = [path for path in snapshot.namespaces if path in near]
    held = sorted(acl_requests.held(snapshot))
    kind = rng.choices(
        ["move", "link", "delete", "create", "grant", "revoke", "unlink", "release", "wait"],
        [26, 16, 14, 18, 8, 6, 3, 6, 3],
    )[0]
    if kind == "move" and own:
        topic = rng.choice(["", "", *TOPICS, *FRESH])
        return (kind, rng.choice(own), rng.choice(near), topic, rng.choice(["", UNTIL]))
    if kind == "link" and own:
        operation = rng.choices(["APPEND", "SET", "SUBTRACT"], [6, 3, 1])[0]
        made = {_name(rng, near, FRESH) for _ in range(rng.choice([1, 1, 2]))}
        return (kind, rng.choice(own), operation, ",".join(sorted(made)))
    if kind == "delete" and namespaces and rng.random() < 0.5:
        top = rng.choice(namespaces)
        return (kind, *(f"{path}:" for path in sorted(snapshot.namespaces) if _is_in(path, top)))
    if kind == "delete" and own:
        return (kind, rng.choice([*own, *links]))
    if kind == "create" and rng.random() < 0.5:
        return (rng.choice([kind, kind, "adopt"]), (rng.choice(near) or "new") + ":")
    if kind == "create":
        return (kind, _name(rng, near, (*TOPICS, *FRESH)))
    if kind == "grant":
        return (kind, random_acl(rng))
    if kind == "revoke" and held:
        return (kind, rng.choice(held))
    if kind == "unlink" and links:
        return (kind, rng.choice(links))
    if kind == "release" and snapshot.topics:
        return (kind, rng.choice(sorted(str(entry.name) for entry in snapshot.topics.values())))
    return ("wait",)


def _near(rng: Random, world: RightsWorld) -> list[str]:
    """Namespaces, most often namespaces that the delegate may alter, delete, or create topics
    in."""
    access = world.access(DELEGATE)
    near = ["", *(path for path in NAMESPACES if _reaches(access, path))]
    return [*NAMESPACES, ""] if len(near) == 1 or rng.random() < 0.15 else near


def _reaches(access: AuthorizedAccess, path: str) -> bool:
    named = Resource(ResourceType.TOPIC, path, "")
    operations = (Operation.ALTER, Operation.DELETE, Operation.CREATE)
    return any(access.verdict(operation, named).allowed for operation in operations)


def _name(rng: Random, near: list[str], topics: tuple[str, ...]) -> str:
    path, topic = rng.choice(near), rng.choice(topics)
    return f"{path}:{topic}" if path else topic


def _namespace(name: str) -> str:
    return name.rpartition(":")[0]


def _is_in(path: str, top: str) -> bool:
    return path == top or path.startswith(top + ":")
