"""Metrics of membership inference attacks with confidence intervals, and distances of laws."""

from ._comparison import PairedDifference, RankingTest, paired_difference
from ._intervals import (
    Interval,
    People,
    advantage_interval,
    auc_interval,
    check_people,
    clopper_pearson,
    difference_interval,
    effective_sizes,
    mean_interval,
    mean_variance,
    placements,
    rate_sequence,
    share_interval,
    split_people,
)
from ._member_list import MemberList, conformal_pvalues, list_members
from ._membership import (
    MIN_FALSE_POSITIVES,
    best_advantage_score,
    check_resolution,
    fpr_at_tpr_score,
    membership_advantage_score,
    membership_advantage_scorer,
    membership_roc_curve,
    precision_at_prior,
    resolvable_fpr,
    tpr_at_fpr_score,
    tpr_at_fpr_scorer,
)
from ._operating_point import OperatingPoint, count_points, operating_point, tpr_limits
from ._people_scores import PeopleScores, score_people
from ._plot_comparison import (
    CriticalDifferenceDisplay,
    PairedDifferenceDisplay,
    PrivacyUtilityDisplay,
)
from ._plot_roc import MembershipRocDisplay, draw_background, label_axes
from ._plot_scores import ScoreDistributionDisplay
from .distances import fisher_rao_distance, normal_fisher_rao_distance, renyi_divergence

__all__ = [
    "CriticalDifferenceDisplay",
    "Interval",
    "MemberList",
    "MembershipRocDisplay",
    "OperatingPoint",
    "PairedDifference",
    "PairedDifferenceDisplay",
    "PeopleScores",
    "PrivacyUtilityDisplay",
    "RankingTest",
    "ScoreDistributionDisplay",
    "advantage_interval",
    "auc_interval",
    "best_advantage_score",
    "clopper_pearson",
    "conformal_pvalues",
    "difference_interval",
    "fisher_rao_distance",
    "fpr_at_tpr_score",
    "list_members",
    "membership_advantage_score",
    "membership_advantage_scorer",
    "membership_roc_curve",
    "normal_fisher_rao_distance",
    "operating_point",
    "paired_difference",
    "precision_at_prior",
    "rate_sequence",
    "renyi_divergence",
    "resolvable_fpr",
    "score_people",
    "tpr_at_fpr_score",
    "tpr_at_fpr_scorer",
]
