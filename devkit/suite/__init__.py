"""The test suite of ``make test`` and ``make test-all``: stages, one suite at a time on a machine,
a second look at failed tests, and a summary of the time."""
