"""gateway.files: which files an operator may name, and which modules of the product read them."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

import gateway
from gateway import files
from gateway.auth.exchange import CredentialsError
from gateway.auth.jwks import FileKeys
from gateway.catalog.log.signatures import KeyFile, KeyFileError
from gateway.catalog.schema import yaml_values
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import UsageError
from gateway.config.connecting import SecretError
from gateway.config.errors import ConfigError
from gateway.config.security import Secret
from gateway.config_file.loading import load_config
from gateway.files import UnreadableFile, input_path, read_file, read_input, read_text
from gateway.page.passwords import PasswordsError, read_passwords
from gateway.referrals.far_file import FarVolumes
from gateway.tls import contexts
from tests.config_file.written import MINIMAL

MOST = 1_000


def fifo(directory: Path) -> Path:
    path = directory / "fifo"
    os.mkfifo(path)
    return path


def unix_socket(directory: Path) -> Path:
    path = directory / "socket"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return path


def loop(directory: Path) -> Path:
    path = directory / "loop"
    path.symlink_to(path)
    return path


NEITHER: dict[str, Callable[[Path], Path]] = {
    "endless device": lambda _: Path("/dev/zero"),
    "device without content": lambda _: Path("/dev/null"),
    "socket": unix_socket,
    "directory": lambda directory: directory,
    "nothing": lambda directory: directory / "nothing",
    "loop of links": loop,
    "below a file": lambda _: Path(__file__) / "below",
    "NUL in the path": lambda directory: directory / "a\0b",
    "half of a surrogate pair in the path": lambda directory: directory / "\udbff",
    "long name": lambda directory: directory / ("x" * 5_000),
}
"""Neither files nor pipes."""


@pytest.fixture(params=NEITHER)
def neither(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return NEITHER[request.param](tmp_path)


@contextmanager
def written(*pieces: bytes, end: bool = True) -> Iterator[Path]:
    """A pipe, by a path as ``<(...)`` gives one, whose writer writes these pieces and ends."""
    reading, writing = os.pipe()
    path = Path(f"/dev/fd/{reading}")

    def write() -> None:
        with suppress(BrokenPipeError):
            for piece in pieces:
                os.write(writing, piece)
        if end:
            os.close(writing)

    writer = Thread(target=write)
    writer.start()
    try:
        yield path
    finally:
        os.close(reading)
        writer.join()
        if not end:
            os.close(writing)


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    """Make this descriptor standard input, and restore it afterwards."""
    before = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xc3\xa9" * (MOST // 2))
    assert read_file(path, MOST) == b"\xc3\xa9" * (MOST // 2)
    assert read_text(path, MOST) == "é" * (MOST // 2)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    """Kubernetes mounts secrets as links."""
    (tmp_path / "file").write_text("secret")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link", MOST) == "secret"


def test_a_file_over_the_bound_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no place
    with pytest.raises(UnreadableFile, match="over 1,000 bytes"):
        read_file(path, MOST)


def test_what_is_no_utf_8_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"caf\xe9")
    with pytest.raises(UnreadableFile, match="not text"):
        read_text(path, MOST)


@pytest.mark.parametrize("read", [read_file, read_input])
def test_what_is_no_file_is_rejected(read: files.Reader, neither: Path) -> None:
    with pytest.raises(UnreadableFile):
        read(neither, MOST)


def test_a_pipe_is_read_to_its_end() -> None:
    content = os.urandom(200_000)  # more than a pipe holds
    with written(content[:7], content[7:]) as path:
        assert read_input(path, len(content)) == content


def test_a_fifo_waits_for_its_writer(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    writer = Thread(target=path.write_bytes, args=(b"content",))
    writer.start()
    assert read_input(path, MOST) == b"content"
    writer.join()


def test_a_pipe_over_the_bound_is_not_read_on() -> None:
    with written(*[bytes(60_000)] * 100) as path, pytest.raises(UnreadableFile, match="over 1,000"):
        read_input(path, MOST)


@pytest.mark.parametrize("pieces", [(), (b"a: 1",)])
def test_a_writer_that_does_not_end_is_not_waited_for(
    pieces: Sequence[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    with (
        written(*pieces, end=False) as path,
        pytest.raises(UnreadableFile, match=r"a pipe whose writer did not end within 0\.05 s"),
    ):
        read_input(path, MOST)


def test_a_fifo_without_a_writer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    with pytest.raises(UnreadableFile, match="did not end within"):
        read_input(fifo(tmp_path), MOST)


def test_a_pipe_is_waited_for_as_long_as_docs_say() -> None:
    text = (Path(gateway.__file__).parents[1] / "docs" / "configuration.md").read_text()
    assert f"within {files.PIPE_SECONDS:g} s" in text


def test_standard_input_is_a_dash(tmp_path: Path) -> None:
    (tmp_path / "-").write_text("a file")
    assert read_input(input_path(str(tmp_path / "-")), MOST) == b"a file"
    assert input_path("gateway.yaml") == Path("gateway.yaml")
    with (tmp_path / "-").open() as file, standard_input(file.fileno()):
        os.read(0, 2)  # as a shell's `read` may have done
        assert read_input(input_path("-"), MOST) == b"file"
    ours, theirs = socket.socketpair()  # as sshd gives commands
    with ours, theirs, standard_input(theirs.fileno()):
        ours.sendall(b"sent")
        ours.shutdown(socket.SHUT_WR)
        assert read_input(input_path("-"), MOST) == b"sent"


def test_what_workers_read_again_is_no_pipe() -> None:
    with written(b"secret") as path, pytest.raises(UnreadableFile, match="read more than once"):
        read_file(path, MOST)


def test_what_workers_read_is_there_for_them(tmp_path: Path) -> None:
    """The supervisor's descriptors are not a worker's, whose standard input is /dev/null."""
    (tmp_path / "secret").write_text("secret")
    with (tmp_path / "secret").open() as file, standard_input(file.fileno()):
        (tmp_path / "link").symlink_to("/dev/stdin")
        (tmp_path / "descriptors").symlink_to("/proc/self/fd")
        for path in (
            Path("/dev/stdin"),
            Path(f"/dev/fd/{file.fileno()}"),
            Path("/proc/self/fd/0"),
            tmp_path / "link",
            tmp_path / "descriptors" / "0",
        ):
            with pytest.raises(UnreadableFile, match="only this process has open"):
                read_file(path, MOST)
            assert read_input(path, MOST) == b"secret"
            os.lseek(0, 0, os.SEEK_SET)


ONCE: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "configuration": (load_config, ConfigError),
    "export of a catalog": (yaml_values.read_file, ConfigError),
    "properties": (lambda path: ClientSecurity(path).settings, UsageError),
}
"""Readers of files that a command line names."""

AGAIN: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "configuration, for its policies": (lambda path: load_config(path, read_file), ConfigError),
    "secret": (lambda path: Secret.model_construct(file=path, env=None).read(), SecretError),
    "signing keys": (lambda path: KeyFile(path).load(), KeyFileError),
    "key set": (lambda path: FileKeys(path, "jwks").load(), CredentialsError),
    "passwords of the page": (read_passwords, PasswordsError),
    "certificate": (lambda path: contexts.read_pem("ca", path), contexts.TlsError),
}
"""Readers of files that workers read, too, or that are read again."""


@pytest.mark.parametrize("reader", ONCE | AGAIN)
def test_every_reader_rejects_what_is_no_file(reader: str, neither: Path) -> None:
    read, error = (ONCE | AGAIN)[reader]
    with pytest.raises(error):
        read(neither)


@pytest.mark.parametrize("reader", AGAIN)
def test_what_is_read_again_is_no_pipe(reader: str, tmp_path: Path) -> None:
    read, error = AGAIN[reader]
    with pytest.raises(error, match="it is a pipe, and this file is read more than once"):
        read(fifo(tmp_path))


@pytest.mark.parametrize("reader", ONCE)
def test_what_is_read_once_may_be_a_pipe(reader: str) -> None:
    read, _ = ONCE[reader]
    content = {"configuration": MINIMAL, "properties": "security.protocol=SSL"}.get(reader, "a: 1")
    with written(content.encode()) as path:
        read(path)


def test_what_a_tree_keeps_is_left_out_if_it_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tree-w0.json")
    (tmp_path / "tree-w1.json").symlink_to("/dev/zero")
    known = FarVolumes(tmp_path, "w2")
    known.load()
    assert known.numbers == {}


def test_no_other_module_reads_files_of_operators() -> None:
    """The sinks read their own files, the page the package's, the gauges and checks files of
    /proc."""
    own = {"files.py", "sinks/rolling_files.py", "page/files.py", "processes/worker.py"}
    own.add("checks/running.py")
    root = Path(gateway.__file__).parent
    reads = re.compile(r"\.read_(text|bytes)\(|\.open\(\"rb?\"|\.open\(encoding")
    found = {
        str(path.relative_to(root)) for path in root.rglob("*.py") if reads.search(path.read_text())
    }
    assert found - own == set()
