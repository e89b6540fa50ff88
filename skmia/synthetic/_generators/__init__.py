"""Generators that other packages or a few lines have, as estimators with fit and sample."""

from ._bootstrap import BootstrapGenerator
from ._sdv import SDVGenerator
from ._smote import SmoteGenerator

__all__ = ["BootstrapGenerator", "SDVGenerator", "SmoteGenerator"]
