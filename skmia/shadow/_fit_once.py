"""Pools that are fitted for a search: once for a table and equal settings."""

from functools import partial
from multiprocessing import parent_process
from types import FunctionType, MethodType

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from .._core.records import get_origin, make_once, note_made
from .._core.transactions import get_original
from .._training.digests import digest_code, iter_reads
from .._training.recalled import recall_fit
from .._training.workers import free_slot
from ..exceptions import CheckpointError
from ..victims import list_feature_names

# Parameters of a pool without influence on what is trained.
_WITHOUT_INFLUENCE = {"n_jobs", "verbose"}

# Global values that are taken for settings of a function that reads them.
_CONSTANTS = bool, int, float, complex, str, bytes, tuple, np.ndarray, np.generic

# A worker process gets a copy of the records with each task of a search. The table of its last task
# stays, so that the shadow models are trained once per worker and not once per task.
_table_of_worker: dict = {}


def fit_once(pool, records):
    """Fit an unfitted pool on the table of the records; pools of equal settings are one pool.

    Membership is no input of a pool, so one pool serves all folds of a table. The table keeps it as
    long as it is there itself (``make_once``).
    """
    table = _find_table(records)
    settings = _describe_pool_settings(pool)
    return make_once(table, settings, lambda: _fit_clone(pool, table), free_slot)


def _fit_clone(pool, table):
    try:
        return clone(pool).fit(table)
    except CheckpointError:
        if pool.random_state is not None:
            raise
        # Another worker may have begun the folder, whose seeds then are those of this pool.
        return clone(pool).fit(table)


def note_fit(pool, records):
    """Let a table know a pool that was fitted on it, which serves clones as long as it is there."""
    if get_origin(records) is records:
        stored = pool.stored_  # another list after another fit
        is_same = partial(_is_fitted_as, stored)
        # The copy that is fitted hands its attributes on, and is gone afterwards.
        note_made(records, _describe_pool_settings(pool), get_original(pool), is_same)


def _is_fitted_as(stored, pool):
    return getattr(pool, "stored_", None) is stored


def _find_table(records):
    """Return the table that records were taken from; in a worker, an equal one that it knows."""
    table = get_origin(records)
    if parent_process() is None:
        return table
    content = joblib.hash(table)
    if content not in _table_of_worker:
        _table_of_worker.clear()
        _table_of_worker[content] = table
    return _table_of_worker[content]


def _describe_pool_settings(pool):
    """Describe what the models of an unfitted pool depend on."""
    settings = pool.get_params(deep=False)
    counting = settings.keys() - _WITHOUT_INFLUENCE
    try:
        told = list_feature_names(pool.estimator), recall_fit(pool.estimator)[:2]
        return type(pool), _describe_value([{name: settings[name] for name in counting}, *told])
    except Exception:  # of whatever kind, such as a parameter that holds itself
        return type(pool), _UniqueValue(pool)


def _describe_value(value):
    """Return what is equal for a value and its clones, also for those of another process."""
    kind = type(value)
    if kind in (type(None), bool, int, float, complex, str, bytes) or isinstance(value, type):
        return kind, repr(value) if kind is float else value
    if kind in (list, tuple):
        return kind, tuple(map(_describe_value, value))
    if kind in (dict, set, frozenset):
        pairs = value.items() if kind is dict else ((item, None) for item in value)
        return kind, frozenset((_describe_value(key), _describe_value(item)) for key, item in pairs)
    if isinstance(value, np.random.RandomState):
        return kind, joblib.hash(value.get_state())
    if hasattr(value, "get_params") and not isinstance(value, FrozenEstimator):
        return kind, _describe_value(value.get_params(deep=False))
    return _describe_function(value) or _describe_content(value)


def _describe_function(value):
    """Describe a function by its code and what it holds; None for other values."""
    if isinstance(value, MethodType):
        return "method", _describe_value(value.__func__), _describe_content(value.__self__)
    if isinstance(value, partial):
        return "partial", *map(_describe_value, (value.func, value.args, value.keywords))
    if not isinstance(value, FunctionType):
        return None
    own = _read_own(value, set())
    if not (value.__closure__ or value.__defaults__ or value.__kwdefaults__):
        return own
    return own, _describe_content(value, lambda: _read_closure(value))


def _read_own(function, seen):
    """Return the name and code of a function, and the constants and functions that it reads."""
    seen.add(function)
    read = {name for name, _ in iter_reads(function.__code__)} & function.__globals__.keys()
    found = []
    for name in sorted(read):
        value = function.__globals__[name]
        if isinstance(value, FunctionType):  # those of other modules do not change
            if value.__module__ == function.__module__ and value not in seen:
                found.append(_read_own(value, seen))
        elif isinstance(value, _CONSTANTS):  # a list or a dict may count calls
            found.append((name, _describe_value(value)))
    return function.__module__, function.__qualname__, digest_code(function.__code__), tuple(found)


def _read_closure(function):
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return cells, function.__defaults__, function.__kwdefaults__


def _describe_content(value, read=None):
    """Describe a value, or what is read of it, by its content."""
    try:
        return type(value), joblib.hash(value if read is None else read())
    except Exception:  # of whatever kind: what cannot be pickled is equal to itself alone
        return type(value), _UniqueValue(value)


class _UniqueValue:
    """A value that is equal to no other one."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _UniqueValue) and self._value is other._value

    def __hash__(self):
        return id(self._value)
