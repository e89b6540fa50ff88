"""The form of y that the fit of an estimator needs: flat or a column, and its type.

Records hold labels in one flat array. A net that ends in one output of shape (n, 1) compares it
with a column; given a flat array, losses such as the squared error would compare every output with
every label, and say so in a warning at most.
"""

import contextlib
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .containers import take_rows
from .copies import copy_unfitted
from .numbers import show
from .randomness import isolated_randomness
from .skorch_nets import is_skorch
from .writers import copy_quietly

# Rows on which a loss is tried, and rows on which the steps before a net are fitted for that.
_N_TRIED, _N_FITTED = 4, 200
_TOLERANCE = 1e-4  # of two losses that are equal up to rounding
_LARGEST_EXACT = 2**24  # integers that float32 holds without rounding
_INNER = ("estimator", "regressor", "classifier", "base_estimator")

# Packages whose estimators take a column for the same as a flat y, with or without a warning.
_FLATTENING = {"catboost", "imblearn", "lightgbm", "skmia", "sklearn", "xgboost"}

BROADCAST = (
    "The loss of the net compares every output with every label of a batch, because they differ in "
    "shape, so that the net learns nothing of single records. Let the module return outputs in the "
    "shape of the labels, for example by .squeeze(-1) at the end of its forward."
)


def is_broadcast(warning):
    """Return whether a text is the warning of torch that a loss compares all with all."""
    return "target size" in warning and "different to the input size" in warning


class TargetForm(NamedTuple):
    """What is changed about flat labels before they are passed to fit."""

    column: bool = False
    dtype: str | None = None

    def apply(self, y):
        """Return labels of shape (n,) in this form."""
        y = y if self.dtype is None else y.astype(self.dtype)
        return y[:, None] if self.column else y

    def describe(self):
        """Say in a list of one sentence what is changed, or nothing."""
        changes = ["of shape (n, 1)"] * self.column
        changes += [f"as {self.dtype}"] * (self.dtype is not None)
        return [f"The shadow models are fitted on y {' and '.join(changes)}."] if changes else []


FLAT = TargetForm()


def choose_form(estimator, X, y, column):
    """Choose the form of y for an estimator that is about to be trained on (X, y).

    Parameters
    ----------
    estimator : estimator
        Unfitted; it is copied.
    X : container of n rows
    y : ndarray of shape (n,)
    column : bool
        Whether the user gave y as a column.

    Returns
    -------
    form : TargetForm

    Raises
    ------
    ValueError
        If a net cannot learn from these labels; the message says what to change.
    """
    if np.ndim(y) != 1 or not hasattr(estimator, "get_params"):
        return FLAT
    if getattr(estimator, "_shapes_labels", False):
        return FLAT
    if _holds_net(estimator):
        reached = _reach_net(estimator, *_pick_rows(X, y))
        return TargetForm(column) if reached is None else _choose_for_net(*reached, y, column)
    if not _takes_flat(estimator):
        return TargetForm(column=True)
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return TargetForm(column and any(map(_is_foreign_part, parts)))


def shape_targets(estimator, X, y, column=False):
    """Return labels in the form that an estimator needs, see :func:`choose_form`."""
    return choose_form(estimator, X, y, column).apply(y) if y is not None else None


def _is_foreign_part(part):
    is_trained = hasattr(part, "fit") and not isinstance(part, type)
    return is_trained and type(part).__module__.partition(".")[0] not in _FLATTENING


def _takes_flat(estimator):
    """Return whether an estimator takes a single output as a flat array."""
    try:
        return get_tags(estimator).target_tags.single_output
    except Exception:  # of an object without tags
        return True


def _is_net_part(part):
    return is_skorch(part) and hasattr(part, "get_loss") and not isinstance(part, type)


def _holds_net(estimator):
    return any(map(_is_net_part, [estimator, *estimator.get_params(deep=True).values()]))


def _pick_rows(X, y):
    """Take a few rows, with each label if they are few."""
    first = np.unique(y, return_index=True)[1][:_N_FITTED]
    rows = np.unique([*first, *range(min(len(y), _N_FITTED))])
    return take_rows(X, rows), y[rows]


def _reach_net(estimator, X, y):
    """Return the net in an estimator, and rows as they reach it; None if that is not known."""
    if _is_net_part(estimator):
        return estimator, X, y
    if isinstance(estimator, FrozenEstimator):
        return None
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            try:
                with _quietly():
                    X = copy_unfitted(estimator[:-1]).fit_transform(X, y)
            except Exception:  # the training raises it again, with its own message
                return None
        return _reach_net(estimator.steps[-1][1], X, y)
    parameters = estimator.get_params(deep=False)
    parts = (parameters[name] for name in _INNER if hasattr(parameters.get(name), "fit"))
    part = next(parts, None)
    return None if part is None else _reach_net(part, X, y)


@contextlib.contextmanager
def _quietly():
    """Ignore warnings, and seed the global generators for a while."""
    with warnings.catch_warnings(), isolated_randomness(np.random.SeedSequence(0)):
        warnings.simplefilter("ignore")
        yield


def _choose_for_net(net, X, some, y, column):
    """Choose the form in which the loss of a batch is made of the losses of its records.

    Of a batch, a loss that compares every output with every label differs from the mean, and from
    the sum, of the losses of single records, and so does none that compares them one by one.
    """
    rows = _pick_different_labels(some)
    X, few = take_rows(X, rows), some[rows]
    with _quietly():
        try:
            net = _initialize_net(net, X, few)
            outputs = _ask_net(net, X, few)
        except Exception:  # the training raises it again, with its own message
            return TargetForm(column)
        refusal = _refuse_labels(net, outputs, y)
    if refusal:
        raise ValueError(refusal)
    found = {}
    for form in _list_forms(y, column):
        found.setdefault(_judge_form(net, X, form.apply(few), outputs), form)
    if "broadcast" in found and not {"separate", "joint"} & found.keys():
        raise ValueError(BROADCAST)
    return found.get("separate") or found.get("joint") or TargetForm(column)


