"""What the attacks on a pool of shadow models have in common."""

from abc import abstractmethod
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..base import BaseAttack
from ..shadow import ShadowPool
from ..utils._sklearn import Interval
from ..utils._validation import check_outputs_source
from ..victims._query import unwrap

# Records scored at once: the evidence of 256 models on them stays within the cache.
_BLOCK = 1024

# Shadow models that take the victim's place when a threshold is set at a false positive rate.
_N_PSEUDO_VICTIMS = 16


def find_pool(shadows, records):
    """The fitted pool behind the parameter ``shadows``; an unfitted one is fitted on the records.

    Raises
    ------
    TypeError
        When it is no ShadowPool.
    """
    pool = unwrap(shadows)
    if not isinstance(pool, ShadowPool):
        raise TypeError(
            "shadows must be a ShadowPool, fitted and frozen or unfitted; "
            f"got {type(pool).__name__}."
        )
    try:
        check_is_fitted(pool)
    except NotFittedError:
        pool = clone(pool).fit(records)
    return pool


class PoolAttack(BaseAttack):
    """Base of the attacks that compare the victim's evidence with that of shadow models.

    A subclass implements ``_score(target, shadows, inside, outside)`` for a block of records.
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "shadows": "no_validation",
        "target_fpr": [Interval(Real, 0, 1, closed="neither"), None],
    }

    # Temperature of the evidence, where an attack does not make it a parameter.
    temperature = 1.0

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self.pool_ = find_pool(self.shadows, records)
        self._fit_pool(records)

    def _fit_pool(self, records):
        """Learn what is common to all records from the shadow models."""

    @abstractmethod
    def _score(self, target, shadows, inside, outside):
        """Evidence of a block of records.

        Parameters
        ----------
        target : ndarray of shape (n_queries, n)
            Evidence of the model under attack.
        shadows : ndarray of shape (n_queries, n_estimators, n)
            Evidence of the shadow models.
        inside, outside : ndarray of shape (n_estimators, n), dtype bool
            Models that were, and that were not, trained on each record; a model in neither is left
            out of account.
        """

    def _blocks(self, records):
        """The pool's evidence and training sets on the records, a block at a time."""
        return self.pool_.blocks(records, self.temperature, _BLOCK)

    def _score_samples(self, records):
        target = self.pool_.victim_evidence(self.victim, records, self.temperature)
        scores = np.empty(len(records))
        for rows, shadows, inside in self._blocks(records):
            self._check_enough(inside, ~inside)
            scores[rows] = self._score(target[:, rows], shadows, inside, ~inside)
        return scores

    def _check_enough(self, inside, outside):
        """Refuse records for which too few models are at hand."""

    def _natural_offset(self, records):
        if self.target_fpr is None:
            return self._default_offset()
        scores = self._score_pseudo_nonmembers(records)
        offset = np.quantile(scores, 1 - self.target_fpr, method="higher")
        if np.mean(scores >= offset) <= self.target_fpr:
            return offset
        # Scores that tie with it would all be flagged, more than were asked for.
        above = scores[scores > offset]
        return above.min() if len(above) else np.nextafter(offset, np.inf)

    @abstractmethod
    def _default_offset(self):
        """Threshold without labels and without a wanted false positive rate."""

    def _score_pseudo_nonmembers(self, records):
        """Scores of records that a shadow model in the victim's place was not trained on.

        The model and its complement leave the pool meanwhile: with only the model gone, the number
        of remaining IN models would tell its members from the others.
        """
        n_models = len(self.pool_.membership_)
        if n_models < 4:
            raise ValueError(
                f"target_fpr needs a pool of at least 4 shadow models; it has {n_models}."
            )
        victims = np.linspace(0, n_models - 1, min(n_models, _N_PSEUDO_VICTIMS)).astype(int)
        scores = []
        for _, shadows, inside in self._blocks(records):
            for k in victims:
                rest = np.ones((n_models, 1), dtype=bool)
                rest[[k, min(k ^ 1, n_models - 1)]] = False
                self._check_enough(inside & rest, ~inside & rest)
                score = self._score(shadows[:, k], shadows, inside & rest, ~inside & rest)
                scores.append(score[~inside[k]])
        return np.concatenate(scores)
