"""Linear models that are solved together."""

from .way import LinearWay

__all__ = ["LinearWay"]
