"""Bayes-optimal attack on Gaussian linear regression, with its exact success."""

from numbers import Real
from typing import Literal

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, gen_batches

from .._core.matrix import check_feature_matrix
from .._core.needs import Needs
from .._core.numbers import SMALLEST, check_broadcast, check_numbers
from .._core.query import query
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import ArrayLike, FloatOrArray, Seed
from .._core.validation import check_outputs_source
from ..base import BaseAttack
from .bounds import mutual_information_success_bound, subexponential_loss_success_bound

# Nodes of the quadrature; the error is below 1e-10, see the tests.
_N_NODES = 100

# Distance, in standard deviations, from which nothing is in common.
_FAR = 1e100


def normal_total_variation(
    mean_1: float | ArrayLike,
    std_1: float | ArrayLike,
    mean_2: float | ArrayLike,
    std_2: float | ArrayLike,
) -> FloatOrArray:
    """Return the total variation of two normal distributions of one variable.

    It is the largest advantage, TPR - FPR, of an attack on scores that have the first distribution
    for members and the second for non-members.

    Parameters
    ----------
    mean_1, mean_2 : float or array-like
        Means. All arguments are broadcast.
    std_1, std_2 : float or array-like
        Standard deviations, above 0.

    Returns
    -------
    variation : float or ndarray
        Total variation, in [0, 1].

    Raises
    ------
    ValueError
        If a standard deviation is not positive or shapes do not fit.

    See Also
    --------
    total_variation : The estimate from two samples.
    leverage_total_variation : The distance between what a regression says of members and of others.

    Notes
    -----
    With equal standard deviations it is ``2 * Phi(|mean_1 - mean_2| / (2 * std)) - 1``. Otherwise
    the densities cross twice, and the narrow distribution has more mass in between.

    Examples
    --------
    >>> from skmia.leakage import normal_total_variation
    >>> round(normal_total_variation(0.0, 1.0, 1.0, 1.0), 4)
    0.3829
    >>> normal_total_variation(0.0, 1.0, 0.0, [1.0, 2.0]).round(4)
    array([0.    , 0.3227])
    """
    parts = {"mean_1": mean_1, "std_1": std_1, "mean_2": mean_2, "std_2": std_2}
    for name, values in parts.items():
        allowed = ("finite numbers above 0", SMALLEST) if "std" in name else ("finite numbers",)
        parts[name] = check_numbers(values, name, *allowed)
    first, std_1, second, std_2 = check_broadcast(**parts)
    # The wide distribution has the standard deviation 1, the narrow one is at 0.
    wide = np.maximum(std_1, std_2)
    ratio = np.minimum(std_1, std_2) / wide
    with np.errstate(over="ignore"):
        gap = np.minimum(np.abs(first - second) / wide, _FAR)
    # The narrow density is larger where (1 - ratio^2) u^2 + 2 gap ratio u <= constant, with u in
    # units of the narrow standard deviation. For equal ones this is a half line.
    excess = (1 - ratio) * (1 + ratio)
    constant = gap**2 - 2 * np.log(np.maximum(ratio, SMALLEST))
    reach = gap * ratio + np.sqrt((gap * ratio) ** 2 + excess * constant)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(reach > 0, constant / reach, 0.0)
        low = np.where(reach > 0, -reach / excess, 0.0)
    inside = special.ndtr(high) - special.ndtr(low)
    variation = inside - (special.ndtr(ratio * high - gap) - special.ndtr(ratio * low - gap))
    variation = np.clip(variation, 0.0, 1.0)
    return float(variation) if variation.ndim == 0 else variation


