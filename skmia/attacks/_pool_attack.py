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
from ._left_out import find_partners

# Numbers of the pool that are read at once: long rows are read faster, and rows that are not in
# order or are memory-mapped take memory.
_BLOCK = 1 << 20

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
        self.pool_.check_temperature(self.temperature)
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
        _, n_queries, n_models, _ = self.pool_.signals_.shape
        size = max(1, _BLOCK // (n_queries * n_models))
        return self.pool_.blocks(records, self.temperature, size)

    def _score_samples(self, records):
        target = self.pool_.victim_evidence(self.victim, records, self.temperature)
        scores = np.empty(len(records))
        for rows, shadows, inside, n_in in self._blocks(records):
            self._check_enough(n_in, len(inside) - n_in)
            scores[rows] = self._score(target[:, rows], shadows, inside, ~inside)
        return scores

    def _count_needed(self):
        """Fewest IN and fewest OUT models that a record must have."""
        return 0, 0

    def _check_enough(self, n_in, n_out):
        """Refuse records for which too few models are at hand."""
        for name, count, least in zip(
            ("IN", "OUT"), (n_in, n_out), self._count_needed(), strict=True
        ):
            short = np.flatnonzero(count < least)
            if len(short):
                offline = (
                    ", or use online=False" if name == "IN" and hasattr(self, "online") else ""
                )
                lack = f"no {name} shadow model"
                if least > 1:
                    lack = f"fewer than {least} {name} shadow models (first: {count[short[0]]})"
                raise ValueError(
                    f"{len(short)} records have {lack}, too few for {type(self).__name__} as it is "
                    f"set; fit the pool on them with more models{offline}."
                )

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
        """Scores of records that a shadow model in the victim's place was not trained on."""
        n_models = len(self.pool_.membership_)
        models = np.linspace(0, n_models - 1, min(n_models, _N_PSEUDO_VICTIMS)).astype(int)
        return np.concatenate(
            [scores[~inside] for _, scores, inside in self._score_pseudo_victims(records, models)]
        )

    def _score_pseudo_victims(self, records, models):
        """Shadow models in the victim's place, block by block: rows, scores and training sets.

        The model and its complement leave the pool meanwhile: with only the model gone, the number
        of remaining IN models would tell its members from the others.
        """
        n_models = len(self.pool_.membership_)
        if n_models < 4:
            raise ValueError(
                "Shadow models can take the victim's place in a pool of at least 4; it has "
                f"{n_models}."
            )
        partners = find_partners(models, n_models)
        for rows, shadows, inside, n_in in self._blocks(records):
            lost_in = inside[models].view(np.uint8) + inside[partners].view(np.uint8)
            self._check_enough(
                n_in - lost_in.max(axis=0), n_models - n_in - 2 + lost_in.min(axis=0)
            )
            yield rows, self._score_left_out(shadows, inside, models), inside[models]

    def _score_left_out(self, shadows, inside, models):
        """Scores of a block with each of some models in the victim's place, (n_chosen, n)."""
        scores = []
        for k, partner in zip(models, find_partners(models, len(inside)), strict=True):
            rest = np.ones((len(inside), 1), dtype=bool)
            rest[[k, partner]] = False
            scores.append(self._score(shadows[:, k], shadows, inside & rest, ~inside & rest))
        return np.array(scores)
