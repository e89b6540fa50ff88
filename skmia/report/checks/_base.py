"""What a check is, and what comes out of one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .._case import Case
    from .._examine import Findings
    from .._run import Run

# A stated fact informs the reader and cannot end in a warning. An error is a check that raised.
PASSED, WARNING, STATED, NOT_RUN, ERROR = "passed", "warning", "stated", "not run", "error"

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
    """The checks of a document by their names."""
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
    """

    name: str
    reads = ()
    part = None

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
