"""Files of boosters, trees of LightGBM and CatBoost, and the outputs of earlier rounds.

The trees of XGBoost are read in ``_node_equations/boosters.py``.
"""

import json
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import gen_batches

from .._core.containers import take_rows
from .._core.guesses import suggest_path
from .._core.kinds import is_regressor
from .._core.optional import import_optional, is_of_package
from .._core.outputs import Outputs
from .._core.query import CHUNK, check_victim, open_steps, order_named_columns

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
    """One oblivious tree: all nodes of a level have the same split."""

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
    "leaf_const": np.float64,  # of linear trees, with the coefficients of all leaves
    "leaf_coeff": np.float64,
    "internal_value": np.float64,
    "internal_weight": np.float64,
    "internal_count": np.float64,
    "split_gain": np.float64,
    "cat_boundaries": np.intp,
    "cat_threshold": np.uint32,
}


class LightGBMText(NamedTuple):
    """Content of the text of a booster."""

    header: dict  # numbers of classes and of trees per round, objective and names of the columns
    # (n_features, 2): smallest and largest training value of each column; NaN if it is not
    # stored.
    ranges: np.ndarray
    trees: list  # arrays of each tree by name, and its ``"shrinkage"``
    settings: dict  # parameters of the training
    # (n_features,): number of the categories of each column, with one for all others; 0 for
    # numbers.
    n_categories: np.ndarray
    seen: list  # codes of the categories of each column that the training rows had, -1 for others


def is_lightgbm(model):
    """Return whether a model holds a booster of LightGBM, as its own estimators do."""
    own = is_of_package(model, "lightgbm") or is_of_package(model, __package__)
    return own and hasattr(type(model), "booster_")


def load_lightgbm(model):
    """Return the parsed text of all rounds of a fitted LightGBM model."""
    return parse_lightgbm(model.booster_.model_to_string(num_iteration=-1))


def parse_lightgbm(text):
    head, *blocks = text.split("\nTree=")
    header = _read_pairs(head.splitlines())
    rest = blocks[-1] if blocks else head
    settings = _read_settings(rest.partition("\nparameters:")[2].splitlines())
    trees = [_read_tree(block.partition("\nend of trees")[0]) for block in blocks]
    infos = header.pop("feature_infos", "").split()
    # Constant columns and categories are not written as [low:high].
    ends = [one[1:-1].split(":") if one[0] == "[" else (np.nan, np.nan) for one in infos]
    ranges = np.reshape(np.array(ends, dtype=np.float64), (-1, 2))
    seen = [one.split(":") if one[0] not in "[n" else [] for one in infos]
    seen = [frozenset(map(int, codes)) for codes in seen]
    n_categories = np.array([len(codes) for codes in seen], dtype=int)
    return LightGBMText(header, ranges, trees, settings, n_categories, seen)


def _read_pairs(lines):
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _read_settings(lines):
    pairs = (line[1:-1].split(": ", 1) for line in lines if line.startswith("["))
    return {name: rest[0] if rest else "" for name, *rest in pairs}


def _read_tree(block):
    pairs = _read_pairs(block.splitlines())
    tree = {
        name: np.array(pairs.get(name, "").split(), dtype=np.float64).astype(kind)
        for name, kind in _OF_TREE.items()
    }
    return tree | {"shrinkage": float(pairs["shrinkage"]), "num_cat": int(pairs["num_cat"])}


class LightGBMTree:
    """One tree of a parsed booster; leaves are numbered from 0."""

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
        """Return whether categories go left: their bits are set, and missing ones have none."""
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


class LightGBMFile(BaseEstimator):
    """Booster of LightGBM that was loaded from a file, as an estimator that cannot be trained."""

    def __init__(self, booster):
        self.booster = booster

    # The name that it has in models of LightGBM.
    booster_ = property(lambda self: self.booster)

    @property
    def n_features_in_(self):
        """Number of columns."""
        return self.booster.num_feature()

    @property
    def feature_names_in_(self):
        """Names of the columns, unless LightGBM made them up."""
        names = self.booster.feature_name()
        if names == [f"Column_{k}" for k in range(len(names))]:
            raise AttributeError("The columns have no names.")
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        """Refuse to train: the text of a booster is not a recipe."""
        raise TypeError("A model that was loaded from the text of LightGBM cannot be trained.")


class LightGBMFileRegressor(RegressorMixin, LightGBMFile):
    """Regressor that was loaded from the text of LightGBM."""

    def predict(self, X, num_iteration=None):
        return self.booster.predict(X, num_iteration=num_iteration)


class LightGBMFileClassifier(ClassifierMixin, LightGBMFile):
    """Classifier that was loaded from the text of LightGBM, with labels 0, 1, 2, ..."""

    @property
    def classes_(self):
        """Numbers of the classes; the text does not store their names."""
        return np.arange(max(2, int(load_lightgbm(self).header["num_class"])))

    def predict_proba(self, X, num_iteration=None):
        found = self.booster.predict(X, num_iteration=num_iteration)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


SUFFIXES = ".cbm", ".json", ".txt", ".ubj"
_OF_CLASSES = {"Logloss", "CrossEntropy", "Focal", "MultiClass", "MultiClassOneVsAll"}


def is_xgboost(model):
    """Return whether a model holds a booster of XGBoost, as its own estimators do."""
    return is_of_package(model, "xgboost") and hasattr(model, "get_booster")


def has_trees_of_xgboost(model):
    """Return whether a model is one of XGBoost, and not linear: rounds of those leave one sum."""
    return is_xgboost(model) and getattr(model, "booster", None) != "gblinear"


