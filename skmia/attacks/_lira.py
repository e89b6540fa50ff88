"""The likelihood-ratio attack."""

import copy
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, gammaln, logit
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.metaestimators import available_if

from .._core.moments import SMALLEST_SPREAD, compute_moments, compute_sides, take_moments
from .._core.normal_law import (
    GapPrior,
    LevelBins,
    NormalLaw,
    QueryLaw,
    fit_gap,
    joint_ratio,
    log_normal,
    log_student,
)
from .._core.pseudo_victims import choose_others, compare_left_out, leave_sides, part_of
from .._core.query import get_last_step
from .._core.sklearn import Interval, StrOptions
from .._core.types import Frozen
from ..base import Comparison, PoolAttack, PoolReader, PosteriorMixin
from ..shadow import ShadowPool
from ..signals import POOLED, Correctness, ScaledLogit, Signal

# Number of records of the pool from which trends are estimated, and of their values, at most. There
# are at most 24 bins, so more records would not change them, and with many models a record needs no
# trend.
_N_SAMPLE, _N_SAMPLE_VALUES = 1 << 14, 1 << 20

# Weight of the pooled variance as a number of observations, and share of the mean variance of the
# queries that keeps covariance matrices away from singular ones.
_PRIOR_STRENGTH, _RIDGE = 4.0, 1e-3

# Number of observations that the trend of a share may count for, the largest first.
_STRENGTHS = 2.0 ** np.arange(12, -4, -1)

# Difference of log probabilities that may be rounding. Of a single model no strength is likelier.
_ROUNDING = 1e-9


class _BetaPrior(NamedTuple):
    """Beta prior of the share of one side, by the share of the other side."""

    levels: LevelBins
    share: np.ndarray  # at the centers of the levels, in (0, 1)
    strength: np.ndarray  # the prior counts for this many observations

    def place(self, share):
        """Return share and strength for records by the share of the other side."""
        place = self.levels.locate(share)
        return place(self.share), np.exp(place(np.log(self.strength)))


class BitLaw(QueryLaw):
    """Shares of correct answers among IN and among OUT models.

    The share of one side has a beta prior, a trend over the share of the other side. Without a leak
    this pools the bits of both sides, because the prior then counts for as many observations as the
    other side and the records are worth. A distribution is described by its share.
    """

    def _fit_query(self, sides, query):
        into, out = ((side.count, side.mean[query]) for side in sides[:2])
        return _fit_side(*into, out[1]), _fit_side(*out, into[1])

    def _describe(self, sides, priors, query):
        into, out = ((side.count, side.mean[query]) for side in sides[:2])
        both = ((into, out, priors[0]), (out, into, priors[1]))
        return tuple(self._estimate(own, other[1], prior) for own, other, prior in both)

    def _estimate(self, own, other, prior):
        share, strength = prior.place(other)
        if not self.shrinks:
            return share
        return (own[0] * own[1] + strength * share) / (own[0] + strength)

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        return np.array(
            [
                np.where(bits > 0.5, np.log(into / out), np.log1p(-into) - np.log1p(-out))
                for bits, (into, out) in zip(target, laws, strict=True)
            ]
        )

    def rate_threshold(self, laws, rate):
        """Return a threshold that non-members are expected to reach at most at a rate."""
        scores, weights = [], []
        for block in laws:
            out = block[0][1]
            for bit, share in ((1, out), (0, 1 - out)):
                scores.append(self.log_ratio(np.full((1, len(out)), bit), block)[0])
                weights.append(share)
        scores, weights = np.concatenate(scores), np.concatenate(weights)
        order = np.argsort(-scores, kind="stable")
        scores, reached = scores[order], np.cumsum(weights[order]) / weights.sum()
        highest = scores[np.argmax(reached > rate)]  # of those that must not reach it
        above = scores[scores > highest + _ROUNDING]
        return float((above[-1] + highest) / 2 if len(above) else highest + 2 * _ROUNDING)


