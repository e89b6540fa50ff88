"""Multi-layer perceptrons of scikit-learn trained together."""

from ._way import PerceptronWay

__all__ = ["PerceptronWay"]