def leverage_total_variation(leverage: float | ArrayLike) -> FloatOrArray:
    r"""Return the total variation between a least-squares fit with a record and one without it.

    It is the advantage of the best attack on one record of a Gaussian linear regression with a
    fixed design, for an attacker who knows the record, its place and the law of the data. It
    depends on the leverage :math:`h_j = x_j^T (X^T X)^{-1} x_j` alone: it is the distance of two
    independent standard normal variables from two with the correlation :math:`\sqrt{h_j}`.

    Parameters
    ----------
    leverage : float or array-like
        Leverage of the record, in [0, 1].

    Returns
    -------
    variation : float or ndarray
        Total variation, in [0, 1]. The success of the best attack is half of 1 plus this.

    Raises
    ------
    ValueError
        If a leverage is out of range.

    See Also
    --------
    GaussianRegressionAttacker : The attack, and its success for all records of a design.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534.

    Examples
    --------
    >>> from skmia.leakage import leverage_total_variation
    >>> leverage_total_variation([0.0, 0.2, 0.5, 0.9, 1.0]).round(4)
    array([0.    , 0.1604, 0.306 , 0.6199, 1.    ])
    """
    leverage = check_numbers(leverage, "leverage", "numbers in [0, 1]", 0, 1)
    variation = vary_with_leverage(np.ravel(leverage)).reshape(leverage.shape)
    variation = np.where(leverage == 0, 0.0, np.where(leverage == 1, 1.0, variation))
    return float(variation) if variation.ndim == 0 else variation


