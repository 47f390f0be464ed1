"""Every command in README.md and the other pages is run here, or by the test named here."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.docs import markdown

PAGES = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]
PAGES += [f"docs/{path.name}" for path in sorted(markdown.DOCS.glob("*.md"))]

PROGRAMS = {"curl", "git", "kafka-gateway", "make", "pip", "python", "python3"}

RUN_HERE = {
    "kafka-gateway check config/quickstart.yaml",
    "python -m protocol.walkers ProduceRequest 9",
}

RUN_BY = {
    "kafka-gateway serve --config config/quickstart.yaml": (
        # The command with a file of the same keys and free ports, and this very file loaded.
        "tests/devkit/test_gateway_process.py::test_it_serves_and_stops_clean",
        "tests/config_file/test_examples.py::test_the_quickstart_has_the_three_kinds_of_listeners",
    ),
    "kafka-gateway check gateway.yaml": (
        # The command itself with another tree, and the page's file.
        "tests/checks/test_volumes.py::test_the_command",
        "tests/docs/test_tree.py::test_the_configuration_gives_the_table_shown",
        "tests/docs/test_high_availability.py::test_the_example_gives_the_table_shown",
    ),
    "kafka-gateway check la.yaml --peers": (
        # The command with peers that say what is shown, and peers that are there.
        "tests/checks/test_peers.py::test_the_command",
        "tests/checks/test_peers_over_tls.py::test_gateways_that_agree",
        "tests/docs/test_configuration.py::test_the_peers_of_an_example_give_the_table_shown",
    ),
    "kafka-gateway check FILE --peers": (
        "tests/live/tree_of_gateways/test_commands.py::test_check_finds_that_the_peers_agree",
    ),
    "kafka-gateway tree --config gateway.yaml --all": (
        "tests/live/tree_of_gateways/test_commands.py::test_the_whole_tree_from_each_gateway",
    ),
    "kafka-gateway explain --config gateway.yaml --name /la/tracking/clicks": (
        "tests/live/tree_of_gateways/test_commands.py::test_every_gateway_on_the_way_is_shown",
    ),
    "kafka-gateway fleet": (
        "tests/commands/test_fleet.py::test_the_page_shows_what_it_prints",
        "tests/live/fleet/test_nodes.py::test_a_gateway_that_is_forgotten_is_not_listed",
    ),
    "kafka-gateway catalog forget --gateway gw-b": (
        "tests/live/fleet/test_nodes.py::test_a_gateway_that_is_forgotten_is_not_listed",
    ),
    "kafka-gateway catalog renumber": ("tests/commands/test_volumes.py::test_renumber",),
    "kafka-gateway serve --config gateway.yaml": ("tests/live/tree/test_guide.py::test_the_guide",),
    "kafka-gateway page-password alice >> page-passwords": (
        "tests/commands/test_page_password.py::test_from_standard_input",
    ),
    "kafka-gateway policies schema": (
        "tests/commands/test_policies.py::test_the_schema_is_printed",
    ),
    "kafka-gateway catalog sign --config gateway.yaml": (
        "tests/commands/test_catalog_sign.py::test_everything_is_written_once_more",
    ),
    "kafka-gateway catalog sign --config gateway.yaml --off": (
        "tests/commands/test_catalog_sign.py::test_everything_is_written_once_more",
    ),
    "python -m dashboards": (
        "tests/dashboards/test_json.py::test_the_command_writes_what_is_committed",
    ),
    "make demo": (
        "tests/devkit/test_demo.py::test_the_lines_can_be_pasted_and_ctrl_c_leaves_nothing",
    ),
    "make demo-tree": (
        "tests/devkit/test_demo_tree.py::test_the_lines_can_be_pasted_and_ctrl_c_leaves_nothing",
    ),
    "make demo-tree ONCE=1": ("tests/devkit/test_demo_tree.py::test_once_ends_after_the_tour",),
    "make demo ONCE=1": ("tests/devkit/test_demo.py::test_once_ends_after_the_tour",),
}


def commands() -> dict[str, str]:
    """Every command of the pages: its text without the comment, and a page that has it."""
    found = {}
    for page in PAGES:
        text = markdown.read(page)
        lines = [line for block in markdown.blocks(text) for line in block.text.splitlines()]
        for line in [*lines, *markdown.spans(text)]:
            command = line.partition(" #")[0].strip()
            words = command.split()
            # What holds an ellipsis is the shape of something, such as of a log line.
            if len(words) > 1 and words[0] in PROGRAMS and "…" not in command:
                found[command] = page
    return found


COMMANDS = commands()
MAKE = sorted(command for command in COMMANDS if command.startswith("make "))


def test_every_command_is_run() -> None:
    known = {*RUN_HERE, *RUN_BY, *MAKE}
    assert {command: page for command, page in COMMANDS.items() if command not in known} == {}
    assert known == set(COMMANDS)
    assert {"make demo", "make test"} <= set(MAKE)


@pytest.mark.parametrize("command", MAKE)
def test_make_knows_the_target(command: str) -> None:
    """``make test`` and its parts are what runs this test; the others are targets at least."""
    makefile = markdown.read("Makefile")
    for word in command.split()[1:]:
        variable, is_set, _ = word.partition("=")
        pattern = rf"\$\(.*\b{variable}\)" if is_set else rf"^{word}:.*## "
        assert re.search(pattern, makefile, re.MULTILINE), f"the Makefile has no {word}"


@pytest.mark.parametrize("test", sorted({test for tests in RUN_BY.values() for test in tests}))
def test_the_named_tests_are_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name}(" in markdown.read(path)


def test_the_command_is_the_module_that_is_run_here() -> None:
    scripts = tomllib.loads(markdown.read("pyproject.toml"))["project"]["scripts"]
    assert scripts == {"kafka-gateway": "gateway.cli:main"}
    assert "from gateway.cli import main" in markdown.read("gateway/__main__.py")


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the pages in the project's root."""
    words = command.replace("kafka-gateway", "python -m gateway").split()
    assert words[0] == "python"
    arguments = [sys.executable, *words[1:]]
    return subprocess.run(
        arguments, cwd=markdown.ROOT, capture_output=True, text=True, timeout=240, check=False
    )


def test_check() -> None:
    """Ports of this machine may be in use, which is then all that it says."""
    done = run("kafka-gateway check config/quickstart.yaml")
    if done.returncode == 0:
        assert done.stderr == ""
        assert done.stdout.startswith("listener  bootstrap.servers  node id  address\n")
        assert "127.0.0.1:9200" in done.stdout
    else:
        assert done.returncode == 1
        lines = done.stderr.splitlines()
        assert lines
        assert all(line.startswith("config/quickstart.yaml:") for line in lines)
        assert all("address already in use; free them" in line for line in lines)


def test_the_walkers_print_themselves() -> None:
    done = run("python -m protocol.walkers ProduceRequest 9")
    assert (done.returncode, done.stderr) == (0, "")
    assert "def " in done.stdout
