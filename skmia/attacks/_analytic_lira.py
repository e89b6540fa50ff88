"""LiRA for linear models, with the statistics of shadow models in closed form."""

from numbers import Real
from typing import Literal

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.base import BaseEstimator

from .._core.budget import Cost, OverBudgetError, allow_bytes, why_over
from .._core.kinds import is_classifier
from .._core.linear_influence import expect_influence, make_influence
from .._core.moments import SMALLEST_SPREAD, power_of_two_near
from .._core.needs import Needs
from .._core.normal_law import log_normal
from .._core.query import copy_recipe, query, unwrap
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from .._core.validation import check_outputs_source
from ..base import BaseAttack, PosteriorMixin
from ..signals import ScaledLogit
from ..victims import LinearModel
from ._file_attack import find_known, sort_distinct

_READS = frozenset(ScaledLogit.reads) | {"value"}

# Rounds in which the weights of the records and their leverages follow from each other.
_N_ROUNDS = 3

# Records by which the numbers that all of them store are told.
_FEW = 200


class AnalyticLiRA(PosteriorMixin, BaseAttack):
    r"""Likelihood-ratio attack on a linear model, without shadow models.

    :class:`LiRA` estimates from many shadow models how the signal of a record is distributed over
    models that were trained with it (IN) and without it (OUT). For a linear model, both
    distributions can be computed from one fit to all records: a random training set is a random
    weight for each record, and Newton's method approximates how the output for a record changes
    with the weights.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used, and ``estimator`` must be given.
    estimator : estimator, default=None
        Estimator with which the victim was trained: an unfitted LogisticRegression,
        LinearRegression or Ridge, or a Pipeline that ends in one. If None, a clone of the victim.
    prior : float, default=0.5
        Share of members among the records given to ``fit``, in (0, 1).
    max_bytes : float or "auto", default="auto"
        Maximum memory of ``fit`` in addition to the table, in bytes; ``fit`` raises an error if it
        would need more. "auto" allows 500 MB, or ten times the table if that is more.

    Attributes
    ----------
    estimator_ : estimator
        The clone that was fitted to all records, each with weight ``prior``.
    offset_ : float
        Threshold of the score: without ``membership``, the log odds of a non-member, 0 for
        ``prior=0.5``.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the model is of another kind.
    ValueError
        If it has class weights, a penalty without a gradient, or coefficients that are not unique.

    See Also
    --------
    LiRA : Estimates the distributions from shadow models, for any victim.
    StationarityAttack : Uses the coefficients of the victim, from its file.
    skmia.leakage.LeaveOneOutLeakage : Leakage of training records from one fit.

    Notes
    -----
    :ref:`The formulas <analytic_lira>` are in the guide. A record that was not given to ``fit`` has
    weight 0 in the fit. The steps of a Pipeline before the model are fitted to all records once.
    The time is that of one fit plus :math:`O(n d^2)` for n records and d coefficients, where d is
    the number of features, times the number of classes if there are more than two. With more
    features than records and one output, it is :math:`O(n^3)`. Sparse features are not copied to
    dense ones. The memory is that of a square matrix over the coefficients, or over the records if
    they are fewer; see :meth:`expect_cost`.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skmia.attacks import AnalyticLiRA
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(
    ...     300, n_features=40, kind="regression", random_state=0
    ... )
    >>> members = records[membership == 1]
    >>> victim = LinearRegression().fit(members.X, members.y)
    >>> attack = AnalyticLiRA(victim).fit(records)
    >>> bool(attack.score(records, membership) > 0.1)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "estimator": "no_validation",
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "max_bytes": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        estimator: BaseEstimator | None = None,
        *,
        prior: float = 0.5,
        max_bytes: float | Literal["auto"] = "auto",
    ) -> None:
        self.victim = victim
        self.estimator = estimator
        self.prior = prior
        self.max_bytes = max_bytes

    def _needs(self):
        is_given = self.estimator is not None
        return Needs(_READS, access=frozenset() if is_given else frozenset({"optimum"}))

    def expect_cost(self, X: Records) -> Cost:
        """Estimate the memory and the time of the attack from the fitted victim.

        Parameters
        ----------
        X : Records of n records
            Labeled records that :meth:`fit` would get.

        Returns
        -------
        cost : Cost
            Memory in bytes, seconds on one core, and the fit that is not among them. ``fit``
            refuses to begin if the memory is above 500 MB and above ten times the table.

        Raises
        ------
        TypeError, ValueError
            If the victim is None, not fitted or of another kind.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from skmia.attacks import AnalyticLiRA
        >>> from skmia.datasets import make_membership_problem
        >>> records, membership = make_membership_problem(
        ...     300, n_features=40, kind="regression", random_state=0
        ... )
        >>> victim = LinearRegression().fit(records.X, records.y)
        >>> AnalyticLiRA(victim).expect_cost(records).what
        'a matrix of 41 x 41 coefficients'
        """
        model = unwrap(self.victim)
        while hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        linear, some = LinearModel(model), X[:_FEW]
        read, _ = linear.read(some.X, some.y)
        return self._expect(linear, read, linear.outputs(read).shape[1], len(X))

    def _expect(self, model, X, n_outputs, n_records):
        stored = X.nnz if issparse(X) else X.size
        n_stored = stored / max(1, X.shape[0]) * n_records
        cost = expect_influence(
            n_records, n_stored, model.penalty, n_outputs, _N_ROUNDS + 1, is_sparse=issparse(X)
        )
        return cost._replace(n_fits=1)

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self.estimator_ = copy_recipe(self.estimator, self.victim)
        self._model = LinearModel(self.estimator_)
        self._model.fit(records.X, records.y, self.prior).check()
        self._digests = sort_distinct(records)[1]
        X, y = self._model.read(records.X, records.y)
        outputs, loss = self._model.outputs(X), self._model.loss
        self._refuse_large(self._expect(self._model, X, outputs.shape[1], len(y)), records)
        curve, slopes = loss.curve(outputs, y), loss.slope(outputs, y)
        pull, bend = self._pull(loss.signal(outputs, y), y)
        weight = self.prior
        for _ in range(_N_ROUNDS + 1):
            self._influence = None  # two of them are never held
            self._influence = make_influence(X, curve, weight, self._model.penalty)
            held = bend * self._influence.lever(X, slopes)
            weight = self._weigh(held)
        self._unit = power_of_two_near(y - y.mean()) if loss.is_quadratic else 1.0
        drawn = self._draw(pull, weight, held)[:, None]
        self._scatter = self._influence.scatter(X, drawn * slopes)

    def _refuse_large(self, cost, records):
        is_given = self.max_bytes != "auto"
        why = why_over(cost, self.max_bytes if is_given else allow_bytes(records.X))
        if why is not None:
            raise OverBudgetError(
                f"AnalyticLiRA was not fitted: {why}; take LiRA, or fewer columns or classes."
            )

    def _pull(self, signal, y):
        """Return the residual as a function of the signal, and minus its derivative."""
        if self._model.loss.is_quadratic:
            return y - signal, np.ones(len(y))
        return expit(-signal), expit(signal) * expit(-signal)

    def _weigh(self, held):
        """Weight of records in the mean of models that are trained on a random share of them.

        held (n,): leverage times bend with this weight; the solution of w = p / (1 + (1 - p) c) and
        c = held / (1 - w held).
        """
        return 2 * self.prior / (1 + held + np.sqrt((1 + held) ** 2 - 4 * self.prior * held))

    def _draw(self, pull, weight, held):
        """Return the standard deviation of what the draw of each record pulls."""
        return np.sqrt((1 - self.prior) / self.prior) * weight * pull / (1 - weight * held)

    def _score_samples(self, records):
        (leverage, mean, variance, y), signal = self._describe(records), self._ask(records)
        pull, bend = self._pull(signal, y)
        into = log_normal(signal - leverage * pull, mean, variance) + np.log1p(leverage * bend)
        return into - log_normal(signal, mean, variance)

    def _describe(self, records):
        """Leverage, mean and variance of models without each record, and targets or codes."""
        loss, (X, y) = self._model.loss, self._model.read(records.X, records.y)
        outputs, is_own = self._model.outputs(X), find_known(self._digests, records)[1]
        slopes, middle = loss.slope(outputs, y), loss.signal(outputs, y)
        pull, bend = self._pull(middle, y)
        leverage = self._influence.lever(X, slopes)
        held = bend * leverage
        weight = is_own * self._weigh(held)
        away = leverage / (1 - weight * held)  # in a model without the record
        variance = self._influence.project(self._scatter, X, slopes)
        variance -= is_own * (leverage * self._draw(pull, weight, held)) ** 2
        least = (SMALLEST_SPREAD * self._unit) ** 2
        variance = np.maximum(variance / (1 - weight * held) ** 2, least)
        return away, middle - weight * away * pull, variance, y

    def _ask(self, records):
        if is_classifier(self.estimator_):
            return ScaledLogit().of(self.victim, records)
        return query(self.victim, records).values

    def _natural_offset(self, records):
        return logit(1 - self.prior)