def _initialize_net(net, X, y):
    """Initialize a copy of a net; callbacks may set its number of inputs before training."""
    net = copy_quietly(net).set_params(verbose=0).initialize()
    with contextlib.suppress(Exception):  # of callbacks that need more than this
        net.notify("on_train_begin", X=X, y=y)
    return net


def _pick_different_labels(y):
    """Return the positions of a few records with different labels."""
    first = np.unique(y, return_index=True)[1]
    picked = first[np.unique(np.linspace(0, len(first) - 1, _N_TRIED).round().astype(int))]
    return np.r_[picked, [k for k in range(len(y)) if k not in picked]][:_N_TRIED].astype(int)


def _list_forms(y, column):
    """List the forms to be tried, the one with the fewest changes first."""
    dtypes = [None]
    if y.dtype.kind in "biuf":
        whole = y.dtype.kind in "biu" or bool(np.all(y == np.round(y)))
        if y.dtype != np.float32 and (y.dtype.kind == "f" or np.abs(y).max() < _LARGEST_EXACT):
            dtypes.append("float32")
        if whole and y.dtype != np.int64:
            dtypes.append("int64")
    return [TargetForm(shape, dtype) for dtype in dtypes for shape in (column, not column)]


def _first(outputs):
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def _ask_net(net, X, y):
    """Return the outputs of an initialized net, different for each record."""
    Xb, _ = _collate_net_rows(net, X, None)
    outputs = net.evaluation_step((Xb, None), training=False)
    if _first(outputs).shape[:1] != (len(y),):
        raise ValueError("outputs are not one for each record")
    return _map_nested(_vary_outputs, outputs)


def _collate_net_rows(net, X, y):
    loader = net.get_iterator(net.get_dataset(X, y), training=False)
    data = loader.dataset
    return loader.collate_fn([data[i] for i in range(len(data))])


def _map_nested(function, value):
    if isinstance(value, tuple | list):
        return tuple(_map_nested(function, part) for part in value)
    if isinstance(value, dict):
        return {name: _map_nested(function, part) for name, part in value.items()}
    return function(value)


def _vary_outputs(tensor):
    """Scale the outputs of each record by another factor, so that no two are equal."""
    import torch

    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or not tensor.ndim:
        return tensor
    factors = 1 - 0.15 * torch.arange(len(tensor), device=tensor.device, dtype=tensor.dtype)
    return tensor.detach() * factors.reshape(-1, *[1] * (tensor.ndim - 1))


def _judge_form(net, X, y, outputs):
    """Say how the loss of a net takes labels: one by one, together, all with all, or not."""
    with _quietly(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            Xb, yb = _collate_net_rows(net, X, y)
            whole = _evaluate_loss(net, outputs, yb, Xb)
            alone = [
                _evaluate_loss(net, *(_take_single(part, i) for part in (outputs, yb, Xb)))
                for i in range(len(y))
            ]
        except Exception:  # of whatever kind: such labels cannot be trained on
            return "refused"
    if any(is_broadcast(str(warning.message)) for warning in said):
        return "broadcast"
    mean, total = np.mean(alone), np.sum(alone)
    scale = _TOLERANCE * max(1e-6, float(np.mean(np.abs(alone))))
    is_separate = abs(whole - mean) <= scale or abs(whole - total) <= len(y) * scale
    return "separate" if is_separate else "joint"


def _take_single(value, i):
    return _map_nested(lambda part: part[i : i + 1] if getattr(part, "ndim", 0) else part, value)


def _evaluate_loss(net, outputs, y, X):
    """Return the loss of some outputs, after a backward pass, which finds types that do not fit."""

    def track(part):
        floats = getattr(part, "is_floating_point", bool)()
        return part.detach().clone().requires_grad_(floats) if hasattr(part, "detach") else part

    loss = net.get_loss(_map_nested(track, outputs), y, X=X, training=True)
    loss.sum().backward()
    return float(loss.mean())


def _refuse_labels(net, outputs, y):
    """Say why the criterion of a net cannot take labels, and what to do; None if it can."""
    criterion = type(net.criterion_).__name__
    labels = sorted({show(label) for label in np.unique(y)[[0, -1]].tolist()}, key=str)
    if y.dtype.kind not in "biufc":
        return (
            f"y holds text, such as {labels[0]}, and a net takes numbers: those of its output "
            "units, from 0. Encode it as the net was trained, for example with "
            "sklearn.preprocessing.LabelEncoder."
        )
    low, high = y.min(), y.max()
    got = f"got labels from {show(low.item())} to {show(high.item())}"
    if criterion in ("BCEWithLogitsLoss", "BCELoss") and (low < 0 or high > 1):
        return (
            f"The loss {criterion} takes the labels 0 and 1; {got}. Recode them as the net was "
            f"trained, for example y = (y == {show(high.item())}).astype('float32')."
        )
    output = _first(outputs)
    if criterion not in ("CrossEntropyLoss", "NLLLoss") or output.ndim < 2:
        return None
    units = output.shape[1]
    if np.all(y == np.round(y)) and (low < 0 or high >= units):
        return (
            f"The net has {units} output units, and y must hold their numbers, 0 to {units - 1}; "
            f"{got}. Recode them as the net was trained, for example with "
            "sklearn.preprocessing.LabelEncoder."
        )
    return None
