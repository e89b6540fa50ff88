"""Checks of whether the numbers of an audit can be trusted: one small class for each.

``CHECKS`` lists them in the order of the report. What a check means, its words and its remedy are
attributes of its class; the report finds them by the role of the check.
"""

from ..._core import name_by_room
from ._base import NOTE, BaseCheck
from ._base import Check as Check
from ._baseline import BaselineCheck, DifficultyCheck
from ._beyond_shift import BeyondShiftCheck, BeyondShiftOfFileCheck
from ._control import NegativeControlCheck, PositiveControlCheck
from ._drift import DriftCheck
from ._duplicates import DuplicatesCheck
from ._formats import FormatsCheck
from ._model_and_table import ModelAndTableCheck
from ._permutation import PermutationCheck
from ._record_rates import RecordRatesCheck
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
    RecordRatesCheck(),
    BeyondShiftCheck(),
    BeyondShiftOfFileCheck(),
)
_BY_NAME = {check.name: check for check in CHECKS}


class OtherCheck(BaseCheck):
    """A check that this version does not have, of a document."""

    role = NOTE

    def __init__(self, name):
        self.name = name

    def ask(self, case, run, findings):
        return None


def get_check(name):
    """Return the check of this name."""
    return _BY_NAME.get(name) or OtherCheck(name)


def list_checks(*roles):
    """Return the checks of these roles, those of the first role first."""
    return [check for role in roles for check in _BY_NAME.values() if check.role == role]


def find_outcome(checks, *roles):
    """Return the first of the outcomes by name that is of a check of these roles, or None."""
    names = (check.name for check in list_checks(*roles))
    return next((checks[name] for name in names if name in checks), None)


name_by_room(__name__)
