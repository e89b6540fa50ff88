"""Shared foundations: records, outputs, checks and arithmetic, used by all packages."""
