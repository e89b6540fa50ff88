"""Checks of whether the numbers of an audit can be trusted: one small class for each.

``CHECKS`` lists them in the order of the report.
"""

from ._baseline import BaselineCheck
from ._difficulty import DifficultyCheck
from ._drift import DriftCheck
from ._duplicates import DuplicatesCheck
from ._formats import FormatsCheck
from ._labels import LabelsCheck
from ._negative_control import NegativeControlCheck
from ._people import PeopleCheck
from ._permutation import PermutationCheck
from ._person_level import PersonLevelCheck
from ._positive_control import PositiveControlCheck
from ._resolution import ResolutionCheck
from ._shadow_models import ShadowModelsCheck
from ._sign import SignCheck
from ._small_groups import SmallGroupsCheck

CHECKS = (
    LabelsCheck(),
    BaselineCheck(),
    DifficultyCheck(),
    DriftCheck(),
    FormatsCheck(),
    PeopleCheck(),
    DuplicatesCheck(),
    ResolutionCheck(),
    PermutationCheck(),
    PersonLevelCheck(),
    SignCheck(),
    ShadowModelsCheck(),
    PositiveControlCheck(),
    NegativeControlCheck(),
    SmallGroupsCheck(),
)
