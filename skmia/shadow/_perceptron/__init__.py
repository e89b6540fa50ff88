"""Shadow models that are scikit-learn's multi-layer perceptrons, trained together."""

from ._backend import PerceptronBackend

__all__ = ["PerceptronBackend"]
