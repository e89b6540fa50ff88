"""Perceptrons as scikit-learn has them before the first epoch."""

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

# What an epoch changes in a model, beside its weights and its generator.
_FACTS = ("n_iter_", "t_", "loss_", "best_loss_", "loss_curve_", "_no_improvement_count")


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
        random = self.model._random_state.get_state(legacy=False)
        random["state"] = {**random["state"], "key": random["state"]["key"].tolist()}
        facts = {"random": random, "reached": self.reached_limit, "ended": self.ending is not None}
        return facts | {name: vars(self.model)[name] for name in _FACTS if name in vars(self.model)}

    def set_facts(self, facts):
        """Take back what :meth:`facts` gave."""
        random = facts["random"]
        random["state"]["key"] = np.array(random["state"]["key"], dtype=np.uint32)
        self.model._random_state.set_state(random)
        self.reached_limit = facts["reached"]
        for name in _FACTS:
            if name in facts:
                setattr(self.model, name, facts[name])

    def is_finite(self):
        """Whether training came to weights that scikit-learn would accept."""
        weights = (*self.model.coefs_, *self.model.intercepts_)
        return all(np.isfinite(one).all() for one in weights)


def last_step(estimator):
    """The model at the end of any number of Pipelines."""
    while type(estimator) is Pipeline and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def fit_to_first_epoch(estimator, fit):
    """Fit an estimator up to the first epoch of the perceptron at its end.

    The steps before it, the validation, the encoding of labels and the draw of the weights are
    scikit-learn's own: only its loop over the epochs is left out. Should a version of scikit-learn
    not come by that loop, the model is simply trained one by one.

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
    model, found = last_step(estimator), []
    ordinary = model._fit_stochastic

    def stop_here(X, y, *others, **settings):
        if sparse.issparse(X):
            return ordinary(X, y, *others, **settings)
        found.append((X, y))

    model._fit_stochastic = stop_here
    try:
        fit()
    finally:
        del model._fit_stochastic
    return Network(model, *found[0]) if found else None
