"""Lower bounds of epsilon from attacks, and audits of private training.

Bounds from guesses that are at hand are in :mod:`skmia.epsilon.bounds`, canaries in
:mod:`skmia.epsilon.canaries`.
"""

from .._core import name_by_room
from . import bounds, canaries
from ._epsilon_audit import EpsilonAudit
from ._label_audit import LabelAudit
from ._one_run import one_run_epsilon_lower_bound
from ._one_run_audit import OneRunAudit, one_run_epsilon_bounds
from ._one_run_audit import OneRunBounds as OneRunBounds
from ._result import EpsilonBound as EpsilonBound
from .canaries import Canaries as Canaries
from .canaries import GradientCanaries as GradientCanaries

__all__ = [
    "EpsilonAudit",
    "LabelAudit",
    "OneRunAudit",
    "one_run_epsilon_bounds",
    "one_run_epsilon_lower_bound",
]

name_by_room(__name__)
