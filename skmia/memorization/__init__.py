"""Sequence models: memorization of random sequences, and language models as victims.

Signals of texts, such as Min-K%, are in :mod:`skmia.signals.sequences`.
"""

from .._core import name_by_room
from .._core.tokens import TokenOutputs
from .._core.types import TokenModel
from ._exposure import Exposure, skew_normal_exposure
from ._extraction import ExtractionResult as ExtractionResult
from ._extraction import shortest_path_extraction
from ._format import CanaryFormat, insert_canaries
from ._model import NGramModel, log_perplexity
from ._model import SequenceModel as SequenceModel
from ._texts import token_records
from ._torch import TorchSequenceModel, TransformersModel
from ._victims import FunctionSequenceVictim, SequenceVictim

__all__ = [
    "CanaryFormat",
    "Exposure",
    "FunctionSequenceVictim",
    "NGramModel",
    "SequenceVictim",
    "TokenOutputs",
    "TorchSequenceModel",
    "TransformersModel",
    "insert_canaries",
    "log_perplexity",
    "shortest_path_extraction",
    "skew_normal_exposure",
    "token_records",
]

name_by_room(__name__)
