"""Check whether all records of a person are on one side."""

from ..._core.visible import visible
from ..text import join_names
from ._units import name_mixed
from .base import MOST_NAMES, PASSED, WARNING, BaseCheck


class PeopleCheck(BaseCheck):
    """Whether all records of a person are on one side; not asked without a field ``group_by``."""

    name = "people"

    def ask(self, case, run, findings):
        if case.people is None:
            return None
        mixed, n_people = name_mixed(case.membership, case.people)
        if not mixed:
            text = f"Each of {n_people:,} values of group_by is on one side with all its records."
            return self.answer(PASSED, text, mixed)
        names = join_names(map(visible, mixed), MOST_NAMES)
        text = (
            f"{len(mixed):,} of {n_people:,} values of group_by have records on both sides: "
            f"{names}. Shadow models keep such records together, so attacks on them are less "
            "reliable. Check membership and group_by."
        )
        return self.answer(WARNING, text, mixed)
