"""The state of a fitted model: its stored arrays with their places."""

import json
from collections import deque
from numbers import Integral
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.containers import is_tensor, read_only, to_numpy
from .._core.optional import is_of_package
from .._core.query import unwrap
from .._core.skorch_nets import is_skorch
from ._boosters import is_catboost, list_arrays_of_catboost, parse_lightgbm

_NAMES = {
    "rows": (
        "X_ X_fit_ X_train_ _BaseLibSVM__Xfit _fit_X _raw_data centroid_ centroids_ "
        "cluster_centers_ data init_centroids_ subcluster_centers_ support_vectors_ training_data_"
    ),
    "values": (
        "X_max_ X_min_ X_thresholds_ _y categories_ data_max_ data_min_ feature_infos "
        "max_abs_ quantiles_ statistics_ vocabulary_ y_ y_train_ y_thresholds_"
    ),
    "thresholds": "bin_midpoints bin_threshold borders num_threshold split_conditions threshold",
    "edges": "bin_edges_ bin_thresholds_ cut_values knots node_bounds",
    "counts": (
        "category_count_ class_count_ count counts_ feature_count_ internal_count leaf_count "
        "leaf_weights n_node_samples n_samples_seen_ weighted_n_node_samples"
    ),
    "covers": (
        "cover gain impurity internal_weight leaf_weight loss_changes split_gain sum_hess "
        "sum_hessian"
    ),
    "leaf values": (
        "base_weights internal_value leaf_coeff leaf_const leaf_value leaf_values value values"
    ),
    "seeds": "_random_seed _seed _seeds random_seed random_state seed seeds",
    "per-record": (
        "_distances_fit_X_ _lrd _sample_weight _single_linkage_tree_ _x_scores _y_scores "
        "affinity_matrix_ children_ core_distances_ core_sample_indices_ dist_ dist_matrix_ "
        "dissimilarity_matrix_ eigenvectors_ embedding_ idx_array in_danger_indices inlier_mask_ "
        "label_distributions_ labeled_iter_ labels_ negative_outlier_factor_ "
        "oob_decision_function_ oob_prediction_ ordering_ predecessor_ probabilities_ "
        "raw_support_ reachability_ row_labels_ rows_ sample_indices_ support_ transduction_ "
        "x_scores_ y_scores_"
    ),
    "labels": "_class_map _classes classes_",
    "structure": (
        "_n_features_outs _transformer_to_input_indices bitset_idx decision_type default_left "
        "depth feature feature_idx idx_end idx_start is_categorical is_leaf iteration_indptr left "
        "left_child left_children missing_go_to_left parents right right_child right_children "
        "split_feature split_indices split_type"
    ),
    "names": (
        "_feature_names_in _other_params estimator_params feature_names feature_names_in_ "
        "feature_types"
    ),
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def get_kind_of_array(name):
    """Return the kind of an array in an attribute, key or field with this name."""
    return _KIND_OF.get(name, "other")


# Types of objects that do not hold stored data.
_PLAIN = (str, bytes, bytearray, bool, complex, type(None), type, np.dtype, np.ufunc)
_CODE = (FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_NUMBERS = (int, float, np.number)
_WITHOUT_DATA = (*_PLAIN, *_CODE, *_NUMBERS)
# Those of most parts of a model, which need no further look: neither seeds nor learned numbers.
_COMMON = {str, bool, float, type(None), FunctionType}
_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)

# Names of the first arrays in the state of the compiled trees of neighbors.
_NEIGHBORS = "data", "idx_array", "node_data", "node_bounds"


class ModelPart(NamedTuple):
    """An object inside a model, with its path and the name under which it is stored."""

    value: object
    path: str = ""
    name: str = ""
    columns: tuple | None = None

    def attribute(self, name, value):
        """Return the part in an attribute."""
        return ModelPart(
            value, f"{self.path}.{name}" if self.path else str(name), name, self.columns
        )

    def item(self, key, value):
        """Return the part at a key or position, with the name of the whole unless a key has one."""
        name = self.name if get_kind_of_array(key) == "other" else key
        return ModelPart(value, f"{self.path}[{key!r}]", name, self.columns)


def are_plain(values):
    """Return whether values are only numbers, text and None."""
    # Long lists hold few types.
    return all(issubclass(kind, (*_NUMBERS, str, type(None))) for kind in set(map(type, values)))


def as_stored_array(value):
    """Return a value as an array or sparse matrix of numbers or text, or None if it is not one."""
    if sparse.issparse(value):
        return value.tocsr()
    if is_tensor(value):
        return to_numpy(value)
    if isinstance(value, memoryview | pd.Series | pd.Index):
        value = np.asarray(value)
    if isinstance(value, list | tuple) and len(value) and are_plain(value):
        types = set(map(type, value))
        same = any(all(issubclass(one, kind) for one in types) for kind in (_NUMBERS, str))
        value = np.asarray(value, dtype=None if same else object)
    if not isinstance(value, np.ndarray) or value.dtype.names is not None:
        return None
    if value.dtype == object and not are_plain(value.ravel().tolist()):
        return None
    return np.asarray(value)


def iter_parts(part):
    """Yield all parts that are directly inside an object."""
    value = part.value
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        yield from (part.item(name, value[name]) for name in value.dtype.names)
    elif isinstance(value, np.ndarray):
        yield from (part.item(k, item) for k, item in enumerate(value.ravel()))
    elif isinstance(value, pd.DataFrame):
        # By position: a name that occurs twice selects a table of the same names again.
        for k, name in enumerate(value):
            yield part.item(str(name), value.iloc[:, k])
    elif isinstance(value, dict):
        yield from _iter_items(part)
    elif isinstance(value, tuple) and len(value) > 1 and isinstance(value[0], str):
        # A step or transformer is preceded by its name, which does not belong to its path.
        yield part._replace(value=value[1])
        yield from (part.item(k, item) for k, item in enumerate(value[2:], 2))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (part.item(k, item) for k, item in enumerate(value))
    elif isinstance(value, _GENERATORS):
        yield part._replace(value=_read_seed(value), name="seed")
    else:
        yield from _iter_state(part)


def _iter_items(part):
    items = part.value
    is_vocabulary = all(isinstance(key, str) for key in items) and all(
        isinstance(item, Integral) and not isinstance(item, bool) for item in items.values()
    )
    if is_vocabulary:  # the keys are values of training records
        yield ModelPart(list(items), f"{part.path}.keys()", part.name, part.columns)
        return
    yield from (part.item(key, item) for key, item in items.items())


def _read_seed(generator):
    source = getattr(generator, "bit_generator", generator)
    state = source.get_state(legacy=False) if hasattr(source, "get_state") else source.state
    return [int(word) for word in np.ravel(next(iter(state["state"].values())))[:4]]


def _iter_state(part):
    """Yield the state of any other object, as its file would hold it."""
    value = part.value
    if hasattr(value, "save_raw") and is_of_package(value, "xgboost"):
        yield part._replace(value=json.loads(value.save_raw(raw_format="json")))
    elif hasattr(value, "model_to_string") and is_of_package(value, "lightgbm"):
        text = parse_lightgbm(value.model_to_string(num_iteration=-1))
        yield part.item("trees", text.trees)
        if np.isfinite(text.ranges).any():
            yield part.item("feature_infos", text.ranges.T)
    elif is_catboost(value):
        yield part._replace(value=list_arrays_of_catboost(value))
    elif hasattr(value, "state_dict") and type(value).__module__ != "builtins":
        yield part._replace(value=dict(value.state_dict()))
    elif is_skorch(value):
        yield from _iter_attributes(part, vars(value))  # pickling would give the bytes of a file
    else:
        reduced = value.__reduce_ex__(4)
        _, arguments, *rest = (None, ()) if isinstance(reduced, str) else reduced
        state, *items = [*rest, None, None, None][:3]
        yield from (part.item(k, item) for k, item in enumerate(arguments))
        has_slots = isinstance(state, tuple) and len(state) == 2
        has_slots = has_slots and all(isinstance(item, dict | None) for item in state)
        for attributes in state if has_slots else (state,):
            yield from _iter_attributes(part, attributes)
        for further in items:
            yield part._replace(value=list(further or ()))


def _iter_attributes(part, state):
    if isinstance(state, dict):
        names = state.get("feature_names_in_")
        part = part if names is None else part._replace(columns=tuple(map(str, names)))
        for name, value in state.items():
            inner = part.attribute(str(name), value)
            if name == "bin_thresholds_" and isinstance(state.get("n_bins"), Integral):
                yield from _iter_edges(inner, state["n_bins"])
            else:
                yield inner
    elif isinstance(state, tuple) and type(part.value).__name__[:5] in ("KDTre", "BallT"):
        yield from (part.attribute(*pair) for pair in zip(_NEIGHBORS, state, strict=False))
    elif state is not None:
        yield part._replace(value=state)


def _iter_edges(part, n_bins):
    """Yield the edges of the bins of histogram boosting by column, which may be midpoints.

    If a column has fewer distinct values than bins, its edges are midpoints between these values
    and not values of records. A midpoint of integers is often an integer that did not occur.
    """
    for k, edges in enumerate(part.value):
        inner = part.item(k, edges)
        # One bin is for missing values, and n bins have n - 1 edges.
        yield inner if len(edges) >= n_bins - 2 else inner._replace(name="bin_midpoints")


class StoredArray(NamedTuple):
    """One array that a model stores.

    Attributes
    ----------
    path : str
        Path of the array in the model, such as ``"steps[1].tree_.nodes['threshold']"``.
    array : ndarray or sparse matrix
        Stored numbers or text, read-only.
    kind : str
        Kind of the array, by the name of the attribute: ``"rows"``, ``"values"``,
        ``"thresholds"``, ``"edges"``, ``"counts"``, ``"covers"``, ``"leaf values"``, ``"seeds"``,
        ``"per-record"``, ``"labels"``, ``"structure"``, ``"names"`` or ``"other"``.
    columns : tuple of str or None
        Feature names of the estimator that holds the array.
    """

    path: str
    array: np.ndarray
    kind: str
    columns: tuple[str, ...] | None = None


class StoredEstimator(NamedTuple):
    """One estimator inside a model, or the model itself.

    Attributes
    ----------
    path : str
        Path of the estimator in the model, such as ``"steps[1]"``; empty for the model itself.
    estimator : estimator
        The estimator, fitted or not.
    """

    path: str
    estimator: object


class ModelState(NamedTuple):
    """State of a fitted model, as returned by :func:`read_state`.

    Attributes
    ----------
    arrays : tuple of StoredArray
        Each stored array once, at its shortest path.
    unread : tuple of str
        Paths of objects that could not be read, with their types.
    estimators : tuple of StoredEstimator
        The model and each estimator inside it, once, at its shortest path.
    """

    arrays: tuple[StoredArray, ...]
    unread: tuple[str, ...] = ()
    estimators: tuple[StoredEstimator, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Summarize the state with one row per stored array.

        Returns
        -------
        frame : DataFrame
            Table with the columns ``path``, ``kind``, ``shape``, ``dtype`` and ``bytes``.
        """
        rows = [
            (path, kind, array.shape, str(array.dtype), count_array_bytes(array))
            for path, array, kind, _ in self.arrays
        ]
        return pd.DataFrame(rows, columns=["path", "kind", "shape", "dtype", "bytes"])

    def __repr__(self):
        n_bytes = sum(count_array_bytes(stored.array) for stored in self.arrays)
        return f"ModelState({len(self.arrays)} arrays, {n_bytes} bytes)"


def count_array_bytes(array):
    """Return the bytes of an array; for objects, only the pointers count."""
    return int(array.data.nbytes if sparse.issparse(array) else array.nbytes)


def read_state(model: object) -> ModelState:
    """Read the arrays that a fitted model stores, as its file would hold them.

    The function follows instance attributes, containers, object and structured arrays, sparse
    matrices, compiled objects and nested estimators at any depth: steps of a Pipeline, columns of a
    ColumnTransformer, estimators of an ensemble, the estimator that a search has chosen. Nets of
    torch are read by their state dicts, boosters of XGBoost and CatBoost by their JSON, and those
    of LightGBM by their text. The function does not predict or compute properties; it only reads
    the state that a pickle would hold.

    Parameters
    ----------
    model : estimator or other object
        Fitted model.

    Returns
    -------
    state : ModelState
        State of the model: ``state.arrays`` holds each array with its path and kind,
        ``state.estimators`` each estimator, and ``state.to_frame()`` returns a summary.

    See Also
    --------
    skmia.attacks.StoredValuesAttack : Finds candidate records in what a model stores.

    Notes
    -----
    Random generators and integers named ``random_state`` are listed as seeds. Single numbers are
    listed if they were learned; parameters, text and functions are left out. Objects that cannot be
    pickled are in ``state.unread``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from skmia.victims import read_state
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = make_pipeline(MinMaxScaler(), KNeighborsClassifier()).fit(X, X[:, 0] > 0)
    >>> frame = read_state(model).to_frame()
    >>> frame.loc[frame.kind == "rows", ["path", "shape"]]
                        path    shape
    ...         steps[1]._fit_X  (50, 3)
    """
    arrays, unread, estimators, seen = [], [], [], {}
    queue = deque([ModelPart(unwrap(model))])
    while queue:
        part = queue.popleft()
        if type(part.value) in _COMMON:
            continue
        is_whole = isinstance(part.value, Integral) and not isinstance(part.value, bool)
        is_seed = is_whole and get_kind_of_array(part.name) == "seeds"
        # Single numbers are arrays as well if an estimator learned them.
        if is_seed or (isinstance(part.value, np.floating) and part.name.endswith("_")):
            part = part._replace(value=np.array(part.value))
        if isinstance(part.value, _WITHOUT_DATA) or id(part.value) in seen:
            continue
        # The object is kept alive, because its id could otherwise be reused.
        seen[id(part.value)] = part.value
        if hasattr(type(part.value), "fit"):
            estimators.append(StoredEstimator(part.path, part.value))
        try:
            array = as_stored_array(part.value)
            if array is None:
                queue.extend(iter_parts(part))
            elif 0 not in array.shape:
                kind = get_kind_of_array(part.name)
                arrays.append(StoredArray(part.path, read_only(array), kind, part.columns))
        except Exception:  # foreign objects may raise anything when their state is read
            unread.append(f"{part.path}: {type(part.value).__name__}")
    return ModelState(tuple(arrays), tuple(unread), tuple(estimators))
