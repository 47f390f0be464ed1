"""gateway.audit.interface: the interface, and what stands for no audit log at all."""

from __future__ import annotations

import inspect

from gateway.audit.hub import AuditHub
from gateway.audit.interface import NO_AUDIT, Audit
from gateway.catalog.entities import Namespace
from tests.audit import audit_samples as samples


async def test_without_a_place_nothing_is_kept() -> None:
    await NO_AUDIT.start()
    NO_AUDIT.denied(samples.acl_denial())
    NO_AUDIT.authentication_failed("clients", "10.0.0.1:5", "PLAIN", "alice", "no")
    NO_AUDIT.connection_revoked(samples.alice(), "its token has expired")
    NO_AUDIT.catalog_changed([samples.committed(None, Namespace("org"))])
    await NO_AUDIT.stop()
    assert (NO_AUDIT.queued, NO_AUDIT.take_rows()) == (0, ())


def test_the_hub_takes_the_same_calls() -> None:
    for name, method in inspect.getmembers(Audit, inspect.isfunction):
        assert inspect.signature(getattr(AuditHub, name)) == inspect.signature(method)
