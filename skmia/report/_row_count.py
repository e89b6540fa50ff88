"""The number of training rows by the file of a model, beside the number of members."""

import warnings
from typing import NamedTuple

import numpy as np

from .._core.copies import copy_parameters
from .._core.query import unwrap
from ..inspection import inspect_model
from ..victims import has_file, is_trainable
from ._case import describe_held_back, is_recipe, train_victim

# What provenance says of training rows that are not among the records of an audit.
ELSEWHERE = "training rows outside the audit"

# A smaller share of the members may be a row that a model counts in another way.
_FEWEST = 0.005
# Numbers that are drawn, as of rows in a bootstrap sample, vary by this share and by so many
# standard deviations of a number of rows.
_DRAWN, _N_DEVIATIONS = 0.02, 4.0


# How a check says that held-out rows are taken for training rows, which no statement outweighs.
LOOKS_ALIKE = "look to the file like training rows"


class RowCount(NamedTuple):
    """How many training rows a file states, beside those of a model that was trained on members."""

    stated: int
    n_members: int
    expected: int  # what a model that was trained on the members alone states
    is_drawn: bool  # whether the model states a number that is not the one of its rows
    n_listed: int  # members, and those that were given to fit and are left out of the audit
    may_repeat: bool = False  # whether it is a sum, in which rows can count twice

    @property
    def n_rows(self):
        """About how many rows the model was trained on."""
        return round(self.stated * self.n_members / self.expected)

    @property
    def n_unlisted(self):
        """Training rows beyond the members; 0 if the difference can be how they are counted."""
        excess = self.n_rows - self.n_listed
        least = _FEWEST * self.n_members
        if self.is_drawn:
            least = _DRAWN * self.n_members + _N_DEVIATIONS * np.sqrt(self.n_members)
        return excess if excess > least else 0


def compare_training_rows(case):
    """Compare the number of training rows in the file of the victim with that of the members.

    Early stopping sets rows apart, samples hold some of them and weights count others twice: a
    model of the same recipe that is trained on the members counts as the victim does.

    Return count: None if there is no file, or it states no number.
    """
    victim = case.victim
    if is_recipe(case.request.victim) or not has_file(victim):
        return None
    stated, n_members = case.inspection.n_rows, int(case.membership.sum())
    if stated is None:
        return None
    n_listed = case.n_listed
    if stated == n_listed and not describe_held_back(victim):
        return RowCount(stated, n_members, n_members, False, n_listed)
    expected = _count_of_clone(case, n_members)
    is_drawn, may_repeat = expected not in (None, n_members), case.inspection.n_rows_may_repeat
    return RowCount(stated, n_members, expected or n_members, is_drawn, n_listed, may_repeat)


def _count_of_clone(case, n_members):
    """Return what a model of the same recipe states that was trained on the members, or None."""
    if not is_trainable(case.victim) or not hasattr(case.victim, "get_params"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = take_recipe(case.victim)
            settings = case.seeds["checks"], case.request.fit_params
            return inspect_model(
                train_victim(model, case.records, case.membership, *settings)
            ).n_rows
    except Exception:  # of whatever kind: without a clone the number is compared as it is
        return None


def take_recipe(victim):
    """Return the unfitted estimator by which a victim was trained.

    Of a search, the one it has chosen.
    """
    model = unwrap(victim)
    while hasattr(model, "best_estimator_"):
        model = unwrap(model.best_estimator_)
    return copy_parameters(model)
