"""Gradients of the candidates at the optimum of a linear model, by its kind."""

import numpy as np
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)

from ..inputs import check_labels, find_model, read_features
from ..node_equations.equations import Collector, Further
from ..readers import Reader, open_model
from .linear import optimum_of_squares, optimum_of_squares_of_classes
from .logistic import optimum_of_log_loss, why_not_logistic
from .machines import is_machine
from .refusals import why_not_chosen_ridge, why_not_least_squares, why_not_ridge

# ``read(model, X, y, n_rows)`` takes numbers of the classes or targets, and the number of training
# rows. It returns an Optimum.
_READERS = {
    LogisticRegression: Reader(optimum_of_log_loss, why_not_logistic),
    LinearRegression: Reader(optimum_of_squares, why_not_least_squares),
    Ridge: Reader(optimum_of_squares, why_not_ridge),
    RidgeClassifier: Reader(optimum_of_squares_of_classes, why_not_ridge),
    RidgeCV: Reader(optimum_of_squares, why_not_chosen_ridge),
    RidgeClassifierCV: Reader(optimum_of_squares_of_classes, why_not_chosen_ridge),
}


def has_stationarity(model):
    """Whether a model is of a kind at whose optimum something is known."""
    found = find_model(model)[0]
    return type(found) in _READERS or is_machine(found)


def read_gradients(model, records, n_rows):
    """Equations of the gradients at the optimum: over members, with the penalty, they add to 0.

    Parameters
    ----------
    model : estimator
        Fitted linear model, a Pipeline that ends in one, or a search that has chosen one.
    records : Records of n records
        Labeled candidates.
    n_rows : float
        Expected number of training rows, by which the tolerance of the solver is scaled.

    Returns
    -------
    equations : Equations

    Raises
    ------
    TypeError
        If the model is of another kind.
    ValueError
        If it was fitted with settings whose optimum is not known, or it did not come to it.
    """
    collector = Collector(len(records))
    _read(model, records, collector, n_rows)
    return collector.equations(n_rows)


def read_further_gradients(model, records, equations):
    """Coefficients that further records would have in the equations of the candidates."""
    further = Further(equations, len(records))
    _read(model, records, further, equations.n_rows)
    return further.columns()


def _read(model, records, collector, n_rows):
    found, steps, reader = open_model(
        model,
        lambda found: _READERS.get(type(found)),
        "The optimum is read of LogisticRegression, LinearRegression, Ridge, RidgeClassifier, "
        "RidgeCV, RidgeClassifierCV, SVC and SVR",
        "The optimum of this {} is not read",
    )
    X = read_features(found, steps, records.X, role="The model has")
    optimum = reader.read(found, X, check_labels(found, records.y), n_rows)
    if found.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
        optimum = optimum._replace(pulls=np.pad(optimum.pulls, ((0, 0), (0, 1))))
    whole, variance = np.zeros(len(X), dtype=np.intp), optimum.error**2 / 3
    for slope, pulls in zip(optimum.slopes.T, optimum.pulls, strict=True):
        for column, pull in zip(X.T, pulls, strict=True):
            collector.add(whole, slope * column, np.array([-pull]), variance)
