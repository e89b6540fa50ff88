"""Which numbers of a file are read by the parts of an attack on it."""

import re
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.svm import SVC, SVR
from sklearn.tree import BaseDecisionTree

from ..victims import read_state
from ..victims.inputs import find_model
from ._moments import MomentsAttack
from ._node_equations import NodeEquationsAttack
from ._split_threshold import SplitThresholdAttack
from ._stationarity import StationarityAttack

# Kinds of arrays that do not depend on the data, or only by labels and names of columns.
_NOT_DATA = ("labels", "names", "seeds")
_COLUMNS = {"_n_features_outs"}
# Which columns go to which step of a ColumnTransformer: the table's columns decide, not its rows.
_OF_STEPS = {"_columns", "_transformer_to_input_indices"}

_FORESTS = (
    RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor,
)  # fmt: skip
# All that a tree stores beside its thresholds: the number of outputs, splits, counts, values.
_OF_TREES = {
    "tree_", "left_child", "right_child", "feature", "missing_go_to_left", "values",
    "n_node_samples", "weighted_n_node_samples",
}  # fmt: skip
_OF_OPTIMA = {"coef_", "intercept_", "n_iter_"}
_OF_THRESHOLDS = {"threshold"}
_VERBATIM = ("rows", "values")


class Entry(NamedTuple):
    """Numbers of one name that a file stores, in all its estimators of one kind.

    Attributes
    ----------
    place : str
        Such as ``"coefs_ of MLPClassifier"``.
    size : int
        How many numbers or texts there are; 0 of an object that cannot be looked into.
    part : str or None
        Name of the part that reads them; None if none does.
    """

    place: str
    size: int
    part: str | None


def make_ledger(victim, parts):
    """List all stored arrays that depend on the data, and the part that reads each.

    Parameters of constructors, labels of classes, names of columns and seeds are left out.

    Parameters
    ----------
    victim : fitted estimator
    parts : dict of str to attack
        Fitted parts of the attack, by name.

    Returns
    -------
    ledger : list of Entry
        What is learned comes before private names and states of solvers, large before small.
    """
    state = read_state(victim)
    estimators = sorted(state.estimators, key=lambda one: -len(one.path))
    # Attacks on models inside the victim are wrapped, and their names end with a path.
    parts = {name: getattr(part, "attack_", part) for name, part in parts.items()}
    reads = [
        (name.partition(" in ")[0], *read)
        for name, part in parts.items()
        for read in _list_reads(part)
    ]
    verbatim = "stored values" if "stored values" in parts else None
    sizes = {}
    for stored in state.arrays:
        owner, attribute, name = _locate(stored.path, estimators)
        if stored.kind in _NOT_DATA or name in _COLUMNS or attribute in _list_parameters(owner):
            continue
        if type(owner) is ColumnTransformer and attribute in _OF_STEPS:
            continue
        part = _find_reader(owner, name, reads)
        if part is None and stored.kind in _VERBATIM:
            part = verbatim
        key = f"{name} of {type(owner).__name__}", part
        sizes[key] = sizes.get(key, 0) + int(np.prod(stored.array.shape))
    entries = [Entry(place, size, part) for (place, part), size in sizes.items()]
    entries += [Entry(place, 0, None) for place in state.unread]
    return sorted(entries, key=_rank)


def _rank(entry):
    name = entry.place.split(" of ")[0]
    return name.startswith("_") or not name.endswith("_"), -entry.size, entry.place


def _locate(path, estimators):
    """The innermost estimator that holds an array, its attribute, and the last name on the way."""
    inside = (one for one in estimators if re.match(re.escape(one.path) + r"($|[.\[])", path))
    owner = next(inside, estimators[-1])  # the last one is the whole
    rest = path.removeprefix(owner.path).removesuffix(".keys()")
    names = re.findall(r"[A-Za-z_]\w*", rest)
    return owner.estimator, names[0] if names else path, names[-1] if names else path


def _list_parameters(estimator):
    try:
        return set(estimator.get_params(deep=False))
    except Exception:  # whatever a foreign model does: all that it stores counts
        return set()


def _find_reader(owner, name, reads):
    return next((part for part, model, own in reads if model is owner and name in own), None)


def _list_reads(part):
    """Yield the estimators that a part reads, with the names of what it reads all of."""
    if isinstance(part, MomentsAttack):
        yield from part.sources_
    elif isinstance(part, StationarityAttack):
        model = find_model(part.victim)[0]
        if not isinstance(model, SVC | SVR):
            yield model, _OF_OPTIMA
    elif isinstance(part, NodeEquationsAttack):
        yield from _list_trees(find_model(part.victim)[0])
    elif isinstance(part, SplitThresholdAttack):
        for tree, _ in _list_trees(find_model(part.victim)[0]):
            yield tree, _OF_THRESHOLDS


def _list_trees(model):
    """Trees whose counts, values and impurities all are equations of the nodes."""
    if isinstance(model, BaseDecisionTree):
        yield model, _OF_TREES | {"impurity"}
    elif isinstance(model, _FORESTS):
        # The impurity of classes follows from their shares; that of targets is not read.
        further = {"impurity"} if is_classifier(model) else set()
        for tree in model.estimators_:
            yield tree, _OF_TREES | further


def combine_expected(aucs):
    """AUC to be expected of several parts together.

    Log likelihood ratios that are normal and independent add the squares of their strengths.
    """
    strengths = ndtri(np.clip(aucs, 0.5, 1 - 1e-12))
    return float(ndtr(np.sqrt(np.sum(strengths**2))))
