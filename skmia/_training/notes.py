"""Warnings and notes on the training of the models of a pool."""

import warnings
from collections import Counter

from ..exceptions import JointTrainingWarning

_WEIGHTS = "sample_weight"


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
    """Warn that models are trained without sample weights although weights seem to exist.

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
        The text of the warning, for a report.
    """
    if _WEIGHTS in records.fields:
        found = f"the field {_WEIGHTS!r} of the records is not used"
    elif _requests_weights(estimator):
        found = f"the estimator requests {_WEIGHTS} for fit, which is not passed"
    else:
        return []
    note = (
        f"The {what} are trained without weights: {found}. If the victim was trained with weights, "
        "use an estimator whose own fit finds them, for example in a column of X."
    )
    warnings.warn(note, UserWarning, stacklevel=stacklevel)
    return [note]


def _requests_weights(estimator):
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(_requests(part) for part in parts if hasattr(part, "get_metadata_routing"))


def _requests(part):
    if isinstance(part, type):
        return False
    try:
        requests = part.get_metadata_routing().fit.requests
    except Exception:  # a composite, whose parts are checked separately
        return False
    return requests.get(_WEIGHTS) not in (None, False)
