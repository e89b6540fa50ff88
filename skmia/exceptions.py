"""Warnings and errors of skmia."""

__all__ = ["CheckpointError", "ResolutionWarning"]


class CheckpointError(ValueError):
    """A checkpoint belongs to other work than the one at hand, or cannot be read."""


class ResolutionWarning(UserWarning):
    """The evaluation set is too small to resolve the rate that was asked for."""
