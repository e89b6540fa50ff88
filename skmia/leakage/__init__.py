"""Leakage to the best possible attacker: closed forms, worst cases and bounds."""

from ._bounds import (
    bayes_success,
    bounded_loss_success_bound,
    cramer_rate,
    dp_advantage_bound,
    generalization_gap_probability_bound,
    mutual_information_success_bound,
    required_mutual_information,
    subexponential_loss_success_bound,
    subgaussian_loss_success_bound,
)
from ._gaussian import GaussianRegressionAttacker, leverage_total_variation, normal_total_variation
from ._generalization_gap import GeneralizationGapBound
from ._leave_one_out import LeaveOneOutLeakage
from ._mahalanobis import MahalanobisLeakage, MisspecifiedTarget
from ._mean_attacks import MeanLikelihoodRatioAttack, MeanScalarProductAttack
from ._mean_glir import MeanGLiRAttack, mean_log_likelihood_ratio
from ._mean_mechanisms import EmpiricalMean, NoisyMean, SubsampledMean
from ._total_variation import bandwidth_sensitivity, total_variation
from ._worst_case import WorstCaseVulnerability

__all__ = [
    "EmpiricalMean",
    "GaussianRegressionAttacker",
    "GeneralizationGapBound",
    "LeaveOneOutLeakage",
    "MahalanobisLeakage",
    "MeanGLiRAttack",
    "MeanLikelihoodRatioAttack",
    "MeanScalarProductAttack",
    "MisspecifiedTarget",
    "NoisyMean",
    "SubsampledMean",
    "WorstCaseVulnerability",
    "bandwidth_sensitivity",
    "bayes_success",
    "bounded_loss_success_bound",
    "cramer_rate",
    "dp_advantage_bound",
    "generalization_gap_probability_bound",
    "leverage_total_variation",
    "mean_log_likelihood_ratio",
    "mutual_information_success_bound",
    "normal_total_variation",
    "required_mutual_information",
    "subexponential_loss_success_bound",
    "subgaussian_loss_success_bound",
    "total_variation",
]