def _fit_side(count, mean, other):
    """Fit the prior of one side to the counts and shares of correct answers of many records."""
    levels, right = LevelBins(other), count * mean
    usual = (right.sum() + 0.5) / (count.sum() + 1)  # neither 0 nor 1
    share = (levels.sum(right) + usual) / (levels.sum(count) + 1)
    expected = levels.place(share)
    rows, place = np.unique(np.column_stack([right, count, expected]), axis=0, return_inverse=True)
    logs = [_log_probability(*rows.T, strength)[place.ravel()] for strength in _STRENGTHS]
    trends = np.array([levels.trend(log) for log in logs])
    strongest = (trends >= trends.max(axis=0) - _ROUNDING).argmax(axis=0)
    return _BetaPrior(levels, share, _STRENGTHS[strongest])


def _log_probability(right, count, share, strength):
    """Return the log probability of bits under a beta-binomial."""
    yes, no = share * strength, (1 - share) * strength
    log = gammaln(right + yes) - gammaln(yes) + gammaln(count - right + no) - gammaln(no)
    return log - gammaln(count + strength) + gammaln(strength)


# Least probability of a label that single precision tells from 0.
_LEAST = 1e-6

# Range of the correlation between two votes.
_CORRELATIONS = 1e-6, 0.95


def count_voters(estimator):
    """Return the number of voters whose share is the probability of a model, or None."""
    model = get_last_step(estimator)
    if isinstance(model, RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier):
        return model.n_estimators
    if isinstance(model, KNeighborsClassifier) and model.weights == "uniform":
        return model.n_neighbors
    return None


def choose_law(answers, reads, shrinks):
    """Choose between votes, bits and a normal law for a signal of a pool."""
    reading = answers.locate_signal(reads)
    if reading.signal == Correctness():
        return BitLaw(shrinks)
    n_voters = count_voters(answers.estimator) if reading.signal == ScaledLogit() else None
    if n_voters is not None and n_voters > 1:
        is_neighbor = isinstance(get_last_step(answers.estimator), KNeighborsClassifier)
        law = OwnVoteLaw if is_neighbor else VoteLaw
        return law(n_voters, float(answers.resolution[reading.place]), shrinks)
    return NormalLaw(shrinks)


class _PriorVoteLaw(NamedTuple):
    """What records of one level have in common, for one query."""

    levels: LevelBins
    gap: GapPrior | None
    into: np.ndarray | None  # variance of a share, in units of x (1 - x)
    out: np.ndarray | None
    alone: np.ndarray | None  # the same where no side has two models


class UnsmoothedLabelLaw(NamedTuple):
    """Probability of the label for log odds that a pool has moved inside by half of a step."""

    step: float

    def __call__(self, values):
        share = expit(values)
        share *= 1 + self.step
        share -= self.step / 2
        return np.clip(share, 0, 1, out=share)

    def likelihood(self, values):
        return np.maximum(self(values.astype(np.float64)), _LEAST)

    def log_likelihood(self, values):
        return np.log(self.likelihood(values))


