"""Further training of a fitted model: passes over rows, forward and backward."""

import copy
import inspect

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline

from ...._core.asking import unwrap
from ...._core.containers import take_rows
from ...._core.skorch_nets import is_skorch

_INSTEAD = "Pass a function unlearn(model, records, keep, forget, rng) instead."


def copy_model(model):
    """Copy a model, which can be trained without a change of the original."""
    return copy.deepcopy(unwrap(model))


def last_step(model):
    """Return the model that is trained after the transformers of a Pipeline."""
    while isinstance(model, Pipeline):
        model = unwrap(model[-1])
    return model


def why_not_further(estimator):
    """Why an estimator cannot be trained further, or None."""
    last = last_step(unwrap(estimator))
    if is_skorch(last) or hasattr(last, "partial_fit"):
        return None
    return (
        f"it needs a model that can be trained further, a net of skorch or an estimator with "
        f"partial_fit; got {type(last).__name__}. {_INSTEAD}"
    )


def why_not_back(estimator):
    """Why an estimator cannot take steps in the opposite direction, or None."""
    last = last_step(unwrap(estimator))
    if why_not_further(estimator) or is_skorch(last):
        return why_not_further(estimator)
    if isinstance(last, MLPClassifier | MLPRegressor):
        return (
            f"{type(last).__name__} divides by the sum of the weights, so negative ones have no "
            f"effect. Use a net of skorch, or pass a function unlearn instead."
        )
    if "sample_weight" in inspect.signature(last.partial_fit).parameters:
        return None
    return f"partial_fit of {type(last).__name__} takes no sample_weight. {_INSTEAD}"


def _transform(model, X):
    """Rows as the last step of a Pipeline gets them."""
    while isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model) > 1 else X
        model = unwrap(model[-1])
    return X


def train_further(model, X, y, n_epochs, rng, whole=False):
    """Train a model further, in place, by passes over rows in random order.

    A net of skorch sets rows apart for validation as in its training, unless it is to learn all.
    """
    last, X = last_step(model), _transform(model, X)
    if is_skorch(last):
        split = last.train_split
        last.train_split = None if whole else split
        last.partial_fit(X, y, epochs=n_epochs)
        last.train_split = split
        return
    for _ in range(n_epochs):
        order = rng.permutation(len(y))
        last.partial_fit(take_rows(X, order), y[order])


def step_back(model, X, y, rng):
    """Pass once over rows with weight -1, in place."""
    last, X = last_step(model), _transform(model, X)
    order = rng.permutation(len(y))
    X, y = take_rows(X, order), y[order]
    if is_skorch(last):
        _climb(last, X, y)
    else:
        last.partial_fit(X, y, sample_weight=-np.ones(len(y)))


def _climb(net, X, y):
    """One epoch of a net with minus its loss."""
    from skorch.dataset import unpack_data

    net.module_.train()
    for batch in net.get_iterator(net.get_dataset(X, y), training=True):
        Xi, yi = unpack_data(batch)
        net.optimizer_.zero_grad()
        loss = -net.get_loss(net.infer(Xi), yi, X=Xi, training=True)
        loss.backward()
        net.optimizer_.step()
