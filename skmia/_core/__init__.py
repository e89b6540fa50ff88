"""Shared foundations: records, outputs, checks and arithmetic, used by all packages."""

__version__ = "0.1.0"
