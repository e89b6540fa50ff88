"""What is audited and how: the first of the four values of an audit."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.checks import check_confidence_level, check_rates
from .._core.numbers import check_number, show
from .._core.progress import enter_stage
from .._core.randomness import check_random_state
from .._core.records import Records, warn_of_rows
from .._core.validation import check_records
from ._evidence import count_permutations
from ._measure import list_subsets
from ._plan import Request, check_pool_settings, choose_attacks
from ._victim import prepare_victim, query_prepared


def describe_held_back(victim):
    """Say that a model holds back rows of its training set, and by which parameter."""
    model = unwrap(victim)
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        model = unwrap(model[-1] if isinstance(model, Pipeline) else model.best_estimator_)
    name = _find_split(model)
    if name is None:
        return []
    return [
        f"The model holds back a part of the rows given to fit, for validation ({name}). Members "
        "among them were not trained on, which makes the numbers lower."
    ]


def _find_split(model):
    split = getattr(model, "train_split", None)  # of a net of skorch
    # The helper predefined_split binds a validation set of other rows.
    if callable(split) and "valid_ds" not in getattr(split, "keywords", {}):
        return "train_split"
    if getattr(model, "validation_fraction", None) is None:
        return None
    if hasattr(model, "early_stopping"):
        # Histogram boosting decides by the number of rows.
        stops = getattr(model, "do_early_stopping_", model.early_stopping)
        return "early_stopping" if stops is True else None
    return None if getattr(model, "n_iter_no_change", None) is None else "n_iter_no_change"


# Smallest time budget in seconds; 0 is refused.
_LEAST = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Case:
    """A victim with its records, the attacks on it, and how their success is measured.

    Attributes
    ----------
    records : Records of n records
    queried : Records of n records
        The same records with the victim's outputs.
    membership : ndarray of shape (n,), dtype bool
    request : Request
        The victim, and the parameters of the shadow models.
    attacks : dict of str to attack
        Requested attacks, unfitted.
    level : float
        Confidence level.
    subsets : list of (scope, group, mask)
        Parts of the records that are measured separately.
    fprs : list of float
        False positive rates at which the true positive rate is measured.
    seeds : dict of str to int
        One seed for each source of randomness.
    group : str, list of str or None
        Fields that the user named as groups.
    file : bool
        Whether the user asked for the file of the victim to be attacked.
    time_budget : float or None
        Seconds after which no shadow models should be trained any more.
    controls : bool
        Whether the controls were requested.
    notes : list of str
        Sentences on what was done before the first attack.
    """

    records: Any
    queried: Any
    membership: np.ndarray
    request: Request
    attacks: dict
    level: float
    subsets: list = ()
    fprs: list = ()
    seeds: dict | None = None
    group: Any = None
    time_budget: float | None = None
    controls: bool = False
    file: bool = True
    notes: list = ()

    @property
    def victim(self) -> BaseEstimator:
        """The model itself, without a frozen wrapper."""
        return unwrap(self.request.victim)

    @property
    def people(self) -> np.ndarray | None:
        """The person of each record, or None."""
        return self.records.fields.get("group_by")


SIDES = "audit(model, train=(X_train, y_train), held_out=(X_test, y_test))"
_FORMS = f"write {SIDES}, or audit(model, records, membership)"


def choose_records(records, membership, train, held_out):
    """Return records and membership, from whichever form of the data was given."""
    sides = {"train": train, "held_out": held_out}
    missing = [name for name, side in sides.items() if side is None]
    if len(missing) == 2:
        if records is None:
            raise TypeError(f"audit needs the data that is audited: {_FORMS}.")
        if not isinstance(records, Records):
            raise TypeError(
                f"records must be skmia.Records; got {type(records).__name__}. Write {SIDES}, or "
                "wrap features and task labels as Records(X, y)."
            )
        return records, membership
    if records is not None or membership is not None:
        raise TypeError(f"The data were given twice, as records and as sides: {_FORMS}.")
    if missing:
        raise TypeError(
            f"{missing[0]} is missing: the records that the model was "
            f"{'trained' if missing[0] == 'train' else 'not trained'} on; {_FORMS}."
        )
    return Records.from_sides(train, held_out)


# Stages of an audit, in their order.
OPENING, AS_FILE, SHADOWS = "model and answers", "model as a file", "shadow models"
ATTACKS, CHECKS = "attacks", "checks"
# Shares of the time, medians of audits of 2,000 to 6,000 records: of ensembles, and of others.
_OF_ENSEMBLES = {OPENING: 0.01, AS_FILE: 0.27, SHADOWS: 0.34, ATTACKS: 0.10, CHECKS: 0.28}
_OF_OTHERS = {OPENING: 0.01, AS_FILE: 0.14, SHADOWS: 0.12, ATTACKS: 0.42, CHECKS: 0.31}


def list_shares(victim, file=True):
    """The stages of an audit with the share of the time that each usually has."""
    model = unwrap(victim)
    model = getattr(model, "steps", [(None, model)])[-1][1]
    is_ensemble = hasattr(model, "n_estimators") or "Boost" in type(model).__name__
    shares = _OF_ENSEMBLES if is_ensemble else _OF_OTHERS
    return {name: share for name, share in shares.items() if file or name != AS_FILE}


def open_case(
    victim,
    records,
    membership,
    clock,
    *,
    attacks,
    group,
    fprs,
    confidence_level,
    time_budget,
    controls,
    file,
    random_state,
    **pooling,
):
    """Check the user's parameters, prepare the victim and query it."""
    check_records(records)
    _check_pooling(time_budget=time_budget, **pooling)
    check_pool_settings("audit", controls=controls, file=file)
    fprs, level = check_rates(fprs, "fprs"), check_confidence_level(confidence_level)
    count_permutations(level)  # refused before anything is trained
    seeds = _draw_seeds(random_state)
    if isinstance(membership, pd.Series):
        warn_of_rows(records.X, {"membership": membership}, stacklevel=4)
    enter_stage(OPENING)
    with clock("victim"):
        victim, membership, notes = prepare_victim(victim, records, membership, seeds["victim"])
        queried, remarks = query_prepared(victim, records)
    subsets = list_subsets(records, group, classes=not is_regressor(unwrap(victim)))
    pooling |= {"shadow_seed": seeds["shadows"], "attack_seed": seeds["attacks"]}
    request = Request(victim, queried["outputs"], **pooling)
    chosen = choose_attacks(attacks, request)
    return Case(
        *(records, queried, membership, request, chosen, level),
        subsets=subsets,
        fprs=fprs,
        seeds=seeds,
        group=group,
        time_budget=time_budget,
        controls=controls,
        file=file,
        notes=[*notes, *remarks, *describe_held_back(victim)],
    )


def _check_pooling(*, shadows, checkpoint, time_budget, **settings):
    check_pool_settings("audit", **settings)
    if time_budget is not None:
        check_number(time_budget, "time_budget", "None or a positive number of seconds", _LEAST)
        if not isinstance(shadows, str):
            raise ValueError(
                'time_budget limits the number of shadow models that shadows="auto" trains; got '
                f"shadows={show(shadows)}."
            )
    if checkpoint is not None and not isinstance(shadows, Integral | str):
        raise ValueError(
            "checkpoint is the folder of shadow models that are trained here, but shadows is a "
            "pool, which has its own checkpoint."
        )


def _draw_seeds(random_state):
    """One integer for each source of randomness, reported with the result."""
    names = ("shadows", "attacks", "baseline", "victim", "checks")
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(names))
    given = int(random_state) if isinstance(random_state, Integral) else None
    return {"random_state": given, **dict(zip(names, drawn.tolist()))}