class VoteLaw(QueryLaw):
    """Distributions of the number of votes for the label.

    A distribution is described by the mean share and the correlation between votes. Leaves with
    several rows give shares that are no whole numbers of votes; the law is taken for these, too.
    """

    def __init__(self, n_voters, resolution, shrinks):
        super().__init__(shrinks)
        self.n_voters = n_voters
        self.change = UnsmoothedLabelLaw(resolution)

    def _cut(self, share):
        half = 0.5 / self.n_voters
        return np.clip(share, half, 1 - half)

    def _unit(self, share):
        share = self._cut(share)
        return share * (1 - share)

    def _fit_query(self, sides, query):
        means = [side.mean[query] for side in sides[:2]]
        level = sum(means) / 2
        levels, relative = LevelBins(level), []
        for side, mean in zip(sides[:2], means, strict=True):
            weight = (side.count - 1) * self._unit(mean)
            relative.append(levels.trend(side.squares[query], weight) if weight.any() else None)
        # A side of single models varies like the other one.
        relative = [relative[1 - k] if part is None else part for k, part in enumerate(relative)]
        prior, noise = _PriorVoteLaw(levels, None, *relative, None), None
        if prior.into is not None:
            noise = self._noise(prior, levels.place, sides, query)
        gap, away = fit_gap(levels, means[0] - means[1], noise, self.shrinks)
        return prior._replace(gap=gap, alone=away / 2 / levels.trend(self._unit(level)))

    def _spread(self, trend, place):
        """Return the variance in units of x (1 - x), which is least for independent votes."""
        return np.maximum(place(trend), 1 / self.n_voters)

    def _noise(self, prior, place, sides, query):
        """Return the sampling variance of the gap."""
        return sum(
            self._spread(trend, place) * self._unit(side.mean[query]) / side.count
            for trend, side in zip((prior.into, prior.out), sides[:2], strict=True)
        )

    def _describe(self, sides, prior, query):
        into, out = (side.mean[query] for side in sides[:2])
        level, noise, trends, laws = (into + out) / 2, 0.0, (prior.alone, prior.alone), []
        place = prior.levels.locate(level)
        if prior.into is not None:
            noise, trends = self._noise(prior, place, sides, query), (prior.into, prior.out)
        gap, gap_noise = prior.gap.shrink(place, into - out, noise)
        for sign, trend in zip((1, -1), trends, strict=True):
            mean, least = self._cut(level + sign * gap / 2), 1 / self.n_voters
            spread = self._spread(trend, place) + (noise + gap_noise) / 4 / (mean * (1 - mean))
            laws.append((mean, np.clip((spread - least) / (1 - least), *_CORRELATIONS)))
        return laws

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        ratios = []
        for share, (into, out) in zip(target.astype(np.float64), laws, strict=True):
            votes = self.n_voters * share
            ratios.append(self._log_probability(votes, *into) - self._log_probability(votes, *out))
        return np.array(ratios)

    def _log_probability(self, votes, mean, correlation):
        """Log probability of a beta-binomial, up to a term that only depends on the votes."""
        strength = 1 / correlation - 1
        for_label, against = mean * strength, (1 - mean) * strength
        log = gammaln(votes + for_label) - gammaln(for_label)
        log += gammaln(self.n_voters - votes + against) - gammaln(against)
        return log - gammaln(self.n_voters + strength) + gammaln(strength)


# Weight of the mean share of all records, because most neighbors of a record are the same in all
# models, and votes that count for a model without any for the label.
_USUAL, _LEAST_VOTES = 0.07, 0.05


class OwnVoteLaw(QueryLaw):
    """Numbers of votes for the label of nearest neighbors, of whom a training row is its own first.

    Votes of the others are independent and have one share q for both sides, so v of k votes have
    the likelihood ratio v / (k q). A distribution is described by k q.
    """

    def __init__(self, n_voters, resolution, shrinks):
        super().__init__(shrinks)
        self.n_voters = n_voters
        self.change = UnsmoothedLabelLaw(resolution)

    def _count_others(self, sides, query):
        """Return votes for the label and votes of other rows, over all models."""
        (n_in, into), (n_out, out) = ((side.count, side.mean[query]) for side in sides[:2])
        votes = n_in * np.maximum(self.n_voters * into - 1, 0) + n_out * self.n_voters * out
        return votes, n_in * (self.n_voters - 1) + n_out * self.n_voters

    def _fit_query(self, sides, query):
        votes, n_votes = self._count_others(sides, query)
        return float(np.sum(votes) / np.sum(np.broadcast_to(n_votes, np.shape(votes))))

    def _describe(self, sides, prior, query):
        votes, n_votes = self._count_others(sides, query)
        share = (1 - _USUAL) * votes / n_votes + _USUAL * prior
        return np.maximum(self.n_voters * share, _LEAST_VOTES)

    def log_ratio(self, target, laws):
        """Return the log ratio of the IN and the OUT probability, of shape (n_queries, n)."""
        votes = self.n_voters * target.astype(np.float64)
        return np.log(np.maximum(votes, _LEAST_VOTES)) - np.log(laws)


