"""Synthetic training records for shadow models."""

from ._marginal import MarginalSynthesizer
from ._model_based import ModelBasedSynthesizer
from ._noisy import NoisyRecords

__all__ = ["MarginalSynthesizer", "ModelBasedSynthesizer", "NoisyRecords"]
