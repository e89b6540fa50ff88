"""What a question about model and table is, and what comes out of one."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from ..checks._model_and_table import STOP, WARN


class QuestionReply(NamedTuple):
    """What one question found."""

    question: str
    status: str  # STOP or WARN
    text: str  # what was found, in a sentence or two
    cure: str = ""  # what to do, in a sentence


class AgreementQuestion(ABC):
    """One way in which a model and a table can fail to belong together."""

    name: str
    needs_clones = False
    # Whether it is asked before clones are trained, of a model that is costly to train; if None,
    # where it needs no clones.
    is_early: bool | None = None
    # Whether it reads what the file remembers, which needs no figures to be believed.
    is_of_file = False
    # Whether noise in the answers can look like a finding, which then only warns.
    is_of_noise = False

    @abstractmethod
    def ask(self, met, references) -> QuestionReply | None:
        """Return what was found; None for nothing.

        ``met`` is AnsweredRows; ``references`` lists ClonedAnswers, of the model's recipe or two
        stand-ins, which both have to show a finding.
        """

    def stop(self, text, cure=""):
        return QuestionReply(self.name, STOP, text, cure)

    def warn(self, text, cure=""):
        return QuestionReply(self.name, WARN, text, cure)
