"""Scores with the same false positive rate for each record."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._core.hashing import draw_by_content
from .._core.needs import BOTH
from .._core.pseudo_victims import FEWEST_FOR_RATE, choose_evenly
from .._core.records import Records, get_origin
from .._core.sklearn import Interval
from .._core.types import Frozen
from ..base import (
    BaseAttack,
    TooFewModelsError,
    best_threshold,
    connect,
    is_open,
    open_pool,
    rate_threshold,
    treats_models_as_victims,
)
from ..shadow import ShadowPool
from ._rmia import RMIA

__all__ = ["EqualRateAttack"]

# Models that are treated as the victim, and the fewest of them that say how a score varies.
_MOST_MODELS = 64
_FEWEST_OUT = 3

# Number of records that variances and thresholds are learned from.
_MOST_RECORDS = 50_000

# Bins of records of similar centers, whose mean variance counts for as many observations.
_N_BINS, _PRIOR_COUNT = 12, 4

# Of the largest score: a difference that is rounding, and the least standard deviation. Scores of
# records on which all models agree would else be what rounding leaves, over next to nothing.
_ROUNDING, _LEAST_SCALE = 1e-13, 1e-9


class _ScoresOutside:
    """Number, mean and squared deviations of scores, per record, among models without it."""

    def __init__(self, scores, is_out):
        """Take scores and where they count, both of shape (n_models, n)."""
        known = np.where(is_out, scores, 0.0)
        self.count = is_out.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.mean = np.where(self.count > 0, known.sum(axis=0) / self.count, 0.0)
        self.squares = np.where(is_out, (scores - self.mean) ** 2, 0.0).sum(axis=0)

    def leave_out(self, scores, is_out):
        """Return count, mean and squares, (n_models, n), without the score of each model."""
        count = self.count - is_out
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.where(is_out, (scores - self.mean) / np.maximum(count, 1), 0.0)
        mean = self.mean - step
        squares = self.squares - np.where(is_out, (scores - self.mean) * (scores - mean), 0.0)
        return count, mean, np.maximum(squares, 0.0)


class _VarianceTrend:
    """Mean variance of the scores of records with a similar center."""

    def __init__(self, outside):
        usable = outside.count >= 2
        mean = outside.mean[usable]
        variance = outside.squares[usable] / (outside.count[usable] - 1)
        bins = np.array_split(np.argsort(mean, kind="stable"), min(_N_BINS, max(1, len(mean))))
        self.largest = np.abs(outside.mean).max(initial=0.0)
        self.centers = np.array([mean[rows].mean() for rows in bins if len(rows)])
        self.variances = np.array([variance[rows].mean() for rows in bins if len(rows)])

    def standardize(self, scores, count, mean, squares):
        """Return how many predictive standard deviations scores are above their center."""
        usual = np.interp(mean, self.centers, self.variances)
        n_seen = np.maximum(count - 1, 0)
        variance = (_PRIOR_COUNT * usual + squares) / (_PRIOR_COUNT + n_seen)
        scale = np.sqrt(variance * (1 + 1 / np.maximum(count, 1)))
        least = max(_LEAST_SCALE * self.largest, np.finfo(float).tiny)
        above = scores - mean
        above = np.where(np.abs(above) > _ROUNDING * self.largest, above, 0.0)
        return above / np.maximum(scale, least)


class EqualRateAttack(BaseAttack):
    r"""Compare the score of each record with its own scores under models without it.

    The false positive rate of a threshold is an average over all non-members. Some of them exceed
    the threshold under many models and most of them never, so the average is not the rate at which
    one person is mistaken for a member. This attack scales the scores of each record, so that one
    threshold flags every non-member at about the same rate.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, that of ``attack``.
    attack : attack, default=None
        Unfitted attack that compares the victim with shadow models, and does not learn from known
        members. If None, :class:`~skmia.attacks.RMIA`.
    shadows : ShadowPool or int, default=None
        A fitted pool of at least 8 models, or a number of clones of the victim to train. If None,
        those of ``attack``.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim.

    Attributes
    ----------
    attack_ : attack
        The fitted attack. If it has a parameter ``target_fpr``, its threshold has this rate on
        average over all records.
    offset_ : float
        Threshold of the score, in standard deviations.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the attack does not compare the victim with shadow models, or learns from known members;
        if the pool has fewer than 8 models.

    See Also
    --------
    skmia.attacks.LiRA : With ``target_fpr``, one threshold for all records.

    Notes
    -----
    With the scores :math:`s_1, \ldots, s_c` of a record under the shadow models that were not
    trained on it, each treated as the victim, the score is

    .. math:: \frac{s - \bar s}{\sqrt{v \, (1 + 1 / c)}}, \qquad
        v = \frac{4 v_0 + \sum_k (s_k - \bar s)^2}{4 + c - 1},

    where :math:`v_0` is the mean variance of records with a similar :math:`\bar s`. The threshold
    of a rate is a quantile of such scores of shadow models, each compared with the others, so the
    tails of few models are in it. A difference within rounding of the largest score is 0, as for
    records that all models predict alike.

    Equal rates cost power if the records that leak most are also the ones that are most often
    flagged by mistake, because the best single threshold makes most of its mistakes on them. With
    more shadow models, the rates are more equal; up to 64 of them are treated as the victim.

    References
    ----------
    Jälkö, J., Pradhan, G., Räisä, O. and Honkela, A. (2026). On reliability of efficient membership
    inference vulnerability evaluation. arXiv:2605.25819.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import RMIA
    >>> from skmia.attacks.equal_rates import EqualRateAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> attack = EqualRateAttack(model, RMIA(), shadows=16, target_fpr=0.05).fit(records)
    >>> guesses = attack.predict(records)
    >>> bool(guesses[membership == 0].mean() < 0.08 < guesses[membership == 1].mean())
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "attack": [BaseAttack, None],
        "shadows": "no_validation",
        "target_fpr": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        attack: BaseAttack | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        target_fpr: float | None = None,
    ) -> None:
        self.victim = victim
        self.attack = attack
        self.shadows = shadows
        self.target_fpr = target_fpr

    def _make_attack(self):
        return RMIA() if self.attack is None else self.attack

    def _needs(self):
        return self._make_attack().needs()

    def _fit(self, records, membership):
        attack = clone(self._make_attack())
        if not treats_models_as_victims(attack) or attack.needs().known == BOTH:
            raise ValueError(
                "EqualRateAttack compares the scores of a record under the victim and under shadow "
                f"models, which {type(attack).__name__} does not give; use LiRA(), RMIA() or "
                "another attack that compares with shadow models."
            )
        if self.shadows is not None and is_open(attack, "shadows"):
            attack.set_params(shadows=open_pool(self, get_origin(records)))
        if self.victim is not None:
            connect(attack, self.victim)
        if self.target_fpr is not None and "target_fpr" in attack.get_params(deep=False):
            attack.set_params(target_fpr=self.target_fpr)
        self.attack_ = attack.fit(records)
        self.pool_ = self.attack_.pool_
        n_models = len(self.pool_.membership_)
        if n_models < FEWEST_FOR_RATE:
            raise TooFewModelsError(
                "EqualRateAttack says how the score of each record varies between models, and "
                f"requires a pool of at least {FEWEST_FOR_RATE} models; this pool has {n_models}."
            )
        self._learn(_draw_records(records))

    @property
    def _models(self):
        return choose_evenly(len(self.pool_.membership_), _MOST_MODELS)

    def _list_blocks(self, records):
        """Yield rows, scores of the models, whether each is OUT and whether each is IN."""
        for rows, scores, inside, judged in self.attack_.score_left_out(records, self._models):
            yield rows, scores, ~inside & judged, inside & judged

    def _learn(self, records):
        """Learn the trend of variances and the threshold, from models treated as the victim."""
        blocks = [block[1:] for block in self._list_blocks(records)]
        scores, is_out, is_in = (np.concatenate(part, axis=1) for part in zip(*blocks, strict=True))
        outside = _ScoresOutside(scores, is_out)
        self._trend = _VarianceTrend(outside)
        # Each model is compared with the others, as the victim is with all of them.
        count, mean, squares = outside.leave_out(scores, is_out)
        found = self._trend.standardize(scores, count, mean, squares)
        enough = count >= _FEWEST_OUT
        is_out, is_in = is_out & enough, is_in & enough
        if not is_out.any():
            raise TooFewModelsError(
                "No record has enough shadow models that were not trained on it to say how its "
                "score varies; use a larger pool."
            )
        if self.target_fpr is not None:
            self._offset = rate_threshold(found[is_out], self.target_fpr)
        else:
            used = is_out | is_in
            self._offset = best_threshold(is_in[used], found[used]) if is_in.any() else 0.0

    def _score_samples(self, records):
        scores = np.asarray(self.attack_.score_samples(records), dtype=np.float64)
        found = np.empty_like(scores)
        for rows, left_out, is_out, _ in self._list_blocks(records):
            outside = _ScoresOutside(left_out, is_out)
            moments = outside.count, outside.mean, outside.squares
            standard = self._trend.standardize(scores[rows], *moments)
            found[rows] = np.where(outside.count >= _FEWEST_OUT, standard, 0.0)
        return found

    def _can_judge(self, records):
        judged = self.attack_.can_judge(records)
        for rows, _, is_out, _ in self._list_blocks(records):
            judged[rows] &= is_out.sum(axis=0) >= _FEWEST_OUT
        return judged

    def _natural_offset(self, records):
        return self._offset


def _draw_records(records: Records) -> Records:
    """Return a sample of many records that depends on their content alone."""
    if len(records) <= _MOST_RECORDS:
        return records
    return records[np.sort(draw_by_content(records.fingerprint, _MOST_RECORDS))]
