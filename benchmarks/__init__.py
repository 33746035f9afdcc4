"""Speed and memory, measured: `make bench` runs every module here and writes benchmarks/results.md.

A module has `run()`, which yields (what, value, unit) rows.
"""
