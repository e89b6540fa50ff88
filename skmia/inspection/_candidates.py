"""The file attacks on candidate records."""

import warnings

import numpy as np
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator

from .._core.records import Records
from .._core.validation import check_records
from ..attacks import (
    NodeEquationsAttack,
    SplitThresholdAttack,
    StationarityAttack,
    StoredValuesAttack,
)
from ..victims.offers import get_access
from ._result import CandidateSearch

# Candidates up to which equations are also checked for contradictions, which takes a second.
_MOST_PROPAGATED = 1000


def search_candidates(model, records):
    """What the file attacks find of candidate records.

    Raises
    ------
    ValueError
        If the model is a regressor and the records have no targets.
    """
    records = check_records(records, labels=False)
    if records.y is None and is_regressor(model):
        raise ValueError("A regressor stores targets, and the records have none: pass their y.")
    # Values of features are compared without labels.
    labeled = Records(records.X, np.zeros(len(records))) if records.y is None else records
    victim, notes = FrozenEstimator(model), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = StoredValuesAttack(victim).fit(labeled)
        equations = _solve(victim, records, notes)
        thresholds = _weigh(victim, labeled, notes)
        optimum = _balance(victim, records, notes)
    notes += dict.fromkeys(str(one.message) for one in caught)
    n_rows = int(stored.found_["whole_row"].sum())
    return CandidateSearch(
        n_candidates=len(records),
        n_rows=n_rows,
        n_values=len(stored.found_) - n_rows,
        places=stored.places_,
        equations=equations,
        thresholds=thresholds,
        optimum=optimum,
        notes=tuple(notes),
    )


def _solve(victim, records, notes):
    # The strength that is said beforehand comes from ridge regression, which takes seconds.
    solver = "auto" if len(records) <= _MOST_PROPAGATED else "ridge"
    attack = NodeEquationsAttack(victim, solver=solver, random_state=0)
    return _read_strength(
        attack, records, ("n_equations_", "n_rows_", "known_", "expected_auc_", "misfit_"), notes
    )


def _weigh(victim, records, notes):
    attack = SplitThresholdAttack(victim)
    return _read_strength(attack, records, ("n_thresholds_", "explained_", "expected_auc_"), notes)


def _balance(victim, records, notes):
    solver = "auto" if len(records) <= _MOST_PROPAGATED else "ridge"
    attack = StationarityAttack(victim, solver=solver, random_state=0)
    return _read_strength(attack, records, ("n_equations_", "known_", "expected_auc_"), notes)


def _read_strength(attack, records, names, notes):
    """What an attack on a file says of its strength, or None."""
    own, name = attack.needs().access - {"file", "queries"}, type(attack).__name__
    if not own <= get_access(attack.victim)[0]:
        return None
    if records.y is None:
        notes.append(f"{name} was not run: it needs the labels of the candidates.")
        return None
    try:
        attack.fit(records)
    except ValueError as error:
        notes.append(f"{name} was not run: {error}")
        return None
    return {one[:-1]: getattr(attack, one) for one in names}