def _average_queries(values):
    """Average over the queries; usually there is only one."""
    return values[0] if len(values) == 1 else values.mean(axis=0)


class SidesComparison(Comparison):
    """Comparison that reads no more of the shadow models than the moments of both sides."""

    # Hashable function of the values whose moments are compared, and the other model of each pair.
    change = partners = None
    parts = True

    def score(self, target, shadows, inside, outside):
        values = shadows if self.change is None else self.change(shadows)
        return self.score_sides(target, compute_sides(values, inside, outside, self.partners))

    def _score_records(self, reader, records, target):
        scores = np.full(len(records), self._unjudged)
        for rows, sides in reader.sides(records, self.change):
            scores[rows] = self.score_sides(target[:, rows], sides)
        return scores


def _pool_variances(sides, less):
    """Return the variances within records of the IN and of the OUT models, per query."""
    totals = [], []
    for both in sides:
        for parts, (count, _, squares) in zip(totals, both[:2], strict=True):
            # A variance requires two models; the mean of a single model has no spread to add.
            n = np.where(count > 1, count - less, 0).sum()
            parts.append([squares.sum(axis=1), np.full(len(squares), n)])
    sums = (np.sum(parts, axis=0) for parts in totals)
    return [np.maximum(part / np.maximum(n, 1), SMALLEST_SPREAD**2) for part, n in sums]


class PrintedLaws(SidesComparison):
    """Normal or Student-t laws of single records: the attack as it is printed."""

    likelihood = "normal"

    def __init__(self, reads, offset, variance, online):
        self.reads, self.offset, self.variance, self.online = reads, offset, variance, online
        n_models = 2 if variance == "example" else 1
        self.least = n_models if online else 0, n_models
        self.alternative = "online=False" if online else None

    def fit(self, reader, records):
        """Pool the variances within records."""
        self.partners = reader.answers.design.partners
        sides = (sides for _, sides in reader.sides(records))
        self.variances = _pool_variances(sides, self.variance == "conjugate")

    def score_sides(self, target, sides):
        return self._compare(target, *sides[:2])

    def score(self, target, shadows, inside, outside):
        if self.online:
            return super().score(target, shadows, inside, outside)
        return self._compare(target, None, compute_moments(shadows, outside))

    def _compare(self, target, into, out):
        if not self.online:
            distance = target - out.mean
            distance /= np.sqrt(self._estimate_variance(out, self.variances[1]))
            return _average_queries(distance)
        ratio = self._log_density(target, into, self.variances[0])
        ratio -= self._log_density(target, out, self.variances[1])
        return _average_queries(ratio)

    def _estimate_variance(self, moments, pooled):
        """Return the variance, or squared scale of the t distribution, of a new model's signal."""
        pooled = pooled.reshape(-1, *(1,) * (moments.mean.ndim - 1))
        if self.variance == "example":
            return moments.variance
        if self.variance == "pooled":
            return pooled
        variance = moments.squares + _PRIOR_STRENGTH * pooled
        variance *= (1 + 1 / moments.count) / (_PRIOR_STRENGTH + moments.count - 1)
        return variance

    def _log_density(self, target, moments, pooled):
        variance = self._estimate_variance(moments, pooled)
        if self.variance != "conjugate":
            return log_normal(target, moments.mean, variance)
        return log_student(target, moments.mean, variance, moments.count, _PRIOR_STRENGTH)

    def _score_left_out(self, shadows, inside, models, others):
        scores, lost = compare_left_out(
            self._compare, shadows, inside, models, others, online=self.online
        )
        lost = np.flatnonzero(lost)
        if len(lost):
            rest = shadows[:, :, lost], inside[:, lost], models, part_of(others, lost)
            scores[:, lost] = super()._score_left_out(*rest)
        return scores


