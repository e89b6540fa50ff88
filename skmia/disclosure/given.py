"""Checks of what is given of a model and its release, before anything is measured."""

from collections.abc import Mapping

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.numbers import check_count, show
from ..victims.inputs import find_model

# Digits that a float64 has at most.
_MOST_DECIMALS = 17


def check_decimals(decimals):
    """Refuse what is neither a number of decimals of answers nor None.

    Raises
    ------
    ValueError
        If it is not an integer from 0 to 17.
    """
    if decimals is not None:
        check_count(decimals, "decimals", 0, _MOST_DECIMALS)


def check_model(model):
    """Refuse what cannot be checked.

    Raises
    ------
    TypeError, NotFittedError, ValueError
        If the model cannot predict, is not fitted or predicts several outputs.
    """
    name = type(unwrap(model)).__name__
    if not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a fitted classifier or regressor with a method predict; got {name}."
        )
    try:
        check_is_fitted(unwrap(model))
    except NotFittedError:
        raise NotFittedError(f"model must be fitted; this {name} is not.") from None
    n_outputs = getattr(find_model(model)[0], "n_outputs_", 1)
    if not hasattr(unwrap(model), "coefs_") and n_outputs > 1:
        raise ValueError(
            f"model must have one output; this {name} has {n_outputs}. Check a model of each."
        )


def check_provenance(provenance):
    """Return what a second person needs as a dictionary.

    Raises
    ------
    TypeError
        If it is not a mapping, or one of its names or values is not a text.
    """
    if provenance is not None and not isinstance(provenance, Mapping):
        raise TypeError(f"provenance must be a mapping of texts; got {show(provenance)}.")
    provenance = dict(provenance or {})
    for name, value in provenance.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"provenance must be a mapping of texts; got {show(value)} for {show(name)}."
            )
    return provenance
