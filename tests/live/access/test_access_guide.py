"""docs/access.md: each command of its recipes, top to bottom, prints the output that the page
shows."""

from __future__ import annotations

from pathlib import Path

from devkit import java
from tests.docs import access_table, guide
from tests.live.support import authorized, java_tools, namespaces
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.namespaces import CommandResult

ADMIN_PROPERTIES = "admin.properties"


gateway = own_users_gateway(gateway_id="guide")


def test_the_recipes(users: str, tmp_path: Path) -> None:
    known = {guide.ADMIN: users, ADMIN_PROPERTIES: str(authorized.command_config(tmp_path))}
    steps = guide.steps(access_table.PAGE)
    assert {step.words[0] for step in steps} == {"kafka-acls", "kafka-gateway"}
    for step in steps:
        words = [known.get(word, word) for word in step.words[1:]]
        _check(step, _run(step.words[0], words))


def _run(program: str, words: list[str]) -> CommandResult:
    if program == "kafka-gateway":
        return namespaces.attempt(*words)
    ended = java_tools.server().run(java.TOOL_SCRIPTS[program], words)
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)


def _check(step: guide.Step, said: CommandResult) -> None:
    """Fail unless the exit status is the page's and its lines are printed, in their order."""
    printed = said.out + said.err
    assert said.status == step.status, f"{step}\n{printed}"
    at = 0
    for line in step.shown:
        found = printed.find(line, at)
        assert found >= 0, f"{step}\nshould print {line!r}, and prints\n{printed}"
        at = found + len(line)
