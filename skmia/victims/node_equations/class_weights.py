"""Weights of the rows of each class, of which sums of weights are whole multiples."""

import numpy as np

# Rows of a class in its smallest leaf, at most, among which its number is searched.
_MOST_IN_LEAST = 1000
# Largest distance of a number of rows from an integer.
_WHOLE = 1e-5


def find_weights(trees, has_classes, draws, *, multiplied=False, each=False):
    """Find the weights of the classes in some trees.

    Parameters
    ----------
    trees : list of sklearn.tree._tree.Tree
    has_classes : bool
        Whether the trees are classifiers.
    draws : bool
        Whether the trees were grown on samples, in which rows can be repeated.
    multiplied : bool, default=False
        Whether draws were multiplied by weights of classes, which may be whole numbers.
    each : bool, default=False
        Whether each tree has weights of its own.

    Returns
    -------
    weights : list
        For each tree 1.0 if rows have no weights, an array of shape (n_classes,), or None if rows
        of one class have different weights.
    """
    if not multiplied and all(_are_plain(tree, draws) for tree in trees):
        return [1.0] * len(trees)
    if not has_classes:
        return [None] * len(trees)
    parts = [[tree] for tree in trees] if each else [trees]
    found = [_find_by_class(part, draws) for part in parts]
    if draws and each:
        # Balanced weights add to the number of draws.
        found = [_check_total(*pair) for pair in zip(trees, found, strict=True)]
    return found if each else found * len(trees)


def estimate_unlikeness(tree):
    """Variance of the weights of rows over their squared mean, from the sums in leaves."""
    leaves = (tree.children_left < 0) & (tree.n_node_samples > 0)
    if not leaves.any():
        return 0.0  # the file was stripped
    counts, sums = tree.n_node_samples[leaves], tree.weighted_n_node_samples[leaves]
    ratio = sums / counts / (sums.sum() / counts.sum())
    return float(np.sum(counts * (ratio - 1) ** 2) / max(len(counts) - 1, 1))


def _are_plain(tree, draws):
    sums = tree.weighted_n_node_samples
    if draws and tree.n_outputs == 1 and tree.max_n_classes > 1:
        sums = tree.value[:, 0, :] * sums[:, None]
        return np.abs(sums - np.rint(sums)).max() < _WHOLE
    if draws:
        return np.array_equal(sums, np.rint(sums))
    return np.allclose(sums, tree.n_node_samples)


def _find_by_class(trees, draws):
    counts, sums = [], []
    for tree in trees:
        leaves = tree.children_left < 0
        counts.append(tree.n_node_samples[leaves])
        sums.append(tree.value[leaves, 0, :] * tree.weighted_n_node_samples[leaves, None])
    counts, sums = np.concatenate(counts), np.concatenate(sums)
    if draws:
        weights = np.array([_find_unit(column) for column in sums.T])
    else:
        with np.errstate(divide="ignore"):
            weights = 1 / np.linalg.lstsq(sums, counts, rcond=None)[0]
    if not np.all(weights > 0):
        return None
    rows = sums / weights
    fits = np.abs(rows - np.rint(rows)).max() < _WHOLE
    return weights if fits and (draws or np.allclose(rows.sum(axis=1), counts)) else None


def _find_unit(sums):
    """The largest number of which all sums are whole multiples; NaN if there is none."""
    sums = sums[sums > sums.max() * np.finfo(np.float32).eps]
    if not len(sums):
        return 1.0
    parts = sums.min() / np.arange(1, _MOST_IN_LEAST + 1)
    numbers = np.unique(sums)[None] / parts[:, None]
    fits = np.abs(numbers - np.rint(numbers)).max(axis=1) < _WHOLE
    return parts[fits.argmax()] if fits.any() else np.nan


def _check_total(tree, weights):
    if weights is None or isinstance(weights, float):
        return weights
    drawn = (tree.value[0, 0] * tree.weighted_n_node_samples[0] / weights).sum()
    return weights if abs(drawn - tree.weighted_n_node_samples[0]) < 0.5 else None
