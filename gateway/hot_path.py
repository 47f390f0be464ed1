"""The hot path: the modules that every request passes, and their form in this interpreter.

The same sources run as they are (pure) or compiled by mypyc, which halves the CPU time per request.
The build compiles the modules listed here (``devkit/build_tree.py``).
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from typing import Final, NamedTuple

MODULES: Final = {
    "protocol.errors": "raised and caught by all that follow",
    "protocol.primitives": "lengths: every name that is spliced, and rare forms of a field",
    "protocol.prebuilt": "the walkers of Produce and Fetch, generated for the build",
    "protocol.splice": "several names in one body",
    "protocol.records": "the batch header of every partition produced",
    "protocol.headers": "where a body begins",
    "gateway.decision": "what every name resolves to",
    "gateway.flows": "the counts of every request",
    "gateway.catalog.validity": "read whenever bytes arrive",
    "gateway.exchanges.meter": "adds to them",
    "gateway.exchanges.watch": "looked at whenever responses have been written",
    "gateway.exchanges.framing": "cuts the stream and writes the frames",
    "gateway.exchanges.exchange": "one for each request",
    "gateway.exchanges.formats": "what plans are made of",
    "gateway.views.names_of_view": "the base of views",
    "gateway.views.view": "resolves every name",
    "gateway.exchanges.state": "finds every flow",
    "gateway.exchanges.fetch_stream": "walks every Fetch response that arrives in pieces",
    "gateway.exchanges.numbered_stream": "the same in a tree; it is a subclass",
    "gateway.exchanges.fetched": "counts what they bring",
    "gateway.views.closed_view": "a view that decides nothing",
    "gateway.views.access": "what every name may be used for",
    "gateway.views.authorized_access": "the same where an authorizer decides",
    "gateway.rules.rename": "every span of every other API, and of Fetch",
    "gateway.rules.restore": "the same for responses",
    "gateway.apis.counting": "finds the flow of each request",
    "gateway.apis.walking": "the spans of every message of such an API",
    "gateway.apis.generic": "every API without a handler of its own",
    "gateway.apis.records.produce": "every Produce",
    "gateway.apis.records.producer_guarantee": "counts every Produce",
    "gateway.apis.records.fetch": "every Fetch",
    "gateway.apis.table": "the plans by key",
    "gateway.session.silent": "what Produces without a response reach",
    "gateway.session.in_flight": "what is between the two",
    "gateway.session.holding": "the base of the next two; whether a request has to wait",
    "gateway.session.streamed": "the header of every request; Produces that stream",
    "gateway.session.requests": "the loop over what clients send",
    "gateway.session.responses": "the loop over what brokers send",
    "gateway.session.session": "what calls both",
}
"""The compiled modules, and the use that each request makes of them. Others are not compiled: the
connection, because the event loop calls it through asyncio's classes; the cold path, because it
would gain nothing."""


class Form(NamedTuple):
    """The number of compiled modules, and of all modules, of the hot path."""

    compiled: int
    modules: int

    def __str__(self) -> str:
        """``compiled``, ``pure``, or ``partly compiled`` if files of two builds are mixed."""
        if self.compiled == 0:
            return "pure"
        return "compiled" if self.compiled == self.modules else "partly compiled"


def running_form() -> Form:
    """The form of the hot path that this interpreter runs.

    It is read from the files of the modules: the imported file, or, if a module is not imported
    yet, the file that an import would take. Raises ImportError if a module is missing.
    """
    files = list(map(_file, MODULES))
    compiled = [file for file in files if file.endswith(tuple(EXTENSION_SUFFIXES))]
    return Form(len(compiled), len(files))


def _file(name: str) -> str:
    """The file of a module. Raises ImportError."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise ImportError(
            f"module {name} is missing: install kafka-namespace-gateway again", name=name
        )
    return found.origin
