"""Shadow models, and records to train them on where there are none."""

from ._pool import ShadowPool as ShadowPool  # public as skmia.ShadowPool
from ._synthesis import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords

__all__ = ["MarginalSynthesizer", "ModelBasedSynthesizer", "NoisyRecords"]