class JointNormalLaw(PrintedLaws):
    """Normal laws of all queries of a record together, which the moments do not give."""

    _score_records, _score_left_out = Comparison._score_records, Comparison._score_left_out

    def __init__(self, reads, offset, n_models):
        super().__init__(reads, offset, "example", online=True)
        self.least, self.alternative = (n_models, n_models), 'variance="example"'

    def score(self, target, shadows, inside, outside):
        return joint_ratio(target, shadows, inside, outside, _RIDGE)


class TrendLaws(SidesComparison):
    """Laws whose variances and gaps are shrunk to trends over the level of a record."""

    least, alternative = (1, 1), "online=False"

    def __init__(self, reads, offset, variance, likelihood):
        self.reads, self.offset = reads, offset
        self.shrinks, self.likelihood = variance == "shrunk", likelihood

    def fit(self, reader, records):
        """Choose the law, and fit its priors to a sample of the pool."""
        reader.refuse_unjudged(reader.can_judge(records), records)
        answers, columns = reader.answers, _draw_trend_records(reader)
        self.partners, self.law = answers.design.partners, NormalLaw(self.shrinks)
        if self.likelihood == "auto":
            self.law = choose_law(answers, self.reads, self.shrinks)
        names = {NormalLaw: "normal", OwnVoteLaw: "binomial"}
        self.likelihood = names.get(type(self.law), "beta-binomial")
        known = answers.moments(self.reads, self.law.change)
        if known is None:
            values, inside = reader.read_columns(columns)
            sides = compute_sides(self.law.read(values), inside, ~inside, self.partners)
        else:
            sides = take_moments(known, columns)
        self.priors = self.law.fit(sides)
        pooled = (side.squares.sum(axis=1) / max((side.count - 1).sum(), 1) for side in sides[:2])
        self.variances = [np.maximum(variance, SMALLEST_SPREAD**2) for variance in pooled]

    @property
    def change(self):
        return self.law.change

    def score_sides(self, target, sides):
        laws = self.law.describe(sides, self.priors)
        return _average_queries(self.law.log_ratio(self.law.read(target), laws))

    def _rate_offset(self, reader, records, rate):
        if not isinstance(self.law, BitLaw) or reader.answers.signals.shape[1] > 1:
            return None
        # The law gives the rate of each threshold; few models have other scores when some leave.
        sides = reader.sides(records, self.change)
        return self.law.rate_threshold(
            [self.law.describe(one, self.priors) for _, one in sides], rate
        )

    def _leave_out(self, reader, models):
        columns = _draw_trend_records(reader)
        values, inside = reader.read_columns(columns)
        others = choose_others(reader.answers.design, inside, columns, models)
        comparison = copy.copy(self)
        comparison.priors = {}
        for group, sides in self._leave_each(self.law.read(values), inside, models, others):
            judged = reader.are_enough(sides.into.count, sides.out.count)
            if judged.any():
                priors = self.law.fit(take_moments(sides, judged))
                comparison.priors.update(dict.fromkeys(group.tolist(), priors))
        return comparison

    def _leave_each(self, values, inside, models, others):
        """Yield the models that leave one after another, or as a pair, and what the rest says."""
        sides = compute_sides(values, inside, ~inside, self.partners)
        if sides.product is None:
            groups = [(k, models == k) for k in models]
        else:
            groups = [(k, np.isin(models, [k, self.partners[k]])) for k in models]
        done = np.zeros(len(models), dtype=bool)
        for place, (model, group) in enumerate(groups):
            if not done[place]:
                done |= group
                rest = leave_sides(sides, values, inside, model, others[place], self.partners)
                yield models[group], rest

    def _score_left_out(self, shadows, inside, models, others):
        values, scores = self.law.read(shadows), np.empty((len(models), shadows.shape[2]))
        for group, sides in self._leave_each(values, inside, models, others):
            laws = self.law.describe(sides, self.priors[group[0]])
            for model in group:
                scores[models == model] = _average_queries(
                    self.law.log_ratio(values[:, model], laws)
                )
        return scores


