"""Shadow models that are linear, solved together."""

from ._backend import LinearBackend

__all__ = ["LinearBackend"]
