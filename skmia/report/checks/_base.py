"""What a check is, and what comes out of one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

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
    def is_warning(self):
        """Whether a reader is warned."""
        return self.status == WARNING

    @property
    def is_error(self):
        """Whether the check itself failed, so that its question is open."""
        return self.status == ERROR


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
    def ask(self, case, run, findings):
        """Run the check."""
        # -> check: the outcome, as returned by answer; None if there is nothing to check

    def answer(self, status, text, finding=None):
        """Return the outcome under the name of this check."""
        return Check(self.name, status, text, finding)
