"""Learning rate and penalty of XGBoost, from the weights that a file stores."""

import numpy as np

# Largest relative error of equations of weights in single precision.
_TOLERANCE = 1e-5


def solve_settings(trees, settings):
    """Learning rate and penalty of a booster; None if its weights do not follow from any.

    Files of XGBoost do not store them, and a loaded model has the defaults. Each inner node of a
    tree stores the weight that it would have as a leaf, w = -G / (H + penalty), and the sums of
    gradients G of two children add to their parent's. Weights of leaves are multiplied by the
    learning rate. Each inner node therefore gives one equation, which is linear in the penalty, in
    one over the learning rate and in the product of both.

    Parameters
    ----------
    trees : list of Tree
    settings : dict of str to str
        Settings that the model states.

    Returns
    -------
    found : tuple of two floats or None
    """
    stated = float(settings["eta"]), float(settings["lambda"])
    parts = [_add_up(tree) for tree in trees if tree.weights.any()]
    if not parts:
        return stated  # the file was stripped
    rows, targets, sizes = (np.concatenate(part) for part in zip(*parts, strict=True))
    if _agree(rows, targets, sizes, stated):
        return stated
    penalty, inverse, _ = np.linalg.lstsq(rows, targets, rcond=None)[0]
    if not (np.isfinite(inverse) and inverse > 0 and penalty > -_TOLERANCE):
        return None
    found = 1 / inverse, max(penalty, 0.0)
    return found if _agree(rows, targets, sizes, found) else None


def _agree(rows, targets, sizes, settings):
    eta, penalty = settings
    error = rows @ [penalty, 1 / eta, penalty / eta] - targets
    return np.linalg.norm(error) <= _TOLERANCE * np.linalg.norm(sizes @ [1, 1 / eta])


def _add_up(tree):
    """Equations of the inner nodes of a tree, and the sizes of their terms: of nodes and leaves."""
    inner = np.flatnonzero(tree.left >= 0)
    rows, targets = np.zeros((len(inner), 3)), -tree.weights[inner] * tree.covers[inner]
    sizes = np.column_stack([np.abs(targets), np.zeros(len(inner))])
    rows[:, 0] = tree.weights[inner]
    for child in (tree.left[inner], tree.right[inner]):
        is_leaf = tree.left[child] < 0
        weight, value, cover = tree.weights[child], tree.conditions[child], tree.covers[child]
        rows[:, 0] -= np.where(is_leaf, 0, weight)
        rows[:, 1] -= np.where(is_leaf, value * cover, 0)
        rows[:, 2] -= np.where(is_leaf, value, 0)
        targets += np.where(is_leaf, 0, weight * cover)
        sizes[:, 0] += np.where(is_leaf, 0, np.abs(weight * cover))
        sizes[:, 1] += np.where(is_leaf, np.abs(value * cover), 0)
    return rows, targets, sizes
