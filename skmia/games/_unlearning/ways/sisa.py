"""Forgetting by shards: only the models that saw a forgotten record are trained again."""

import copy
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from ...._core.asking import query_aligned, query_victim
from ...._core.containers import as_rows, take_rows
from ...._core.outputs import Outputs
from ...._core.randomness import check_random_state
from ...._core.records import Records
from ...._core.sample_weights import fit_weighted, name_parameter
from ...._core.seeding import seed_estimator
from ...._core.sklearn import at_least
from ....exceptions import TrainingError
from ._base import Forgetting
from .retraining import train_again


def place_in_shards(records, n_shards):
    """Shard of each record, by its content, so that it does not depend on other records."""
    return (records.fingerprint % np.uint64(n_shards)).astype(int)


class ShardedModel(BaseEstimator):
    """Average of models that are each trained on one shard of the rows.

    Parameters
    ----------
    estimator : estimator
        Estimator of each shard.
    n_shards : int
        Number of shards.
    random_state : int, RandomState instance or None, default=None
        Controls the seeds of the models.
    """

    answers_queries = True

    def __init__(self, estimator, n_shards, random_state=None):
        self.estimator = estimator
        self.n_shards = n_shards
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Train a model on each shard that has rows.

        Parameters
        ----------
        X : array-like of n rows
            Features.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Weights, for estimators that take them.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = as_rows(X), np.asarray(y)
        shards = place_in_shards(Records(X, y), self.n_shards)
        states = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_shards)
        takes = sample_weight is not None and name_parameter(self.estimator) is not None
        self.models_ = {}
        for shard in np.unique(shards).tolist():
            rows = np.flatnonzero(shards == shard)
            model = clone(self.estimator)
            seed_estimator(model, np.random.SeedSequence(int(states[shard])))
            weights = np.asarray(sample_weight)[rows] if takes else None
            with _named(shard, y[rows]):
                self.models_[shard] = fit_weighted(model, take_rows(X, rows), y[rows], weights)
        self._set_classes()
        return self

    def _set_classes(self):
        known = [model.classes_ for model in self.models_.values() if hasattr(model, "classes_")]
        if known:
            self.classes_ = np.unique(np.concatenate(known))

    def replace(self, models):
        """Return a copy with other models of some shards; None removes a shard."""
        changed = copy.copy(self)
        changed.models_ = {
            shard: model for shard, model in (self.models_ | models).items() if model is not None
        }
        changed._set_classes()
        return changed

    def query(self, X):
        """Average of the outputs of all models: probabilities, decision values or numbers.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        outputs : Outputs of n answers
        """
        check_is_fitted(self, "models_")
        models = list(self.models_.values())
        if is_regressor(models[0]):
            values = [query_victim(model, X).values for model in models]
            return Outputs(np.mean(values, axis=0), kind="value")
        answers = [query_aligned(model, X, self.classes_) for model in models]
        if answers[0].kind == "logits":
            return Outputs(_average([np.exp(each.log_proba()) for each in answers]), self.classes_)
        values = _average([each.values for each in answers])
        return Outputs(values, self.classes_, answers[0].kind)

    def predict(self, X):
        """Predict the class with the largest average, or the average of numbers.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        predictions : ndarray of shape (n,)
        """
        outputs = self.query(X)
        if outputs.kind == "value":
            return outputs.values
        return outputs.classes[outputs.values.argmax(axis=1)]


@contextmanager
def _named(shard, y):
    """Name the shard that could not be trained, and say what helps."""
    try:
        yield
    except Exception as error:
        raise TrainingError(
            f"Shard {shard} could not be trained on its {len(y)} records with "
            f"{len(np.unique(y))} different labels; use fewer shards or more records: {error}"
        ) from error


def _average(values):
    return np.mean(np.asarray(values, dtype=np.float64), axis=0)


@dataclass(frozen=True)
class SISA(Forgetting):
    """Train one model per shard, and train again only the shards that held a forgotten record.

    It is ``unlearn="sisa"`` of :func:`~skmia.games.unlearning_game`. Records are assigned to shards
    by a hash of their content, and the answers of the models are averaged. Forgetting is exact,
    because a model has seen nothing but its shard. All shards are trained again if many records are
    forgotten.

    Parameters
    ----------
    n_shards : int, default=5
        Number of shards.

    References
    ----------
    Bourtoule, L., Chandrasekaran, V., Choquette-Choo, C. A., Jia, H., Travers, A., Zhang, B., Lie,
    D. and Papernot, N. (2021). Machine unlearning. IEEE S&P.
    """

    n_shards: int = 5

    _parameter_constraints = {"n_shards": [at_least(1)]}

    def prepare(self, estimator: BaseEstimator) -> BaseEstimator:
        return ShardedModel(estimator, self.n_shards)

    def _forget(self, model, records, keep, forget, rng):
        shards, models = place_in_shards(records, model.n_shards), {}
        for shard in np.unique(shards[forget]).tolist():
            rows = keep[shards[keep] == shard]
            models[shard] = None
            if len(rows):
                with _named(shard, records.y[rows]):
                    models[shard] = train_again(model.estimator, records, rows, rng)
        return model.replace(models)