def _draw_trend_records(reader):
    """Return columns of records of the pool from which trends are estimated."""
    _, n_queries, n_models, _ = reader.answers.signals.shape
    n_most = min(_N_SAMPLE, _N_SAMPLE_VALUES // (n_queries * n_models))
    return reader.draw_columns(max(1, n_most))


class LiRA(PosteriorMixin, PoolAttack):
    r"""Likelihood-ratio attack (LiRA).

    For every record, one distribution is fitted to the signals :math:`\phi` of the shadow models
    that were trained on it (IN), and another one to the signals of those that were not (OUT). The
    score is the log ratio of the two densities at the victim's signal, :math:`\log p_{in}(\phi) -
    \log p_{out}(\phi)`, averaged over augmentations. Offline, the score is one-sided: the number of
    standard deviations by which the victim lies above the OUT models. This gives the same order of
    records as :math:`\Pr(\phi_{out} \le \phi)`, without ties at 1.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used.
    shadows : ShadowPool or int
        A fitted pool, or an unfitted one, which is fitted once on the table from which the records
        given to ``fit`` were taken. An int is the number of clones of the victim to train, also
        once per table; to set ``n_jobs`` or ``random_state``, pass a pool.
    signal : "auto", str or Signal, default="auto"
        Signal that is compared: ``"auto"`` is the log odds of the label for a classifier, the
        margin for a model without probabilities, minus the log residual for a regressor (of several
        targets their joint one, :class:`~skmia.signals.LogResidual`; where its predictions do not
        move toward the labels, :class:`~skmia.signals.OrientedPrediction`), and
        whether the predicted label is correct for a model with labels alone. Any other signal must
        be stored by the pool (``ShadowPool(signals=("auto", "entropy"))``), except the loss and the
        confidence, which are computed from the log odds.
    online : bool, default=True
        Whether to use the IN models, which exist only for records of the pool. If False, only the
        OUT models are used.
    variance : {"shrunk", "trend", "conjugate", "example", "pooled", "joint"}, default="shrunk"
        How the distributions of a record are estimated. The strongest attack:

        - ``"shrunk"``: the variances, and the difference between the means of the IN and the OUT
          models, are shrunk towards the averages over records with a similar level, the more the
          noisier they are; Student-t distributions.

        The published variants, with normal distributions:

        - ``"example"``: mean and variance separately for each record;
        - ``"pooled"``: one variance within records for all of them;
        - ``"joint"``: one covariance matrix per record, of the signals of all augmentations
          (requires more models than augmentations, and ``online=True``).

        For comparison with ``"shrunk"``, both with Student-t distributions:

        - ``"trend"``: the difference between the means is that of records of a similar level;
        - ``"conjugate"``: the means are those of the record itself, and the variance is between its
          own and the pooled one, under a normal-inverse-gamma prior.

        Offline, there is no difference between means, and ``"shrunk"`` and ``"trend"`` are the same
        as ``"conjugate"``.
    likelihood : {"auto", "normal"}, default="auto"
        What is modeled by ``"shrunk"`` and ``"trend"`` online. ``"auto"`` models the number of
        votes for the label if the pool's models are forests, bagging or nearest neighbors with
        uniform weights, and the signal is the log odds. The share of a leaf with several rows
        counts as a part of a vote, and a predicted label as one vote. Otherwise, and with
        ``"normal"``, the signal is modeled.
    prior : float, default=0.5
        Share of members assumed in :meth:`predict_proba` and in the threshold.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim, or, for labels without augmentations,
        according to the fitted distributions of the OUT models. The rate holds only if the victim
        was trained like the shadow models and on as many records (``max_samples`` of the pool);
        ``fit`` warns if it was not.

    Attributes
    ----------
    variance_in_, variance_out_ : ndarray of shape (n_queries,)
        Pooled variances within records, of the records given to ``fit``; for ``"shrunk"`` and
        ``"trend"`` online, of a sample of the pool's records, in units of shares if votes are
        counted.
    likelihood_ : {"normal", "beta-binomial", "binomial"}
        Likelihood that was chosen; ``"binomial"`` for nearest neighbors, of whom a training record
        is its own first.
    offset_ : float
        Threshold of the score; by default the log odds of a non-member, 0 for ``prior=0.5``.
        Offline, the threshold of the highest balanced accuracy with shadow models treated as the
        victim (with fewer than 4 models: 0).
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If no record has the IN and OUT models that the settings need, or a record is not in the
        pool.

    See Also
    --------
    RMIA : Relative attack that compares the victim with the mean over shadow models.

    Notes
    -----
    Equation (4) of the paper is one-sided and the published code two-sided; this class follows the
    equation. Pooled variances are taken within records; the published code takes them around the
    grand mean and uses the IN one for both. It also cuts all records to the smallest numbers of IN
    and of OUT models, and compares with medians.

    The prior of ``"conjugate"`` is flat in the mean and counts for 4 observations of the variance.
    ``"shrunk"`` is an empirical Bayes estimate: trends over the level, the mean of the IN and the
    OUT mean, are averages over up to 24 bins of records of the pool, from which the weights come as
    well. ``"joint"`` adds 0.001 of the mean variance to the diagonal of each covariance matrix. The
    errors of the two models of a complementary pair are negatively correlated, so the noise of the
    gap is estimated from the differences within pairs. :ref:`Trends over the level <lira_trends>`
    has the formulas. When a shadow model is treated as the victim, the trends are estimated without
    it; do not rely on ``target_fpr`` with fewer than 8 models, because only two remain then.

    A record without enough IN models, or enough OUT models, has the neutral score, just below 0,
    see :meth:`can_judge`: one of each, with ``variance="example"`` two, with ``"joint"`` one more
    than there are augmentations.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import LiRA
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> attack = LiRA(model, shadows=8).fit(records)
    >>> bool(attack.score(records, membership) > 0.4)
    True
    """

    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "signal": [str, Signal],
        "online": ["boolean"],
        "variance": [StrOptions({"shrunk", "trend", "conjugate", "example", "pooled", "joint"})],
        "likelihood": [StrOptions({"auto", "normal"})],
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }

    _compares = POOLED

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        signal: str | Signal = "auto",
        online: bool = True,
        variance: Literal["shrunk", "trend", "conjugate", "example", "pooled", "joint"] = "shrunk",
        likelihood: Literal["auto", "normal"] = "auto",
        prior: float = 0.5,
        target_fpr: float | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.signal = signal
        self.online = online
        self.variance = variance
        self.likelihood = likelihood
        self.prior = prior
        self.target_fpr = target_fpr

    def _compare(self, records):
        comparison = self._choose_comparison()
        comparison.fit(
            PoolReader(self.pool_.to_answers(), comparison, type(self).__name__), records
        )
        unit = self.pool_.to_answers().choose_unit(self._reads())
        self.variance_in_, self.variance_out_ = (unit**2 * one for one in comparison.variances)
        self.likelihood_ = comparison.likelihood
        return comparison

    def _choose_comparison(self):
        reads = self.pool_.to_answers().in_unit(self._reads())
        offset = logit(1 - self.prior) if self.online else None
        if self.variance == "joint":
            if not self.online:
                raise ValueError('variance="joint" goes with online=True; got online=False.')
            return JointNormalLaw(reads, offset, 1 + self.pool_.signals_.shape[1])
        if self.variance in ("shrunk", "trend") and self.online:
            return TrendLaws(reads, offset, self.variance, self.likelihood)
        printed = ("example", "pooled")
        variance = self.variance if self.variance in printed else "conjugate"
        return PrintedLaws(reads, offset, variance, self.online)

    # Offline, there is no ratio of two likelihoods.
    predict_proba = available_if(lambda attack: attack.online)(PosteriorMixin.predict_proba)
