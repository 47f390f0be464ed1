"""Tests of ``make bench-growth``."""
