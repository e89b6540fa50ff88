"""The samples on which the trees of a forest were grown, drawn again from the stored seeds."""

from numbers import Integral

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ..inputs import find_model
from ..tree_families import BAGS

_FORESTS = (RandomForestClassifier, RandomForestRegressor)


def replay_samples(model):
    """Draw the samples of a forest's trees again.

    Parameters
    ----------
    model : estimator
        Fitted random forest or bagged trees, also at the end of a Pipeline or chosen by a search.

    Returns
    -------
    drawn : ndarray of shape (n_trees, n_rows), dtype bool
        Whether each training row is in the sample of each tree. The last rows are missing if no
        tree has drawn them.

    Raises
    ------
    ValueError
        If the model has no samples, or they cannot be drawn again.
    """
    model, _ = find_model(model)
    why = _why_not_sampled(model)
    samples = None if why else _draw_again(model)
    if samples is None:
        why = why or "it does not store its seeds and the number of its training rows"
    elif not all(map(_agrees, model.estimators_, samples)):
        why = "their numbers of rows are not those that its trees state"
    if why is not None:
        raise ValueError(f"The samples of this {type(model).__name__} are not drawn again: {why}.")
    drawn = np.zeros((len(samples), 1 + max(map(np.max, samples))), dtype=bool)
    for tree, rows in enumerate(samples):
        drawn[tree, rows] = True
    return drawn


def _why_not_sampled(model):
    if not isinstance(model, BAGS + _FORESTS):
        return "only random forests and bagged trees have samples that are known"
    if not model.bootstrap and model.max_samples in (None, 1.0):
        return "bootstrap=False, so that all of its trees were grown on all rows"
    return None


def _draw_again(model):
    """Rows of each sample, or None if the model does not store from what they were drawn."""
    # Without a seed, a forest would draw other samples than its trees had.
    if isinstance(model, _FORESTS) and not all(
        isinstance(tree.random_state, Integral) for tree in model.estimators_
    ):
        return None
    try:
        return model.estimators_samples_
    except (AttributeError, TypeError):
        return None


def _agrees(tree, rows):
    """Whether a tree may have been grown on a sample, by its size; stripped trees state none."""
    return tree.tree_.n_node_samples[0] in (0, len(np.unique(rows)), len(rows))
