"""The text of a LightGBM booster: its trees, settings and the ranges of its columns."""

from typing import NamedTuple

import numpy as np

from ..._core.classes import is_of_package

# Bits of a decision: it is on a category, missing values go left, and what counts as missing.
_CATEGORY, _LEFT, _MISSING = 1, 2, 2
_NONE, _ZERO, _NAN = 0, 1, 2
# LightGBM puts bounds around zero, which are not computed from values.
ZERO = 1.1e-35

_OF_TREE = {
    "split_feature": np.intp,
    "threshold": np.float64,
    "decision_type": np.intp,
    "left_child": np.intp,
    "right_child": np.intp,
    "leaf_value": np.float64,
    "leaf_weight": np.float64,
    "leaf_count": np.float64,
    "internal_value": np.float64,
    "internal_weight": np.float64,
    "internal_count": np.float64,
    "split_gain": np.float64,
    "cat_boundaries": np.intp,
    "cat_threshold": np.uint32,
}


class LightGBMText(NamedTuple):
    """Content of the text of a booster.

    Attributes
    ----------
    header : dict of str to str
        Numbers of classes and of trees per round, objective and names of the columns.
    ranges : ndarray of shape (n_features, 2)
        Smallest and largest training value of each column; NaN if it is not stored.
    trees : list of dict
        Arrays of each tree by name, and its ``"shrinkage"``.
    settings : dict of str to str
        Parameters of the training.
    n_categories : ndarray of shape (n_features,)
        Number of the categories of each column, with one for all others; 0 for numbers.
    """

    header: dict
    ranges: np.ndarray
    trees: list
    settings: dict
    n_categories: np.ndarray


def is_lightgbm(model):
    """Whether a model holds a booster of LightGBM, as its own estimators do."""
    own = is_of_package(model, "lightgbm") or is_of_package(model, __package__)
    return own and hasattr(type(model), "booster_")


def load_lightgbm(model):
    """Return the parsed text of all rounds of a fitted LightGBM model."""
    return parse_lightgbm(model.booster_.model_to_string(num_iteration=-1))


def parse_lightgbm(text):
    """Parse the text of a booster.

    Parameters
    ----------
    text : str

    Returns
    -------
    parsed : LightGBMText
    """
    head, *blocks = text.split("\nTree=")
    header = _read_pairs(head.splitlines())
    rest = blocks[-1] if blocks else head
    settings = _read_settings(rest.partition("\nparameters:")[2].splitlines())
    trees = [_read_tree(block.partition("\nend of trees")[0]) for block in blocks]
    infos = header.pop("feature_infos", "").split()
    ranges = np.reshape(np.array([_read_range(one) for one in infos]), (-1, 2))
    n_categories = [1 + one.count(":") if one[0] not in "[n" else 0 for one in infos]
    return LightGBMText(header, ranges, trees, settings, np.array(n_categories))


def _read_pairs(lines):
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _read_settings(lines):
    pairs = (line[1:-1].split(": ", 1) for line in lines if line.startswith("["))
    return {name: rest[0] if rest else "" for name, *rest in pairs}


def _read_range(info):
    """Return both ends of ``[low:high]``; constant columns and categories are written otherwise."""
    if not info.startswith("["):
        return np.nan, np.nan
    low, _, high = info[1:-1].partition(":")
    return float(low), float(high)


def _read_tree(block):
    pairs = _read_pairs(block.splitlines())
    tree = {name: _as_array(pairs.get(name, ""), kind) for name, kind in _OF_TREE.items()}
    return tree | {"shrinkage": float(pairs["shrinkage"]), "num_cat": int(pairs["num_cat"])}


def _as_array(text, kind):
    return np.array(text.split(), dtype=np.float64).astype(kind)


class LightGBMTree:
    """One tree of a parsed booster; leaves are numbered from 0.

    Parameters
    ----------
    stored : dict
        Element of ``LightGBMText.trees``.
    """

    def __init__(self, stored):
        self.values, self.shrinkage = stored["leaf_value"], stored["shrinkage"]
        # A tree without splits stores its value alone.
        sums = stored["leaf_weight"], stored["leaf_count"]
        none = np.zeros(len(self.values))
        self.weights, self.counts = (one if len(one) else none for one in sums)
        self._feature, self._threshold = stored["split_feature"], stored["threshold"]
        decisions = stored["decision_type"]
        self.of_category = (decisions & _CATEGORY) > 0
        self._words = stored["cat_boundaries"], stored["cat_threshold"]
        self._goes_left = (decisions & _LEFT) > 0
        self._missing = (decisions >> _MISSING) & 3
        self._children = stored["right_child"], stored["left_child"]

    def route(self, X):
        """Return the leaf of each row."""
        leaf = np.zeros(len(X), dtype=np.intp)
        rows = np.arange(len(X) if len(self._feature) else 0)
        node = np.zeros(len(rows), dtype=np.intp)
        while len(rows):
            node = self._choose_child(node, X[rows, self._feature[node]])
            leaf[rows[node < 0]] = ~node[node < 0]
            rows, node = rows[node >= 0], node[node >= 0]
        return leaf

    def find_parents(self):
        """Return the node above each leaf, and its feature; -1 for a tree without splits."""
        parents = np.full(len(self.values), -1)
        for children in self._children:
            parents[~children[children < 0]] = np.flatnonzero(children < 0)
        features = self._feature[parents] if len(self._feature) else parents
        return parents, features

    def _choose_child(self, node, values):
        left = self._goes_below(node, values)
        chosen = self.of_category[node]
        if chosen.any():
            left[chosen] = self._is_listed(node[chosen], values[chosen])
        return np.where(left, self._children[1][node], self._children[0][node])

    def _is_listed(self, node, values):
        """Whether categories go left: their bits are set, and missing ones have none."""
        bounds, words = self._words
        split = self._threshold[node].astype(np.intp)
        code = np.where(values >= 0, values, -1).astype(np.intp)  # NaN has no code
        place = bounds[split] + code // 32
        inside = (code >= 0) & (place < bounds[split + 1])
        word = words[np.where(inside, place, 0)]
        return inside & ((word >> (code % 32).astype(np.uint32)) & 1).astype(bool)

    def _goes_below(self, node, values):
        kind, is_nan = self._missing[node], np.isnan(values)
        values = np.where(is_nan & (kind != _NAN), 0.0, values)
        is_missing = ((kind == _NAN) & is_nan) | ((kind == _ZERO) & (np.abs(values) <= ZERO))
        with np.errstate(invalid="ignore"):
            below = values <= self._threshold[node]
        return np.where(is_missing, self._goes_left[node], below)