def vary_with_leverage(leverage):
    """Total variation of a standard Gaussian pair and one with the correlation sqrt(leverage).

    In polar coordinates the radius integrates in closed form, and the angle, doubled, is left over:
    it runs from arccos(sqrt(leverage)), where the density ratio is 1 at all radii, to pi. There all
    derivatives vanish, which the squared variable of the Gauss-Legendre rule makes harmless.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    nodes, weights = (1 + nodes) / 2, weights / 2
    correlation = np.sqrt(np.maximum(leverage, SMALLEST))[:, None]
    start = np.arccos(correlation)
    length = np.pi - start
    angle = start + length * nodes**2
    # cos(start) - cos(angle), which would lose its digits next to the start.
    ahead = 2 * np.sin((angle + start) / 2) * np.sin((angle - start) / 2)
    rest = 1 - leverage[:, None]
    decay = -special.xlog1py(rest, -leverage[:, None]) / (2 * correlation)
    share = correlation * ahead / (rest + correlation * ahead)
    integrand = share * np.exp(-decay / ahead) * 2 * nodes * length
    return np.minimum(integrand @ weights / np.pi, 1.0)


# Leverages are sums of squares of float64 numbers: what is closer to 1 than this is 1.
_RESOLUTION = 1e-12

# Numbers in one block of a (samples x training rows) array.
_BLOCK = 2**20


def _compute_whitening(design):
    """Return a matrix that makes the columns of the design orthonormal.

    Leverages are its squared rows.
    """
    _, singular, directions = np.linalg.svd(design, full_matrices=False)
    rounding = singular[0] * max(design.shape) * np.finfo(np.float64).eps
    kept = singular > rounding
    return directions[kept].T / singular[kept]


def _log_likelihood_ratio(leverage, error, residual, noise_std):
    """Return the log of the density of the model with the record over that without it, in nats."""
    rest = np.maximum(1 - leverage, _RESOLUTION)
    return (np.square(error) - np.square(residual) / rest) / (2 * noise_std**2) - np.log(rest) / 2


def _mix(log_ratios, errors, noise_std):
    """Return the log ratio for a row that is not known.

    The mean, weighted by the response's density.

    Shapes: log_ratios, errors (n_samples, n_rows).
    """
    log_weights = -np.square(errors / noise_std) / 2
    log_weights -= special.logsumexp(log_weights, axis=1, keepdims=True)
    return special.logsumexp(log_ratios + log_weights, axis=1)


class GaussianRegressionAttacker(BaseAttack):
    """The best possible attack on least squares with Gaussian noise, and its exact success.

    The rows of a design are public, and their responses are linear in the features plus Gaussian
    noise. The victim publishes the least squares coefficients. The attacker is given a row and a
    response, knows the true coefficients and the noise, and decides whether the response is the one
    that the victim was trained on or a fresh one with the same mean. Both are equally likely. The
    optimal attack compares the two densities of the published coefficients; its success depends
    only on the leverage of the row.

    It is a benchmark for other attacks, which know less. Use it on synthetic data, whose true
    coefficients are known.

    The design is what ``fit`` is given: all records of ``fit(members)``, and the members of
    ``fit(records, membership)``.

    Parameters
    ----------
    victim : fitted regressor, default=None
        Least squares without an intercept. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used. The success and its bounds need neither.
    coef : array-like of shape (n_features,), default=None
        True coefficients. None is enough for the success and its bounds where the row is known;
        scores need them.
    noise_std : float, default=1.0
        Standard deviation of the noise, in units of the response.
    knows_index : bool, default=True
        Whether the attacker knows the row. If False, the attacker knows only the response, which
        may belong to any row.
    proxy : {"valid", "thesis"}, default="valid"
        Proxy variance of the squared residual behind ``success_lower_bound_``: the largest
        variance that a residual has, ``noise_std**2 * (1 + leverage)``, or ``noise_std**2``, as
        printed, which is too small to give a bound.
    n_simulations : int, default=10_000
        Number of draws for ``success_rate_`` if the row is not known.
    random_state : int, RandomState instance or None, default=None
        Controls these draws.

    Attributes
    ----------
    leverage_ : ndarray of shape (n_rows,)
        Leverage of each row of the design, in [0, 1].
    success_rates_ : ndarray of shape (n_rows,)
        Probability of a correct prediction for each row, for the attacker who knows the row.
    success_rate_ : float
        Probability of a correct prediction for a random row; exact if the row is known, else
        simulated.
    success_rate_error_ : float
        Standard error of ``success_rate_``, 0 where it is exact.
    success_lower_bound_ : float
        Lower bound of the success from the generalization gap, in [0.5, 1]. The loss requires the
        row; for an attacker who does not know it, such a bound does not exist, and this is 0.5.
    success_upper_bound_ : float
        Upper bound of the success from ``mutual_information_``.
    mutual_information_ : float
        Mutual information between the response with its row and the published coefficients, in
        nats; infinite if a leverage is 1.
    generalization_gap_ : float
        Expected squared residual of a fresh response minus the one of a training response.
    offset_ : float
        Threshold of the log-likelihood ratio, by default 0.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If ``coef`` is needed and not given, or does not fit the records.

    See Also
    --------
    skmia.attacks.ThresholdAttack : With ``signal="squared_error"`` it knows neither leverage nor
        coefficients.
    skmia.leakage.bounds.subexponential_loss_success_bound : Formula of the bound.

    Notes
    -----
    With the leverage h, the response's error e and the residual r the score is
    ``(e**2 - r**2 / (1 - h)) / (2 * noise_std**2) - log(1 - h) / 2`` in nats. A leverage of 1 means
    that the model passes through the response: membership is certain.

    A record whose row is not in the design cannot be a member, and its score has no meaning.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    Institut Polytechnique de Paris, section 3.2.1 and appendix E.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skmia import Records
    >>> from skmia.leakage import GaussianRegressionAttacker
    >>> rng = np.random.default_rng(0)
    >>> X, coef = rng.normal(size=(40, 20)), rng.normal(size=20)
    >>> members = Records(X, X @ coef + rng.normal(size=40))
    >>> others = Records(X, X @ coef + rng.normal(size=40))
    >>> model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
    >>> attack = GaussianRegressionAttacker(model, coef=coef).fit(members)
    >>> round(attack.success_rate_, 3)
    0.654
    >>> float(attack.predict(members).mean()), float(attack.predict(others).mean())
    (0.875, 0.6)
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "coef": ["array-like", None],
        "noise_std": [Interval(Real, 0, None, closed="neither")],
        "knows_index": ["boolean"],
        "proxy": [StrOptions({"valid", "thesis"})],
        "n_simulations": [at_least(2)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        coef: ArrayLike | None = None,
        noise_std: float = 1.0,
        knows_index: bool = True,
        proxy: Literal["valid", "thesis"] = "valid",
        n_simulations: int = 10_000,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.coef = coef
        self.noise_std = noise_std
        self.knows_index = knows_index
        self.proxy = proxy
        self.n_simulations = n_simulations
        self.random_state = random_state

    def _needs(self):
        return Needs(frozenset({"value"}), lacks=("coef",) if self.coef is None else ())

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self._design = records if membership is None else records[membership == 1]
        design = self._as_matrix(self._design)
        if self.coef is not None:
            self._predict_truth(design)
        self._whitening = _compute_whitening(design)
        basis = design @ self._whitening
        leverage = np.square(basis).sum(axis=1)
        self.leverage_ = np.where(leverage > 1 - _RESOLUTION, 1.0, leverage)
        self._fit_bounds()
        self.success_rates_ = (1 + vary_with_leverage(self.leverage_)) / 2
        self.success_rate_, self.success_rate_error_ = float(self.success_rates_.mean()), 0.0
        if not self.knows_index:
            self._simulate(design, basis)

    def _fit_bounds(self):
        variance = self.noise_std**2
        self.generalization_gap_ = float(2 * variance * self.leverage_.mean())
        with np.errstate(divide="ignore"):
            information = -np.log1p(-self.leverage_).mean() / 2
        # The model depends on the record in one of the two equally likely cases only.
        self.mutual_information_ = float(information / 2)
        self.success_upper_bound_ = mutual_information_success_bound(self.mutual_information_)
        largest = 1 + self.leverage_.max() if self.proxy == "valid" else 1.0
        self.success_lower_bound_ = (
            subexponential_loss_success_bound(self.generalization_gap_, variance * largest)
            if self.knows_index
            else 0.5
        )

    def _simulate(self, design, basis):
        """Estimate the success of an attacker who does not know the row.

        The total variation is the mean of (1 - ratio)+ without the record, a number in [0, 1].
        """
        rng = check_random_state(self.random_state)
        means = self._predict_truth(design)
        shares = []
        for batch in gen_batches(self.n_simulations, max(1, _BLOCK // len(design))):
            size = batch.stop - batch.start
            rows = rng.randint(len(design), size=size)
            responses = means[rows] + self.noise_std * rng.normal(size=size)
            errors = responses[:, None] - means
            noise = rng.normal(size=(size, basis.shape[1])) @ basis.T
            ratios = _log_likelihood_ratio(
                self.leverage_, errors, errors - self.noise_std * noise, self.noise_std
            )
            shares.append(-np.expm1(np.minimum(_mix(ratios, errors, self.noise_std), 0)))
        shares = np.concatenate(shares)
        self.success_rate_ = float(1 + shares.mean()) / 2
        self.success_rate_error_ = float(shares.std(ddof=1) / np.sqrt(len(shares)) / 2)

    def _as_matrix(self, records):
        return check_feature_matrix(records.X, dtype=np.float64, input_name="X of the records")

    def _predict_truth(self, X):
        """Return the mean of the response of each row."""
        if self.coef is None:
            raise ValueError(
                "coef is None; the true coefficients are needed for scores, and where the "
                "attacker does not know the row for its success as well."
            )
        coef = check_numbers(self.coef, "coef", "one finite number for each feature")
        if coef.shape != X.shape[1:]:
            raise ValueError(
                f"coef must have one number for each of {X.shape[1]} features of the records; got "
                f"shape {coef.shape}."
            )
        return X @ coef

    def _ask(self, records):
        outputs = query(self.victim, records)
        if outputs.kind != "value":
            raise ValueError("GaussianRegressionAttacker needs the predictions of a regressor.")
        return outputs.values

    def _score_samples(self, records):
        if not self.knows_index:
            return self._score_responses(records)
        X, answers = self._as_matrix(records), self._ask(records)
        errors, residuals = records.y - self._predict_truth(X), records.y - answers
        leverage = np.square(X @ self._whitening).sum(axis=1)
        return _log_likelihood_ratio(leverage, errors, residuals, self.noise_std)

    def _score_responses(self, records):
        means = self._predict_truth(self._as_matrix(self._design))
        answers, responses = self._ask(self._design), records.y
        scores = []
        for batch in gen_batches(len(responses), max(1, _BLOCK // len(means))):
            errors = responses[batch, None] - means
            residuals = responses[batch, None] - answers
            ratios = _log_likelihood_ratio(self.leverage_, errors, residuals, self.noise_std)
            scores.append(_mix(ratios, errors, self.noise_std))
        return np.concatenate(scores)

    def _natural_offset(self, records):
        return 0.0
