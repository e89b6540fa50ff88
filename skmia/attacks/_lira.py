"""The likelihood-ratio attack."""

from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import expit, gammaln, logit
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if

from .._core.left_out import compare_left_out, part_of
from .._core.moments import SMALLEST_SPREAD, compute_both_moments, compute_moments
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from ..base import PoolAttack
from ..shadow import ShadowPool
from ..signals import Signal

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def _log_normal(x, mean, variance):
    density = x - mean
    density *= density
    density /= -2 * variance
    density -= 0.5 * np.log(variance) + _LOG_ROOT_2PI
    return density


def _log_student(x, mean, variance, count, prior_strength):
    """Log density of a t distribution; ``variance`` is its squared scale."""
    # There are few distinct counts and many records, so the slow function is tabulated.
    dofs = prior_strength - 1 + np.arange(count.min(), count.max() + 1)
    constants = gammaln((dofs + 1) / 2) - gammaln(dofs / 2) - 0.5 * np.log(dofs * np.pi)
    dof = prior_strength - 1 + count
    density = x - mean
    density *= density
    density /= dof * variance
    np.log1p(density, out=density)
    density *= (dof + 1) / -2
    density += constants[count - count.min()] - 0.5 * np.log(variance)
    return density


def _log_normal_joint(target, shadows, chosen, ridge):
    """Compute the joint log density of all augmentations, with one covariance matrix per record."""
    n_queries = len(target)
    moments = compute_moments(shadows, chosen)
    centered = np.where(chosen, shadows - moments.mean[:, None], 0)
    covariance = np.einsum("qkn,rkn->nqr", centered, centered) / moments.count[:, None, None]
    added = ridge * np.trace(covariance, axis1=1, axis2=2) / n_queries + SMALLEST_SPREAD**2
    covariance += added[:, None, None] * np.eye(n_queries)
    away = (target - moments.mean).T
    distance = np.einsum("nq,nq->n", away, np.linalg.solve(covariance, away[..., None])[..., 0])
    return -0.5 * (distance + np.linalg.slogdet(covariance)[1]) - n_queries * _LOG_ROOT_2PI


def _joint_ratio(target, shadows, inside, outside, ridge):
    into, out = (_log_normal_joint(target, shadows, side, ridge) for side in (inside, outside))
    return into - out


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


class LiRA(PoolAttack):
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
        margin for a model without probabilities, and minus the log residual for a regressor. Any
        other signal must be stored by the pool (``ShadowPool(signals=("auto", "entropy"))``),
        except the loss and the confidence, which are computed from the log odds.
    online : bool, default=True
        Whether to use the IN models, which exist only for records of the pool. If False, only the
        OUT models are used.
    variance : {"shrunk", "example", "pooled"}, default="shrunk"
        How the variance is estimated: ``"example"`` separately for each record; ``"pooled"`` within
        records, one value for all records, which is better with few models; ``"shrunk"`` by the
        predictive Student-t distribution that weighs the two by the number of models. With fewer
        than about 16 models, compare with :class:`RMIA`.
    prior_strength : float, default=4.0
        Weight of the pooled variance as a number of observations, for ``variance="shrunk"``.
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
        as measured on shadow models treated as the victim. The rate holds only if the victim was
        trained like the shadow models and on as many records (``max_samples`` of the pool).

    Attributes
    ----------
    variance_in_, variance_out_ : ndarray of shape (n_queries,)
        Pooled variances within records, of the records given to ``fit``.
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

    ``"shrunk"`` has a normal-inverse-gamma prior, flat in the mean.

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
        **PoolAttack._parameter_constraints,
        "signal": [str, Signal],
        "online": ["boolean"],
        "variance": [StrOptions({"shrunk", "example", "pooled"})],
        "prior_strength": [Interval(Real, 0, None, closed="neither")],
        "covariance": [StrOptions({"diagonal", "full"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | FrozenEstimator | None = None,
        *,
        signal: str | Signal = "auto",
        online: bool = True,
        variance: Literal["shrunk", "example", "pooled"] = "shrunk",
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
        self.prior_strength = prior_strength
        self.covariance = covariance
        self.ridge = ridge
        self.prior = prior
        self.target_fpr = target_fpr

    def _fit_pool(self, records):
        joint = self.covariance == "full"
        if joint and (self.variance != "example" or not self.online):
            raise ValueError(
                'covariance="full" goes with variance="example" and online=True; got '
                f"variance={self.variance!r}, online={self.online}."
            )
        sides = {"in": [], "out": []}
        for _, shadows, inside, _ in self._judged_blocks(records):
            both = compute_both_moments(shadows, inside, ~inside)
            for side, moments in zip(("in", "out"), both, strict=True):
                # A variance requires two models; the mean of a single model has no spread to add.
                count = np.where(moments.count > 1, moments.count - (self.variance == "shrunk"), 0)
                sides[side].append(
                    [moments.squares.sum(axis=1), np.full(len(shadows), count.sum())]
                )
        for side, parts in sides.items():
            squares, count = np.sum(parts, axis=0)
            pooled = np.maximum(squares / np.maximum(count, 1), SMALLEST_SPREAD**2)
            setattr(self, f"variance_{side}_", pooled)

    def _score(self, target, shadows, inside, outside):
        if self.covariance == "full":
            return _joint_ratio(target, shadows, inside, outside, self.ridge)
        if not self.online:
            return self._compare(target, None, compute_moments(shadows, outside))
        return self._compare(target, *compute_both_moments(shadows, inside, outside))

    def _compare(self, target, into, out):
        if not self.online:
            distance = target - out.mean
            distance /= np.sqrt(self._estimate_variance(out, self.variance_out_))
            return _average(distance)
        ratio = self._log_density(target, into, self.variance_in_)
        ratio -= self._log_density(target, out, self.variance_out_)
        return _average(ratio)

    def _score_left_out(self, shadows, inside, models, others):
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
            return _log_normal(target, moments.mean, variance)
        return _log_student(target, moments.mean, variance, moments.count, self.prior_strength)

    def _count_needed(self):
        least = 2 if self.variance == "example" else 1
        if self.covariance == "full":
            least = self.pool_.signals_.shape[1] + 1
        return (least if self.online else 0), least

    def _suggest_alternative(self):
        is_joint = self.covariance == "full"
        return 'covariance="diagonal"' if is_joint else super()._suggest_alternative()

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
        member = expit(self.score_samples(X) + logit(self.prior))
        return np.column_stack([1 - member, member])
