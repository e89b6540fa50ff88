"""Helpers shared by all parts of skmia."""

__all__ = []
