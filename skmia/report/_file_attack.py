"""The attack on the file of a victim, with what the file says of its training rows."""

import warnings

import numpy as np
from sklearn.base import clone

from .._core.callers import level_of_user
from .._core.query import unwrap
from ..attacks import ReleasedModelAttack
from ._budget import make_budget

# A smaller share may be rounding, or a row that a model counts in another way.
_FEWEST_OUTSIDERS = 0.005


def fit_file_attack(case):
    """Return fitted attack, its scores, and how many training rows are not among the records."""
    victim, n_members = unwrap(case.request.victim), case.n_listed
    candidates = case.candidates
    attack = ReleasedModelAttack(
        victim,
        outsiders=0.0,
        prior=float(np.clip(n_members / len(candidates), 0.01, 0.99)),
        max_bytes=case.max_bytes,
        max_seconds=make_budget(case).max_seconds,
        random_state=case.seeds["attacks"],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(attack).fit(candidates)
    n_rows = case.inspection.n_rows if fitted.n_rows_ is None else fitted.n_rows_
    outsiders = None if not n_rows else max(0.0, 1 - n_members / n_rows)
    if n_rows and outsiders > _FEWEST_OUTSIDERS:
        fitted, caught = attack.set_params(outsiders=outsiders).fit(candidates), []
    for one in caught:  # of equations that contradict each other although no row is missing
        warnings.warn(one.message, one.category, stacklevel=level_of_user())
    scores = fitted.score_samples(candidates)[: len(case.records)]
    return fitted, scores, {"n_rows": n_rows, "outsiders": outsiders}


def score_as_file(case):
    """Return the scores of the attack on the file of the victim of a case."""
    return fit_file_attack(case)[1]
