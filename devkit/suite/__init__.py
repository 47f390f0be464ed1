"""The test suite as ``make test`` and ``make test-all`` run it: stages, one suite at a time on a
machine, a second look at what failed, and where the time went."""
