"""The likelihood-ratio attack."""

import copy
from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if

from .._core.densities import joint_ratio, log_normal, log_student
from .._core.left_out import choose_others, compare_left_out, part_of
from .._core.moments import SMALLEST_SPREAD, compute_moments, take_records
from .._core.normal_law import NormalLaw
from .._core.probabilities import as_columns, posterior_of
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from ..base import warn_unlike
from ..shadow import ShadowPool
from ..signals import Signal
from ..signals._registry import POOLED
from ._bit_law import BitLaw
from ._by_moments import MomentAttack
from ._vote_law import choose_law


def _average(values):
    """Average over the queries; usually there is only one."""
    return values[0] if len(values) == 1 else values.mean(axis=0)


def _is_posterior(attack):
    if attack.online:
        return True
    raise AttributeError(
        "predict_proba requires online=True, because only the ratio of the IN and OUT likelihoods "
        "gives a posterior."
    )


class LiRA(MomentAttack):
    r"""Likelihood-ratio attack (LiRA).

    For every record, the signal :math:`\phi` of the shadow models that were trained on it (IN) and
    of those that were not (OUT) are each described by a distribution; the score is the log ratio of
    their densities at the victim's signal, :math:`\log p_{in}(\phi) - \log p_{out}(\phi)`, averaged
    over augmentations. Offline, the score is one-sided: the number of standard deviations by which
    the victim lies above the OUT models. It orders records like :math:`\Pr(\phi_{out} \le \phi)`
    and has no ties at 1.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. If None, the predictions
        stored by :meth:`skmia.Records.with_outputs` are used.
    shadows : ShadowPool
        A fitted pool in a :class:`~sklearn.frozen.FrozenEstimator`; an unfitted one is fitted on
        the records given to ``fit``.
    signal : "auto", str or Signal, default="auto"
        Signal that is compared: ``"auto"`` is the log odds of the label for a classifier, the
        margin for a model without probabilities, minus the log residual for a regressor, and
        whether the predicted label is correct for a model with labels alone. Any other signal must
        be stored by the pool (``ShadowPool(signals=("auto", "entropy"))``), except the loss and the
        confidence, which are computed from the log odds.
    online : bool, default=True
        Whether to use the IN models, which exist only for records of the pool. If False, only the
        OUT models are used.
    variance : {"shrunk", "example", "pooled"}, default="shrunk"
        How the variance is estimated: ``"example"`` separately for each record; ``"pooled"`` within
        records, one value for all records; ``"shrunk"`` between the record's own variance and that
        of records of a similar level, by the number of models, with a Student-t distribution.
    gap : {"shrunk", "trend", "raw"}, default="shrunk"
        How the difference between the means of the IN and the OUT models is estimated, for
        ``variance="shrunk"`` online. ``"shrunk"`` is between the record's own difference and that
        of records of a similar level, by how much of it is noise; ``"trend"`` is the gap of records
        of a similar level. ``"raw"`` is the record's own difference, with one variance for all
        records in the place of trends.
    likelihood : {"auto", "normal", "beta-binomial"}, default="auto"
        Distribution of the models of a record, where the gap is not raw: of the signal (normal, or
        Student-t), or of the number of votes for the label. ``"auto"`` counts votes if the pool's
        models are forests, bagging or nearest neighbors with uniform weights, each voter answers 0
        or 1, and the signal is the log odds. A predicted label counts as one vote.
    prior_strength : float, default=4.0
        Weight of the pooled variance as a number of observations, for ``variance="shrunk"`` with
        ``gap="raw"`` or offline.
    covariance : {"diagonal", "full"}, default="diagonal"
        Model of the dependence between augmentations: none, so that scores are averaged, or one
        covariance matrix per record (requires ``variance="example"`` and more models than
        augmentations).
    ridge : float, default=1e-3
        Share of the mean variance of the queries that is added to the diagonal of each covariance
        matrix, for ``covariance="full"``. Increase it with few models or nearly equal
        augmentations, because their matrices are close to singular.
    prior : float, default=0.5
        Share of members assumed in :meth:`predict_proba` and in the threshold.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim, or, for labels without augmentations, as
        the fitted laws of the OUT models say. The rate holds only if the victim was
        trained like the shadow models and on as many records (``max_samples`` of the pool).

    Attributes
    ----------
    variance_in_, variance_out_ : ndarray of shape (n_queries,)
        Pooled variances within records, of the records given to ``fit``; where the gap is not raw,
        of a sample of the pool's records, in units of shares if votes are counted.
    likelihood_ : {"normal", "beta-binomial"}
        Likelihood that was chosen.
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

    Warns
    -----
    UserWarning
        If ``target_fpr`` is set and the victim fits the records unlike the shadow models.

    See Also
    --------
    RMIA : Relative attack, which needs fewer models for the same power.

    Notes
    -----
    Equation (4) of the paper is one-sided and the published code two-sided; this class follows the
    equation. Pooled variances are taken within records; the published code takes them around the
    grand mean and uses the IN one for both. It also cuts all records to the smallest numbers of IN
    and of OUT models, and compares with medians.

    With ``gap="raw"``, ``"shrunk"`` has a normal-inverse-gamma prior, flat in the mean. Otherwise
    it is an empirical Bayes estimate: trends over the level, the mean of the IN and the OUT mean,
    are averages over up to 24 bins of records of the pool, from which the weights come as well.
    The two models of a complementary pair err against each other, so the noise of the gap is
    estimated from the differences within pairs. :ref:`Trends over the level <lira_trends>` has the
    formulas. When a shadow model is treated as the victim, the trends are estimated without it; do
    not rely on ``target_fpr`` with fewer than 8 models, because only two remain then.

    A record without an IN model, or without an OUT model, has the neutral score, just below 0;
    :meth:`can_judge` tells which.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=16, random_state=0).fit(records)
    >>> attack = LiRA(FrozenEstimator(model), shadows=FrozenEstimator(pool)).fit(records)
    >>> bool(attack.score(records, membership) > 0.5)
    True
    """

    _parameter_constraints = {
        **MomentAttack._parameter_constraints,
        "signal": [str, Signal],
        "online": ["boolean"],
        "variance": [StrOptions({"shrunk", "example", "pooled"})],
        "gap": [StrOptions({"shrunk", "trend", "raw"})],
        "likelihood": [StrOptions({"auto", "normal", "beta-binomial"})],
        "prior_strength": [Interval(Real, 0, None, closed="neither")],
        "covariance": [StrOptions({"diagonal", "full"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }

    _compares = POOLED

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | FrozenEstimator | None = None,
        *,
        signal: str | Signal = "auto",
        online: bool = True,
        variance: Literal["shrunk", "example", "pooled"] = "shrunk",
        gap: Literal["shrunk", "trend", "raw"] = "shrunk",
        likelihood: Literal["auto", "normal", "beta-binomial"] = "auto",
        prior_strength: float = 4.0,
        covariance: Literal["diagonal", "full"] = "diagonal",
        ridge: float = 1e-3,
        prior: float = 0.5,
        target_fpr: float | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.signal = signal
        self.online = online
        self.variance = variance
        self.gap = gap
        self.likelihood = likelihood
        self.prior_strength = prior_strength
        self.covariance = covariance
        self.ridge = ridge
        self.prior = prior
        self.target_fpr = target_fpr

    def _fit_pool(self, records):
        self._law, self.likelihood_ = None, "normal"
        self._check_settings()
        if self._has_trends():
            self._fit_trends(records)
        else:
            self._fit_variances(records)

    def _check_settings(self):
        joint = self.covariance == "full"
        if joint and (self.variance != "example" or not self.online):
            raise ValueError(
                'covariance="full" goes with variance="example" and online=True; got '
                f"variance={self.variance!r}, online={self.online}."
            )
        if self.likelihood == "beta-binomial" and not self._has_trends():
            raise ValueError(
                'likelihood="beta-binomial" goes with online=True, variance="shrunk" and another '
                f'gap than "raw"; got online={self.online}, variance={self.variance!r}, '
                f"gap={self.gap!r}."
            )

    def _has_trends(self):
        return self.online and self.variance == "shrunk" and self.gap != "raw"

    def _fit_variances(self, records):
        sides = {"in": [], "out": []}
        for _, both in self._judged_sides(records):
            for side, moments in zip(("in", "out"), both[:2], strict=True):
                # A variance requires two models; the mean of a single model has no spread to add.
                count = np.where(moments.count > 1, moments.count - (self.variance == "shrunk"), 0)
                squares = moments.squares.sum(axis=1)
                sides[side].append([squares, np.full(len(squares), count.sum())])
        for side, parts in sides.items():
            squares, count = np.sum(parts, axis=0)
            pooled = np.maximum(squares / np.maximum(count, 1), SMALLEST_SPREAD**2)
            setattr(self, f"variance_{side}_", pooled)

    def _fit_trends(self, records):
        if not self._can_judge(records).any():
            raise ValueError(self._say_too_few(len(records)))
        reading, shrinks = self.pool_.locate_signal(self._reads()), self.gap == "shrunk"
        columns, pool = self._draw_sample(), self.pool_
        self._law = choose_law(
            pool,
            reading,
            lambda: pool.values_at(columns, self._reads()),
            self.likelihood,
            shrinks,
        )
        self.likelihood_ = "normal" if isinstance(self._law, NormalLaw) else "beta-binomial"
        sides = self._describe_sample(columns)
        self._priors = self._law.fit(sides)
        for name, side in zip(("in", "out"), sides[:2], strict=True):
            pooled = side.squares.sum(axis=1) / max((side.count - 1).sum(), 1)
            setattr(self, f"variance_{name}_", np.maximum(pooled, SMALLEST_SPREAD**2))

    def _describe_sample(self, columns):
        known = self._known_moments()
        if known is not None:
            return take_records(known, columns)
        values, inside, _ = self._read_sample()
        return self._compute_sides(self._law.read(values), inside, ~inside)

    def _reads_moments(self):
        return self.covariance != "full"

    def _change(self):
        return None if self._law is None else self._law.change

    def _score_sides(self, target, sides):
        if self._law is None:
            return self._compare(target, *sides[:2])
        laws = self._law.describe(sides, self._priors)
        return _average(self._law.log_ratio(self._law.read(target), laws))

    def _score(self, target, shadows, inside, outside):
        if self.covariance == "full":
            return joint_ratio(target, shadows, inside, outside, self.ridge)
        if not self.online:
            return self._compare(target, None, compute_moments(shadows, outside))
        values = shadows if self._law is None else self._law.read(shadows)
        return self._score_sides(target, self._compute_sides(values, inside, outside))

    def _compare(self, target, into, out):
        if not self.online:
            distance = target - out.mean
            distance /= np.sqrt(self._estimate_variance(out, self.variance_out_))
            return _average(distance)
        ratio = self._log_density(target, into, self.variance_in_)
        ratio -= self._log_density(target, out, self.variance_out_)
        return _average(ratio)

    def _leave_out(self, models):
        if self._law is None:
            return self
        values, inside, columns = self._read_sample()
        others = choose_others(self.pool_.design_, inside, columns, models)
        attack = copy.copy(self)
        attack._priors = {}
        for group, sides in self._leave_each(self._law.read(values), inside, models, others):
            judged = self._are_enough(sides.into.count, sides.out.count)
            if judged.any():
                priors = self._law.fit(take_records(sides, judged))
                attack._priors.update(dict.fromkeys(group.tolist(), priors))
        return attack

    def _score_left_out(self, shadows, inside, models, others):
        if self._law is not None:
            values, scores = self._law.read(shadows), np.empty((len(models), shadows.shape[2]))
            for group, sides in self._leave_each(values, inside, models, others):
                laws = self._law.describe(sides, self._priors[group[0]])
                for model in group:
                    scores[models == model] = _average(self._law.log_ratio(values[:, model], laws))
            return scores
        again = super()._score_left_out
        if self.covariance == "full":
            return again(shadows, inside, models, others)
        scores, lost = compare_left_out(
            self._compare, shadows, inside, models, others, online=self.online
        )
        lost = np.flatnonzero(lost)
        if len(lost):
            gone = part_of(others, lost)
            scores[:, lost] = again(shadows[:, :, lost], inside[:, lost], models, gone)
        return scores

    def _estimate_variance(self, moments, pooled):
        """Return the variance, or squared scale of the t distribution, of a new model's signal."""
        pooled = pooled.reshape(-1, *(1,) * (moments.mean.ndim - 1))
        if self.variance == "example":
            return moments.variance
        if self.variance == "pooled":
            return pooled
        variance = moments.squares + self.prior_strength * pooled
        variance *= (1 + 1 / moments.count) / (self.prior_strength + moments.count - 1)
        return variance

    def _log_density(self, target, moments, pooled):
        variance = self._estimate_variance(moments, pooled)
        if self.variance != "shrunk":
            return log_normal(target, moments.mean, variance)
        return log_student(target, moments.mean, variance, moments.count, self.prior_strength)

    def _count_needed(self):
        least = 2 if self.variance == "example" else 1
        if self.covariance == "full":
            least = self.pool_.signals_.shape[1] + 1
        return (least if self.online else 0), least

    def _suggest_alternative(self):
        is_joint = self.covariance == "full"
        return 'covariance="diagonal"' if is_joint else super()._suggest_alternative()

    def _natural_offset(self, records):
        is_known = isinstance(self._law, BitLaw) and self.pool_.signals_.shape[1] == 1
        if self.target_fpr is None or not is_known:
            return super()._natural_offset(records)
        # The law gives the rate of each threshold; few models have other scores when some leave.
        warn_unlike(self.pool_, self.victim, records, self.target_fpr)
        laws = [self._law.describe(sides, self._priors) for _, sides in self._judged_sides(records)]
        return self._law.rate_threshold(laws, self.target_fpr)

    def _default_offset(self):
        return logit(1 - self.prior) if self.online else None

    @available_if(_is_posterior)
    def predict_proba(self, X: Records) -> np.ndarray:
        """Posterior probability of membership under the fitted distributions.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        proba : ndarray of shape (n, 2)
            Probabilities of a non-member and of a member.
        """
        return as_columns(posterior_of(self.score_samples(X), self.prior))
