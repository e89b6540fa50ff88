"""The model under attack: given, or trained for the audit."""

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.containers import take_rows
from .._core.randomness import isolated_randomness, refuse_trained_module
from .._core.sample_weights import fit_weighted, weights_for
from .._core.splits import compute_strata, draw_halves, number_units
from .._core.validation import check_membership, query
from .._training.frozen import thaw

_STORED = (
    "The predictions stored with the records (field 'outputs') were attacked. The estimator, which "
    "is not fitted, was only used to train shadow models."
)
_STORED_ALONE = "The predictions stored with the records (field 'outputs') were attacked."


class StoredAnswers(BaseEstimator):
    """What is known of a victim by its stored answers alone; nothing like it is trained."""

    is_trainable = False

    def __init__(self, kind="proba"):
        self.kind = kind

    def __sklearn_is_fitted__(self):
        return False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.kind == "value":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def fit(self, X, y=None):
        """Refuse to be trained."""
        raise TypeError("Stored answers cannot be trained; give the recipe of the model.")

    def predict(self, X):
        """Refuse to answer."""
        raise TypeError("Stored answers cannot answer for other records.")


def is_fitted(victim):
    """Whether a model is fitted; an object without ``fit`` counts as fitted."""
    try:
        check_is_fitted(victim)
    except NotFittedError:
        return False
    except (TypeError, AttributeError):  # not an estimator; check_victim has a better message
        pass
    return True


def is_recipe(victim):
    """Whether a victim is an unfitted estimator, to be trained here or used for shadow models."""
    # A frozen model does not count: if it is not fitted, clone has reset it by mistake.
    return not is_fitted(victim) and not isinstance(victim, FrozenEstimator)


def draw_members(records, strata, rng):
    """Draw a random half of the records in the same way as for shadow models."""
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        raise ValueError(
            "All records belong together (they are equal, or have one value of group_by), so none "
            "can be left out of training."
        )
    return draw_halves(units, strata, len(records), rng)[0]


def train_victim(estimator, records, membership, seed):
    """Train a clone of an estimator on the members; global generators keep their state."""
    refuse_trained_module(estimator)
    rows = np.flatnonzero(membership)
    X = take_rows(records.X, rows)  # a copy that may be written to, unlike records.X
    model, _ = thaw(estimator)  # as for shadow models
    with isolated_randomness(np.random.SeedSequence(seed)), with_advice(model, X):
        weights = weights_for(model, records)
        return fit_weighted(model, X, records.y[rows], None if weights is None else weights[rows])


def prepare_victim(victim, records, membership, seed):
    """Return the fitted victim and its members."""
    if victim is None and "outputs" in records.fields:
        victim = StoredAnswers(query(None, records).kind)
    if not is_recipe(victim):
        if membership is None:
            raise ValueError(
                "membership is required if the victim is fitted: it says which records the victim "
                "was trained on. An unfitted estimator would be trained here, on a random half."
            )
        return victim, check_membership(membership, len(records)), []
    if "outputs" in records.fields:
        if membership is None:
            raise ValueError(
                "The records hold stored predictions (field 'outputs') and the victim is not "
                "fitted. Give the membership of the records in the training set of the model that "
                "made the predictions, or records without this field to train a victim here."
            )
        stored = _STORED_ALONE if isinstance(victim, StoredAnswers) else _STORED
        return victim, check_membership(membership, len(records)), [stored]
    if membership is None:
        strata = compute_strata(records.y, not is_regressor(victim))
        membership = draw_members(records, strata, np.random.default_rng(seed))
        notes = ["The victim was trained for this audit, on a random half of the records."]
    else:
        membership = check_membership(membership, len(records))
        notes = ["The victim was trained for this audit, on the members."]
    return train_victim(victim, records, membership, seed), membership, notes


def query_prepared(victim, records):
    """Add the outputs of a victim to the records, with notes on outputs that were stored before."""
    is_stored = is_recipe(victim)
    queried = records if is_stored else records.with_outputs(victim)
    outputs, stored = query(None, queried), records.fields.get("outputs")
    if outputs.classes is not None:
        outputs.label_index(records.y)  # a label that the victim does not know is found here
    if is_stored or stored is None or _are_equal(stored, outputs):
        return queried, []
    return queried, [
        "The victim was queried. Its predictions differ from those stored with the records (field "
        "'outputs'), which were not used."
    ]


def _are_equal(stored, outputs):
    if getattr(stored, "kind", None) != outputs.kind or stored.shape != outputs.shape:
        return False
    if outputs.kind == "label":
        return np.array_equal(stored.values, outputs.values)
    return np.allclose(stored.values, outputs.values, rtol=1e-5, atol=1e-6)
