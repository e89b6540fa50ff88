"""Training and asking one shadow model."""

import warnings
from collections import Counter
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..utils._advice import find_advice
from ..utils._containers import pack, take_rows, unpack
from ..victims._query import query_victim
from ._evidence import evidence_of
from ._seeding import isolated_randomness, seed_estimator


class PoolData(NamedTuple):
    """The records of a pool, as workers need them."""

    queries: list  # features of the records, then of each augmentation
    y: np.ndarray

    def packed(self):
        """The same in arrays, which joblib maps into the memory of workers; tensors it sends."""
        return self._replace(queries=[pack(X) for X in self.queries])

    def unpacked(self):
        """The records as they were before :meth:`packed`."""
        return self._replace(queries=[unpack(X) for X in self.queries])


class PoolSettings(NamedTuple):
    """What a pool takes of each model."""

    temperatures: tuple
    resolution: object  # "auto" or float
    store: str


def check_temperatures(temperatures):
    """Check that temperatures are different positive numbers, one or more."""
    numbers = [isinstance(one, Real) and not isinstance(one, bool) for one in temperatures]
    if not (numbers and all(numbers) and all(0 < one < np.inf for one in temperatures)):
        raise ValueError(
            f"temperatures must be one or more positive numbers; got {temperatures!r}."
        )
    if len({float(one) for one in temperatures}) < len(temperatures):
        raise ValueError(f"temperatures must be different numbers; got {temperatures!r}.")


class ShadowResult(NamedTuple):
    """What comes back from a worker."""

    evidence: str
    raw: np.ndarray  # (n_temperatures, n_queries, n)
    step: float  # of the model's probabilities
    dtype: np.dtype
    kind: str
    classes: np.ndarray
    outputs: np.ndarray
    model: object
    warnings: list


def compute_evidence(outputs, y, temperatures, step):
    """Evidence at each temperature, shape (n_temperatures, n)."""
    evidence = evidence_of(outputs.kind)
    temperatures = temperatures if evidence.has_temperature else (1.0,)
    raw = [evidence.compute(outputs, y, temperature, step) for temperature in temperatures]
    return evidence, np.array(raw, dtype=np.float32)


def ask_model(model, X, y):
    """Answers of a shadow model, with a column for every class that occurs in ``y``."""
    outputs = query_victim(model, X)
    return (
        outputs if outputs.kind == "value" else outputs.aligned_to(np.union1d(outputs.classes, y))
    )


def _fit(estimator, X, y, n_records):
    try:
        estimator.fit(X, y)
    except Exception as error:
        reason = find_advice(error, estimator, X) or f"{type(error).__name__}: {error}"
        raise RuntimeError(
            f"A shadow model ({type(estimator).__name__}) could not be trained on its {len(y)} of "
            f"{n_records} records with {len(np.unique(y))} different labels: {reason}"
        ) from error


def _train(estimator, data, inside, seeds):
    model = clone(estimator)
    seed_estimator(model, seeds)
    members = np.flatnonzero(inside)
    _fit(model, take_rows(data.queries[0], members), data.y[members], len(data.y))
    return model


def train_model(estimator, data, inside, seeds):
    """Train a clone of the estimator on some records, as :func:`fit_shadow` does, and ask nothing.

    Parameters
    ----------
    estimator : estimator
        Cloned, never changed.
    data : PoolData
        The records.
    inside : ndarray of shape (n,), dtype bool
        Training records.
    seeds : numpy SeedSequence
        Randomness of this model.

    Returns
    -------
    model : estimator
        Fitted.
    caught : list of (category, str)
        Warnings of its training.
    """
    with isolated_randomness(seeds), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model = _train(estimator, data, inside, seeds)
    return model, [(one.category, str(one.message)) for one in caught]


def fit_shadow(estimator, data, inside, seeds, settings):
    """Train a clone of the estimator on some records and take its evidence on all of them.

    Parameters
    ----------
    estimator : estimator
        Cloned, never changed.
    data : PoolData
        The records.
    inside : ndarray of shape (n,), dtype bool
        Training records.
    seeds : numpy SeedSequence
        Randomness of this model.
    settings : PoolSettings
        What to take of the model.

    Returns
    -------
    result : ShadowResult
    """
    with isolated_randomness(seeds), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model = _train(estimator, data, inside, seeds)
        answers = [ask_model(model, X, data.y) for X in data.queries]
    return summarise_model(
        answers, data.y, settings, model, [(one.category, str(one.message)) for one in caught]
    )


def summarise_model(answers, y, settings, model, caught):
    """What is kept of one model's answers to the records and to each augmentation.

    Parameters
    ----------
    answers : list of Outputs
        To the records, then to each augmentation.
    y : ndarray of shape (n,)
        Task labels.
    settings : PoolSettings
        What to take of the model.
    model : estimator
        The fitted model.
    caught : list of (category, str)
        Warnings of its training.

    Returns
    -------
    result : ShadowResult
    """
    step = settings.resolution
    if step == "auto":
        step = answers[0].find_resolution()
    evidence, first = compute_evidence(answers[0], y, settings.temperatures, step)
    rest = [compute_evidence(one, y, settings.temperatures, step)[1] for one in answers[1:]]
    values = answers[0].values
    return ShadowResult(
        evidence=evidence.name,
        raw=np.stack([first, *rest], axis=1),
        step=step,
        dtype=values.dtype,
        kind=answers[0].kind,
        classes=answers[0].classes,
        outputs=values.astype(np.float32) if settings.store == "outputs" else None,
        model=model if settings.store == "models" else None,
        warnings=caught,
    )


def warn_once(caught, n_models, what="shadow models"):
    """Pass on each distinct warning of the workers once, with the number of models it came from."""
    for (category, message), count in Counter(caught).items():
        warnings.warn(f"{count} of {n_models} {what}: {message}", category, stacklevel=4)
