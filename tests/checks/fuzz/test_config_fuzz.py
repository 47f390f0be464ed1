"""No file of an operator makes a command print a traceback, hang, or take the machine's memory; and
if ``check`` accepts a file, the gateway starts.

``make fuzz-config SECONDS=3600`` runs that long, and prints a seed: ``SEED=...`` repeats it.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from gateway import exit_codes
from gateway.config.errors import Key, key_text
from tests.checks.fuzz.mutations import Case, is_path, mutated, places, write_traps
from tests.checks.fuzz.runner import CASE, STARTS
from tests.checks.fuzz.valid import ENVIRONMENT, Sample, samples, write_files
from tests.pace import Pace

ROOT = Path(__file__).parents[3]
SECONDS: Final = 2.0

COMPARED: Final = 500
"""Characters of errors that are compared."""
BYTES: Final = 200 * 1024 * 1024

FUZZ_SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "0"))
"""0: a bounded number of cases, the same each time."""

CASES: Final = 70
PIPED: Final = 10
SEED: Final = int(os.environ.get("FUZZ_SEED", "1"))

STATUSES: Final = {
    "check": {exit_codes.OK, exit_codes.FAILED, exit_codes.CONFIG},
    "serve": {exit_codes.OK, exit_codes.CONFIG},
    "catalog": {exit_codes.CONFIG, exit_codes.UNAVAILABLE},
    STARTS: {exit_codes.OK},
}
"""The exit statuses of docs/cli.md that each command may have here, where no broker responds."""

SAMPLES: Final = samples()

AUTHORIZER: Final = ("authorization", "authorizer.class.name")
POLICY: Final = ("policies", "everywhere", "create.topic.policy.class.name")
REACH: Final = ("listeners", 0, "reach")
HOMELESS: Final = [{"name": f"l{n}", "port": n + 1, "home": f"team-x{n}"} for n in range(1_000)]
KEYS: Final = ("listeners", 0, "sasl", "oauthbearer", "jwks")


class Outcome(NamedTuple):
    """The outcome of a command."""

    status: int
    cpu_seconds: float
    most_bytes: int
    errors: str


class Runner:
    """Runs the commands that read a file, each in a process that is forked for it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._output = directory / "output"
        self._output.mkdir()
        environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.checks.fuzz.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, *commands: Sequence[str]) -> list[Outcome]:
        """Run commands up to the first that is not accepted."""
        assert self._process.stdin is not None
        for file in self._output.iterdir():
            file.unlink()
        job = {
            "commands": commands,
            "directory": str(self.directory / "files"),
            "output": str(self._output),
            "environment": ENVIRONMENT,
        }
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()
        ended = int(self._line())
        told = self._output / "outcomes"
        outcomes = json.loads(told.read_text()) if told.exists() else []
        if ended:
            outcomes.append([ended, 0.0, 0])
        return [
            Outcome(status, seconds, used, self._errors(number))
            for number, (status, seconds, used) in enumerate(outcomes)
        ]

    def _errors(self, number: int) -> str:
        return (self._output / f"{number}.err").read_text(errors="replace")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    directory = tmp_path_factory.mktemp("fuzz")
    files = directory / "files"
    files.mkdir()
    write_files(files)
    write_traps(files)
    for sample in SAMPLES:
        (files / f"valid-{sample.name}").write_text(yaml.safe_dump(sample.content))
    made = Runner(directory)
    try:
        yield made
    finally:
        made.close()


def commands_of(reader: str, name: str) -> list[list[str]]:
    """The commands that read a file, the strictest first."""
    config = ["--config", "valid-quickstart.yaml"]
    match reader:
        case "config":
            return [["check", name], ["serve", "--dry-run", "--config", name], [STARTS, name]]
        case "export":
            return [["catalog", "import", *config, name, "--dry-run"]]
    secrets = ["--secrets-from", name]
    return [["catalog", "import", *config, "valid-catalog.yaml", "--dry-run", *secrets]]


def tried(runner: Runner, case: Case, pace: Pace, *, piped: bool = False) -> list[Outcome]:
    """The outcomes of a case, after the assertions that apply to every file; if it is ``piped``,
    the commands read it from standard input."""
    path = runner.directory / "files" / CASE
    path.unlink(missing_ok=True)
    case.write(path)
    commands = commands_of(case.reader, "-" if piped else path.name)
    outcomes = runner.run(*commands)
    for argv, outcome in zip(commands, outcomes, strict=False):
        _check(argv, outcome, case, pace)
    if outcomes[0].status == exit_codes.OK:
        assert len(outcomes) == len(commands), f"{case.what}: check accepts it"
        assert outcomes[-1].status == exit_codes.OK, f"{case.what}: check accepts it"
    return outcomes


