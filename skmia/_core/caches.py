"""Copies of estimators that are about to be trained, without the caches of their steps.

The clones of a victim that are trained here differ in their training records, so that a cache of
fitted steps would never be read again: it would only fill a folder with records and, where the
folder belongs to another user, run the pickles that are in it.
"""

from contextlib import contextmanager
from os import PathLike

import numpy as np
from sklearn.frozen import FrozenEstimator

from .skorch_nets import is_skorch, why_not_loader
from .writers import copy_quietly


def clone_to_train(estimator, said=None):
    """Copy an estimator that is about to be trained so that it writes nothing of the user's.

    Return model: every memory in it is None, at any depth, also among the candidates of a search.
    Sentences on callbacks and other parameters that were changed are added to the list said. Nets
    with a sampler of the rows of another training set are refused.
    """
    copied = remove_caches(copy_quietly(estimator, said))
    for part in walk(copied):
        if is_skorch(part) and hasattr(part, "get_params_for"):
            refusal = why_not_loader(part)
            if refusal:
                raise ValueError(refusal)
    return copied


def remove_caches(estimator):
    """Set every ``memory`` of an estimator to None."""
    for part in walk(estimator):
        if isinstance(part, dict):
            part.update({name: [None] for name in _list_cached_candidates(part)})
        elif _has_cache(part):
            part.set_params(memory=None)
    return estimator


@contextmanager
def caches_removed(estimator):
    """Remove the caches of an estimator for a while: a copy of a fitted one can hash otherwise."""
    parts = list(walk(estimator))
    grids = [(part, dict(part)) for part in parts if isinstance(part, dict)]
    cached = [
        (step, step.memory) for step in parts if not isinstance(step, dict) and _has_cache(step)
    ]
    try:
        yield remove_caches(estimator)
    finally:
        for part, memory in cached:
            part.set_params(memory=memory)
        for part, content in grids:
            part.update({name: content[name] for name in _list_cached_candidates(content)})


def walk(root):
    """Yield every estimator and dictionary within an estimator, each once."""
    seen, waiting = set(), [root]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, FrozenEstimator | type):
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif isinstance(part, dict):
            yield part
            waiting += part.values()
        elif hasattr(part, "get_params"):
            yield part
            waiting += vars(part).values()


def _has_cache(estimator):
    return _is_cache(estimator.get_params(deep=False).get("memory"))


def _is_cache(value):
    """Return whether scikit-learn takes a value for a cache.

    Other things may be called memory, too.
    """
    return isinstance(value, str | PathLike) or hasattr(value, "cache")


def _list_cached_candidates(grid):
    """Return names under which a search, which sets parameters itself, would try caches."""
    return [
        name
        for name, values in grid.items()
        if isinstance(name, str)
        and name.split("__")[-1] == "memory"
        and any(map(_is_cache, values if isinstance(values, list | tuple | np.ndarray) else []))
    ]
