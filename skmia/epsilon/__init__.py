"""Lower bounds of epsilon from attacks, and audits of private training."""

from ._bounds import bayesian_epsilon_interval, epsilon_lower_bound, gaussian_epsilon
from ._canaries import Canaries, make_canaries
from ._epsilon_audit import EpsilonAudit
from ._gradient_canaries import GradientCanaries, make_gradient_canaries, trace_scores
from ._label_audit import LabelAudit
from ._one_run import one_run_epsilon_lower_bound
from ._one_run_audit import OneRunAudit, OneRunBounds, one_run_epsilon_bounds
from ._result import EpsilonBound

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
