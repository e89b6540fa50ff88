"""Leakage to the best possible attacker: closed forms, worst cases and bounds.

Bounds that are formulas of a few numbers are in :mod:`skmia.leakage.bounds`, distances between what
a model answers to members and to others in :mod:`skmia.leakage.gaps`.
"""

from .._core import name_by_room
from . import bounds, gaps
from ._gaussian import GaussianRegressionAttacker, leverage_total_variation, normal_total_variation
from ._generalization_gap import GeneralizationGapBound
from ._mahalanobis import MahalanobisLeakage
from ._mahalanobis import MisspecifiedTarget as MisspecifiedTarget
from ._mean_attacks import MeanLikelihoodRatioAttack, MeanScalarProductAttack
from ._mean_glir import MeanGLiRAttack, mean_log_likelihood_ratio
from ._mean_mechanisms import EmpiricalMean, NoisyMean, SubsampledMean
from ._refits import LeaveOneOutLeakage
from ._total_variation import bandwidth_sensitivity, total_variation
from ._worst_case import WorstCaseVulnerability
from .gaps import DistributionalGap as DistributionalGap

__all__ = [
    "EmpiricalMean",
    "GaussianRegressionAttacker",
    "GeneralizationGapBound",
    "LeaveOneOutLeakage",
    "MahalanobisLeakage",
    "MeanGLiRAttack",
    "MeanLikelihoodRatioAttack",
    "MeanScalarProductAttack",
    "NoisyMean",
    "SubsampledMean",
    "WorstCaseVulnerability",
    "bandwidth_sensitivity",
    "mean_log_likelihood_ratio",
    "total_variation",
]

name_by_room(__name__)
