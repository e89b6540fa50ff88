"""Perceptrons of scikit-learn that are trained together.

``backend.py`` says which are supported and draws their initial weights as scikit-learn does;
``train.py`` has the steps and the end of the training.
"""

from .backend import PerceptronWay

__all__ = ["PerceptronWay"]
