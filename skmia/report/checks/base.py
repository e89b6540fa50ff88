"""What a check is, and what comes out of one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

# What is stated is a fact for the reader, and cannot fail.
PASSED, WARNING, STATED, NOT_RUN = "passed", "warning", "stated", "not run"

# Of persons, groups or attacks that a check names.
MOST_NAMES = 5


@dataclass(frozen=True)
class Check:
    """What came out of one check of an audit.

    Attributes
    ----------
    name : str
        Name of the check.
    status : {"passed", "warning", "stated", "not run"}
        What came out.
    text : str
        The same in a sentence or two.
    finding : object
        What the check found, for the report and for checks that read it. A document has it if it is
        a word: "below" or "above" of shadow models.
    """

    name: str
    status: str
    text: str
    finding: Any = field(default=None, compare=False, repr=False)

    @property
    def is_warning(self):
        """Whether a reader is warned."""
        return self.status == WARNING


class BaseCheck(ABC):
    """A check of whether the numbers of an audit can be trusted.

    Attributes
    ----------
    name : str
        Name of the check in the report.
    reads : tuple of str
        Names of the checks whose findings this one reads, which are asked before it.
    part : str or None
        Name under which the seconds that it takes are counted; None counts them in the total only.
    """

    name: str
    reads = ()
    part = None

    @abstractmethod
    def ask(self, case, run, findings):
        """Check one thing.

        Parameters
        ----------
        case : Case
            What was attacked, and how it is measured.
        run : Run
            What the attacks said.
        findings : Findings
            The numbers, and the checks that were asked before.

        Returns
        -------
        check : Check or None
            As :meth:`answer` makes it; None where there is nothing to check.
        """

    def answer(self, status, text, finding=None):
        """The outcome under the name of this check."""
        return Check(self.name, status, text, finding)
