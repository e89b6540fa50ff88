"""Membership-inference attacks as scikit-learn estimators."""

from ._core.outputs import Outputs
from ._core.records import Records
from .shadow import ShadowPool

__version__ = "0.1.0"

__all__ = ["Outputs", "Records", "ShadowPool", "__version__"]
