"""Perceptrons as scikit-learn has them before the first epoch."""

import numpy as np
from sklearn.pipeline import Pipeline

from ...._core.sklearn import export_training, fit_to_first_epoch, import_training


class Network:
    """A perceptron that is ready to be trained.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Initialized: weights drawn, its generator ahead of the first shuffle.
    X : ndarray of shape (n, d)
        Training records as its ``fit`` has them after validation.
    y : ndarray of shape (n, n_outputs)
        Targets as the loss takes them.

    Attributes
    ----------
    widths : tuple of int
        Of all layers, the layer of the features first.
    order : ndarray of shape (n,) or None
        Of the records in the present epoch.
    reached_limit : bool
        Whether training ended at ``max_iter``.
    ending : list of ndarray or None
        Weights and arrays of the optimizer with which training ended.
    """

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, np.ascontiguousarray(X), y.astype(X.dtype)
        self.order, self.reached_limit, self.ending = None, False, None
        self.widths = (X.shape[1], *(coef.shape[1] for coef in model.coefs_))

    @property
    def kind(self):
        """What networks must have in common to be trained in one stack."""
        return self.widths, self.X.dtype, self.model.out_activation_

    def facts(self):
        """What an epoch changes beside arrays, as JSON takes it."""
        facts = {"reached": self.reached_limit, "ended": self.ending is not None}
        return export_training(self.model) | facts

    def set_facts(self, facts):
        """Take back what :meth:`facts` gave."""
        import_training(self.model, facts)
        self.reached_limit = facts["reached"]

    def is_finite(self):
        """Whether training came to weights that scikit-learn would accept."""
        weights = (*self.model.coefs_, *self.model.intercepts_)
        return all(np.isfinite(weight).all() for weight in weights)


def last_step(estimator):
    """The model at the end of any number of Pipelines."""
    while type(estimator) is Pipeline and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def start_network(estimator, fit):
    """Fit an estimator up to the first epoch of the perceptron at its end.

    Parameters
    ----------
    estimator : estimator
        Fitted in place.
    fit : callable
        Calls ``estimator.fit`` with its records.

    Returns
    -------
    network : Network or None
        None where the model is trained already, as sparse records are left to scikit-learn.
    """
    model = last_step(estimator)
    X, y = fit_to_first_epoch(model, fit)
    return None if X is None else Network(model, X, y)
