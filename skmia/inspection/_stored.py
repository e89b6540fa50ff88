"""The stored arrays that come from training rows, by place and owner."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.ensemble import GradientBoostingRegressor, RandomTreesEmbedding
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..victims import StoredArray, StoredEstimator
from ..victims.offers import has_file
from ._families import LEVELS, get_family, get_kinds

# Arrays that say nothing of single training rows.
_OTHERWISE = {"labels", "names", "structure"}
_ORDER = (
    *(
        "rows",
        "per-record",
        "values",
        "targets",
        "edges",
        "thresholds",
        "counts",
        "covers",
        "leaf values",
    ),
    *("seeds", "summaries", "other"),
)
# Numbers of lists, except of steps, which are different estimators.
_NUMBER = re.compile(r"(?<!steps)(?<!transformers_)(?<!transformer_list)\[\d+\]")
# Kinds of arrays that hold a number for each node, which is never 0 at the root.
_OF_NODES = {"counts", "covers"}
# Their trees are regressors of residuals, or of random numbers.
_OF_OTHERS = GradientBoostingRegressor, RandomTreesEmbedding
_COLUMNS = ["path", "kind", "n_arrays", "shape", "n_values", "bytes"]


class OwnedArray(NamedTuple):
    """A stored array, its kind, and the estimator that holds it."""

    stored: StoredArray
    kind: str
    owner: StoredEstimator | None


def list_owned_arrays(state):
    """The arrays of a state that come from training rows, as a list of OwnedArray."""
    places = {one.path: one for one in state.estimators}
    arrays = {one.path: one for one in state.arrays}
    owned = []
    for one in state.arrays:
        owner = _get_owner(one.path, places)
        kind = _get_kind(one, owner)
        if kind not in _OTHERWISE and not _is_removed(one, kind):
            owned.append(OwnedArray(one, kind, owner))
    return [_mark_targets(array, arrays) for array in owned]


def _is_removed(stored, kind):
    """Whether numbers of nodes were set to 0, as they are where a file was stripped."""
    array = stored.array
    is_node = kind in _OF_NODES and not sparse.issparse(array) and array.dtype.kind in "iuf"
    return is_node and not array.any()


def _mark_targets(one, arrays):
    """A regression tree with leaves of a single row keeps the targets of these rows."""
    tree, _, name = one.stored.path.rpartition(".values")
    counts = arrays.get(f"{tree}.nodes['n_node_samples']")
    is_tree = one.kind == "leaf values" and not name and counts is not None
    if not is_tree or counts.array.min() != 1 or not keeps_targets(one.owner.estimator):
        return one
    return one._replace(kind="targets")


def keeps_targets(estimator):
    """Whether the trees of an estimator are grown on the targets of a regression."""
    return is_regressor(estimator) and not isinstance(estimator, _OF_OTHERS)


def _get_owner(path, places):
    """The innermost estimator whose path begins a path, or of its family the outermost one."""
    ends = [k for k, letter in enumerate(path) if letter in ".["]
    around = [places[path[:end]] for end in ends if path[:end] in places]
    around = [places[""], *around] if "" in places else around
    for one in around:
        family = get_family(one.estimator)
        if family is not None and family.covers:
            return one
    return around[-1] if around else None


def _get_kind(stored, owner):
    kinds = {} if owner is None else get_kinds(owner.estimator)
    name = stored.path.removesuffix(".keys()").rpartition(".")[2].partition("[")[0]
    if stored.kind == "labels" and owner is not None and owner.path:
        return stored.kind  # the names of classes of a model around it
    return kinds.get(name, stored.kind)


def is_fitted(estimator):
    """Whether an estimator has learned anything; parameters hold some that have not."""
    if not isinstance(estimator, BaseEstimator):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_model(model):
    """Refuse what has no file or was not fitted."""
    name = type(model).__name__
    if not has_file(model):
        raise TypeError(f"An inspection reads the file of a model; {name} has none.")
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator; got {name}.")
    if not is_fitted(model):
        raise NotFittedError(f"model must be fitted; this {name} is not.")


def is_inside(path, other):
    """Whether a path leads through another one."""
    return not other or path.startswith((f"{other}.", f"{other}["))


def generalize(path):
    """A path without the numbers of lists, so that the parts of an ensemble are one."""
    return _NUMBER.sub("[*]", path)


def name_place(general, paths):
    """The path itself where it is the only one, else the one for all."""
    return paths[0] if len(paths) == 1 else general


def make_frame(owned):
    """One row for each place, with arrays of one list together, the most telling first."""
    groups = {}
    for one in owned:
        groups.setdefault((generalize(one.stored.path), one.kind), []).append(one.stored)
    rows = [
        (name_place(path, [one.path for one in some]), kind, *_measure([one.array for one in some]))
        for (path, kind), some in groups.items()
    ]
    rows.sort(key=lambda row: (_ORDER.index(row[1]), -row[-1]))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _measure(arrays):
    """Number, common shape, number of values and bytes of some arrays."""
    shapes = {one.shape for one in arrays}
    sizes = [one.data if sparse.issparse(one) else one for one in arrays]
    return (
        len(arrays),
        shapes.pop() if len(shapes) == 1 else None,
        int(sum(np.size(one) for one in sizes)),
        int(sum(one.nbytes for one in sizes)),
    )


def get_strongest(levels):
    """The level of those given that tells most, or None."""
    return min(levels, key=LEVELS.index, default=None)
