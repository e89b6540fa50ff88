"""Perceptrons of scikit-learn that are trained together."""

from .backend import PerceptronWay

__all__ = ["PerceptronWay"]
