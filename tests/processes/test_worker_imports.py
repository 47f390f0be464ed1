"""Modules that a worker loads before it needs them: every MiB exists once for each worker."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("aiohttp", "cryptography.x509", "jwt", "scramp")


def test_a_worker_without_tls_and_logins_does_not_load_what_they_need() -> None:
    code = (
        f"import sys, gateway.processes.worker; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
