"""What a question about model and table is, and what comes out of one."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from .._evidence import STOP, WARN


class Reply(NamedTuple):
    """What one question found."""

    question: str
    status: str  # STOP or WARN
    text: str  # what was found, in a sentence or two
    cure: str = ""  # what to do, in a sentence


class Question(ABC):
    """One way in which a model and a table can fail to belong together."""

    name: str
    needs_clones = False
    # Whether noise in the answers can look like a finding, which then only warns.
    is_of_noise = False

    @abstractmethod
    def ask(self, met, references) -> Reply | None:
        """Return what was found; None for nothing.

        ``met`` is a MetRows; ``references`` lists Clones, one of the model's own recipe or two of
        stand-ins, which both have to show a finding.
        """

    def stop(self, text, cure=""):
        return Reply(self.name, STOP, text, cure)

    def warn(self, text, cure=""):
        return Reply(self.name, WARN, text, cure)
