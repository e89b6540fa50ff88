"""Multi-layer perceptrons of scikit-learn trained together."""

from .way import PerceptronWay

__all__ = ["PerceptronWay"]
