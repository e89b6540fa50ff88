"""Training and asking one shadow model."""

import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from ..utils._containers import take_rows
from ..victims._query import query_victim
from ._evidence import evidence_of
from ._seeding import isolated_randomness, seed_estimator


class ShadowResult(NamedTuple):
    """What comes back from a worker."""

    evidence: str
    raw: np.ndarray  # (n_temperatures, n_queries, n)
    dtype: np.dtype
    kind: str
    classes: np.ndarray
    outputs: np.ndarray
    model: object
    warnings: list


def _use_one_job(estimator):
    names = [name for name in estimator.get_params(deep=True) if name.split("__")[-1] == "n_jobs"]
    return estimator.set_params(**dict.fromkeys(names, 1))


def prepare_estimator(estimator, n_jobs):
    """Clone an estimator for the workers, which must not start workers of their own."""
    estimator = clone(estimator)
    return estimator if effective_n_jobs(n_jobs) == 1 else _use_one_job(estimator)


def compute_evidence(outputs, y, temperatures, resolution):
    """Evidence at each temperature, shape (n_temperatures, n)."""
    evidence = evidence_of(outputs.kind)
    temperatures = temperatures if evidence.has_temperature else (1.0,)
    raw = [evidence.compute(outputs, y, temperature, resolution) for temperature in temperatures]
    return evidence, np.array(raw, dtype=np.float32)


def ask_model(model, X, y):
    """Answers of a shadow model, with a column for every class that occurs in ``y``."""
    outputs = query_victim(model, X)
    return (
        outputs if outputs.kind == "value" else outputs.aligned_to(np.union1d(outputs.classes, y))
    )


def _fit_seeded(estimator, X, y, seeds):
    seed_estimator(estimator, seeds)
    with isolated_randomness(seeds), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        estimator.fit(X, y)
    return [(entry.category, str(entry.message)) for entry in caught]


def fit_shadow(estimator, queries, y, inside, seeds, temperatures, resolution, store):
    """Train a clone of the estimator on some records and take its evidence on all of them.

    Parameters
    ----------
    estimator : estimator
        Cloned, never changed.
    queries : list of containers of n rows
        The features, then those of each augmentation.
    y : ndarray of shape (n,)
        Task labels.
    inside : ndarray of shape (n,), dtype bool
        Training records.
    seeds : numpy SeedSequence
        Randomness of this model.
    temperatures : tuple of float
        Of the evidence.
    resolution : "auto" or float
        Finest step of the probabilities.
    store : {"signals", "outputs", "models"}
        What to return besides the evidence.

    Returns
    -------
    result : ShadowResult
    """
    model = clone(estimator)
    members = np.flatnonzero(inside)
    caught = _fit_seeded(model, take_rows(queries[0], members), y[members], seeds)
    answers = [ask_model(model, X, y) for X in queries]
    evidence, first = compute_evidence(answers[0], y, temperatures, resolution)
    rest = [compute_evidence(outputs, y, temperatures, resolution)[1] for outputs in answers[1:]]
    return ShadowResult(
        evidence=evidence.name,
        raw=np.stack([first, *rest], axis=1),
        dtype=answers[0].values.dtype,
        kind=answers[0].kind,
        classes=answers[0].classes,
        outputs=answers[0].values.astype(np.float32) if store == "outputs" else None,
        model=model if store == "models" else None,
        warnings=caught,
    )


def warn_once(caught, n_models):
    """Pass on each distinct warning of the workers once, with the number of models it came from."""
    for (category, message), count in Counter(caught).items():
        warnings.warn(f"{count} of {n_models} shadow models: {message}", category, stacklevel=3)
