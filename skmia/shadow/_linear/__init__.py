"""Linear models solved together."""

from ._way import LinearWay

__all__ = ["LinearWay"]
