"""The JSON of a CatBoost model: its trees, borders and settings."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..._core.classes import is_of_package

# Name of the list of trees that split alike at each level; other trees are stored elsewhere.
OBLIVIOUS = "oblivious_trees"
_BYTES = "__model"


def is_catboost(model):
    """Whether a model is a CatBoost, CatBoostClassifier, CatBoostRegressor or derived from one."""
    return is_of_package(model, "catboost") and hasattr(type(model), "get_leaf_weights")


def load_catboost(model):
    """Return the JSON of a fitted CatBoost model."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def list_arrays_of_catboost(model):
    """Return what a fitted CatBoost model stores of its training rows, as arrays and names."""
    stored = load_catboost(model)
    columns = [
        {"borders": column.get("borders")} for column in stored["features_info"]["float_features"]
    ]
    trees = [
        {name: tree[name] for name in ("leaf_weights", "leaf_values")}
        for tree in stored.get(OBLIVIOUS, ())
    ]
    others = {name: stored[name] for name in ("trees", "ctr_data") if name in stored}
    state = model.__getstate__()
    learned = {name: state[name] for name in state if name.startswith("_") and name != _BYTES}
    return {"float_features": columns, OBLIVIOUS: trees, **others, **learned}


class CatBoostTree:
    """One oblivious tree: all nodes of a level have the same split.

    Parameters
    ----------
    stored : dict
        Element of ``"oblivious_trees"``.
    features : list of dict
        Columns of numbers of the model.
    """

    def __init__(self, stored, features):
        splits = stored.get("splits") or []
        chosen = [features[one["float_feature_index"]] for one in splits]
        self.columns = np.array([one["flat_feature_index"] for one in chosen], dtype=np.intp)
        self.borders = np.array([one["border"] for one in splits], dtype=np.float32)
        # Whether missing values are above all borders.
        self._above = np.array([one["nan_value_treatment"] == "AsTrue" for one in chosen])
        self.counts = np.array(stored["leaf_weights"], dtype=np.float64)
        self.values = np.array(stored["leaf_values"]).reshape(len(self.counts), -1)

    def route(self, X):
        """Return the leaf of each row of single precision."""
        leaf = np.zeros(len(X), dtype=np.intp)
        for level, (column, border, above) in enumerate(
            zip(self.columns, self.borders, self._above, strict=True)
        ):
            values = X[:, column]
            with np.errstate(invalid="ignore"):
                is_above = np.where(np.isnan(values), above, values > border)
            leaf |= is_above.astype(np.intp) << level
        return leaf
