"""Check whether the model that is audited knows the table that it is audited on."""

from .._evidence import CANNOT_TELL, FIRST, PASS, STOP, WARN
from ._base import NOT_RUN, PASSED, STATED, WARNING, BaseCheck

_STATUSES = {STOP: WARNING, WARN: WARNING, PASS: PASSED, CANNOT_TELL: STATED}


class ModelAndTableCheck(BaseCheck):
    """Whether model and table belong together, which is asked before any shadow model."""

    name = FIRST

    def ask(self, case, run, findings):
        found = case.agreement
        if found is None:
            return self.answer(NOT_RUN, "It was not asked whether the model knows the table.")
        if not found.asked:
            return self.answer(NOT_RUN, found.text)
        text = " ".join([found.text, *found.notes])
        return self.answer(_STATUSES[found.status], text, found.status)
