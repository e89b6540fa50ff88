"""How private something was at most: bounds of epsilon from attacks, and audits of trainings."""

from ._bayesian import bayesian_epsilon_interval
from ._canaries import (
    Canaries,
    clip_bkd_canaries,
    exposed_canaries,
    natural_canaries,
    random_label_canaries,
)
from ._clopper_pearson import epsilon_lower_bound
from ._epsilon_audit import EpsilonAudit
from ._gaussian import gaussian_epsilon, gaussian_epsilon_lower_bound
from ._gradient_canaries import dirac_canaries, select_gradient_canaries
from ._one_run import one_run_epsilon_lower_bound
from ._one_run_audit import OneRunAudit
from ._one_run_gaussian import one_run_gaussian_epsilon_lower_bound
from ._result import EpsilonBound
from ._trace_scores import trace_scores

__all__ = [
    "Canaries",
    "EpsilonAudit",
    "EpsilonBound",
    "OneRunAudit",
    "bayesian_epsilon_interval",
    "clip_bkd_canaries",
    "dirac_canaries",
    "epsilon_lower_bound",
    "exposed_canaries",
    "gaussian_epsilon",
    "gaussian_epsilon_lower_bound",
    "natural_canaries",
    "one_run_epsilon_lower_bound",
    "one_run_gaussian_epsilon_lower_bound",
    "random_label_canaries",
    "select_gradient_canaries",
    "trace_scores",
]
