"""A KIP-848 member's client chooses its expression, and RE2 cannot be interrupted: no expression of
32 KB takes the event loop for long, to compile it or to match a name."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Final

import pytest

from tests.session.pair import Pair
from tests.session.test_heartbeat import ask

pytestmark = pytest.mark.usefixtures("quietly")

LONGEST_SECONDS: Final = 0.05
"""CPU seconds of the longest callback, as in test_callback_search."""

NAMES: Final = [f"{'a' * 245}{number:04}" for number in range(64)]
INVALID_REGULAR_EXPRESSION = 128

DEAR: Final = {
    "letters": r"\pL" * 10_900,  # 1.2 s to compile, and 300 MB
    "no letters": r"(?i)" + r"\PL" * 10_900,  # 3.3 s
    "options": r"a?" * 16_000,  # 0.6 s
    "escaped options": r"\(?" * 10_000,
    "groups": r"(a?)" * 2_000,  # 3 s for one name: RE2 copied all groups at each character
    "empty groups": r"(|)" * 10_000,  # 7 s for one name
    "alternatives": "|".join([".*a?b"] * 5_000),  # 45 ms a name
    "short": "((a?){30}){30}",  # 5 ms a name
    "wide classes": "(?i)" + "[!-\U0010ffff]" * 3_200,
    "long alternatives": "|".join([".*" + "ab" * 30] * 499),
}


@pytest.mark.alone
@pytest.mark.parametrize("pattern", DEAR.values(), ids=DEAR)
def test_no_expression_takes_the_event_loop(pattern: str) -> None:
    pair = Pair(topics=NAMES)
    took: list[float] = []

    def timed(call: Callable[[], object]) -> None:
        began = process_time()
        call()
        took.append(process_time() - began)

    pair.callback = timed  # type: ignore[method-assign]
    sent = ask(pair, 0, pattern)
    if sent is None:
        error = pair.answer("ConsumerGroupHeartbeat", 1)
        assert error.error_code == INVALID_REGULAR_EXPRESSION
        assert "is not valid: " in error.error_message
    assert max(took) < LONGEST_SECONDS
