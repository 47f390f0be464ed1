"""Kafka's own tools, run in turn by a Java that keeps running (ToolServer.java).

With a Java of its own, each tool takes a second or two of both processors, mostly for its start.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import select
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devkit.java import TOOL_OPTIONS, JavaError, JavaResult, compile_java, java_command

_SOURCE = Path(__file__).parent / "java" / "ToolServer.java"
_END_SECONDS = 60.0


class ToolServer:
    """A Java that starts with the first tool, and ends with this process.

    ``options`` are further options of Java. Threads take turns.
    """

    def __init__(self, options: Sequence[str] = ()) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()

    def run(
        self,
        main_class: str,
        args: Sequence[str],
        *,
        stdin: str = "",
        properties: Mapping[str, str] | None = None,
        seconds: float = 240.0,
    ) -> JavaResult:
        """Run a tool to its end, whatever its exit status.

        ``properties`` are Java's, and stay set. Raises JavaError, after killing the tool, if it
        takes longer than ``seconds``.
        """
        asked = {
            "main": main_class,
            "args": list(args),
            "stdin": stdin,
            "properties": dict(properties or {}),
        }
        with self._turn:
            answer = self._exchange(asked, seconds)
        return JavaResult(answer["status"], answer["stdout"], answer["stderr"])

    def close(self) -> None:
        """End the Java, if it runs. May be called again."""
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.close)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_END_SECONDS)
            process.kill()

    def _exchange(self, asked: dict[str, Any], seconds: float) -> Any:
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        # A response is a single line, and nothing follows it until the next request.
        line = (
            process.stdout.readline() if select.select([process.stdout], [], [], seconds)[0] else ""
        )
        if not line:
            process.kill()
            self.close()
            raise JavaError(f"{asked['main']} {asked['args']} did not end within {seconds:g} s")
        return json.loads(line)

    def _start(self) -> subprocess.Popen[str]:
        command = java_command(
            "ToolServer", options=(*TOOL_OPTIONS, *self._options), classes=compile_java(_SOURCE)
        )
        atexit.register(self.close)
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
