"""Lower bounds of epsilon from attacks, and audits of private training."""

from ._bayesian import bayesian_epsilon_interval
from ._canaries import Canaries, make_canaries
from ._clopper_pearson import epsilon_lower_bound
from ._epsilon_audit import EpsilonAudit
from ._gaussian import gaussian_epsilon
from ._gradient_canaries import GradientCanaries, make_gradient_canaries
from ._label_audit import LabelAudit
from ._one_run import one_run_epsilon_lower_bound
from ._one_run_audit import OneRunAudit
from ._one_run_bounds import OneRunBounds, one_run_epsilon_bounds
from ._result import EpsilonBound
from ._trace_scores import trace_scores

__all__ = [
    "Canaries",
    "EpsilonAudit",
    "EpsilonBound",
    "GradientCanaries",
    "LabelAudit",
    "OneRunAudit",
    "OneRunBounds",
    "bayesian_epsilon_interval",
    "epsilon_lower_bound",
    "gaussian_epsilon",
    "make_canaries",
    "make_gradient_canaries",
    "one_run_epsilon_bounds",
    "one_run_epsilon_lower_bound",
    "trace_scores",
]
