"""Reader of the state of a fitted model."""

from collections import deque
from numbers import Integral

import numpy as np

from ..._core.asking import unwrap
from ..._core.containers import read_only
from .kinds import get_kind_of_array
from .parts import Part, as_array, is_skipped, iter_parts
from .values import ModelState, StoredArray, StoredEstimator


def read_state(model: object) -> ModelState:
    """Read the arrays that a fitted model stores, as its file would hold them.

    The function follows instance attributes, containers, object and structured arrays, sparse
    matrices, compiled objects and nested estimators at any depth: steps of a Pipeline, columns of a
    ColumnTransformer, members of an ensemble, the estimator that a search has chosen. Nets of torch
    are read by their state dicts, boosters of XGBoost and CatBoost by their JSON, and those of
    LightGBM by their text. The function does not predict or compute properties; it only reads the
    state that a pickle would hold.

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
    queue = deque([Part(unwrap(model))])
    while queue:
        part = queue.popleft()
        if _is_seed(part) or _is_learned(part):
            part = part._replace(value=np.array(part.value))
        if is_skipped(part.value) or id(part.value) in seen:
            continue
        # The object is kept alive, because its id could otherwise be reused.
        seen[id(part.value)] = part.value
        if hasattr(type(part.value), "fit"):
            estimators.append(StoredEstimator(part.path, part.value))
        try:
            array = as_array(part.value)
            if array is None:
                queue.extend(iter_parts(part))
            elif 0 not in array.shape:
                arrays.append(_store(part, array))
        except Exception:  # foreign objects may raise anything when their state is read
            unread.append(f"{part.path}: {type(part.value).__name__}")
    return ModelState(tuple(arrays), tuple(unread), tuple(estimators))


def _is_seed(part):
    is_whole = isinstance(part.value, Integral) and not isinstance(part.value, bool)
    return is_whole and get_kind_of_array(part.name) == "seeds"


def _is_learned(part):
    """Whether a single number was learned by an estimator."""
    return isinstance(part.value, np.floating) and part.name.endswith("_")


def _store(part, array):
    return StoredArray(part.path, read_only(array), get_kind_of_array(part.name), part.columns)