def _check(argv: Sequence[str], outcome: Outcome, case: Case, pace: Pace) -> None:
    told = f"{' '.join(argv)}, {case.what}: {outcome.errors[-3_000:]}"
    assert outcome.status in STATUSES[argv[0]], f"status {outcome.status}: {told}"
    assert "Traceback" not in outcome.errors, told
    assert "internal error" not in outcome.errors, told
    assert outcome.most_bytes < BYTES, f"{outcome.most_bytes >> 20} MiB: {told}"
    assert outcome.cpu_seconds < pace.stretched(SECONDS), f"{outcome.cpu_seconds:.1f} s: {told}"
    lines = outcome.errors.splitlines()
    if outcome.status == exit_codes.CONFIG or (argv[0] == "check" and outcome.status):
        problems = [line for line in lines if not line.startswith("warning: ")]
        assert problems, told
        for line in problems:
            assert re.match(r"(case\.yaml|/dev/stdin)(:\d+)?: ", line), told


def set_at(content: Any, key: Key, value: object) -> None:
    """Replace a value in a content."""
    for part in key[:-1]:
        content = content[part]
    content[key[-1]] = value


def case_of(sample: Sample, content: object, what: str) -> Case:
    """A valid file with another content."""
    data = yaml.safe_dump(content, sort_keys=False).encode("utf-8", "surrogatepass")
    return Case(sample.reader, f"{sample.name}: {what}", lambda path: path.write_bytes(data))


def test_valid_files_are_accepted(runner: Runner, pace: Pace) -> None:
    for sample in SAMPLES:
        outcomes = tried(runner, case_of(sample, sample.content, "as it is"), pace)
        accepted = exit_codes.OK if sample.reader == "config" else exit_codes.UNAVAILABLE
        assert outcomes[-1].status == accepted, (sample.name, outcomes[-1].errors)


def test_a_pipe_is_as_good_as_a_file(runner: Runner, pace: Pace) -> None:
    """The content is the same: each command prints the same, and if ``check`` accepts it, the
    gateway starts."""
    source = random.Random(SEED)
    cases = [case_of(sample, sample.content, "as it is") for sample in SAMPLES]
    cases += [mutated(source, source.choice(SAMPLES)) for _ in range(PIPED)]
    for case in cases:
        outcomes = tried(runner, case, pace)
        if not (runner.directory / "files" / CASE).is_symlink():
            piped = tried(runner, case, pace, piped=True)
            assert [one.status for one in piped] == [one.status for one in outcomes], case.what
            # A long line is cut together with the file's name before it, which is shorter.
            shown = [one.errors.replace("/dev/stdin:", f"{CASE}:")[:COMPARED] for one in piped]
            assert shown == [one.errors[:COMPARED] for one in outcomes], case.what


@pytest.mark.long("kills")
def test_a_pipe_that_nobody_writes_to_is_given_up(runner: Runner, pace: Pace) -> None:
    for reader in ("config", "export", "secrets"):
        case = Case(reader, "a FIFO", lambda path: path.symlink_to("fifo"))
        (outcome,) = tried(runner, case, pace)
        assert outcome.status == exit_codes.CONFIG
        assert f"{CASE}: cannot be read: it is a pipe whose writer did not end" in outcome.errors


TRAPS: Final = ("/dev/zero", "fifo", "a\0b", "\ud800", "token/below", "loop", "huge", "x" * 300)


def test_every_path_that_leads_to_no_file_is_named(runner: Runner, pace: Pace) -> None:
    """Each with another of the traps; log directories may be created if nothing is there."""
    traps = cycle(TRAPS)
    for sample in SAMPLES:
        if sample.name not in ("everything.yaml", "secured.yaml", "tree-la.yaml"):
            continue
        for key in (key for key in places(sample.content) if is_path(key)):
            content = copy.deepcopy(sample.content)
            set_at(content, key, next(traps))
            outcome = tried(runner, case_of(sample, content, key_text(key)), pace)[0]
            assert outcome.status in (exit_codes.FAILED, exit_codes.CONFIG), key
            # For a secret, the error names the key above it.
            assert f": {key_text(key[:-1])}" in outcome.errors, (key, outcome.errors)


