"""Linear models that are solved together."""

from .backend import LinearWay

__all__ = ["LinearWay"]
