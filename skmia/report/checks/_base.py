"""What a check is, and what comes out of one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..._core.screens import NextStep as NextStep

if TYPE_CHECKING:
    from .._case import Case
    from .._examine import Findings
    from .._run import Run

# A stated fact informs the reader and cannot end in a warning. An error is a check that raised.
PASSED, WARNING, STATED, NOT_RUN, ERROR = "passed", "warning", "stated", "not run", "error"

# What a check is about, and with it what its warning means for the verdict, in the order in which a
# cause is looked for.
CHANCE = "chance"  # whether numbers are compared with chance
KNOWN = "known"  # whether the model knows the table: "stop" says that no number means anything
DIFFERENCE = "difference"  # whether members and non-members differ in nothing but the training
BLIND = "blind"  # whether a leak could have been found; a warning makes "unknown" of "none" alone
SIDES = "sides"  # whether the two sides are what they are called
RECIPE = "recipe"  # whether shadow models resemble the model
SMALL, PERSONS = "small", "persons"  # whether records alone tell of a group, or of people
UNLISTED = "unlisted"  # whether all training rows are named
BEYOND, BEYOND_OF_FILE = "beyond", "beyond of file"  # what is found beyond a difference
RATES = "rates"  # which rates the records can measure
NOTE = "note"  # what a reader should know

# How often the checks of a difference warn where there is none. A warning of any of them makes the
# verdict a shift, so their errors add up: to 4.5% at the usual level of an audit, as the blind
# baseline has the upper half of what this level leaves, and with the negative control, which has a
# fifth of it and runs on request, to 5.5%.
DIFFICULTY_ERROR, DRIFT_ERROR, FORMATS_ERROR = 0.01, 0.005, 0.005
CONTROL_PARTS = 5

# Which audits ask a check: all, most, or those of some kinds of data.
ALWAYS, MOSTLY, SOMETIMES = "always", "mostly", "sometimes"

# What becomes of a check of the answers where the file is judged.
KEPT, LEFT_OUT, DROPPED = "kept", "left out", "dropped"

WITHOUT_FEATURES = "The records are identifiers, without features that could be compared."

# The largest number of persons, groups or attacks that a check lists by name.
MOST_NAMES = 5


@dataclass(frozen=True)
class Check:
    """Outcome of one check of an audit.

    Attributes
    ----------
    name : str
        Name of the check.
    status : {"passed", "warning", "stated", "not run", "error"}
        Status of the check; "error" if the check itself failed.
    text : str
        The outcome in a sentence or two.
    finding : object
        What the check found, for the report and for checks that read it. The JSON document holds
        it only if it is a string, such as "below" or "above" for the check of shadow models.
    """

    name: str
    status: str
    text: str
    finding: Any = field(default=None, compare=False, repr=False)

    @property
    def is_warning(self) -> bool:
        """Whether a reader is warned."""
        return self.status == WARNING

    @property
    def is_error(self) -> bool:
        """Whether the check itself failed, so that its question is open."""
        return self.status == ERROR


def read_checks(rows):
    """Return the checks of a document by their names."""
    names = ("name", "status", "text", "finding")
    return {row["name"]: Check(*(row[name] for name in names)) for row in rows}


class BaseCheck(ABC):
    """A check of whether the numbers of an audit can be trusted.

    Attributes
    ----------
    name : str
        Name of the check in the report.
    reads : tuple of str
        Names of the checks whose findings this one reads; they run before it.
    part : str or None
        Name under which the run time of the check is reported; if None, its time is only part of
        the total.
    role : str
        What the check is about, which says what its warning means for the verdict; by default a
        note for the reader.
    passed, warned, stated : str or None
        What the check says in a statement if it passed, if it warns, and if it states a fact. If
        None, its name, and for a fact what it says if it passed.
    difference : str or None
        By what the two sides differ if the check warns, as a clause.
    meaning : str or None
        What its warning means, in the verdict in place of its text.
    remedy : str
        What to do about a difference that the text of the check describes in whole sentences.
    step : tuple or None
        What to do next, as an imperative with a reason.
    interval : tuple or None
        Field of the document with an AUC that is found without the attacks, and what it is of.
    record_seconds : float or None
        Seconds that it takes for one record, about, on one core of a laptop; None if they follow
        from the time of a fit, or are of no account.
    least_seconds : float
        Seconds that it takes however few the records are, in the same unit.
    cell_seconds, stored_seconds : float
        Seconds that it takes for one number of the table, beside those of the records, and for one
        that a sparse table stores; None of these if they are the same.
    record_numbers : int
        Numbers of each record that it holds at once, about.
    copies_table : bool
        Whether it holds a copy of the table.
    most_read, most_held : int or None
        Records of which it reads, or holds, no more at once, as it draws a sample by itself; None
        if there is no limit.
    takes_sample : bool
        Whether it is asked of a random sample where all records would hold or take more than a
        part of an audit may: of whole people and of all copies of a record.
    presence : {"always", "mostly", "sometimes"}
        Which audits ask it: all, most, or those of some kinds of data.
    of_file : {"kept", "left out", "dropped"}
        What becomes of the outcome where the file is judged.
    leads : bool
        Whether its text stands at the head of the summary.
    """

    name: str
    reads: tuple = ()
    part: str | None = None
    role = NOTE
    passed: str | None = None
    warned: str | None = None
    stated: str | None = None
    difference: str | None = None
    meaning: str | None = None
    remedy = ""
    step: NextStep | None = None
    interval: tuple | None = None
    record_seconds: float | None = None
    least_seconds = 0.01
    cell_seconds = 0.0
    stored_seconds: float | None = None
    record_numbers = 10
    copies_table = False
    most_read: int | None = None
    most_held: int | None = None
    takes_sample = False
    presence = MOSTLY
    of_file = KEPT
    leads = False

    @abstractmethod
    def ask(self, case: "Case", run: "Run", findings: "Findings") -> Check | None:
        """Run the check.

        Parameters
        ----------
        case : Case
            The records, their membership and the victim, and how success is measured.
        run : Run
            The attacks with their scores, and the shadow models.
        findings : Findings
            The measured numbers, and the outcomes of the checks so far.

        Returns
        -------
        check : Check or None
            The outcome, as :meth:`answer` makes it; None if there is nothing to check.
        """

    def state(self, check: Check) -> str:
        """Say an outcome of this check as a statement.

        Parameters
        ----------
        check : Check
            The outcome.

        Returns
        -------
        statement : str
            A sentence without its period.
        """
        name = self.name.capitalize()
        passed = name if self.passed is None else self.passed
        if check.status == ERROR:
            return f"{name}: the check failed"
        if check.status == WARNING:
            return (name if self.warned is None else self.warned) or passed
        return self.stated or passed if check.status == STATED else passed

    def hinders(self, check: Check) -> bool:
        """Return whether an outcome of this check keeps an audit from finding nothing.

        Parameters
        ----------
        check : Check
            The outcome.

        Returns
        -------
        hinders : bool
        """
        return check.is_warning

    def answer(
        self,
        status: Literal["passed", "warning", "stated", "not run", "error"],
        text: str,
        finding: Any = None,
    ) -> Check:
        """Make the outcome under the name of this check.

        Parameters
        ----------
        status : {"passed", "warning", "stated", "not run", "error"}
            Status of the check. A stated fact informs the reader and cannot end in a warning. An
            error leaves the question of the check open, so that no finding relies on it.
        text : str
            The outcome in a sentence or two.
        finding : object, default=None
            What the check found, for the report and for checks that read it.

        Returns
        -------
        check : Check
            The outcome.
        """
        return Check(self.name, status, text, finding)