REJECTED: Final[dict[str, tuple[str, Key, Any]]] = {
    "an authorizer that is not there": ("config", AUTHORIZER, "no.such.Class"),
    "an authorizer that is none": ("config", AUTHORIZER, "os.abort"),
    "an authorizer that takes no such configs": ("config", ("authorization", "configs"), {}),
    "an authorizer with another argument": (
        "config",
        AUTHORIZER,
        "tests.acls.custom.NeedsArguments",
    ),
    "a policy that is not there": ("config", POLICY, "no.such:Policy"),
    "a log below a file": ("config", ("traffic_log", "directory"), "token/logs"),
    "an audit log below a file": ("config", ("audit", "directory"), "token/logs"),
    "a name with NUL in a log's path": ("config", ("audit", "directory"), "log\0"),
    "a key set at half an address": ("config", KEYS, "http://["),
    "a key set at a port that is none": ("config", KEYS, "http://localhost:99999/"),
    "a key set without a host": ("config", KEYS, "https://"),
    "half of a surrogate pair in a name": ("config", ("gateway_id",), "\udfff"),
    "a number of 400 digits": ("config", ("workers",), 10**400),
    "more listeners than anyone has": (
        "config",
        ("listeners",),
        [{"name": "x", "port": 1}] * 9_000,
    ),
    "a longer reach than there are clusters": ("config", REACH, [f"a:{n}" for n in range(20_000)]),
    "homes that are not there": ("config", ("listeners",), HOMELESS),
    "a node id beyond all": ("config", ("clusters", 0, "node_ids"), ["0-16777216"]),
    "a format of 400 digits": ("export", ("format",), 10**400),
    "a level of 400 digits": ("export", ("catalog_format",), 10**400),
    "a time of 400 digits": ("export", ("topics", 1, "since"), 10**400),
    "iterations of 400 digits": ("secrets", ("secrets", "scram", 0, "iterations"), 10**400),
}
"""The error, and its place, in ``everything.yaml``, an export or its secrets."""

OF: Final = {"config": "everything.yaml", "export": "catalog.yaml", "secrets": "secrets.yaml"}


@pytest.mark.parametrize("what", REJECTED)
def test_what_cannot_start_is_rejected_where_it_stands(
    what: str, runner: Runner, pace: Pace
) -> None:
    reader, key, value = REJECTED[what]
    sample = next(one for one in SAMPLES if one.name == OF[reader])
    content = copy.deepcopy(sample.content)
    if what.endswith("no such configs"):
        set_at(content, AUTHORIZER, "gateway.acls.standard.StandardAuthorizer")
        key = ("authorization", "configs", "list")
    else:
        set_at(content, key, value)
    outcome = tried(runner, case_of(sample, content, what), pace)[0]
    assert outcome.status in (exit_codes.FAILED, exit_codes.CONFIG)
    assert f": {key_text(key[:1])}" in outcome.errors


@pytest.mark.parametrize("levels", [9, 30, 2_000])
@pytest.mark.parametrize("form", ["<<: [{}]", "- {}", "x: [{}]"])
def test_a_file_that_stands_for_more_than_it_is(
    levels: int, form: str, runner: Runner, pace: Pace
) -> None:
    rows = ["x0: &x0 {a: 1, b: 2}"]
    for level in range(1, levels):
        held = form.removeprefix("- ").format(", ".join([f"*x{level - 1}"] * 9))
        rows.append(f"x{level}: &x{level} " + (f"[{held}]" if form == "- {}" else f"{{{held}}}"))
    text = "\n".join([*rows, f"<<: *x{levels - 1}"])
    for reader in ("config", "export"):
        case = Case(reader, f"{levels} levels", lambda path: path.write_text(text))
        assert tried(runner, case, pace)[0].status == exit_codes.CONFIG


def test_20_000_blocks_of_policies_are_checked_in_memory_for_one_file(
    runner: Runner, pace: Pace
) -> None:
    """Found by the search below: pydantic copied the defaults of each block."""
    sample = next(one for one in SAMPLES if one.name == "everything.yaml")
    content = copy.deepcopy(sample.content)
    blocks = content["policies"]["namespaces"]
    blocks |= {f"team-a{number}": dict(blocks["team-a"]) for number in range(20_000)}
    outcomes = tried(runner, case_of(sample, content, "20,000 blocks"), pace)
    assert outcomes[0].status == exit_codes.OK


def test_files_that_are_almost_valid(runner: Runner, pace: Pace) -> None:
    source = random.Random(SEED)
    if FUZZ_SECONDS:
        print(f"\nSEED={SEED}")
    ends = time.monotonic() + FUZZ_SECONDS
    tries = accepted = 0
    while tries < CASES or time.monotonic() < ends:
        case = mutated(source, source.choice(SAMPLES))
        outcomes = tried(runner, case, pace)
        tries += 1
        accepted += outcomes[0].status in (exit_codes.OK, exit_codes.UNAVAILABLE)
    # Otherwise only the reading would be tested, and not the use of the values.
    assert accepted > tries // 20
    assert accepted < tries
