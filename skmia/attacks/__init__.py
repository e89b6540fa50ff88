"""Membership inference attacks.

Further modules contain

- :mod:`skmia.attacks.white_box`: attacks that need gradients or layers of the victim;
- :mod:`skmia.attacks.ranges`: ranges for :class:`RangeAttack`;
- :mod:`skmia.attacks.equal_rates`: scores with the same false positive rate for each record;
- :mod:`skmia.attacks.recovered`: attacks that solve all outputs of a service together;
- :mod:`skmia.attacks.diversity`: the formulas of :class:`DiversityAttack`.
"""

from .._core import name_by_room
from .._core.budget import Cost as Cost
from . import diversity, equal_rates, ranges, recovered, white_box
from ._analytic_lira import AnalyticLiRA
from ._attack_people import PeopleEvidence as PeopleEvidence
from ._attack_people import attack_people, shadow_nonmember_scores
from ._attribute import AttributeInferenceAttack
from ._calibrated import CalibratedAttack
from ._label_inference import LabelInferenceAttack
from ._lira import LiRA
from ._moments import MomentsAttack
from ._morgan import MorganAttack
from ._node_equations import NodeEquationsAttack
from ._one_query import OneQueryAttack
from ._quantile import QuantileAttack
from ._queried_threshold import QueriedThresholdAttack
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
from .diversity import DiversityAttack
from .ranges import RangeAttack

__all__ = [
    "RMIA",
    "AnalyticLiRA",
    "AttributeInferenceAttack",
    "CalibratedAttack",
    "DiversityAttack",
    "LabelInferenceAttack",
    "LiRA",
    "MomentsAttack",
    "MorganAttack",
    "NodeEquationsAttack",
    "OneQueryAttack",
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
    "VulnerableRecordsAttack",
    "attack_people",
    "shadow_nonmember_scores",
]

name_by_room(__name__)
