"""Warnings and notes on the training of the models of a pool."""

import warnings
from collections import Counter

import sklearn

from .._core.sample_weights import WEIGHTS, name_parameter, requests_weights
from ..exceptions import JointTrainingWarning


def warn_once(caught, n_models, what="shadow models"):
    """Repeat each distinct warning of the workers once, with the number of models it came from."""
    for (category, message), count in Counter(caught).items():
        warnings.warn(f"{count} of {n_models} {what}: {message}", category, stacklevel=4)


def count_failures(caught):
    """Count the models that could not be trained together.

    Parameters
    ----------
    caught : list of (category, str)
        Warnings of all trainings.

    Returns
    -------
    why : str
        Reasons.
    n_alone : int
        Number of these models.
    """
    failures = Counter(text for category, text in caught if category is JointTrainingWarning)
    return "; ".join(failures), sum(failures.values())


def note_failures(caught, n_models):
    """Return a list of one note on models that could not be trained together, or an empty list."""
    why, n_alone = count_failures(caught)
    if not n_alone:
        return []
    return [f"{n_alone} of {n_models} shadow models were trained one by one: {why}."]


def warn_of_weights(estimator, records, what="shadow models", stacklevel=4):
    """Say whether models are trained with sample weights, and warn if weights are not used.

    Parameters
    ----------
    estimator : estimator
        Estimator of the models.
    records : Records of n records
        Records that the models are trained on.
    what : str, default="shadow models"
        Name of the models in the message.
    stacklevel : int, default=4
        Stack level of the warning.

    Returns
    -------
    notes : list of str
        A sentence for a report, the text of the warning if there is one.
    """
    takes = name_parameter(estimator) is not None
    if WEIGHTS in records.fields and takes:
        return [f"The {what} are trained with the weights of the field {WEIGHTS!r}."]
    if WEIGHTS in records.fields:
        why = f"fit of {type(estimator).__name__} takes none"
        if requests_weights(estimator) or sklearn.get_config()["enable_metadata_routing"]:
            why = "no part of the estimator requests them (set_fit_request)"
        found = f"the field {WEIGHTS!r} of the records is not used, because {why}"
        advice = "use an estimator whose fit takes them, or finds them in a column of X"
    elif requests_weights(estimator):
        found = f"the estimator requests {WEIGHTS} for fit, and the records have no such field"
        advice = f"add them by records.with_fields({WEIGHTS}=...)"
    else:
        return []
    note = (
        f"The {what} are trained without weights: {found}. If the victim was trained with weights, "
        f"{advice}."
    )
    warnings.warn(note, UserWarning, stacklevel=stacklevel)
    return [note]
