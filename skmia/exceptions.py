"""Warnings and errors of skmia."""

__all__ = ["ResolutionWarning"]


class ResolutionWarning(UserWarning):
    """The evaluation set is too small to resolve the rate that was asked for."""
