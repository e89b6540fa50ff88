"""Linear models that are solved together.

Logistic regressions are solved by preconditioned steps of limited-memory BFGS, all at once
(``logistic.py``), ridge regressions and least squares in closed form (``ridge.py``). Both modules
say which settings they do not support. ``design.py`` merges a scaler into the features and makes
models of solutions.
"""

from .backend import LinearWay

__all__ = ["LinearWay"]
