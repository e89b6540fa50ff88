"""Membership inference attacks."""

from ._analytic_lira import AnalyticLiRA
from ._attack_people import PeopleEvidence, attack_people, shadow_nonmember_scores
from ._attribute import AttributeInferenceAttack
from ._calibrated import CalibratedAttack
from ._diversity import DiversityAttack, diversity_coefficient, diversity_matrix
from ._label_inference import LabelInferenceAttack
from ._layer_distance import FisherRaoAttack, MahalanobisAttack
from ._learned import EnsembleAttack, GradientAttack, LayerOutputsAttack
from ._lira import LiRA
from ._moments import MomentsAttack
from ._morgan import MorganAttack
from ._node_equations import NodeEquationsAttack
from ._one_query import OneQueryAttack
from ._quantile import QuantileAttack
from ._queried_threshold import QueriedThresholdAttack
from ._range import GaussianRange, RangeAttack, UnknownValues
from ._released_model import ReleasedModelAttack
from ._renyi import RenyiAttack
from ._rmia import RMIA
from ._shadow import ShadowAttack
from ._split_threshold import SplitThresholdAttack
from ._stacked import StackedAttack
from ._stationarity import StationarityAttack
from ._stored_values import StoredValuesAttack
from ._threshold import ThresholdAttack
from ._transferred_query import TransferredQueryAttack
from ._vulnerable_records import VulnerableRecordsAttack
from ._white_box import WhiteBoxAttack

__all__ = [
    "RMIA",
    "AnalyticLiRA",
    "AttributeInferenceAttack",
    "CalibratedAttack",
    "DiversityAttack",
    "EnsembleAttack",
    "FisherRaoAttack",
    "GaussianRange",
    "GradientAttack",
    "LabelInferenceAttack",
    "LayerOutputsAttack",
    "LiRA",
    "MahalanobisAttack",
    "MomentsAttack",
    "MorganAttack",
    "NodeEquationsAttack",
    "OneQueryAttack",
    "PeopleEvidence",
    "QuantileAttack",
    "QueriedThresholdAttack",
    "RangeAttack",
    "ReleasedModelAttack",
    "RenyiAttack",
    "ShadowAttack",
    "SplitThresholdAttack",
    "StackedAttack",
    "StationarityAttack",
    "StoredValuesAttack",
    "ThresholdAttack",
    "TransferredQueryAttack",
    "UnknownValues",
    "VulnerableRecordsAttack",
    "WhiteBoxAttack",
    "attack_people",
    "diversity_coefficient",
    "diversity_matrix",
    "shadow_nonmember_scores",
]
