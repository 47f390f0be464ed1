"""Searches for a sequence of operations in which a tenant sees something of another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from tests.session.isolation_world import CASES, SECRETS, SETTINGS, Operation, Setting, Told, World

LENGTH: Final = 24
"""Operations in a sequence."""

AGAIN: Final = 0.25
"""How often an operation is an earlier one once more, of any tenant: what connections share, such
as kept answers, shows where two request the same."""


@dataclass(frozen=True)
class Sequel:
    """A sequence of operations in a world."""

    setting: Setting
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        lines = [f"setting: {self.setting.title}"]
        for each in self.operations:
            within = "".join(f"\n      within: {_line(one)}" for one in each.within)
            lines.append(f"  {_line(each)}{within}")
        return "\n".join(lines)


def _line(operation: Operation) -> str:
    return f"{operation.who}: {operation.api} v{operation.version}, seed {operation.seed}"


@dataclass
class Tally:
    """Counts of a search: ``done`` operations; by API and version those of tenant ``a`` whose
    connection went on (``open``), and those of which a broker was asked (``forwarded``)."""

    done: int = 0
    open: Counter[tuple[str, int]] = field(default_factory=Counter)
    forwarded: Counter[tuple[str, int]] = field(default_factory=Counter)


def sequels(seed: int) -> Iterator[Sequel]:
    """Sequences without end, in which each API and version comes as often as any other."""
    random = Random(seed)
    cases: list[tuple[str, int]] = []

    def operation(who: str) -> Operation:
        if not cases:
            cases.extend(random.sample(CASES, len(CASES)))
        api, version = cases.pop()
        return Operation(who, api, version, random.getrandbits(40))

    for number in range(1 << 62):
        chosen: list[Operation] = []
        for _ in range(LENGTH):
            who = random.choice("aab")
            made = operation(who)
            if chosen and random.random() < AGAIN:
                made = replace(random.choice(chosen), who=who, within=())
            within = random.random()
            if made.who == "a" and within < 0.25:
                made = replace(made, within=(operation("b"),))
            chosen.append(made)
        yield Sequel(SETTINGS[number % len(SETTINGS)], tuple(chosen))


def leak(sequel: Sequel, tally: Tally | None = None) -> str:
    """What is wrong with a sequence; "" if nothing is.

    The sequence is done in a world with both tenants, and again in a world for each, without what
    the other one does.
    """
    here, alone = World(sequel.setting), {who: World(sequel.setting) for who in SECRETS}
    for number, operation in enumerate(sequel.operations):
        wrong = ""
        try:
            told = here.do(operation)
            wrong = _secrets(operation, told)
            each = [(operation, told), *zip(operation.within, told.within, strict=False)]
            for one, got in each:
                again = alone[one.who].do(replace(one, within=()))
                wrong = wrong or _differing(one, got, again)
        except AssertionError as error:
            wrong = str(error)
        if wrong:
            return f"operation {number} ({_line(operation)}): {wrong}"
        if tally is not None:
            tally.done += 1 + len(operation.within)
            if operation.who == "a":
                tally.open[operation.api, operation.version] += not told.end
                tally.forwarded[operation.api, operation.version] += told.forwarded
    return ""


def _differing(operation: Operation, told: Told, alone: Told) -> str:
    if (told.data, told.end) == (alone.data, alone.end) or operation.names_foreign_ids:
        return ""
    with_other, without = (f"{each.data!r} {each.end}" for each in (told, alone))
    return f"{operation.who} is told\n{with_other}\nand without the other\n{without}"


def _secrets(operation: Operation, told: Told) -> str:
    """Whether a tenant is told a word that only the other one says. What b does within an operation
    is told to b."""
    for who, each in ((operation.who, told), *(("b", one) for one in told.within)):
        (secret,) = (word for name, word in SECRETS.items() if name != who)
        if secret.encode() in each.data:
            return f"{who} is told {secret!r}: {each.data!r}"
    return ""


def shrunk(sequel: Sequel, fails: Callable[[Sequel], str]) -> Sequel:
    """The shortest sequence that still fails when one operation after the other is left out."""
    again = True
    while again:
        again = False
        for smaller in _smaller(sequel):
            if fails(smaller):
                sequel, again = smaller, True
                break
    return sequel


def _smaller(sequel: Sequel) -> Iterator[Sequel]:
    operations: Sequence[Operation] = sequel.operations
    for number, each in enumerate(operations):
        before, after = operations[:number], operations[number + 1 :]
        yield replace(sequel, operations=(*before, *after))
        if each.within:
            yield replace(sequel, operations=(*before, replace(each, within=()), *after))
