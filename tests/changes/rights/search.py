"""Random worlds and sequences of changes by seed, and the fewest ACLs and steps that violate the
rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.changes.acl_requests import ADMIN
from tests.changes.rights.generation import random_plan
from tests.changes.rights.judging import violations
from tests.changes.rights.steps import following, random_step, take
from tests.changes.rights.worlds import Plan, RightsWorld, Step

MOST_STEPS = 6


@dataclass
class Outcome:
    """``found`` are the violations; ``codes`` the error codes of each step."""

    plan: Plan
    steps: list[Step]
    codes: list[list[int]]
    found: list[str]

    def __str__(self) -> str:
        lines = [*self.found, "", f"namespaces {self.plan.namespaces}"]
        lines += [f"topics {self.plan.topics}", f"groups {self.plan.groups} ids {self.plan.ids}"]
        lines += ["allow.everyone.if.no.acl.found"] if self.plan.allow_everyone else []
        lines += [f"before: {step}" for step in self.plan.setup]
        lines += [f"ACL {text}" for text in self.plan.acls]
        lines += [f"{step}: {codes}" for step, codes in zip(self.steps, self.codes, strict=True)]
        return "\n".join(lines)


async def make(plan: Plan) -> RightsWorld:
    """The world of a plan."""
    world = RightsWorld(plan)
    for step in plan.setup:
        await take(world, step, ADMIN)
    world.add_acls(plan.acls)
    return world


async def run(plan: Plan, steps: Sequence[Step]) -> Outcome:
    """Take these steps in a new world, and judge them."""
    world = await make(plan)
    before = world.state()
    codes = [await take(world, step) for step in steps]
    return Outcome(plan, list(steps), codes, list(violations(before, world.state())))


async def run_seed(seed: int) -> Outcome:
    """The sequence of a seed."""
    rng = Random(seed)
    plan = random_plan(rng)
    world = await make(plan)
    before = world.state()
    steps: list[Step] = []
    codes: list[list[int]] = []
    for _ in range(rng.randrange(1, MOST_STEPS + 1)):
        done = bool(codes) and 0 in codes[-1]
        step = (following(rng, steps[-1]) if done else None) or random_step(rng, world)
        steps.append(step)
        codes.append(await take(world, step))
    return Outcome(plan, steps, codes, list(violations(before, world.state())))


async def fewest(outcome: Outcome) -> Outcome:
    """The same violation with as little as possible: each step, ACL and name that is not needed is
    left out."""
    kind = outcome.found[0].split()[0]
    again = True
    while again:
        again = False
        for smaller in _smaller(outcome):
            tried = await run(*smaller)
            if any(text.split()[0] == kind for text in tried.found):
                outcome, again = tried, True
                break
    return outcome


def _smaller(outcome: Outcome) -> list[tuple[Plan, list[Step]]]:
    plan, steps = outcome.plan, outcome.steps
    found = [(plan, steps[:n] + steps[n + 1 :]) for n in range(len(steps))]
    for field in ("setup", "acls", "topics", "groups", "ids"):
        held = getattr(plan, field)
        found += [
            (replace(plan, **{field: held[:n] + held[n + 1 :]}), steps) for n in range(len(held))
        ]
    return found
