"""Shadow models."""

from ._pool import ShadowPool

__all__ = ["ShadowPool"]
