"""Asking a net before many like it are trained."""

import warnings

import numpy as np
from sklearn.base import clone, is_regressor

from .._core.advice import get_advice
from .._core.containers import take_rows
from .._core.seeding import isolated_randomness, seed_estimator
from .._core.skorch_nets import why_not_probabilities
from .ways.torch_nets.plan import find_net


def check_first_answers(job):
    """Ask a net that is not trained yet about two records, and refuse what no training mends.

    Whether a net's answers are probabilities, and whether it takes records of their type, is a
    matter of its settings and not of its weights.

    Parameters
    ----------
    job : Job
        The job; estimators other than skorch nets, and Pipelines that end in other models, pass.

    Raises
    ------
    ValueError
        Says what to change.
    """
    net = find_net(job.estimator)
    # A net with answers of its own making may be in need of its training.
    if net is None or not type(net).predict_proba.__module__.startswith("skorch."):
        return
    members = np.flatnonzero(job.subsets[0])
    rows, y = take_rows(job.data.tables[0], members), job.data.y[members]
    with isolated_randomness(job.seeds[0]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, net, X = _initialize(job, rows, y)
        except Exception:  # told by the training, in its own words
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
    """Reason why the net's answers cannot be used, or None."""
    try:
        answers = np.asarray(net.predict_proba(X))
    except Exception as error:
        return get_advice(error, model, rows)
    return None if is_regressor(net) else why_not_probabilities(net, answers)
