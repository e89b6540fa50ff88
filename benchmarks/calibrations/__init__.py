"""Promises of the package, one module per room, which benchmarks/calibration.py simulates."""
