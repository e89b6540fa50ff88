"""Query of an untrained net before many like it are trained."""

import warnings

import numpy as np
from sklearn.base import clone, is_regressor

from .._core.advice import get_advice
from .._core.containers import take_rows
from .._core.randomness import isolated_randomness, seed_estimator
from .._core.skorch_nets import why_not_probabilities
from .ways.torch_nets.plan import find_net


def check_first_answers(job):
    """Query a net with initial weights for two records, and refuse what no training can change.

    Whether the outputs of a net are probabilities, and whether it accepts records of their type,
    depends on its settings and not on its weights. The check saves the time of training many nets
    that cannot be used.

    Parameters
    ----------
    job : Job
        Job to check. Estimators other than skorch nets, and Pipelines that end in other models,
        are not checked.

    Raises
    ------
    ValueError
        If the outputs cannot be used; the message says what to change.
    """
    net = find_net(job.estimator)
    # A net with its own predict_proba may need its training to predict.
    if net is None or not type(net).predict_proba.__module__.startswith("skorch."):
        return
    members = np.flatnonzero(job.subsets[0])
    rows, y = take_rows(job.data.tables[0], members), job.data.y[members]
    with isolated_randomness(job.seeds[0]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, net, X = _initialize(job, rows, y)
        except Exception:  # the training raises it again, with its own message
            return
        refusal = _ask(model, net, X, rows)
    if refusal:
        raise ValueError(refusal)


def _initialize(job, rows, y):
    from .ways.torch_nets.prepare import fit_transformers

    model = clone(job.estimator)
    seed_estimator(model, job.seeds[0])
    net, X = fit_transformers(model, rows, y)
    net.initialize()
    net.check_data(X, y)
    return model, net, take_rows(X, slice(2))


def _ask(model, net, X, rows):
    """Return the reason why the outputs of a net cannot be used, or None."""
    try:
        answers = np.asarray(net.predict_proba(X))
    except Exception as error:
        return get_advice(error, model, rows)
    return None if is_regressor(net) else why_not_probabilities(net, answers)
