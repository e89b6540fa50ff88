"""Models under attack that are no ordinary estimators."""

from ._callable import CallableVictim

__all__ = ["CallableVictim"]
