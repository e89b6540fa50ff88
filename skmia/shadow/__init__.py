"""Shadow models, and records to train them on where there are none."""

from ._layouts import Shadows as Shadows
from ._layouts import load_shadows, save_shadows
from ._plot import RecordSeparationDisplay, RecordSignalsDisplay, record_separation
from ._pool import ShadowPool, without  # the pool is public as skmia.ShadowPool
from ._synthesis import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords

__all__ = [
    "MarginalSynthesizer",
    "ModelBasedSynthesizer",
    "NoisyRecords",
    "RecordSeparationDisplay",
    "RecordSignalsDisplay",
    "load_shadows",
    "record_separation",
    "save_shadows",
]
