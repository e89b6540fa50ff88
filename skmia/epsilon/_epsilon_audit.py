"""Audit by many trainings, with a canary and without it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from scipy.special import expit
from scipy.stats import t as student
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._core.numbers import show
from .._core.pvalues import limit_rates
from .._core.randomness import draw_integers
from .._core.records import Records, has_column
from .._core.sklearn import N_JOBS, StrOptions, at_least
from .._core.types import ArrayLike, Seed
from .._training.checkpoint import FolderCheckpoint
from .._training.digests import digest_arrays
from .._training.identity import identify_values
from .._training.job import Job, JobData, KeptResults, run_visibly, warn_once
from .._training.manifest import OwnerNames, describe_job
from .._training.plan import plan_training, saying_what_is_kept
from ._base import CANARY_CONSTRAINT, EpsilonAuditBase, join_canaries, read_claim, score_canaries
from ._result import COINS, EpsilonBound
from .bounds import bayesian_epsilon_interval, epsilon_lower_bound, group_delta
from .canaries import Canaries

# The auditor guesses from the score of a training whether it had the canary, and bets a part of the
# wealth. If the training is (epsilon, delta)-private, the wealth does not grow on average whatever
# the bets are, so it exceeds 1 / alpha at any time with a probability of at most alpha (Ville). A
# bet must be fixed before its coin is seen; it may depend on all earlier trainings.


# A lost bet leaves at least this share of the wealth.
_LEAST = 1e-3
# Trainings of either kind before the first bet, and those that choose the threshold of the rates.
_N_FIRST = 2
# The largest epsilon of the grid, and the number of values.
_HIGHEST, _N_VALUES = 12.0, 240
_GRID = np.geomspace(0.02, _HIGHEST, _N_VALUES)


def predict_coins(coins, scores):
    """Return the log odds that each training had the canary, from earlier trainings.

    The scores of either kind are taken for normal with a common variance. The odds are 1 before
    there are two trainings of either kind. A wrong law costs power, not validity.
    """
    center = scores - scores[0]
    sums = {}
    for kind, chosen in ((0, ~coins), (1, coins)):
        powers = np.array([chosen, chosen * center, chosen * center**2], dtype=float)
        sums[kind] = np.hstack([np.zeros((3, 1)), powers.cumsum(axis=1)[:, :-1]])
    counts = np.array([sums[0][0], sums[1][0]])
    ready = (counts >= _N_FIRST).all(axis=0)
    safe = np.maximum(counts, 1)
    means = np.array([sums[0][1], sums[1][1]]) / safe
    squares = np.array([sums[0][2], sums[1][2]]) - safe * means**2
    freedom = np.maximum(counts.sum(axis=0) - 2, 1)
    rounding = (1e-8 * np.maximum.accumulate(np.abs(center))) ** 2 + np.finfo(float).tiny
    variance = np.maximum(squares.sum(axis=0), 0) / freedom + rounding
    scales = np.sqrt(variance * (1 + 1 / safe))
    logs = student.logpdf((center - means) / scales, freedom) - np.log(scales)
    return np.where(ready, logs[1] - logs[0], 0.0)


def log_wealth_of_trainings(epsilon, delta, coins, log_odds):
    """Return the logarithm of the wealth after each training, against one claim."""
    sureness = np.abs(log_odds)
    started = sureness.cumsum() > 0
    right = coins == (log_odds > 0)
    # A bet on an event of probability delta is paid for beforehand.
    fee = delta * np.exp(-epsilon)
    least = max(_LEAST, 2 * fee)
    miss = np.maximum(expit(-sureness), least * expit(-epsilon))
    gain = np.where(right, (1 - miss) * (1 + np.exp(-epsilon)), miss * (1 + np.exp(epsilon)))
    factor = np.where((sureness > epsilon) & (1 - miss > expit(epsilon)), gain, 1.0)
    return np.log(np.where(started, factor - fee, 1.0)).cumsum()


def _train_in_parts(trainings, n_trainings, step):
    """Yield the scores and claims of the models so far, and where those begin that are new.

    A part ends before a claim that no earlier model makes, so that the largest claim of the models
    so far is the same whatever the number that is trained at once.
    """
    scores, claims = np.empty(0), []
    for first in range(0, n_trainings, step):
        found, told = trainings.run(range(first, min(first + step, n_trainings)))
        scores, claims = np.append(scores, found), claims + told
        others = [k for k in range(first + 1, len(claims)) if claims[k] not in claims[:k]]
        for start, end in pairwise([first, *others, len(claims)]):
            yield scores[:end], claims[:end], start


def group_privacy(epsilon, delta, n_copies):
    """Return what (epsilon, delta) for one record means for several."""
    with np.errstate(over="ignore"):
        whole = float(group_delta(np.asarray(epsilon), delta, n_copies))
    return n_copies * epsilon, min(1.0, whole)


def bound_path(coins, log_odds, delta, alpha, n_copies=1):
    """Return the lower bound of epsilon after each training, valid at all times at once."""
    found = np.zeros(len(coins))
    standing = np.ones(len(coins), dtype=bool)  # all smaller values are rejected by then
    for epsilon in _GRID:
        logs = log_wealth_of_trainings(*group_privacy(epsilon, delta, n_copies), coins, log_odds)
        standing &= np.maximum.accumulate(logs) >= -np.log(alpha)
        if not standing.any():
            break
        found[standing] = epsilon
    return found


def follow_rates(coins, scores, confidence_level):
    """Rates of one threshold after each training, with intervals that hold at all times at once.

    The first trainings of either kind choose the threshold, the middle between their means, and do
    not count. The rates are of independent trainings at a fixed threshold then.
    """
    columns, counted = {}, np.zeros(len(coins), dtype=bool)
    numbers = np.array([np.cumsum(~coins), np.cumsum(coins)])
    ready = (numbers >= _N_FIRST).all(axis=0)
    if ready.any():
        first = int(ready.argmax()) + 1
        past, kinds = scores[:first], coins[:first]
        threshold = past[kinds].mean() / 2 + past[~kinds].mean() / 2
        counted[first:] = True
        above = scores > threshold
    else:
        above = counted
    for name, kind in (("tpr", coins), ("fpr", ~coins)):
        trials, successes = (np.cumsum(kind & counted & part) for part in (counted, above))
        low, high = limit_rates(successes, trials, (1 - confidence_level) / 2)
        rate = np.where(trials > 0, successes / np.maximum(trials, 1), np.nan)
        columns |= {name: rate, f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)


# Number of trainings by which the way of training is chosen.
_MOST_PLANNED = 64
_OWNER = OwnerNames("audit", "trainings", "checkpoint")


class SidesOfCoins:
    """Training sets, one of two for each coin, that are made when they are needed.

    Shapes: sides (2, n), coins (n_models,).
    """

    def __init__(self, sides, coins):
        self._sides, self._coins = sides, coins.astype(np.intp)

    def __len__(self):
        return len(self._coins)

    def __getitem__(self, models):
        return self._sides[self._coins[models]]


class AuditTrainings:
    """Trainings of one audit; a checkpoint keeps each that is finished."""

    def __init__(self, job, records, checkpoint, entropy, design, verbose):
        self._job, self._checkpoint, self._verbose = job, checkpoint, verbose
        self._said, self._n_made = [], 0
        known = None if checkpoint is None else checkpoint.read_numbers()
        # A plan holds for any number of models.
        some = job.part(range(min(_MOST_PLANNED, job.n_models)))
        self._plan = plan_training(some, exact=True, known=known)
        if checkpoint is not None:
            manifest = describe_job(job, records, entropy, design, self._plan.numbers)
            checkpoint.open(manifest, job.keep)

    def run(self, models):
        """Make some trainings, or read those that are kept."""
        checkpoint, subsets = self._checkpoint, self._job.subsets
        is_kept = checkpoint is not None
        found = {k: checkpoint.load(k, subsets[k]) if is_kept else None for k in models}
        missing = [k for k in models if found[k] is None]
        if missing:
            part = self._job.part(missing)._replace(numbers=None)  # counted from 0
            with saying_what_is_kept(checkpoint, self._job.n_models):
                for i, kept in run_visibly(self._plan, part, self._verbose, "trainings"):
                    found[missing[i]] = kept
                    if is_kept:
                        checkpoint.save(missing[i], kept, subsets[missing[i]])
        results = [found[k] for k in models]
        self._said += [warning for kept in results for warning in kept.warnings]
        self._n_made += len(results)
        scores = np.concatenate([kept.arrays["score"] for kept in results])
        return scores, [kept.facts["claim"] for kept in results]

    def close(self):
        """Repeat the warnings of all trainings, and remove temporary files of the checkpoint."""
        warn_once(self._said, self._n_made, "trainings")
        if self._checkpoint is not None:
            self._checkpoint.close()


def start(folder, random_state):
    """Open a folder, and seed an audit."""
    if folder is None:
        return None, check_random_state(random_state), []
    checkpoint = FolderCheckpoint(folder, owner=_OWNER)
    if random_state is not None:
        return checkpoint, check_random_state(random_state), []
    kept = checkpoint.read_entropy()
    is_known = isinstance(kept, list) and kept and isinstance(kept[0], int)
    limit = np.iinfo(np.int32).max
    seed = kept[0] if is_known and 0 <= kept[0] < limit else check_random_state(None).randint(limit)
    return checkpoint, check_random_state(int(seed)), [int(seed)]


@dataclass(frozen=True)
class CanaryKeeper:
    """Keeps the score of the canary, and the epsilon and delta that the model claims."""

    attack: object
    canary: Records
    replaces: bool = False

    keeps_models = False

    def __call__(self, trained):
        """Score the canary with a trained model."""
        scores = score_canaries(self.attack, trained.model, self.canary)[:1]
        claim = read_claim(trained.model, self.replaces)
        return KeptResults({"claim": None if claim is None else list(claim)}, {"score": scores})

    def describe(self):
        """Describe what the scores depend on, for the identity of a checkpoint."""
        canary = digest_arrays({"X": np.asarray(self.canary.X), "y": np.asarray(self.canary.y)})
        return {"attack": identify_values({"attack": self.attack}), "canary": canary}

    def check(self, arrays, n_records):
        """Refuse arrays that cannot come from a training of this audit."""
        scores = arrays.get("score")
        if len(arrays) != 1 or scores is None or scores.shape != (1,) or scores.dtype != np.float64:
            raise ValueError("it does not hold one score of a canary")


_METHODS = {
    "bayesian": bayesian_epsilon_interval,
    "clopper_pearson": epsilon_lower_bound,
    "gaussian": partial(epsilon_lower_bound, method="gaussian"),
}


class EpsilonAudit(EpsilonAuditBase):
    """Lower bound of epsilon by training many times with a canary and without it.

    Two data sets differ in one record, the canary. The estimator is trained on each of them many
    times, and an attack scores the canary by each model. If the training is (epsilon,
    delta)-private, the scores with the canary and those without cannot be distinguished better than
    epsilon allows; how well they are gives a lower bound of epsilon.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier that is audited, including its randomness; a fitted one in a
        :class:`~sklearn.frozen.FrozenEstimator` is trained again. If None, a logistic regression is
        used, which is deterministic, so every canary that affects it is found.
    canary : {"clip_bkd", "exposed", "natural", "random_label"}, int or callable, default="clip_bkd"
        The canary: a kind of ``make_canaries``; the index of a row of X; or a function with the
        same arguments, X, y, the number of canaries and ``random_state``.
    n_trials : int, default=100
        Number of trainings with the canary, and of trainings without it.
    n_copies : int, default=1
        Number of copies of the canary. The bound is for one record nevertheless.
    neighbors : {"add", "replace"}, default="add"
        Which data sets are neighbors: the canary is one record more, or it is in the place of one,
        the last of X. State `claimed_epsilon` in the same way: for an algorithm whose epsilon is
        for adding a record, replacing one costs twice as much. The ``epsilon_`` of a model is
        doubled where a record is replaced, unless the model has ``neighbors_ = "replace"``.
    method : {"clopper_pearson", "gaussian", "bayesian"}, default="clopper_pearson"
        A method of ``epsilon_lower_bound``, where ``"clopper_pearson"`` makes no assumption on
        the mechanism, or ``bayesian_epsilon_interval``.
    delta : float, default=None
        The delta at which epsilon is stated. If None, the estimator's: its ``target_delta``, or the
        ``delta_`` of one more training where that is None; without one, 1e-5 or a larger ``delta_``
        of the trained model. Where its epsilon is doubled, delta is ``delta_ * (1 +
        exp(epsilon_))``.
    threshold : {"auto", "split", "multisplit", "bonferroni"}, float or array-like, default="auto"
        How the threshold on the scores is chosen; see ``epsilon_lower_bound``. ``"auto"`` is
        ``"multisplit"`` for ``method="bayesian"`` and ``"split"`` for the others.
    sequential : bool, default=False
        Whether a fair coin decides for each training if it has the canary, and trainings stop as
        soon as the claim is refuted, or after ``2 * n_trials``. The bound makes no assumption on
        the mechanism, and needs `method` and `threshold` at their defaults. Without a claim,
        all trainings are made. A claim of the models is the largest of those trained so far.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).
    attack : attack, default=None
        Attack that scores the canary; its parameter ``victim`` is set to each model, and it is
        fitted on the canary. If None, the default signal of
        :class:`~skmia.attacks.ThresholdAttack` is used, such as the loss.
    claimed_epsilon : float, default=None
        The epsilon that is claimed at the delta of the bound; the audit warns if it cannot refute
        it. If None, the largest ``epsilon_`` of the trained models is used, if they have it
        together with a ``delta_``.
    checkpoint : str or Path, default=None
        Folder that keeps the score of each finished training: an audit that was interrupted
        continues from there and gives the same numbers. A sequential audit may be continued with a
        larger `n_trials`. The folder is refused if it belongs to other data, another estimator,
        attack or design, or edited code, as in :class:`~skmia.ShadowPool`; no pickle is read.
    n_jobs : int, default=None
        Number of trainings in parallel. Results do not depend on it.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls the canary and the randomness of each training; if None, a folder of `checkpoint`
        keeps the seed. An estimator that draws its noise from the operating system draws it afresh
        in each training.

    Attributes
    ----------
    epsilon_ : float
        Lower bound of epsilon, in nats.
    claimed_epsilon_ : float
        The epsilon that is claimed: `claimed_epsilon`, or the one of the trained models; infinite
        if their ``delta_`` is larger than the delta of the bound, because a claim says nothing
        about a smaller delta; 0 if there is none, so that :meth:`predict` says whether the
        training leaks at all.
    result_ : EpsilonBound
        The bound and its basis.
    scores_ : ndarray of shape (n_trainings,)
        Scores of the canary, higher means more likely trained on.
    membership_ : ndarray of shape (n_trainings,), dtype bool
        Which models were trained with the canary.
    epsilons_ : ndarray of shape (n_trainings,)
        With ``sequential=True``, the bound after each training: all of them hold at once.
    wealth_ : ndarray of shape (n_trainings,)
        With ``sequential=True``, the wealth of bets against the claim after each training, which
        exceeds ``1 / (1 - confidence_level)`` where the claim is refuted; empty without a claim.
    rates_ : DataFrame of shape (n_trainings, 6)
        With ``sequential=True``, the rates with which an attack at one threshold says that the
        canary was in, after each training: ``tpr`` where it was, ``fpr`` where it was not, each
        with ``_low`` and ``_high``. All intervals hold at once
        (:func:`~skmia.metrics.rate_sequence`). The first two trainings of either kind choose the
        threshold and do not count.
    stopped_ : {"refuted", "budget"}
        With ``sequential=True``, why no more models were trained. ``"budget"`` does not mean that
        the claim is true.
    canary_ : Canaries
        The one record.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where they are strings.

    See Also
    --------
    OneRunAudit : Audit by one training with many canaries.

    Notes
    -----
    With ``sequential=True`` the auditor bets on each coin by the posterior of two normal laws that
    are fitted to the earlier trainings, and abstains where it is not surer than the claim allows.
    If the training is private, the wealth does not grow on average, so that one may look after each
    training and stop for any reason. `n_jobs` models are trained between two looks; those after the
    one that refutes the claim are discarded.

    A bound far below an epsilon that was proven does not show that the proof is loose: another
    canary, attack or number of trials may find more. What no audit of a training sees: :ref:`The
    limits of the guarantee <privacy_limits>`.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.epsilon import EpsilonAudit
    >>> X, y = load_iris(return_X_y=True)
    >>> audit = EpsilonAudit(DecisionTreeClassifier(), canary="random_label", random_state=0)
    >>> print(f"{audit.fit(X, y).epsilon_:.2f}")
    2.57
    >>> audit.result_.counts["n_members"]
    50
    >>> audit.predict(X[:2]), audit.score() == audit.epsilon_
    (array([1, 1]), True)
    >>> audit.set_params(sequential=True, claimed_epsilon=1.0).fit(X, y).stopped_
    'refuted'
    >>> len(audit.scores_)
    15
    """

    _parameter_constraints: dict = {
        **EpsilonAuditBase._parameter_constraints,
        "canary": [*CANARY_CONSTRAINT, at_least(0)],
        "n_trials": [at_least(4)],
        "n_copies": [at_least(1)],
        "neighbors": [StrOptions({"add", "replace"})],
        "method": [StrOptions(set(_METHODS))],
        "threshold": [
            StrOptions({"auto", "split", "multisplit", "bonferroni"}),
            Real,
            "array-like",
        ],
        "sequential": ["boolean"],
        "checkpoint": [str, Path, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        canary: Literal["clip_bkd", "exposed", "natural", "random_label"]
        | int
        | Callable[..., Any] = "clip_bkd",
        *,
        n_trials: int = 100,
        n_copies: int = 1,
        neighbors: Literal["add", "replace"] = "add",
        method: Literal["clopper_pearson", "gaussian", "bayesian"] = "clopper_pearson",
        delta: float | None = None,
        threshold: Literal["auto", "split", "multisplit", "bonferroni"]
        | ArrayLike
        | float = "auto",
        sequential: bool = False,
        confidence_level: float = 0.95,
        attack: BaseEstimator | None = None,
        claimed_epsilon: float | None = None,
        checkpoint: str | Path | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.canary = canary
        self.n_trials = n_trials
        self.n_copies = n_copies
        self.neighbors = neighbors
        self.method = method
        self.delta = delta
        self.threshold = threshold
        self.sequential = sequential
        self.confidence_level = confidence_level
        self.attack = attack
        self.claimed_epsilon = claimed_epsilon
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        X, y = self._read(X, y)
        # Contradictory settings are refused before anything is trained.
        self._bound([True, True, False, False], [1.0, 1.0, 0.0, 0.0], self._own_delta(), 0)
        checkpoint, rng, entropy = start(self.checkpoint, self.random_state)
        self.canary_ = self._choose_canary(X, y, rng)
        drawn = draw_integers(rng)
        records, sides = self._design(X, y)
        larger = sides.sum(axis=1).argmax()
        delta, estimator = self._settle_delta(
            self._make_estimator(), records.X[sides[larger]].copy(), records.y[sides[larger]]
        )
        seeds = np.random.SeedSequence(drawn).spawn(2 * self.n_trials)
        coins = np.tile([True, False], self.n_trials)
        if self.sequential:
            coins = rng.randint(2, size=2 * self.n_trials).astype(bool)
        canary = Records(self.canary_.X, self.canary_.y)
        keep = CanaryKeeper(self._make_attack(), canary, self.neighbors == "replace")
        data = JobData([records.X], records.y, column=has_column(records))
        job = Job(estimator, data, SidesOfCoins(sides, coins), seeds, keep, self.n_jobs)
        trainings = AuditTrainings(
            job, records, checkpoint, [*entropy, *drawn], self._describe_design(), self.verbose
        )
        if self.sequential:
            self._train_until_refuted(trainings, coins, delta)
        else:
            self.membership_ = coins
            self.scores_, claims = trainings.run(range(len(coins)))
            delta = self._raise_delta(delta, claims)
            seed = rng.randint(np.iinfo(np.int32).max)
            self.result_ = self._bound(coins, self.scores_, delta, seed)
            self.epsilon_ = self.result_.epsilon
            self._check_claim(self.result_, claims)
        trainings.close()
        return self

    def _describe_design(self):
        """Return what trainings depend on beside the data.

        More of them may follow if sequential.
        """
        further = [] if self.sequential else ["n_trials"]
        names = ["sequential", "neighbors", "n_copies", *further]
        return {name: getattr(self, name) for name in names}

    def _bound(self, membership, scores, delta, random_state):
        threshold = self.threshold
        is_auto = isinstance(threshold, str) and threshold == "auto"
        if self.sequential and not (self.method == "clopper_pearson" and is_auto):
            raise ValueError(
                "sequential=True needs method='clopper_pearson' and threshold='auto'; got "
                f"method={self.method!r}, threshold={show(threshold)}."
            )
        if is_auto:
            threshold = "multisplit" if self.method == "bayesian" else "split"
        return _METHODS[self.method](
            membership,
            scores,
            delta=delta,
            threshold=threshold,
            n_copies=self.n_copies,
            confidence_level=self.confidence_level,
            random_state=random_state,
        )

    def _choose_canary(self, X, y, rng):
        if not isinstance(self.canary, Integral):
            return self._make_canaries(self.canary, X, y, 1, rng)
        if self.canary >= len(X):
            raise ValueError(
                f"canary must be the index of a row, from 0 to {len(X) - 1}; got {self.canary}."
            )
        row = np.array([self.canary])
        return Canaries(X[row], y[row], row)

    def _design(self, X, y):
        """Return all records, and which of them the trainings without and with the canary have."""
        records, others = join_canaries(X, y, self.canary_, self.n_copies)
        inside = others.copy()
        inside[len(X) :] = True
        if self.neighbors == "replace":
            kept = np.flatnonzero(others)
            if len(kept) <= self.n_copies:
                raise ValueError(
                    f"n_copies must be below the {len(kept)} records that can be replaced; got "
                    f"{self.n_copies}."
                )
            inside[kept[len(kept) - self.n_copies :]] = False
        return records, np.array([others, inside])

    def _train_until_refuted(self, trainings, coins, delta):
        """Train until the claim is refuted or the budget is spent."""
        alpha, step = 1 - self.confidence_level, effective_n_jobs(self.n_jobs)
        claim, last, self.stopped_ = None, len(coins), "budget"
        for scores, claims, start in _train_in_parts(trainings, len(coins), step):
            if claims[start] not in claims[:start]:
                delta = self._raise_delta(delta, claims)
                claim = self._choose_claim(claims, delta)
            wealth = np.empty(0)
            if claim is None or math.isinf(claim):
                continue
            wealth = self._bet(coins[: len(scores)], scores, claim, delta)
            reached = np.flatnonzero(wealth[start:] >= 1 / alpha)
            if len(reached):
                last, self.stopped_ = start + int(reached[0]) + 1, "refuted"
                break
        self.membership_, self.scores_, self.wealth_ = coins[:last], scores[:last], wealth[:last]
        log_odds = predict_coins(self.membership_, self.scores_)
        self.epsilons_ = bound_path(self.membership_, log_odds, delta, alpha, self.n_copies)
        self.rates_ = follow_rates(self.membership_, self.scores_, self.confidence_level)
        self.epsilon_ = float(self.epsilons_[-1])
        self._set_claim(claim, self.epsilon_)
        self._is_refuted |= self.stopped_ == "refuted"
        self.result_ = EpsilonBound(
            epsilon=self.epsilon_,
            confidence_level=float(self.confidence_level),
            delta=float(delta),
            method="bets on the coins of trainings, one after the other",
            assumption=COINS,
            counts={"n_trainings": last, "n_members": int(self.membership_.sum())},
        )
        return self

    def _bet(self, coins, scores, claim, delta):
        claim = group_privacy(claim, delta, self.n_copies)
        with np.errstate(over="ignore"):
            return np.exp(log_wealth_of_trainings(*claim, coins, predict_coins(coins, scores)))
