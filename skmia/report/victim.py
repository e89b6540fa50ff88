"""The model under attack: given, or trained for the audit."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.containers import take_rows
from .._core.seeding import isolated_randomness, refuse_trained_module
from .._core.splits import compute_strata, draw_halves, number_units
from .._core.validation import check_membership, query
from .._training.frozen import thaw

_STORED = (
    "The predictions stored with the records (field 'outputs') were attacked. The estimator, which "
    "is not fitted, was only used to train shadow models."
)


def is_fitted(victim):
    """Whether a model is fitted; what has no ``fit`` is."""
    try:
        check_is_fitted(victim)
    except NotFittedError:
        return False
    except TypeError:  # no estimator: what it is said to be, check_victim says
        return True
    return True


def is_recipe(victim):
    """Whether a victim is not fitted, to be trained here or to stand for stored outputs.

    A frozen model is meant to be fitted; one that is not has been reset by ``clone``.
    """
    return not is_fitted(victim) and not isinstance(victim, FrozenEstimator)


def draw_members(records, strata, rng):
    """A random half of the records, in the way in which shadow models get theirs.

    Parameters
    ----------
    records : Records of n records
        Equal ones, and records of one ``group_by``, stay together.
    strata : ndarray of shape (n,), dtype int
        Half of each stratum is taken.
    rng : numpy Generator
        Source of randomness.

    Returns
    -------
    membership : ndarray of shape (n,), dtype bool

    Raises
    ------
    ValueError
        When all records belong together.
    """
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        raise ValueError(
            "All records belong together (equal, or one value of group_by); none can be left out."
        )
    return draw_halves(units, strata, len(records), rng)[0]


def train_victim(estimator, records, membership, seed):
    """A clone of an estimator, trained on the members; global generators stay as they are."""
    refuse_trained_module(estimator)
    rows = np.flatnonzero(membership)
    X = take_rows(records.X, rows)  # which may be written to, unlike the features of records
    model, _ = thaw(estimator)  # as shadow models are
    with isolated_randomness(np.random.SeedSequence(seed)), with_advice(model, X):
        return model.fit(X, records.y[rows])


def prepare_victim(victim, records, membership, seed):
    """The fitted victim and its members.

    Parameters
    ----------
    victim : estimator
        Fitted, or to be trained on the members.
    records : Records of n records
    membership : array-like of shape (n,) or None
        None draws a random half, for a victim that is yet to be trained.
    seed : int
        Of the half and of the training.

    Returns
    -------
    victim : estimator
        Fitted, or the given one where the records hold stored predictions.
    membership : ndarray of shape (n,), dtype bool
    notes : list of str
        What was done.

    Raises
    ------
    ValueError
        When the victim is fitted, or its predictions are stored, and its members are not given.
    """
    if not is_recipe(victim):
        if membership is None:
            raise ValueError(
                "membership is needed where the victim is fitted: it says which records the victim "
                "was trained on. An unfitted estimator is trained here, on a random half."
            )
        return victim, check_membership(membership, len(records)), []
    if "outputs" in records.fields:
        if membership is None:
            raise ValueError(
                "The records hold stored predictions (field 'outputs') and the victim is not "
                "fitted. Give the membership of the records in the training set of the model that "
                "made the predictions, or records without this field to train a victim here."
            )
        return victim, check_membership(membership, len(records)), [_STORED]
    if membership is None:
        strata = compute_strata(records.y, not is_regressor(victim))
        membership = draw_members(records, strata, np.random.default_rng(seed))
        notes = ["The victim was trained for this audit, on a random half of the records."]
    else:
        membership = check_membership(membership, len(records))
        notes = ["The victim was trained for this audit, on the members."]
    return train_victim(victim, records, membership, seed), membership, notes


def query_prepared(victim, records):
    """The records with the outputs of a victim, and notes on outputs that were stored before.

    Parameters
    ----------
    victim : estimator
        As :func:`prepare_victim` returns it. One that is not fitted stands for the model that made
        the stored predictions.
    records : Records of n records

    Returns
    -------
    queried : Records of n records
        With the field ``outputs``.
    notes : list of str
    """
    is_stored = is_recipe(victim)
    queried = records if is_stored else records.with_outputs(victim)
    outputs, stored = query(None, queried), records.fields.get("outputs")
    if outputs.kind != "value":
        outputs.label_index(records.y)  # a label that the victim does not know is found here
    if is_stored or stored is None or _are_equal(stored, outputs):
        return queried, []
    return queried, [
        "The victim was queried, and its predictions are not those stored with the records (field "
        "'outputs'), which were not read."
    ]


def _are_equal(stored, outputs):
    if getattr(stored, "kind", None) != outputs.kind or stored.shape != outputs.shape:
        return False
    if outputs.kind == "label":
        return np.array_equal(stored.values, outputs.values)
    return np.allclose(stored.values, outputs.values, rtol=1e-5, atol=1e-6)
