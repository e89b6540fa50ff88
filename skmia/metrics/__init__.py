"""Metrics of membership inference attacks with confidence intervals, and distances of laws."""

from ._conformal import conformal_pvalues
from ._distances import fisher_rao_distance, normal_fisher_rao_distance, renyi_divergence
from ._member_list import MemberList, list_members
from ._membership import (
    best_advantage_score,
    fpr_at_tpr_score,
    membership_advantage_score,
    membership_roc_curve,
    precision_at_prior,
    tpr_at_fpr_score,
)
from ._operating_point import OperatingPoint, operating_point
from ._paired import PairedDifference, paired_difference
from ._people_scores import PeopleScores, score_people
from ._plot.critical_difference import CriticalDifferenceDisplay
from ._plot.membership_roc import MembershipRocDisplay
from ._plot.paired_difference import PairedDifferenceDisplay
from ._plot.privacy_utility import PrivacyUtilityDisplay
from ._plot.score_distribution import ScoreDistributionDisplay
from ._ranking import RankingTest
from ._rate_sequence import rate_sequence
from ._scorer import membership_advantage_scorer, tpr_at_fpr_scorer
from .auc import auc_interval
from .intervals import Interval, advantage_interval, clopper_pearson, difference_interval
from .resolution import resolvable_fpr

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
