"""Check whether the file of a model was trained on more rows than the members."""

from typing import NamedTuple

import numpy as np

from ..._core.probabilities import posterior_of
from ..._core.text import count_nouns, inflect_word
from .._row_count import LOOKS_ALIKE, compare_training_rows
from ._base import PASSED, UNLISTED, WARNING, BaseCheck, NextStep

# Held-out rows that the file takes for training rows with at least this probability are counted,
# if they are more than this share, which a probability that is a little too high can give.
_SURE, _MANY = 0.99, 0.03


class UnlistedRows(NamedTuple):
    """Training rows by the file that are not among the members."""

    n_unlisted: int
    n_rows: int  # all training rows
    n_alike: int  # held-out rows that the file takes for training rows


class TrainingRowsCheck(BaseCheck):
    """Whether all rows that the file was trained on, by what it states, are named as members.

    Training rows among the others make every attack look weaker than it is: an attack that finds
    them is counted as wrong, first of all at low false positive rates. Not asked if no file states
    a number.
    """

    name = "training rows"
    part = "training rows"
    role = UNLISTED
    passed = "All training rows are listed"
    warned = "The model was trained on rows that are not listed as members"
    step = NextStep(
        "List all training rows as members.",
        "The file was trained on more rows. Those among the others make each attack look weaker.",
        "#trust",
        "Checks",
    )

    def ask(self, case, run, findings):
        count = compare_training_rows(case)
        if count is None:
            return None
        about = "about " if count.is_drawn else ""
        if not count.n_unlisted:
            text = (
                f"The file states {about}{count.n_rows:,} training rows, and {count.n_listed:,} "
                "are listed."
            )
            if count.n_rows < count.n_listed and not count.is_drawn:
                text += (
                    " Members that the model was not trained on, if there are any, make each "
                    "attack look weaker than it is."
                )
            return self.answer(PASSED, text)
        n_alike = _count_alike(case, run, count.n_rows)
        alike = ""
        if n_alike:
            n_others = int((~case.membership).sum())
            alike = f" {n_alike:,} of {n_others:,} held-out rows {LOOKS_ALIKE}."
        unless = "Unless rows were weighted or repeated, the" if count.may_repeat else "The"
        rows = f"{count_nouns(count.n_unlisted, 'row')} of the training set "
        text = (
            f"{unless} file was trained on {about}{count.n_rows:,} rows, and {count.n_listed:,} "
            f"are listed as members: {rows}{inflect_word(count.n_unlisted, 'is', 'are')} not in "
            f"this audit, or among the held-out rows.{alike} Held-out rows that the model was "
            "trained on make each attack look weaker than it is."
        )
        return self.answer(WARNING, text, UnlistedRows(count.n_unlisted, count.n_rows, n_alike))


def _count_alike(case, run, n_rows):
    """Return how many held-out rows the file takes for training rows; 0 if chance may give as many.

    If there are more training rows than records, some are not in the audit at all, and what the
    file stores of them is put down to held-out rows.
    """
    if run.file_scores is None or n_rows > len(case.membership):
        return 0
    sure = posterior_of(np.asarray(run.file_scores)[~case.membership], 0.5) >= _SURE
    return int(sure.sum()) if sure.sum() > max(_MANY * len(sure), 5) else 0
