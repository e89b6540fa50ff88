"""Rows drawn from a fitted generator."""

import inspect

import numpy as np

from .asking import check_fitted, unwrap
from .randomness import preserved_randomness


def check_generator(generator):
    """Check that a generator is fitted and can draw rows.

    Raises
    ------
    TypeError
        If it has no ``sample``.
    NotFittedError
        If it is not fitted, which is what ``clone`` makes of one that is not frozen.
    """
    inner = unwrap(generator)
    if not hasattr(inner, "sample"):
        raise TypeError(
            "The victim must be a fitted generator with a sample method; "
            f"got {type(inner).__name__}."
        )
    check_fitted(inner, "generator")
    return inner


def draw_samples(generator, n_samples, random_state):
    """Rows of a fitted generator.

    The seed is passed on where ``sample`` takes one. Of a tuple (rows, labels) the rows are taken;
    records are X, not the container.
    """
    inner = check_generator(generator)
    settings = {}
    if "random_state" in inspect.signature(inner.sample).parameters:
        settings["random_state"] = random_state.randint(np.iinfo(np.int32).max)
    with preserved_randomness():
        drawn = inner.sample(n_samples, **settings)
    drawn = drawn[0] if isinstance(drawn, tuple) else drawn
    return getattr(drawn, "X", drawn)
