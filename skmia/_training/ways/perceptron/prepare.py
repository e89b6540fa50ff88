"""Perceptrons of scikit-learn before their first epoch."""

import numpy as np
from sklearn.pipeline import Pipeline

from ...._core.sklearn import export_training, fit_to_first_epoch, import_training


class Network:
    """A perceptron that is ready to be trained.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Initialized model: its weights are drawn, and its generator is at the first shuffle.
    X : ndarray of shape (n, d)
        Training records after the validation in ``fit``.
    y : ndarray of shape (n, n_outputs)
        Targets in the form that the loss expects.

    Attributes
    ----------
    widths : tuple of int
        Widths of all layers, beginning with the features.
    order : ndarray of shape (n,) or None
        Order of the records in the current epoch.
    reached_limit : bool
        Whether training ended at ``max_iter``.
    ending : list of ndarray or None
        Weights and arrays of the optimizer at the end of training.
    """

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, np.ascontiguousarray(X), y.astype(X.dtype)
        self.order, self.reached_limit, self.ending = None, False, None
        self.widths = (X.shape[1], *(coef.shape[1] for coef in model.coefs_))

    @property
    def kind(self):
        """Properties that networks must have in common to be trained in one stack."""
        return self.widths, self.X.dtype, self.model.out_activation_

    def facts(self):
        """State of the training other than arrays, as values that JSON can hold."""
        facts = {"reached": self.reached_limit, "ended": self.ending is not None}
        return export_training(self.model) | facts

    def set_facts(self, facts):
        """Restore a state that :meth:`facts` returned."""
        import_training(self.model, facts)
        self.reached_limit = facts["reached"]

    def is_finite(self):
        """Whether the trained weights are finite, as scikit-learn requires."""
        weights = (*self.model.coefs_, *self.model.intercepts_)
        return all(np.isfinite(weight).all() for weight in weights)


def last_step(estimator):
    """Return the last step of an estimator, through any number of Pipelines."""
    while type(estimator) is Pipeline and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def start_network(estimator, fit):
    """Fit an estimator up to the first epoch of the perceptron at its end.

    Parameters
    ----------
    estimator : estimator
        Estimator, which is fitted in place.
    fit : callable
        Function that calls ``estimator.fit`` with its records.

    Returns
    -------
    network : Network or None
        None if the model is already trained, because scikit-learn trains on sparse records itself.
    """
    model = last_step(estimator)
    X, y = fit_to_first_epoch(model, fit)
    return None if X is None else Network(model, X, y)
