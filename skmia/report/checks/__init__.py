"""Checks of whether the numbers of an audit can be trusted: one small class for each.

``CHECKS`` lists them in the order of the report.
"""

from ..._core import name_by_room
from ._base import BaseCheck
from ._base import Check as Check
from ._baseline import BaselineCheck, DifficultyCheck
from ._beyond_shift import BeyondShiftCheck, BeyondShiftOfFileCheck
from ._control import NegativeControlCheck, PositiveControlCheck
from ._drift import DriftCheck
from ._duplicates import DuplicatesCheck
from ._formats import FormatsCheck
from ._model_and_table import ModelAndTableCheck
from ._permutation import PermutationCheck
from ._results import (
    PeopleCheck,
    PersonLevelCheck,
    ResolutionCheck,
    ShadowModelsCheck,
    SignCheck,
    SmallGroupsCheck,
)
from ._sides import SidesCheck
from ._training_rows import TrainingRowsCheck

__all__ = ["BaseCheck"]

CHECKS = (
    ModelAndTableCheck(),
    SidesCheck(),
    TrainingRowsCheck(),
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
    BeyondShiftCheck(),
    BeyondShiftOfFileCheck(),
)

name_by_room(__name__)
