"""A student of many teachers, each of which saw a part of the training rows."""

import math
import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from .._core.accountant import convert_divergences, total_epsilon
from .._core.containers import as_rows, take_rows
from .._core.copies import copy_unfitted
from .._core.error_hints import with_advice
from .._core.query import predict_flat
from .._core.randomness import (
    check_random_state,
    isolated_randomness,
    seed_estimator,
    spawn_seeds,
)
from .._core.sklearn import (
    N_JOBS,
    HasMethods,
    Interval,
    InvalidParameterError,
    at_least,
)
from .._core.tasks import delayed
from .._core.types import ArrayLike, Seed
from .._training.workers import run_tasks
from ._exact_noise import PrivateRandomness
from ._ledger import PrivacyLedger
from ._meta import check_labeled
from ._noisy_votes import VotingNoise
from ._repeated_fits import BudgetedFits
from ._student import TaughtClassifier
from .mechanisms import (
    DELTA,
    FINITE_POSITIVE,
    choose_target_delta,
    gaussian_sigma,
    read_classes,
)


class PATEDefense(BudgetedFits, TaughtClassifier):
    """Student that is trained on public rows, with labels from a private vote of teachers.

    The training rows are divided among the teachers. The teachers vote on the label of each public
    row, normal noise is added to the votes, and the label with the most votes wins. The student is
    trained on the public rows with these labels, and the teachers are discarded. A training row
    affects only one teacher, and therefore only one vote for each public row, so the student is
    differentially private for any kind of classifier.

    Parameters
    ----------
    estimator : classifier
        Teacher, unfitted.
    public : array-like of shape (n_public, n_features) or generator
        Rows for the student, which must not be private: the student may reveal them. Or a generator
        with ``fit(X)`` and ``sample(n_samples)``, as in :class:`StudentDefense`. The generator has
        to protect the training rows itself, and its epsilon adds to ``epsilon_``.
    n_teachers : int, default=100
        Number of teachers. With more teachers, the votes tolerate more noise, but each teacher is
        trained on fewer rows.
    target_epsilon : float, default=None
        Privacy budget of all answers together, in nats. Set either this or ``noise_multiplier``.
    target_delta : float, default=None
        The delta at which epsilon is stated. If None, a tenth of one over the number of rows.
    noise_multiplier : float, default=None
        Standard deviation of normal noise on one release that a training row shifts by 1, which is
        as private as all answers together. With 0 the votes are exact, and ``epsilon_`` is
        infinite.
    n_answers : int, default=None
        Largest number of public rows that get a label. If None, all of them. The noise on the votes
        grows with its square root.
    threshold : float, default=None
        Share of the teachers, in (0, 1], that the noisy largest count has to reach; otherwise the
        public row gets no label. This decision costs a part of the budget, which pays off if the
        number of teachers is far above the noise and there are more public rows than labels.
    student : classifier, default=None
        Student. If None, a clone of ``estimator``.
    classes : array-like of shape (n_classes,), default=None
        All possible labels, known without the data. A row with another label contributes nothing.
        If None, they are taken from ``y``, which ``epsilon_`` does not cover, with a warning.
    ledger : PrivacyLedger, default=None
        Ledger in which each fit is recorded before its first vote.
    noise_seed : int, default=None
        Seed of the noise, for tests only: with a seed, ``epsilon_`` is infinite. If None, the noise
        comes from the operating system.
    n_jobs : int, default=None
        Number of teachers that are trained at once, with joblib.
    random_state : int, RandomState instance or None, default=None
        Controls which teacher gets which row, the seeds of teachers and student, and the choice of
        public rows.

    Attributes
    ----------
    estimator_ : classifier
        The fitted student. This is what to release.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    epsilon_ : float
        Epsilon of all answers at ``delta_``, in nats. It holds for any training rows and any
        votes, and may be published.
    delta_ : float
        The delta of ``epsilon_``.
    neighbors_ : {"replace"}
        ``epsilon_`` covers a row that is replaced with another one, which audits ask.
    data_dependent_epsilon_ : float
        Epsilon of the actual votes, which is smaller if the teachers agree. It is computed from the
        training rows and must not be published.
    noise_multiplier_ : float
        As given, or as ``target_epsilon`` needs it.
    n_answers_ : int
        Number of public rows that got a label.
    n_fits_ : int
        Without a ledger, number of private fits of this estimator and its clones until this one.
    total_epsilon_ : float
        Epsilon of all of them together at ``delta_``, if they read the same rows.
    n_features_in_ : int
        Number of features of the student.

    See Also
    --------
    StudentDefense : Student of a single teacher, without a guarantee.
    DPSGDClassifier : Net that is trained with noise on its gradients.

    Notes
    -----
    Neighboring data sets differ by one row that is replaced with another one or with one that
    contributes nothing. It moves one vote for each public row, at most ``sqrt(2)`` in the Euclidean
    norm. With noise of the standard deviation s, n answers are as private as one release with noise
    ``s / sqrt(2 * n)`` on a number that a row shifts by 1, whose epsilon is known exactly. With a
    threshold, the noisy largest count of each public row is a release that a row shifts by 1.

    Each teacher has its own seed, also for draws from global generators. A teacher that cannot be
    fitted on its rows does not vote. The guarantee does not cover parameters that were chosen by
    looking at the training rows, nor errors that are raised.

    ``data_dependent_epsilon_`` adds up Rényi divergences of Papernot et al. (2018), theorem 6.

    References
    ----------
    Papernot, N., Abadi, M., Erlingsson, U., Goodfellow, I. and Talwar, K. (2017). Semi-supervised
    knowledge transfer for deep learning from private training data. ICLR.

    Papernot, N., Song, S., Mironov, I., Raghunathan, A., Talwar, K. and Erlingsson, U. (2018).
    Scalable private learning with PATE. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.defenses import PATEDefense
    >>> X, y = make_classification(6000, 8, class_sep=2.0, random_state=0)
    >>> private = PATEDefense(
    ...     LogisticRegression(), X[5000:5500], target_epsilon=2.0, target_delta=1e-5,
    ...     classes=[0, 1], n_answers=200, random_state=0,
    ... ).fit(X[:5000], y[:5000])
    >>> private.epsilon_ <= 2, private.n_answers_
    (True, 200)
    >>> bool(private.score(X[5500:], y[5500:]) > 0.8)
    True
    """

    # Teachers and student are new in each fit: copies know no rows.
    _begins_anew = True

    _parameter_constraints = {
        **TaughtClassifier._parameter_constraints,
        "n_teachers": [at_least(2)],
        "target_epsilon": [FINITE_POSITIVE, None],
        "target_delta": [DELTA, None],
        "noise_multiplier": [Interval(Real, 0, np.inf, closed="left"), None],
        "n_answers": [at_least(1), None],
        "threshold": [Interval(Real, 0, 1, closed="right"), None],
        "student": [HasMethods(["fit", "predict"]), None],
        "classes": ["array-like", None],
        "ledger": [PrivacyLedger, None],
        "noise_seed": [Interval(Integral, 0, None, closed="left"), None],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    _routed = ()

    def __init__(
        self,
        estimator: BaseEstimator,
        public: ArrayLike | BaseEstimator,
        *,
        n_teachers: int = 100,
        target_epsilon: float | None = None,
        target_delta: float | None = None,
        noise_multiplier: float | None = None,
        n_answers: int | None = None,
        threshold: float | None = None,
        student: BaseEstimator | None = None,
        classes: ArrayLike | None = None,
        ledger: PrivacyLedger | None = None,
        noise_seed: int | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.public = public
        self.n_teachers = n_teachers
        self.target_epsilon = target_epsilon
        self.target_delta = target_delta
        self.noise_multiplier = noise_multiplier
        self.n_answers = n_answers
        self.threshold = threshold
        self.student = student
        self.classes = classes
        self.ledger = ledger
        self.noise_seed = noise_seed
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the teachers, let them vote, and fit the student on the noisy winners.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the training rows.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer rows than teachers, if no teacher can be fitted, or if fewer than two
            classes win.
        """
        for learner in (self.estimator, self.student):
            _check_untrained(learner)
        X, y, _ = check_labeled(X, y, None)
        if len(y) < self.n_teachers:
            raise ValueError(
                f"{self.n_teachers} teachers need a row each; got n_samples = {len(y)}. Set "
                "n_teachers."
            )
        classes = read_classes(self.classes, y)
        random_state = check_random_state(self.random_state)
        parts = np.array_split(random_state.permutation(len(y)), self.n_teachers)
        seeds = spawn_seeds(random_state, self.n_teachers + 1)
        public = self._take_public(X, random_state)
        self.delta_, self.neighbors_ = choose_target_delta(self.target_delta, len(y)), "replace"
        noise = self._plan_noise(len(as_rows(public)))
        self._account(len(y))
        counts = self._count_votes(X, y, parts, seeds[1:], public, classes)
        labels = self._answer(noise, counts)
        self._fit_student(public, classes, labels, seeds[0])
        return self

    def plan_steps(self, X: ArrayLike, y: ArrayLike) -> list[tuple[float, float, int]]:
        """Return the steps of a fit on so many rows, which determine its cost, without training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels; their number alone counts.

        Returns
        -------
        steps : list of tuple
            The noise multiplier, the sampling rate and the number of steps, which is one. The noise
            is 0 if ``epsilon_`` is infinite.
        """
        self._validate_parameters()
        multiplier = self._choose_multiplier(choose_target_delta(self.target_delta, len(y)))
        return [(multiplier if self.noise_seed is None else 0.0, 1.0, 1)]

    def _choose_multiplier(self, delta):
        """Return the noise of all answers together, one normal release; each gets its share."""
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        return gaussian_sigma(self.target_epsilon, delta)

    def _plan_noise(self, n_public):
        """Return the noise on votes, and set how many answers there are at most."""
        self.n_answers_ = min(n_public, self.n_answers or n_public)
        self.noise_multiplier_ = self._choose_multiplier(self.delta_)
        n_checks = 0 if self.threshold is None else n_public
        return VotingNoise.spread(self.noise_multiplier_, self.n_answers_, n_checks)

    def _account(self, n_rows):
        """Compute what the answers cost, and write it down before there are any."""
        multiplier = self.noise_multiplier_ if self.noise_seed is None else 0.0
        steps = multiplier, 1.0, 1
        self.epsilon_ = math.inf
        if multiplier > 0:
            spent = total_epsilon([], [(multiplier, 1)], [], self.delta_, "rdp")
            # The noise was chosen for the target, which the sum exceeds by its own rounding.
            self.epsilon_ = spent if self.target_epsilon is None else self.target_epsilon
        if self.ledger is not None:
            kind = "normal" if multiplier > 0 else "fit"
            self.ledger.record(
                noise_multiplier=multiplier, sample_rate=1.0, n_steps=1, n_rows=n_rows, kind=kind
            )
        elif multiplier > 0:
            self.n_fits_, total = self._count_fit(steps, self.delta_, "rdp")
            self.total_epsilon_ = self.epsilon_ if self.n_fits_ == 1 else total

    def _add_up_fits(self, history, delta, accountant):
        # The votes are normal releases, whose sum is known exactly, as for epsilon_.
        return total_epsilon([], [(noise, n) for noise, _, n in history], [], delta, accountant)

    def _count_votes(self, X, y, parts, seeds, public, classes):
        """Return how many teachers vote for each class, of shape (n_public, n_classes)."""
        tasks = (
            delayed(_vote)(self.estimator, take_rows(X, part), y[part], public, classes, seed)
            for part, seed in zip(parts, seeds, strict=True)
        )
        votes = run_tasks(tasks, self.n_jobs)
        counts, failures = np.zeros((len(as_rows(public)), len(classes))), []
        for codes, failure in votes:
            if failure is None:
                counts[np.arange(len(codes)), codes] += 1
            else:
                failures.append(failure)
        if len(failures) == len(parts):
            raise ValueError(
                f"None of {len(parts)} teachers could be fitted and asked; one says: {failures[0]}"
            )
        return counts

    def _answer(self, noise, counts):
        """Return the number of the winning class of each public row, and -1 without one."""
        threshold = 0.0 if self.threshold is None else self.threshold * self.n_teachers
        labels = noise.answer(
            counts, threshold, self.n_answers_, PrivateRandomness(self.noise_seed)
        )
        self.data_dependent_epsilon_ = math.inf
        if self.epsilon_ < math.inf:
            curve = noise.bound_divergences(counts, threshold, self.n_answers_, labels)
            self.data_dependent_epsilon_ = min(
                self.epsilon_, convert_divergences(curve, self.delta_)
            )
        self.n_answers_ = int((labels >= 0).sum())
        return labels

    def _fit_student(self, public, classes, labels, seeds):
        given = np.flatnonzero(labels >= 0)
        student = copy_unfitted(self.estimator if self.student is None else self.student)
        seed_estimator(student, seeds)
        rows = take_rows(public, given)
        try:
            with isolated_randomness(seeds), with_advice(student, rows):
                student.fit(rows, classes[labels[given]])
        except ValueError as error:
            won = len(np.unique(labels[given]))
            if won > 1:
                raise
            threshold = "" if self.threshold is None else ", a lower threshold"
            raise ValueError(
                f"{len(given)} public rows got a label, of {won} of {len(classes)} classes, and "
                f"the student could not be fitted on them. Use more public rows{threshold}, more "
                "teachers or less noise."
            ) from error
        self.estimator_, self.classes_ = student, classes

    def _take_public(self, X, random_state):
        """Return the public rows in random order: the first ones are asked first."""
        public = self._get_public(X, None, random_state)
        n_public = len(as_rows(public))
        return take_rows(as_rows(public), random_state.permutation(n_public))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise_seed is None
        return tags


def _check_untrained(learner):
    """Refuse a classifier of which copies keep what a part of it has learned."""
    parts = [] if learner is None else [learner, *copy_unfitted(learner).get_params().values()]
    for part in parts:
        if isinstance(part, FrozenEstimator):
            raise InvalidParameterError(
                "PATEDefense needs classifiers that begin anew; a FrozenEstimator keeps what it "
                "has learned, which epsilon_ does not cover."
            )


def _vote(estimator, X, y, public, classes, seeds) -> tuple[Any, str | None]:
    """Return the number of the class that a new teacher gives to each public row.

    A teacher that fails has no vote: an error would tell of the rows of one teacher.
    """
    known = np.flatnonzero(np.isin(y, classes))
    present = np.unique(y[known])
    if len(present) == 1:  # many classifiers refuse such rows, which have one answer
        codes = np.full(len(as_rows(public)), np.searchsorted(classes, present[0]))
        return codes, None
    teacher = copy_unfitted(estimator)
    seed_estimator(teacher, seeds)
    try:
        with isolated_randomness(seeds), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as would a warning
            teacher.fit(take_rows(X, known), y[known])
            labels = predict_flat(teacher, public)
    except Exception as error:  # whatever a classifier of the user raises
        return None, f"{type(error).__name__}: {error}"
    return np.searchsorted(classes, labels), None
