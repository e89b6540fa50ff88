"""Linear models solved together."""

from .way import LinearWay

__all__ = ["LinearWay"]
