"""Training rows that a model keeps for its own validation."""

from sklearn.pipeline import Pipeline

from .._core.asking import unwrap


def describe_held_back(victim):
    """Say that a model holds back rows of its training set, and by which parameter.

    Parameters
    ----------
    victim : estimator
        Victim, also in a Pipeline or a search.

    Returns
    -------
    notes : list of str
        One sentence or none.
    """
    model = unwrap(victim)
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        model = unwrap(model[-1] if isinstance(model, Pipeline) else model.best_estimator_)
    name = _find_split(model)
    if name is None:
        return []
    return [
        f"The model holds back a part of the rows given to fit, for validation ({name}). Members "
        "among them were not trained on, which makes the numbers lower."
    ]


def _find_split(model):
    split = getattr(model, "train_split", None)  # of a net of skorch
    # The helper predefined_split binds a validation set of other rows.
    if callable(split) and "valid_ds" not in getattr(split, "keywords", {}):
        return "train_split"
    if getattr(model, "validation_fraction", None) is None:
        return None
    if hasattr(model, "early_stopping"):
        # Histogram boosting decides by the number of rows.
        stops = getattr(model, "do_early_stopping_", model.early_stopping)
        return "early_stopping" if stops is True else None
    return None if getattr(model, "n_iter_no_change", None) is None else "n_iter_no_change"