def read_booster_file(path: str | PathLike) -> BaseEstimator:
    """Load a model from a file of XGBoost, LightGBM or CatBoost.

    These formats hold numbers and no code, unlike pickles. The model can be inspected and attacked
    as a file. It does not have the settings of its training, so clones of it are other models.

    Parameters
    ----------
    path : str or path-like
        File that ends in ``.json`` (XGBoost or CatBoost), ``.ubj`` (XGBoost), ``.txt`` (LightGBM)
        or ``.cbm`` (CatBoost).

    Returns
    -------
    model : fitted classifier or regressor
        Model of the package that wrote the file, or an estimator around a LightGBM booster. Files
        of XGBoost and LightGBM do not store labels: the classes are 0, 1, 2, ...

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is of another format.
    ImportError
        If the package is not installed.

    See Also
    --------
    skmia.inspection.inspect_model : Lists what the model stores of its training rows.
    skmia.attacks.ReleasedModelAttack : Attacks it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from xgboost import XGBClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import read_booster_file
    >>> records, _ = make_membership_problem(random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.json")
    ...     XGBClassifier(n_estimators=5).fit(records.X, records.y).save_model(path)
    ...     model = read_booster_file(path)
    >>> type(model).__name__, model.n_features_in_
    ('XGBClassifier', 20)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}{suggest_path(path) or '.'}")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"The file must end in one of {', '.join(SUFFIXES)}; got {path.name}.")
    keys = _read_json_booster(path) if path.suffix == ".json" else ()
    if path.suffix == ".txt":
        return _load_lightgbm(path)
    if path.suffix == ".ubj" or "learner" in keys:
        return _load_xgboost(path)
    if path.suffix == ".cbm" or ("features_info" in keys and "model_info" in keys):
        return _load_catboost(path, path.suffix[1:])
    raise ValueError(f"{path.name} is neither a model of XGBoost nor of CatBoost.")


def _read_json_booster(path):
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not valid JSON.") from error
    return stored if isinstance(stored, dict) else {}


def _load_xgboost(path):
    xgboost = import_optional("xgboost", extra="xgboost")
    booster = xgboost.Booster()
    booster.load_model(path)
    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    if objective.startswith("rank:"):
        raise ValueError(f"{path.name} ranks (objective {objective!r}), which is not supported.")
    has_classes = objective.startswith(("binary:", "multi:"))
    model = xgboost.XGBClassifier() if has_classes else xgboost.XGBRegressor()
    model.load_model(path)
    return model


def _load_lightgbm(path):
    lightgbm = import_optional("lightgbm", extra="lightgbm")
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.startswith("tree\n"):
        raise ValueError(f"{path.name} is not the text of a LightGBM model.")
    header = parse_lightgbm(text).header
    has_classes = header.get("objective", "").startswith(("binary", "multiclass"))
    kind = LightGBMFileClassifier if has_classes else LightGBMFileRegressor
    return kind(lightgbm.Booster(model_file=path))


def _load_catboost(path, kind):
    catboost = import_optional("catboost", extra="catboost")
    model = catboost.CatBoost().load_model(str(path), format=kind)
    loss = str(model.get_all_params().get("loss_function"))
    has_classes = loss.partition(":")[0] in _OF_CLASSES  # parameters come after a colon
    model = catboost.CatBoostClassifier() if has_classes else catboost.CatBoostRegressor()
    return model.load_model(str(path), format=kind)


def query_stages(victim, X, n_stages):
    """Return the outputs of a boosted model after equal shares of its rounds."""
    X, (steps, model) = order_named_columns(check_victim(victim), X), open_steps(victim)
    parts = []
    for rows in gen_batches(X.shape[0], CHUNK):
        part = take_rows(X, rows)
        for step in steps:
            part = step.transform(part)
        parts.append(_query_stages_of(model, part, n_stages))
    return [Outputs.concat(of_stage) for of_stage in zip(*parts, strict=True)]


def _query_stages_of(model, X, n_stages):
    by_value = is_regressor(model)
    found = _read_rounds(model)
    if found is not None:
        n_rounds, name_rounds = found
        ask = model.predict if by_value else model.predict_proba
        found = {k: ask(X, **name_rounds(k)) for k in _share(n_rounds, n_stages)}
    else:
        name = "staged_predict" if by_value else "staged_predict_proba"
        if not hasattr(model, name):
            setting = '(booster="gblinear")' if is_xgboost(model) else ""
            raise TypeError(
                f"{type(model).__name__}{setting} has no rounds to read; the boosted trees of "
                "scikit-learn, XGBoost, LightGBM and CatBoost have, and of other models "
                "checkpoints can be given."
            )
        n_rounds = sum(1 for _ in getattr(model, name)(take_rows(X, slice(1))))
        wanted = set(_share(n_rounds, n_stages))
        rounds = enumerate(getattr(model, name)(X), 1)
        found = {k: np.array(answers) for k, answers in rounds if k in wanted}
    classes, kind = (None, "value") if by_value else (model.classes_, "proba")
    return [Outputs(found[k], classes, kind) for k in _share(n_rounds, n_stages)]


def _read_rounds(model):
    """Return the number of rounds, and how predict is asked for the first ones; None if it cannot.

    The rounds up to the best one if it stopped early; without early stopping there is no such one.
    """
    if has_trees_of_xgboost(model):
        best = getattr(model, "best_iteration", None)
        n_rounds = model.get_booster().num_boosted_rounds() if best is None else best + 1
        return n_rounds, lambda k: {"iteration_range": (0, k)}
    if is_lightgbm(model):
        best = getattr(model, "best_iteration_", 0)
        return best or model.booster_.current_iteration(), lambda k: {"num_iteration": k}
    return None


def _share(n_rounds, n_stages):
    return [-(-k * n_rounds // n_stages) for k in range(1, n_stages + 1)]
