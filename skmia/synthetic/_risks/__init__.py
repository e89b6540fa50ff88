"""Singling out, linkability and inference: three risks of a synthetic table."""

from ._inference import InferenceRisk
from ._linkability import LinkabilityRisk
from ._rates import ExcessRisk, excess_risk
from ._singling_out import SinglingOutRisk

__all__ = [
    "ExcessRisk",
    "InferenceRisk",
    "LinkabilityRisk",
    "SinglingOutRisk",
    "excess_risk",
]
