"""Attack on records that few other records resemble."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Literal

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, gen_batches

from .._core.callers import level_of_user
from .._core.moments import SMALLEST_SPREAD, compute_moments
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import ArrayLike, Frozen, Seed
from .._core.validation import order_features
from ..base import Comparison, PoolAttack, PoolReader
from ..exceptions import ResolutionWarning
from ..shadow import ShadowPool

# Weight of the pooled variance as a number of observations, as in the likelihood-ratio attack.
_PRIOR_STRENGTH = 4.0

# Logarithm of the smallest probability in double precision.
_LOWEST = np.log(np.finfo(float).tiny)

# Relative difference, due to rounding, up to which two numbers tie.
_TIE = 1e-6


def estimate_pooled_variance(blocks):
    """Return the variance of the signal of OUT models within records, per query."""
    squares, count = 0.0, 0
    for _, shadows, inside in blocks:
        moments = compute_moments(shadows, ~inside)
        squares = squares + moments.squares.sum(axis=1)
        count += np.maximum(moments.count - 1, 0).sum()
    return np.maximum(squares / max(count, 1), SMALLEST_SPREAD**2)


def smooth_pvalues(target, shadows, outside, pooled):
    """Compute p-values of the hypothesis that the target is one more OUT model.

    If g of n OUT models lie above the target, p lies between g / (n + 1) and (g + 1) / (n + 1). It
    is linear between the two nearest OUT models, and the upper end if the target ties with one.
    Above all OUT models, it falls from 1 / (n + 1) like the upper tail of the predictive Student-t
    distribution of one more model; below all of them, it approaches 1 like the lower tail.

    Take target of shape (n_queries, n), shadows of shape (n_queries, n_estimators, n), outside of
    shape (n_estimators, n), pooled of shape (n_queries,); return log_pvalues of shape (n_queries,
    n).
    """
    target = target.astype(np.float64)
    margin = _TIE * np.maximum(1, np.abs(target))
    above = (shadows > (target + margin)[:, None]) & outside
    below = (shadows < (target - margin)[:, None]) & outside
    n_out, n_above = outside.sum(axis=0), above.sum(axis=1)
    n_tied = n_out - n_above - below.sum(axis=1)
    upper = np.where(above, shadows, np.inf).min(axis=1)
    lower = np.where(below, shadows, -np.inf).max(axis=1)
    with np.errstate(invalid="ignore"):
        part = (upper - target) / (upper - lower)
    part = np.where(n_tied > 0, 1 + n_tied, part)
    highest, lowest = ((n_tied == 0) & (n_above == count) for count in (0, n_out))
    law = _predict_one_more(shadows, outside, pooled)
    part[highest] = _compute_fall(stats.t.logsf, target, lower, law, highest)
    part[lowest] = 1 - _compute_fall(stats.t.logcdf, target, upper, law, lowest)
    return np.log(n_above + part) - np.log(n_out + 1)


def _predict_one_more(shadows, outside, pooled):
    """Return location, scale and degrees of freedom of the signal of one more OUT model."""
    moments = compute_moments(shadows, outside)
    dof = _PRIOR_STRENGTH + moments.count - 1
    variance = (moments.squares + _PRIOR_STRENGTH * pooled[:, None]) / dof
    return np.broadcast_arrays(
        moments.mean, np.sqrt(variance * (1 + 1 / moments.count)), dof.astype(np.float64)
    )


def _compute_fall(log_tail, target, nearest, law, where):
    """Return the log ratio of the tails beyond the target and beyond the nearest OUT model."""
    mean, scale, dof = (part[where] for part in law)
    tails = (log_tail((x[where] - mean) / scale, dof) for x in (target, nearest))
    target, nearest = (np.maximum(tail, _LOWEST) for tail in tails)
    return np.exp(np.clip(target - nearest, _LOWEST, 0))


# Number of similarities held at once.
_CELLS = 1 << 22


def _direct(answers):
    """Return the outputs of all models for each record, as vectors of length 1."""
    vectors = np.moveaxis(answers, 0, 1).reshape(answers.shape[1], -1).astype(np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(length, np.finfo(np.float32).tiny)


class SmoothRank(Comparison):
    """Minus the log p-value of the rank of the victim among the OUT models."""

    least = 0, 1

    def __init__(self, pool, reads, level, records):
        self.reads, self.level = reads, level
        self.smallest = 1 / (1 + len(pool.membership_) - pool.n_inside.min())
        reader = PoolReader(pool.to_answers(), self, VulnerableRecordsAttack.__name__)
        self.pooled = estimate_pooled_variance(reader.judged_blocks(records))

    def score(self, target, shadows, inside, outside):
        return -smooth_pvalues(target, shadows, outside, self.pooled).mean(axis=0)

    @property
    def offset(self):
        if self.smallest > self.level:
            warnings.warn(
                f"The ranks resolve p-values down to {self.smallest:.2g}; level={self.level:g} is "
                "in the tail of a fitted Student-t distribution. Use more shadow models.",
                ResolutionWarning,
                stacklevel=level_of_user(),
            )
        return -np.log(self.level)


class VulnerableRecordsAttack(PoolAttack):
    r"""Attack that tests only the records that few others resemble.

    A record is vulnerable if the shadow models predict similarly for few other records: a victim
    that is confident about it has probably not learned this from its neighbors. Such a record is
    tested by the rank of the victim's signal among the OUT models. The score is :math:`-\log p` of
    this test; all other records get the neutral score 0.

    If g of n OUT models lie above the victim, p lies between :math:`g / (n + 1)` and :math:`(g + 1)
    / (n + 1)`, the p-value of the rank. It is linear between the two nearest OUT models, and the
    upper end if the victim ties with one. Above all OUT models, it falls from :math:`1 / (n + 1)`
    like the tail of the Student-t distribution fitted to them, so that scores have no steps.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    shadows : ShadowPool or int
        A pool with ``store="outputs"``, fitted or not; an unfitted one is fitted once on the table
        from which the records given to ``fit`` were taken. An int is the number of clones of the
        victim to train.
    radius : float or "auto", default="auto"
        Maximum cosine distance between the outputs of neighbors, in [0, 2]. If ``"auto"``, the
        radius at which ``share`` of the references are vulnerable.
    share : float, default=0.1
        Share of records to test, in (0, 1], for ``radius="auto"``. A suitable radius depends on the
        data: at a radius of 0.1, none or nearly all records may be vulnerable.
    max_neighbors : int, default=0
        Maximum number of neighbors of a vulnerable record among the references.
    n_references : int, default=5000
        Maximum number of records of ``fit`` among which neighbors are counted, drawn at random.
    level : float, default=0.05
        Significance level: a vulnerable record is predicted as a member if :math:`p` is at most
        `level`.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        instead of by ``level``, as measured on shadow models treated as the victim. The rate holds
        only if the victim was trained like the shadow models and on as many records
        (``max_samples`` of the pool).
    random_state : int, RandomState instance or None, default=None
        Controls the draw of the references and a pool that is trained.

    Attributes
    ----------
    radius_ : float
        Radius in use.
    offset_ : float
        Threshold of the score; by default ``-log(level)``.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Warns
    -----
    ResolutionWarning
        If there are so few shadow models that p reaches ``level`` only in the tail of the fitted
        distribution, beyond all OUT models.

    See Also
    --------
    CalibratedAttack : With ``reference="rank"``, tests all records by rank.

    Notes
    -----
    The paper compares what reference models compute inside; here their outputs are compared. Down
    to :math:`1 / (n + 1)`, a p-value assumes no distribution: at a level of :math:`i / (n + 1)`, at
    most that share of non-members is flagged. Smaller p-values assume the tail of the Student-t
    distribution, with variances shrunken as in :class:`LiRA`.

    References
    ----------
    Long, Y., Wang, L., Bu, D., Bindschaedler, V., Wang, X., Tang, H., Gunter, C. A. and Chen, K.
    (2020). A pragmatic approach to membership inferences on machine learning models. EuroS&P.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import VulnerableRecordsAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(5, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=48, store="outputs", random_state=0).fit(records)
    >>> attack = VulnerableRecordsAttack(
    ...     model, pool, random_state=0
    ... ).fit(records)
    >>> int(attack.is_vulnerable(records).sum())
    30
    >>> guesses = attack.predict(records) == 1
    >>> bool(membership[guesses].mean() > 0.8)
    True
    """

    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "radius": [Interval(Real, 0, 2, closed="both"), StrOptions({"auto"})],
        "share": [Interval(Real, 0, 1, closed="right")],
        "max_neighbors": [at_least(0)],
        "n_references": [at_least(1)],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        radius: Literal["auto"] | float = "auto",
        share: float = 0.1,
        max_neighbors: int = 0,
        n_references: int = 5000,
        level: float = 0.05,
        target_fpr: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.radius = radius
        self.share = share
        self.max_neighbors = max_neighbors
        self.n_references = n_references
        self.level = level
        self.target_fpr = target_fpr
        self.random_state = random_state

    def _needs(self):
        needs = super()._needs()
        return replace(
            needs, reads=needs.reads - {"value", "values"}, keeps=needs.keeps | {"outputs"}
        )

    def _compare(self, records):
        # Records are sorted by content, so that the references do not depend on their order.
        prints, first = np.unique(records.fingerprint, return_index=True)
        rng = check_random_state(self.random_state)
        n_drawn = min(self.n_references, len(first))
        drawn = np.sort(rng.choice(len(first), n_drawn, replace=False))
        self._reference_prints = prints[drawn]
        self._references = _direct(self.pool_.answers(records[first[drawn]]))
        self.radius_ = self._choose_radius() if self.radius == "auto" else float(self.radius)
        return SmoothRank(self.pool_, self._reads(), self.level, records)

    def _choose_radius(self):
        """Return the radius at which a share of the references have few enough neighbors."""
        references, distances = self._references, []
        for rows in gen_batches(len(references), max(1, _CELLS // len(references))):
            similarity = references[rows] @ references.T
            similarity[np.arange(len(similarity)), np.arange(rows.start, rows.stop)] = -np.inf
            last = min(self.max_neighbors, len(references) - 1)
            similarity.partition(len(references) - 1 - last, axis=1)
            distances.append(1 - similarity[:, len(references) - 1 - last])
        distances = np.sort(np.concatenate(distances))
        n_tested = max(1, round(self.share * len(distances)))
        if n_tested == len(distances):
            return 0.0
        radius = distances[-n_tested - 1 : len(distances) - n_tested + 1].mean()
        return float(np.clip(radius, 0, 2))

    def is_vulnerable(self, records: Records) -> np.ndarray:
        """Return which records have so few neighbors that they are tested.

        Parameters
        ----------
        records : Records of n records
            Records of the pool.

        Returns
        -------
        vulnerable : ndarray of shape (n,), dtype bool
        """
        records = order_features(self, records)
        vectors = _direct(self.pool_.answers(records))
        own = np.isin(records.fingerprint, self._reference_prints)
        count = np.empty(len(vectors), dtype=int)
        for rows in gen_batches(len(vectors), max(1, _CELLS // len(self._references))):
            similarity = vectors[rows] @ self._references.T
            count[rows] = (similarity >= 1 - self.radius_).sum(axis=1)
        return count - own <= self.max_neighbors

    def _score_samples(self, records):
        return super()._score_samples(records) * self.is_vulnerable(records)

    def score_left_out(
        self, X: Records, models: ArrayLike
    ) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        vulnerable = self.is_vulnerable(X)
        for rows, scores, *rest in super().score_left_out(X, models):
            yield rows, scores * vulnerable[rows], *rest
