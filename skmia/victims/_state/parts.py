"""The parts of one object of a model, without running more of its code than for pickling."""

import json
from numbers import Integral
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.classes import is_of_package
from ..._core.containers import is_tensor, to_numpy
from ..._core.skorch_nets import is_skorch
from ..boosters import is_catboost, list_arrays_of_catboost, parse_lightgbm
from .kinds import get_kind_of_array

_PLAIN = (str, bytes, bytearray, bool, complex, type(None), type, np.dtype, np.ufunc)
_CODE = (FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_NUMBERS = (int, float, np.number)
_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)

# Names of the first arrays in the state of the compiled trees of neighbors.
_NEIGHBORS = "data", "idx_array", "node_data", "node_bounds"


class Part(NamedTuple):
    """An object inside a model, with its path and the name under which it is stored."""

    value: object
    path: str = ""
    name: str = ""
    columns: tuple | None = None

    def attribute(self, name, value):
        """Return the part in an attribute."""
        return Part(value, f"{self.path}.{name}" if self.path else str(name), name, self.columns)

    def item(self, key, value):
        """Return the part at a key or position, with the name of the whole unless a key has one."""
        is_known = isinstance(key, str) and get_kind_of_array(key) != "other"
        name = key if is_known else self.name
        return Part(value, f"{self.path}[{key!r}]", name, self.columns)


def is_skipped(value):
    """Whether an object does not hold stored data: code, text, single numbers."""
    return isinstance(value, (*_PLAIN, *_CODE, *_NUMBERS))


def are_plain(values):
    """Whether values are only numbers, text and None."""
    return all(isinstance(value, (*_NUMBERS, str, type(None))) for value in values)


def as_array(value):
    """Return a value as an array or sparse matrix of numbers or text, or None if it is not one."""
    if sparse.issparse(value):
        return value.tocsr()
    if is_tensor(value):
        return to_numpy(value)
    if isinstance(value, memoryview | pd.Series | pd.Index):
        value = np.asarray(value)
    if isinstance(value, list | tuple) and len(value) and are_plain(value):
        same = any(all(isinstance(item, kind) for item in value) for kind in (_NUMBERS, str))
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
        yield Part(list(items), f"{part.path}.keys()", part.name, part.columns)
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
        _, arguments, *rest = _reduce(value)
        state, *items = [*rest, None, None, None][:3]
        yield from (part.item(k, item) for k, item in enumerate(arguments))
        states = state if isinstance(state, tuple) and _holds_slots(state) else (state,)
        for attributes in states:
            yield from _iter_attributes(part, attributes)
        for further in items:
            yield part._replace(value=list(further or ()))


def _holds_slots(state):
    return len(state) == 2 and all(isinstance(item, dict | None) for item in state)


def _reduce(value):
    reduced = value.__reduce_ex__(4)
    return (None, ()) if isinstance(reduced, str) else reduced


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
