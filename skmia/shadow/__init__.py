"""Shadow models, and generators of records to train them on."""

from .._core import name_by_room
from .._core.moments import SideMoments
from ._answers import UNLIKE_POOL as UNLIKE_POOL
from ._answers import LabelLaw, PoolAnswers, SignalReading
from ._fit_once import fit_once
from ._layouts import Shadows as Shadows
from ._layouts import load_shadows, save_shadows
from ._plot import RecordSeparationDisplay as RecordSeparationDisplay
from ._plot import RecordSignalsDisplay, record_separation
from ._pool import ShadowPool  # the pool is public as skmia.ShadowPool
from ._synthesis import MarginalSynthesizer, ModelBasedSynthesizer, NoisyRecords

__all__ = [
    "MarginalSynthesizer",
    "ModelBasedSynthesizer",
    "NoisyRecords",
    "RecordSignalsDisplay",
    "load_shadows",
    "record_separation",
    "save_shadows",
]

name_by_room(__name__)
