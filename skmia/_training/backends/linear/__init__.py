"""Linear models that are solved together.

``design.py`` merges a scaler into the features and makes models of solutions; ``logistic.py`` and
``ridge.py`` solve, and say which settings they do not support.
"""

from .backend import LinearWay

__all__ = ["LinearWay"]
