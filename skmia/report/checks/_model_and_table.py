"""Check whether the model that is audited knows the table that it is audited on."""

from ._base import ALWAYS, KNOWN, NOT_RUN, PASSED, STATED, WARNING, BaseCheck, NextStep

# What an agreement of model and table is: by the first of them nothing is concluded.
STOP, WARN, PASS, CANNOT_TELL = "stop", "warn", "pass", "cannot tell"

# What is found in place of a status to be warned of, if answers differ and nothing else was found.
NOISE = "noise"
AVERAGE = NextStep(
    "Audit the mean of repeated answers.",
    "An attacker takes it too: `CallableVictim(..., n_repeats=...)`, or a file of the means as "
    "`--answers`. Or audit the model without its noise.",
    "#trust",
    "Checks",
)

_STATUSES = {STOP: WARNING, WARN: WARNING, PASS: PASSED, CANNOT_TELL: STATED}


class ModelAndTableCheck(BaseCheck):
    """Whether model and table belong together, which is asked before any shadow model."""

    name = "model and table"
    copies_table = True
    role = KNOWN
    presence = ALWAYS
    passed = "Model and table agree"
    warned = "Model and table may not agree"
    stated = "Too little to tell whether model and table agree"
    step = NextStep(
        "Give model and table as they were in training.",
        "Columns in their order, units and types; answers and labels of these rows.",
    )

    def state(self, check):
        if check.finding == STOP and check.is_warning:
            return "Model and table do not agree"
        if check.finding == NOISE and check.is_warning:
            return "The model answers equal queries differently"
        return super().state(check)

    def ask(self, case, run, findings):
        found = case.agreement
        if found is None:
            return self.answer(NOT_RUN, "Model and table were not compared.")
        if not found.asked:
            return self.answer(NOT_RUN, found.text)
        text = " ".join([found.text, *found.notes])
        is_noise = found.status == WARN and found.cause == "repeats"
        return self.answer(_STATUSES[found.status], text, NOISE if is_noise else found.status)
