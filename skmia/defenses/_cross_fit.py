"""Out-of-sample predictions for training rows, and the base of defenses that train on them."""

from abc import abstractmethod
from dataclasses import dataclass
from math import gcd
from numbers import Integral

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_memory

from .._core.containers import take_rows
from .._core.copies import copy_unfitted
from .._core.hashing import hash_records
from .._core.query import query_victim
from .._core.randomness import (
    isolated_randomness,
    seed_estimator,
    spawn_seeds,
)
from .._core.sklearn import (
    N_JOBS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    at_least,
)
from .._core.splits import MOST_MODELS, compute_strata, number_units
from .._training.job import Job, JobData, KeptResults, run_visibly, warn_once
from .._training.plan import plan_training
from ._meta import SoftTargetDefense, require_proba
from ._output import renormalized


def draw_left_out(units, strata, n_models, n_left_out, rng):
    """Draw the models that are not trained on each row.

    Units are assigned at random within their stratum, so that the numbers of units that models
    leave out of a stratum differ by at most one. Therefore all models see every stratum of two or
    more units if n_left_out is at most half of the models.

    Return left_out of shape (n_models, n).
    """
    _, first = np.unique(units, return_index=True)
    left_out = np.zeros((n_models, len(first)), dtype=bool)
    # So many units take each model equally often when models are assigned in turn.
    block = n_models // gcd(n_models, n_left_out)
    turns = np.arange(block * n_left_out).reshape(block, n_left_out) % n_models
    for stratum in np.unique(strata[first]):
        chosen = rng.permutation(np.flatnonzero(strata[first] == stratum))
        n_blocks = -(-len(chosen) // block)
        orders = rng.permuted(np.tile(np.arange(n_models), (n_blocks, 1)), axis=1)
        models = orders[:, turns].reshape(-1, n_left_out)[: len(chosen)]
        left_out[models, chosen[:, None]] = True
    return left_out[:, units]


def ask_left_out(estimator, data, left_out, seeds, *, targets=None, n_jobs=None, verbose=0):
    """Train models and query each on the rows that it was not trained on.

    Take left_out of shape (n_models, n), targets of shape (n, n_classes); return proba of shape
    (n_left_out, n, n_classes).
    """
    left_out, answers, caught = train_left_out(
        estimator, data, left_out, seeds, targets=targets, n_jobs=n_jobs, verbose=verbose
    )
    classes = np.unique(np.concatenate([data.y, *(answer.classes for answer in answers)]))
    proba = [_as_proba(outputs.aligned_to(classes)) for outputs in answers]
    return stack_left_out(left_out, proba), classes, caught


def train_left_out(estimator, data, left_out, seeds, *, targets=None, n_jobs=None, verbose=0):
    """Train models, with the parameters of :func:`ask_left_out`, and keep what they answer.

    Return left_out of shape (n_trained, n).
    """
    needed = np.flatnonzero(left_out.any(axis=1))
    left_out, seeds = left_out[needed], [seeds[k] for k in needed]
    job = Job(estimator, JobData([data.X], data.y), ~left_out, seeds, _keep_answers, n_jobs)
    if targets is not None or data.sample_weight is not None:
        job = job._replace(fit=_WeightedFit(data, targets))
    plan = plan_training(job, exact=True)
    if not plan.together:
        job = job._replace(fit=_WeightedFit(data, targets))  # its errors come from the estimator
    results = run_visibly(plan, job, verbose, "sub-models")
    kept = [result for _, result in sorted(results, key=lambda pair: pair[0])]
    answers = [result.facts["answers"] for result in kept]
    return left_out, answers, [warning for some in kept for warning in some.warnings]


def stack_left_out(left_out, answers):
    """Return answers by row: the k-th of the models that a row was left out of, for each k.

    Take left_out of shape (n_models, n); return stacked of shape (n_left_out, n, ...).
    """
    n_rows = left_out.shape[1]
    stacked = np.empty((left_out[:, 0].sum(), n_rows, *answers[0].shape[1:]))
    place = np.cumsum(left_out, axis=0) - 1
    for out, at, part in zip(left_out, place, answers, strict=True):
        stacked[at[out], out] = part
    return stacked


def _keep_answers(trained):
    """Keep the answers to the rows that a model was not trained on."""
    rows = take_rows(trained.data.tables[0], np.flatnonzero(~trained.subset))
    return KeptResults({"answers": query_victim(trained.model, rows)}, {})


@dataclass(frozen=True)
class _WeightedFit:
    """Fits a model to labels or targets, with the weights of the rows."""

    data: object
    targets: tuple | None

    def __call__(self, model, rows):
        part = self.data.take(rows)
        if self.targets is None:
            part.fit_labels(model)
        else:
            part.fit(model, self.targets[0][rows], self.targets[1])


def _as_proba(outputs):
    values = outputs.values.astype(np.float64)
    return softmax(values, axis=1) if outputs.kind == "logits" else renormalized(values)


def number_equal_rows(data):
    """Return the unit of each row; equal rows are one."""
    try:
        return number_units(hash_records(data.X, data.y))
    except TypeError:
        # The content of a cell cannot be told, so all rows count as different.
        return np.arange(len(data.y))


def check_numbers_of_models(defense):
    """Check how many sub-models leave a row out."""
    n_left_out = count_left_out(defense)
    if n_left_out >= defense.n_estimators:
        raise InvalidParameterError(
            f"n_left_out must be below n_estimators={defense.n_estimators}, so that models are "
            f"left that are trained on a row; got {n_left_out}."
        )


def count_left_out(defense):
    """Return how many sub-models leave out each row; fewer models than usual leave it out half."""
    if defense.n_left_out != "auto":
        return defense.n_left_out
    usual, least = defense._usual_left_out
    return usual if usual < defense.n_estimators else max(least, defense.n_estimators // 2)


def draw_for(defense, data, seed, *, is_classification):
    """Draw the sub-models of a defense that are not trained on each row."""
    units = number_equal_rows(data)
    if units.max(initial=0) == 0:
        raise ValueError(
            f"{type(defense).__name__} leaves rows out and needs at least 2 different ones; got "
            f"n_samples = {len(data.y)}{', all equal' if len(data.y) > 1 else ''}."
        )
    # Of different rows, so that a row of weight 2 counts as the row twice.
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    strata = compute_strata(data.y[first], is_classification=is_classification)[unit]
    rng = np.random.default_rng(seed)
    return draw_left_out(units, strata, defense.n_estimators, count_left_out(defense), rng)


OF_SUB_MODELS = {
    "n_estimators": [Interval(Integral, 2, MOST_MODELS, closed="both")],
    "n_left_out": [at_least(1), StrOptions({"auto"})],
    "store_targets": ["boolean"],
    "n_jobs": N_JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class CrossFitDefense(SoftTargetDefense):
    """Base class of defenses with targets from models that were not trained on the row.

    A subclass has parameters n_estimators, n_left_out, store_targets, memory, n_jobs, random_state
    and verbose, and implements _combine.
    """

    _parameter_constraints = {
        **SoftTargetDefense._parameter_constraints,
        **OF_SUB_MODELS,
        "memory": [str, HasMethods(["cache"]), None],
    }
    n_iterations = 1  # rounds, each by sub-models trained on the targets of the one before

    def _fit_targets(self, data):
        check_numbers_of_models(self)
        require_proba(self.estimator, type(self).__name__, "classifier")
        seeds = spawn_seeds(self.random_state, 2 + self.n_iterations)
        left_out = draw_for(self, data, seeds[0], is_classification=True)
        targets = None
        for children in seeds[2:]:
            targets = self._ask(data, targets, left_out, children.spawn(self.n_estimators))
        estimator = copy_unfitted(self.estimator)
        seed_estimator(estimator, seeds[1])
        with isolated_randomness(seeds[1]):
            self.estimator_ = data.fit(estimator, *targets)
        self.targets_ = targets[0] if self.store_targets else None

    def _ask(self, data, targets, left_out, seeds):
        """Return the targets of the next round and the labels of their columns."""
        ask = check_memory(self.memory).cache(ask_left_out, ignore=["n_jobs", "verbose"])
        proba, classes, caught = ask(
            copy_unfitted(self.estimator),
            data,
            left_out,
            seeds,
            targets=targets,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        warn_once(caught, self.n_estimators, "sub-models")
        return self._combine(proba, np.searchsorted(classes, data.y), data), classes

    @abstractmethod
    def _combine(self, proba, codes, data):
        """Return the targets of shape (n, n_classes) from the answers of left-out models.

        Shapes: proba (n_left_out, n, n_classes), codes (n,).
        """
