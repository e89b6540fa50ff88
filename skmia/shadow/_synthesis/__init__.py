"""Training data for shadow models where there are none."""

from ._marginal import MarginalSynthesizer
from ._model_based import ModelBasedSynthesizer
from ._noisy import NoisyRecords

__all__ = ["MarginalSynthesizer", "ModelBasedSynthesizer", "NoisyRecords"]
