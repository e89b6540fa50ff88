"""How the numbers that a model stores are read, by the kind of the model."""

from typing import NamedTuple

from .._core.asking import check_victim, unwrap
from .inputs import find_model
from .resampling import why_not_resampled


class Reader(NamedTuple):
    """How models of one kind are read, or why one is not.

    Attributes
    ----------
    read : callable
        Function of the fitted model, and of the features as they reach it.
    why_not : callable
        Takes a fitted model and returns a reason, part of a sentence, or None.
    absent : float
        What the model takes an entry for that a sparse matrix does not store.
    """

    read: object
    why_not: object
    absent: float = 0.0


def choose_reader(model, readers):
    """The reader of the first kind that a model is of: classes, or a function; None without one."""
    for kind, reader in readers.items():
        if isinstance(model, kind) if isinstance(kind, tuple) else kind(model):
            return reader
    return None


def open_model(model, choose, wanted, refused, *, repeats=False):
    """Return the model at the end of a Pipeline or search, the steps before it, and its reader.

    `wanted` says what is read of which models, in the error on a model without a reader; `refused`
    says what is not read of ``{}``. Training rows may be repeated if `repeats` is true.
    """
    found, steps = find_model(model)
    reader = choose(found)
    if reader is None:
        got = type(unwrap(model)).__name__
        raise TypeError(f"{wanted}, also at the end of a Pipeline; got {got}.")
    check_victim(model)
    why = reader.why_not(found) or why_not_resampled(model, repeats=repeats)
    if why is not None:
        raise ValueError(f"{refused.format(type(found).__name__)}: {why}.")
    return found, steps, reader
