"""Perceptrons of scikit-learn that are trained together."""

from .way import PerceptronWay

__all__ = ["PerceptronWay"]
