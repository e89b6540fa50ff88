"""Search over the settings of a private estimator whose guarantee covers the choice."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._core.accountant import (
    choose_noise_multiplier,
    compute_divergences,
    convert_divergences,
)
from .._core.containers import as_rows, take_rows
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.kinds import is_classifier
from .._core.numbers import show
from .._core.optional import import_optional
from .._core.query import predict_flat
from .._core.records import Records
from .._core.sklearn import (
    N_JOBS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    at_least,
)
from .._core.tasks import delayed
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Rows, Seed
from .._training.workers import run_tasks
from ._exact_noise import PrivateRandomness, choose_grids
from ._meta import FeaturesOfFitted
from ._trial_laws import NegativeBinomialTrials, PoissonTrials
from .mechanisms import DELTA, choose_target_delta

# Candidates of a search over lists alone, beyond which they are drawn as from distributions.
_MOST_CANDIDATES = 1_000


class _TrialComparison(NamedTuple):
    """The rows by which trials are compared, and how."""

    X: Any
    y: Any
    scoring: Any
    noise: float | None  # on the number of rows that are right; None for public rows


class _SearchTrial(NamedTuple):
    """One fit with what decides between it and others."""

    score: float
    tie: float  # a number drawn for this trial alone
    candidate: int
    estimator: Any


def _best_has(name):
    """Return whether the fitted estimator, or one that is to be fitted, has a method."""

    def has(self):
        # The AttributeError of the estimator names what is missing.
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return available_if(has)


class PrivateSearchCV(
    TransactionMixin, CopiesParameters, FeaturesOfFitted, MetaEstimatorMixin, BaseEstimator
):
    """Randomized search over parameters of a private estimator, whose epsilon covers the choice.

    The search runs a random number of trials, each with a candidate that is drawn with replacement,
    and releases only the best one. Because the number of trials is secret, the search costs about
    as much as two or three fits, for any number of candidates (Papernot and Steinke, 2022). With
    :class:`~sklearn.model_selection.RandomizedSearchCV`, the costs of all fits add up.

    Parameters
    ----------
    estimator : estimator
        Private estimator with a method ``plan_steps``, such as :class:`DPSGDClassifier`. Its
        ``ledger``, if it has one, gets one entry for the whole search.
    param_distributions : dict of str to list or distribution, or a list of such dicts
        As of :class:`~sklearn.model_selection.RandomizedSearchCV`. If all values are lists with at
        most 1,000 combinations, all of these are candidates; else ``n_candidates`` are drawn
        without the data.
    n_candidates : int, default=64
        Number of candidates that are drawn from distributions, or from more than 1,000
        combinations.
    mean_trials : float, default=16
        Mean number of trials, above 1.
    law : {"negative-binomial", "poisson"}, default="negative-binomial"
        Distribution of the number of trials. The negative binomial distribution is truncated to at
        least one trial. The Poisson distribution is more concentrated around the mean and costs
        more; with probability ``exp(-mean_trials)`` there is no trial, and ``fit`` raises an error.
    eta : float, default=0.0
        Shape of the negative binomial distribution, above -1: 1 is geometric, 0 logarithmic. With a
        smaller value, the search costs less, and the number of trials varies more.
    public : Records, default=None
        Rows that are not private, with labels, by which trials are compared. If None, a share of
        the rows is held out of training and compared by accuracy with noise, which ``epsilon_``
        covers.
    validation_fraction : float, default=0.2
        Share of the rows that is held out if there are no public ones.
    scoring : str or callable, default=None
        As of :class:`~sklearn.model_selection.RandomizedSearchCV`, on public rows; None is the
        ``score`` of the estimator. Without public rows only the accuracy is possible.
    target_delta : float, default=None
        The delta at which ``epsilon_`` is stated. If None, a tenth of one over the number of rows.
    n_jobs : int, default=None
        Number of trials that are trained at once, with joblib.
    noise_seed : int, default=None
        Seed of the number of trials, the choices and the noise on scores, for tests only: with a
        seed, ``epsilon_`` is infinite. If None, they come from the operating system.
    random_state : int, RandomState instance or None, default=None
        Controls which candidates are drawn from distributions.

    Attributes
    ----------
    best_estimator_ : estimator
        The estimator of the best trial, as it was trained there. It is not fitted again, which
        would cost another fit.
    best_params_ : dict
        Settings of the best trial.
    best_score_ : float
        Its score, with noise if it was computed on private rows.
    best_index_ : int
        0, the only row of ``cv_results_``.
    cv_results_ : dict
        Settings and score of the released trial. Nothing else about the trials can be released,
        not even their number.
    epsilon_ : float
        Epsilon of the whole search at ``delta_``, in nats: of estimator, settings and score.
    delta_ : float
        The delta of ``epsilon_``.
    n_candidates_ : int
        Number of candidates.
    classes_ : ndarray of shape (n_classes,)
        Labels; of classifiers only.

    See Also
    --------
    DPSGDClassifier : Private net over whose parameters you can search.
    PrivacyLedger : Records the cost of several fits.

    Notes
    -----
    One trial costs at most the largest Rényi divergence among the candidates at each order, or that
    of the score, if rows are held out: a row takes part either in training or in scoring. With the
    divergence ``r(a)`` at the order ``a``, the best of a number of trials from the negative
    binomial distribution with the parameters ``eta`` and ``gamma`` costs

    ``r(a) + (1 + eta) * ((1 - 1 / b) * r(b) + log(1 / gamma) / b) + log(mean_trials) / (a - 1)``

    for any order ``b`` (theorem 2); theorem 6 covers the Poisson distribution. The number of trials
    is computed with 50 digits from 106 random bits, for every mean and shape: the total variation
    between its distribution and the stated one is below 1e-12.

    The guarantee covers what the search returns. The running time depends on the number of trials,
    so an attacker must not observe it, nor messages or files of single trials: keep ``verbose`` of
    the estimator at 0. The number of rows, the candidates and ``mean_trials`` are public.

    References
    ----------
    Papernot, N. and Steinke, T. (2022). Hyperparameter tuning with Rényi differential privacy.
    ICLR. arXiv:2110.03620.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skorch import NeuralNetClassifier
    >>> from torch import nn
    >>> from skmia.defenses import DPSGDClassifier, PrivateSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> def make_net(n_features, n_classes):
    ...     return NeuralNetClassifier(
    ...         nn.Linear(n_features, n_classes), criterion=nn.CrossEntropyLoss, batch_size=30,
    ...         max_epochs=1, train_split=None, verbose=0,
    ...     )
    >>> private = DPSGDClassifier(make_net, target_epsilon=1.0, classes=[0, 1, 2])
    >>> search = PrivateSearchCV(private, {"max_grad_norm": [0.1, 1.0, 10.0]}, mean_trials=2)
    >>> 1.0 < search.fit(X, y).epsilon_ < 2.5
    True
    """

    _fitted_part = "best_estimator_"
    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "param_distributions": [dict, list],
        "n_candidates": [at_least(1)],
        "mean_trials": [Interval(Real, 1, 1e6, closed="right")],
        "law": [StrOptions({"negative-binomial", "poisson"})],
        "eta": [Interval(Real, -1, 100, closed="right")],
        "public": [Records, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "scoring": [str, callable, None],
        "target_delta": [DELTA, None],
        "n_jobs": N_JOBS,
        "noise_seed": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_candidates: int = 64,
        mean_trials: float = 16,
        law: Literal["negative-binomial", "poisson"] = "negative-binomial",
        eta: float = 0.0,
        public: Records | None = None,
        validation_fraction: float = 0.2,
        scoring: str | Callable[..., float] | None = None,
        target_delta: float | None = None,
        n_jobs: int | None = None,
        noise_seed: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.mean_trials = mean_trials
        self.law = law
        self.eta = eta
        self.public = public
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.target_delta = target_delta
        self.n_jobs = n_jobs
        self.noise_seed = noise_seed
        self.random_state = random_state

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Train a random number of candidates, and keep the best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Labels or targets.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If settings are wrong, or the Poisson distribution gave no trial.
        """
        self._check_is_private()
        import_optional("opacus", "dp")
        X, y = as_rows(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError("X has 0 sample(s), and a search needs some to train on.")
        self._check_scoring()
        candidates = self._list_candidates()
        delta = choose_target_delta(self.target_delta, len(y))
        training, held_out = self._split(len(y))
        part = take_rows(X, training), y[training]
        divergences = self._bound_trial(candidates, part)
        if self.public is None:
            divergences, noise = _cover_score(divergences, delta)
            comparison = _TrialComparison(take_rows(X, held_out), y[held_out], self.scoring, noise)
        else:
            comparison = _TrialComparison(self.public.X, self.public.y, self.scoring, None)
        law = self._make_law()
        whole = law.spend(divergences) if np.isfinite(divergences).any() else divergences
        epsilon = np.inf if self.noise_seed is not None else convert_divergences(whole, delta)
        self._record(whole if self.noise_seed is None else np.full_like(whole, np.inf), len(y))
        best = self._run_trials(law, candidates, part, comparison)
        self.delta_, self.epsilon_, self.n_candidates_ = delta, epsilon, len(candidates)
        self._release(best, candidates)
        return self

    def _check_is_private(self):
        if not callable(getattr(self.estimator, "plan_steps", None)):
            raise InvalidParameterError(
                "PrivateSearchCV adds up the noise that the steps of a private estimator draw, as "
                "its method plan_steps tells; got an estimator without one: "
                f"{show(self.estimator)}. Search a DPSGDClassifier, or search this estimator by "
                "GridSearchCV, which promises no privacy."
            )

    def _check_scoring(self):
        if self.public is not None:
            if self.public.y is None:
                raise ValueError("public must hold labels: public=Records(X, y).")
        elif not is_classifier(self.estimator) or self.scoring not in (None, "accuracy"):
            wanted = "" if self.scoring is None else f", and scoring={show(self.scoring)}"
            raise ValueError(
                "Without public rows trials are compared by accuracy, of which one row changes as "
                f"little as the noise covers; got a {type(self.estimator).__name__}{wanted}. Give "
                "rows that are not private as public=Records(X, y)."
            )

    def _list_candidates(self):
        given = self.param_distributions
        tables = [given] if isinstance(given, Mapping) else given
        if not len(tables):
            raise ValueError(
                "param_distributions must hold at least one dict, which may be empty to try the "
                "estimator as it is; got []."
            )
        is_grid = all(not hasattr(values, "rvs") for one in tables for values in one.values())
        if is_grid and len(grid := ParameterGrid(given)) <= _MOST_CANDIDATES:
            return list(grid)
        return list(ParameterSampler(given, self.n_candidates, random_state=self.random_state))

    def _split(self, n_rows):
        """Return the rows of training and those that are held out, which no row decides."""
        if self.public is not None:
            return np.arange(n_rows), np.arange(0)
        order = np.random.default_rng(self.noise_seed).permutation(n_rows)
        n_held_out = int(np.ceil(self.validation_fraction * n_rows - 1e-9))
        if not 0 < n_held_out < n_rows:
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} with n_samples={n_rows} leaves "
                "no row to train on."
            )
        return order[n_held_out:], order[:n_held_out]

    def _make(self, settings):
        made = copy_unfitted(self.estimator).set_params(**_copy_settings(settings))
        # What clones count together would tell how many trials there were.
        vars(made).pop("_fits_of_clones", None)
        return made.set_params(ledger=None) if "ledger" in made.get_params(deep=False) else made

    def _bound_trial(self, candidates, part):
        """Return the Rényi divergences of a trial, the largest of all candidates at each order."""
        plans = set()
        for settings in candidates:
            with warnings.catch_warnings():
                if plans:  # the first candidate says what all would say
                    warnings.simplefilter("ignore")
                plans.add(tuple(map(tuple, self._make(settings).plan_steps(*part))))
        return np.max([compute_divergences(plan) for plan in plans], axis=0)

    def _make_law(self):
        if self.law == "poisson":
            return PoissonTrials(float(self.mean_trials))
        return NegativeBinomialTrials(float(self.mean_trials), float(self.eta))

    def _record(self, divergences, n_rows):
        ledger = getattr(self.estimator, "ledger", None)
        if ledger is not None:
            ledger.record_search(divergences, n_rows=n_rows)

    def _run_trials(self, law, candidates, part, comparison):
        """Return the best of a random number of trials."""
        randomness = PrivateRandomness(self.noise_seed)
        n_trials = law.draw(*randomness.uniforms(2))
        if not n_trials:
            raise ValueError(
                "The Poisson law gave no trial, as it does with a probability of "
                f"{np.exp(-self.mean_trials):.2g}; nothing was trained. Fit again, which counts "
                "again, or use law='negative-binomial'."
            )
        chosen = (randomness.uniforms(n_trials) * len(candidates)).astype(int)
        seeds = [None] * n_trials
        if self.noise_seed is not None:
            seeds = np.random.SeedSequence(self.noise_seed).spawn(n_trials)
        tasks = (
            delayed(_run_trial)(k, self._make(candidates[k]), part, comparison, tie, seed)
            for k, tie, seed in zip(chosen, randomness.uniforms(n_trials), seeds, strict=True)
        )
        trials = run_tasks(tasks, self.n_jobs)
        return max(trials, key=lambda trial: trial[:2])

    def _release(self, best, candidates):
        settings = candidates[best.candidate]
        self.best_estimator_, self.best_params_ = best.estimator, settings
        self.best_score_, self.best_index_ = best.score, 0
        self.cv_results_ = {
            "params": [settings],
            **{f"param_{name}": _as_parameter_cell(value) for name, value in settings.items()},
            "mean_test_score": np.array([best.score]),
            "rank_test_score": np.array([1], dtype=np.int32),
        }
        if hasattr(best.estimator, "classes_"):
            self.classes_ = best.estimator.classes_

    @_best_has("predict")
    def predict(self, X: Rows) -> np.ndarray:
        """Predict by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return predict_flat(self.best_estimator_, X)

    @_best_has("predict_proba")
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of the classes by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @_best_has("decision_function")
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the decision values of the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @_best_has("score")
    def score(self, X: Rows, y: ArrayLike | None = None) -> float:
        """Score the best estimator by ``scoring``, or by its own ``score``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,), default=None
            Labels or targets.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        return float(check_scoring(self.best_estimator_, self.scoring)(self.best_estimator_, X, y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.non_deterministic = True
        return tags


def _copy_settings(settings):
    """Copy settings whose estimators are not shared by trials."""
    return {
        name: copy_unfitted(value) if hasattr(value, "get_params") else value
        for name, value in settings.items()
    }


def _as_parameter_cell(value):
    column = np.ma.MaskedArray(np.empty(1, dtype=object), mask=False)
    column[0] = value
    return column


def _cover_score(divergences, delta):
    """Divergences of a trial with a score on rows that are held out, and the noise of the score.

    A row takes part in one of the two. The noise is such that the score does not cost more.
    """
    spent = convert_divergences(divergences, delta)
    if spent == np.inf:
        return divergences, 0.0
    noise = choose_noise_multiplier(max(spent, 0.01), delta, 1.0, 1, "rdp")
    return np.maximum(divergences, compute_divergences([(noise, 1.0, 1)])), noise


def _run_trial(candidate, estimator, part, comparison, tie, seed):
    """Train a candidate and score it."""
    X, y, scoring, noise = comparison
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their number would tell that of the trials
        estimator.fit(*part)
        if noise is None:
            score = float(check_scoring(estimator, scoring)(estimator, X, y))
        else:
            n_right = float(np.sum(predict_flat(estimator, X) == y))
            score = (n_right + _draw_noise(noise, seed)) / len(y)
    return _SearchTrial(-np.inf if np.isnan(score) else score, float(tie), candidate, estimator)


def _draw_noise(scale, seed):
    """Draw normal noise for a number of rows, on a grid that divides 1."""
    if not scale:
        return 0.0
    scales = np.array([float(scale)])
    grids = choose_grids(scales)
    return float(PrivateRandomness(seed).noise_in_steps(scales, grids)[0] * grids[0])
