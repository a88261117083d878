"""Benchmarks: ratios to other libraries in one run, alternating, on one thread. Never part of the tests."""
