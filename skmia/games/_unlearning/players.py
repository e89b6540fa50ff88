"""Checks of the estimator, the way of forgetting and the attacks of a game."""

import numpy as np
from sklearn.base import clone

from ..._core.asking import unwrap
from ..._core.numbers import show
from ..._core.seeding import refuse_trained_module
from ..._training.where.joblib import use_one_job
from ...victims import FunctionClassifier
from .attacks import ATTACKS
from .ways import WAYS, Forgetting


def check_attacks(attacks):
    """Return the names of attacks as a list, each once."""
    is_single = isinstance(attacks, str) or not np.iterable(attacks)
    names = [attacks] if is_single else list(attacks)
    if not names or not all(isinstance(name, str) and name in ATTACKS for name in names):
        raise ValueError(
            f"attacks must name one or more of {', '.join(map(repr, ATTACKS))}; got "
            f"{show(attacks)}."
        )
    return list(dict.fromkeys(names))


def check_players(train, unlearn, records, parallel):
    """Return the way of forgetting, and the estimator of all models.

    They start no workers if models are trained in parallel.
    """
    way, estimator = _read_way(unlearn), _read_estimator(train, records)
    if isinstance(way, Forgetting):
        way.validate()
        reason = way.why_not(estimator)
        if reason is not None:
            raise TypeError(f"{name(way)} cannot be played: {reason}")
        estimator = way.prepare(estimator)
    return way, use_one_job(estimator) if parallel else estimator


def name(player):
    """Name of a way of forgetting, of a function or of an estimator, as it is printed."""
    if isinstance(player, Forgetting):
        return repr(player)
    return getattr(player, "__name__", type(unwrap(player)).__name__)


def _read_way(unlearn):
    if isinstance(unlearn, str) and unlearn in WAYS:
        return WAYS[unlearn]()
    if isinstance(unlearn, type) or not callable(unlearn):
        raise ValueError(
            f"unlearn must be one of {', '.join(map(repr, WAYS))}, an object such as "
            f"FineTuning(n_epochs=5), or a function; got {show(unlearn)}."
        )
    return unlearn


def _read_estimator(train, records):
    if isinstance(train, type) or not (callable(train) or hasattr(train, "fit")):
        raise TypeError(
            "train must be an estimator or a function train(X, y, seed); got the class "
            f"{train.__name__}, not an instance."
            if isinstance(train, type)
            else f"train must be an estimator or a function train(X, y, seed); got {show(train)}."
        )
    if not hasattr(train, "fit"):
        return FunctionClassifier(train, classes=np.unique(records.y))
    estimator = unwrap(train)
    refuse_trained_module(estimator)
    return clone(estimator)
