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
PAGES += [f"docs/decisions/{path.name}" for path in sorted(markdown.DECISIONS.glob("*.md"))]

PROGRAMS = {"curl", "git", "kafka-gateway", "make", "pip", "python", "python3"}
PROGRAMS |= {"docker", "helm", "install", "kubectl", "pipx", "podman", "systemctl", "useradd"}
INSTALLED = "/opt/kafka-gateway/bin/"
"""Where docs/install.md puts the gateway; tests/spark has the commands of docs/spark.md."""

RUN_HERE = {
    "kafka-gateway check config/quickstart.yaml",
    "python -m protocol.walkers ProduceRequest 9",
    "python -m protocol.walkers AlterPartitionReassignmentsRequest 0",
}

LOST = "tests/live/catalog/test_catalog_lost.py"
ENVIRONMENT = "tests/devkit/test_installed.py::test_an_empty_environment"

RUN_BY = {
    "kafka-gateway serve --config config/quickstart.yaml": (
        # The command with a file of the same keys and free ports, and this very file loaded.
        "tests/devkit/test_gateway_process.py::test_it_serves_and_stops_clean",
        "tests/config_file/test_examples.py::test_the_quickstart_has_the_three_kinds_of_listeners",
    ),
    "kafka-gateway serve --config config/quickstart.yaml --dry-run": (
        "tests/checks/test_starting.py::test_a_dry_run_says_what_would_be_served",
        "tests/checks/fuzz/test_config_fuzz.py::test_valid_files_are_accepted",
    ),
    "kafka-gateway serve --config <(sops decrypt gateway.enc.yaml)": (
        "tests/checks/test_starting.py"
        "::test_every_worker_gets_a_configuration_that_came_through_a_pipe",
    ),
    "kafka-gateway check gateway.yaml": (
        # The command itself with another tree, and the page's file.
        "tests/checks/test_volumes.py::test_the_command",
        "tests/docs/test_tree.py::test_the_configuration_gives_the_table_shown",
        "tests/docs/test_high_availability.py::test_the_example_gives_the_table_shown",
    ),
    "kafka-gateway check la.yaml --peers": (
        # The command with peers that respond as shown, and with running peers.
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
    "kafka-gateway trace": ("tests/commands/test_trace.py::test_what_the_page_shows",),
    "kafka-gateway fleet": (
        "tests/commands/test_fleet.py::test_the_page_shows_what_it_prints",
        "tests/live/fleet/test_nodes.py::test_a_gateway_that_is_forgotten_is_not_listed",
    ),
    "kafka-gateway leave --config gateway.yaml --plan > leave.sh": (
        "tests/live/operations/test_leaving.py::test_from_a_home_to_the_brokers",
    ),
    "kafka-gateway leave --config gateway.yaml --plan --names plain > leave.sh": (
        "tests/live/operations/test_leaving.py::test_from_a_home_to_the_brokers",
    ),
    "kafka-gateway catalog forget --config gateway.yaml --gateway gw-b": (
        "tests/live/fleet/test_nodes.py::test_a_gateway_that_is_forgotten_is_not_listed",
    ),
    "kafka-gateway catalog forget --gateway gw-b": (
        "tests/live/fleet/test_nodes.py::test_a_gateway_that_is_forgotten_is_not_listed",
    ),
    "kafka-gateway catalog renumber": ("tests/commands/test_volumes.py::test_renumber",),
    "kafka-gateway catalog renumber --config gateway.yaml": (
        "tests/commands/test_volumes.py::test_renumber_of_a_cluster_that_leaves_the_tree",
    ),
    "python3 -m venv /opt/kafka-gateway": (ENVIRONMENT,),
    "python3 -m venv ~/kafka-gateway && . ~/kafka-gateway/bin/activate && pip install .": (
        ENVIRONMENT,
        "tests/live/installed/test_four_commands.py::test_from_the_wheel_to_a_client",
    ),
    # The next step in an error that the page shows.
    "kafka-gateway topics --bootstrap-server 127.0.0.1:9192 --create --namespace bulk": (
        "tests/commands/test_create.py::test_a_missing_namespace_is_told_with_the_next_step",
    ),
    "kafka-gateway completion SHELL": (
        "tests/commands/test_completion.py::test_every_command_and_flag_is_known",
    ),
    "kafka-gateway completion fish > ~/.config/fish/completions/kafka-gateway.fish": (
        "tests/commands/test_completion.py::test_every_command_and_flag_is_known",
    ),
    "/opt/kafka-gateway/bin/python -m pip install --require-hashes -r requirements/runtime.txt": (
        ENVIRONMENT,
    ),
    "/opt/kafka-gateway/bin/python -m pip install --no-deps .": (ENVIRONMENT,),
    "/opt/kafka-gateway/bin/kafka-gateway version": (ENVIRONMENT,),
    "kafka-gateway version": ("tests/commands/test_version.py::test_as_text",),
    "pip install": (ENVIRONMENT,),
    "pip install --verbose": (
        "tests/devkit/test_build_backend.py::"
        "test_without_a_compiler_the_pure_wheel_is_built_and_that_is_said",
    ),
    "pip install --editable": (
        "tests/devkit/test_build_backend.py::test_an_editable_install_is_setuptools_own",
    ),
    "kafka-gateway check --cluster gateway.yaml": (
        "tests/live/catalog/test_check_tree.py::test_one_kafka_at_two_mounts_and_what_one_hides",
        "tests/live/init/test_init.py::test_from_init_to_a_client",
    ),
    "kafka-gateway catalog export --config gateway.yaml --output catalog.yaml": (
        "tests/commands/test_catalog.py::test_export",
    ),
    "kafka-gateway catalog export --from-memory": (f"{LOST}::test_lost_and_restored",),
    "kafka-gateway catalog export --config gateway.yaml --from-memory --output catalog.yaml"
    " --secrets-to secrets.yaml": (f"{LOST}::test_lost_and_restored",),
    "kafka-gateway catalog restore": (f"{LOST}::test_lost_and_restored",),
    "kafka-gateway catalog restore --config gateway.yaml --secrets-from secrets.yaml"
    " catalog.yaml": (
        f"{LOST}::test_lost_and_restored",
        "tests/commands/test_catalog_restore.py::test_all_of_it_in_one_decision",
    ),
    "kafka-gateway serve --config gateway.yaml --new-catalog main": (
        f"{LOST}::test_begun_anew_by_the_operators_word",
    ),
    "kafka-gateway catalog status --config gateway.yaml": (
        "tests/commands/test_catalog.py::test_status",
    ),
    "kafka-gateway catalog upgrade --config gateway.yaml --format 3": (
        "tests/commands/test_catalog.py::test_upgrade",
    ),
    "kafka-gateway serve --config gateway.yaml": ("tests/live/tree/test_guide.py::test_the_guide",),
    "kafka-gateway init --bootstrap-server localhost:9092": (
        "tests/live/installed/test_four_commands.py::test_from_the_wheel_to_a_client",
    ),
    "kafka-gateway init": (
        # The questions, and a terminal; then real brokers, and the steps that follow.
        "tests/commands/init/test_questions.py::test_a_terminal_and_ctrl_c",
        "tests/live/init/test_init.py::test_from_init_to_a_client",
    ),
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
    "python -m bench.growth --sweeps connections --sizes 100 500 --seconds 2": (
        # The command with a sweep that is a formula, and the sweep at real gateways.
        "tests/bench/growth/test_main.py::test_numbers_may_be_chosen",
        "tests/bench/growth/test_connections.py::test_connections_are_measured",
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


CONTAINER = "tests/deploy/test_containerfile.py"
UNIT = "tests/deploy/test_systemd.py"
CHART = "tests/deploy/test_chart.py"

NOT_RUN = {
    "pipx install .": ENVIRONMENT,
    "pipx inject kafka-namespace-gateway NAME": ENVIRONMENT,
    "pipx uninstall kafka-namespace-gateway": ENVIRONMENT,
    "docker build --file Containerfile": f"{CONTAINER}::test_what_is_copied_is_enough_to_build",
    "docker run": f"{CONTAINER}::test_it_starts_the_command",
    "podman build --tag kafka-namespace-gateway:0.1.0 .": (
        f"{CONTAINER}::test_what_is_copied_is_enough_to_build"
    ),
    "podman build --format docker": f"{CONTAINER}::test_the_health_check",
    "podman run --read-only --network host"
    " --volume ./gateway.yaml:/etc/kafka-gateway/gateway.yaml:ro"
    " --volume gateway-state:/var/lib/kafka-gateway kafka-namespace-gateway:0.1.0": (
        f"{CONTAINER}::test_it_starts_the_command"
    ),
    "podman stop --time 20": f"{UNIT}::test_it_agrees_with_the_gateway",
    "useradd --system --home-dir /var/lib/kafka-gateway --shell /usr/sbin/nologin kafka-gateway": (
        f"{UNIT}::test_it_has_no_privilege_and_one_place_to_write"
    ),
    "install -D -m 0644 deploy/systemd/kafka-gateway.service"
    " /etc/systemd/system/kafka-gateway.service": f"{UNIT}::test_systemd_accepts_it",
    "systemctl daemon-reload": f"{UNIT}::test_systemd_accepts_it",
    "systemctl enable --now kafka-gateway": f"{UNIT}::test_systemd_accepts_it",
    "systemctl reload kafka-gateway": f"{UNIT}::test_systemd_accepts_it",
    "systemctl restart kafka-gateway": f"{UNIT}::test_systemd_accepts_it",
    "helm upgrade --install kafka-gateway deploy/helm/kafka-gateway --namespace kafka"
    " --values values.yaml": f"{CHART}::test_the_gateway_accepts_the_configuration",
    "helm upgrade kafka-gateway deploy/helm/kafka-gateway --namespace kafka"
    " --values values.yaml": f"{CHART}::test_the_gateway_accepts_the_configuration",
    "helm upgrade": f"{CHART}::test_the_gateway_accepts_the_configuration",
    "helm lint --strict": f"{CHART}::test_values_are_what_the_schema_says",
}
"""Commands that need pipx, a container engine, systemd or a cluster, which may be missing here, and
the test of their input. ``make chart`` has helm; devkit/chart.py implements it."""


def commands() -> dict[str, str]:
    """Every command of the pages: its text without the comment, and a page that has it."""
    found = {}
    for page in PAGES:
        text = markdown.read(page)
        lines = [line for block in markdown.blocks(text) for line in block.text.splitlines()]
        for line in [*lines, *markdown.spans(text)]:
            command = line.partition(" #")[0].strip()
            words = command.split()
            # A line with an ellipsis shows the form of something, such as a log line.
            program = words[0].removeprefix(INSTALLED) if words else ""
            if len(words) > 1 and program in PROGRAMS and "…" not in command:
                found[command] = page
    return found


COMMANDS = commands()
MAKE = sorted(command for command in COMMANDS if command.startswith("make "))


def test_every_command_is_run() -> None:
    known = {*RUN_HERE, *RUN_BY, *NOT_RUN, *MAKE}
    assert {command: page for command, page in COMMANDS.items() if command not in known} == {}
    assert known == set(COMMANDS)
    assert {"make demo", "make test"} <= set(MAKE)


@pytest.mark.parametrize("command", MAKE)
def test_make_knows_the_target(command: str) -> None:
    """``make test`` and its parts run this test; of the others only the target is checked."""
    makefile = markdown.read("Makefile")
    for word in command.split()[1:]:
        variable, is_set, _ = word.partition("=")
        pattern = rf"\$\(.*\b{variable}\)" if is_set else rf"^{word}:.*## "
        assert re.search(pattern, makefile, re.MULTILINE), f"the Makefile has no {word}"


@pytest.mark.parametrize(
    "test", sorted({*NOT_RUN.values()} | {test for tests in RUN_BY.values() for test in tests})
)
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
    """Ports of this machine may be in use; then it reports only that."""
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
