"""Metrics of membership inference attacks with confidence intervals.

Distances of distributions are in :mod:`skmia.metrics.distances`.
"""

from .._core import name_by_room
from . import distances
from ._comparison import PairedDifference as PairedDifference
from ._comparison import RankingTest, paired_difference
from ._intervals import Interval as Interval
from ._intervals import (
    PeopleOfSide,
    advantage_interval,
    auc_interval,
    auc_variance,
    clopper_pearson,
    difference_interval,
    number_side_people,
    paired_share_interval,
    rate_sequence,
    share_interval,
    sizes_of_sides,
    split_people,
)
from ._member_list import MemberList as MemberList
from ._member_list import conformal_pvalues, list_members
from ._membership import (
    MIN_FALSE_POSITIVES,
    best_advantage_score,
    check_resolution,
    fpr_at_tpr_score,
    membership_advantage_score,
    membership_advantage_scorer,
    membership_roc_curve,
    point_at_fpr,
    precision_at_prior,
    resolvable_fpr,
    tpr_at_fpr_score,
    tpr_at_fpr_scorer,
)
from ._operating_point import OperatingPoint as OperatingPoint
from ._operating_point import operating_point, tpr_limits
from ._people_scores import PeopleScores as PeopleScores
from ._people_scores import score_people
from ._plot_comparison import (
    CriticalDifferenceDisplay,
    PairedDifferenceDisplay,
    PrivacyUtilityDisplay,
)
from ._plot_roc import MembershipRocDisplay
from ._plot_scores import ScoreDistributionDisplay
from ._ranks import center_ranks, compute_auc, count_points, find_highest, placements

__all__ = [
    "CriticalDifferenceDisplay",
    "MembershipRocDisplay",
    "PairedDifferenceDisplay",
    "PrivacyUtilityDisplay",
    "RankingTest",
    "ScoreDistributionDisplay",
    "advantage_interval",
    "auc_interval",
    "best_advantage_score",
    "clopper_pearson",
    "conformal_pvalues",
    "difference_interval",
    "list_members",
    "membership_advantage_score",
    "membership_advantage_scorer",
    "membership_roc_curve",
    "operating_point",
    "paired_difference",
    "precision_at_prior",
    "resolvable_fpr",
    "score_people",
    "tpr_at_fpr_score",
    "tpr_at_fpr_scorer",
]

name_by_room(__name__)
