"""Memorization of random sequences by sequence models (the secret sharer)."""

from ._exposure import Exposure
from ._extraction import ExtractionResult, shortest_path_extraction
from ._format import CanaryFormat
from ._insert import insert_canaries
from ._model import SequenceModel, log_perplexity
from ._ngram import NGramModel
from ._torch import TorchSequenceModel

__all__ = [
    "CanaryFormat",
    "Exposure",
    "ExtractionResult",
    "NGramModel",
    "SequenceModel",
    "TorchSequenceModel",
    "insert_canaries",
    "log_perplexity",
    "shortest_path_extraction",
]
