"""Fits of estimators as transactions: all attributes of a fit appear at once, or none does."""

import copy
import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps

import numpy as np

from .numbers import refuse_first
from .sklearn import replace_available_method, validate_params_of

# Methods that learn attributes; the last ones by calling the first.
_LEARNING = ("fit", "partial_fit", "fit_transform", "fit_predict", "fit_resample")

# Where an estimator notes the private attributes of its fit; public ones end with an underscore.
_PRIVATE = "_private_of_fit"

# Copies that are being fitted in this thread, each with the estimator that it was copied from.
_running: ContextVar[tuple] = ContextVar("_running", default=())


class TransactionMixin:
    """Mixin of estimators whose ``fit`` sets all attributes at once, or none if it fails.

    ``fit`` works on a shallow copy of the estimator, which has the parameters and nothing that an
    earlier fit has learned. The estimator takes over the attributes of the copy at the end.
    Whatever ends ``fit`` before, an error or an interruption, leaves the estimator as it was, and
    until then other threads use the earlier fit. The same holds for ``partial_fit``, for methods
    that call ``fit``, and for subclasses with methods of their own. Before they begin, parameters
    are checked against ``_parameter_constraints``, as scikit-learn does.
    """

    # Private attributes that outlast a fit, also one that fails.
    _lasting: tuple = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in _LEARNING:
            method = inspect.getattr_static(cls, name, None)
            change = partial(_as_transaction, name)
            if inspect.isfunction(method):
                changed = change(method)
            else:
                changed = replace_available_method(method, change)
            if changed is not method:
                setattr(cls, name, changed)

    def _validate_parameters(self):
        """Refuse parameters that are not allowed, each by itself or together."""
        if hasattr(self, "_parameter_constraints"):
            validate_params_of(self)
        refuse_first(self._list_conflicting_parameters())

    def _list_conflicting_parameters(self):
        """Return a sentence on each choice of parameters, allowed one by one, that contradicts."""
        return ()

    def _copy_continued(self, method):
        """Return attributes of the last fit that a method continues from, as copies."""
        warm = vars(self).get("warm_start")
        if method == "partial_fit" or (isinstance(warm, bool | np.bool_) and warm):
            return _copy_learned(self)
        return {}


def get_original(estimator):
    """Return the estimator that a copy is fitted for; for any other estimator, itself."""
    return next((one for copied, one in _running.get() if copied is estimator), estimator)


def _as_transaction(name, method):
    """Wrap a method that learns, unless it is wrapped."""
    if vars(method).get("_transaction") is method:
        return method

    @wraps(method)
    def learn(self, *args, **kwargs):
        if get_original(self) is not self:  # called by fit of a subclass, or by fit_transform
            return method(self, *args, **kwargs)
        self._validate_parameters()
        learned = _list_learned(self)
        kept = {key: value for key, value in vars(self).items() if key not in learned}
        copied = object.__new__(type(self))
        copied.__dict__ = {**kept, **self._copy_continued(name)}
        with _noted(copied, self):
            result = method(copied, *args, **kwargs)
        _note_private(copied, kept)
        return _take_over(self, copied, self if result is copied else result)

    vars(learn)["_transaction"] = learn
    return learn


@contextmanager
def _noted(copied, original):
    """Note that a copy is being fitted."""
    token = _running.set((*_running.get(), (copied, original)))
    try:
        yield
    finally:
        _running.reset(token)


def _list_learned(estimator):
    """List the names of the attributes that the last fit has set."""
    state = vars(estimator)
    private = {_PRIVATE, *state.get(_PRIVATE, ())}
    public = {name for name in state if name.endswith("_") and not name.startswith("__")}
    if public:  # parameters may end like this; to read a signature takes as long as a small fit
        public -= set(inspect.signature(type(estimator).__init__).parameters)
    return public | (private & set(state))


def _copy_learned(estimator):
    """Copy what was learned, but none of the parameters that it refers to."""
    state, learned = vars(estimator), _list_learned(estimator)
    shared = {id(value): value for name, value in state.items() if name not in learned}
    try:
        return copy.deepcopy({name: state[name] for name in learned}, shared)
    except Exception as error:  # of whatever kind, such as a lock or an open file
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained further: it works on a copy, so that an "
            "interruption leaves it as it was, and what it has learned cannot be copied "
            f"({type(error).__name__}). Train it anew by fit on all rows."
        ) from error


def _note_private(copied, kept):
    """Note in a fitted copy which private attributes belong to its fit."""
    state = vars(copied)
    known = {*kept, *type(copied)._lasting}
    private = tuple(name for name in state if name.startswith("_") and name not in known)
    if private:
        state[_PRIVATE] = tuple(name for name in private if name != _PRIVATE)


def _take_over(estimator, copied, result):
    """Give an estimator the attributes of its fitted copy, in one step, and return the result."""
    before = estimator.__dict__
    try:
        estimator.__dict__ = copied.__dict__
        return result
    except BaseException:  # an interruption between these two lines
        estimator.__dict__ = before
        raise
