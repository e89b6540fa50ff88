"""Perceptrons of scikit-learn trained together."""

import warnings
from collections import defaultdict
from itertools import chain
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ...utils._containers import is_frame, is_tensor, take_rows
from .._backends import Backend, use_one_job
from .._seeding import isolated_randomness, seed_estimator
from .._worker import _fit, ask_model, fit_shadow, summarise_model
from ._memory import count_together
from ._prepare import Network, fit_to_first_epoch, last_step
from ._train import train, warn_of_end


class PerceptronBackend(Backend):
    """MLPClassifier and MLPRegressor with a stochastic solver, many at a time.

    Each model draws, rounds and stops as scikit-learn has it, so that its weights are the ones that
    it would have got by itself; what the models share is the way through Python and numpy. That is
    a lot where networks and batches are small (an epoch takes a fifteenth of the time with 20
    features, 16 hidden units and batches of 32), and little where the time goes into the products
    of matrices anyway (half the time with 105 features, 100 hidden units and batches of 200).

    The steps of a Pipeline before the perceptron are fitted for each model as ever.
    """

    name = "perceptron"

    def why_not(self, job):
        model = last_step(job.estimator)
        if type(model) not in (MLPClassifier, MLPRegressor):
            return f"{type(model).__name__} is neither MLPClassifier nor MLPRegressor."
        reason = _why_not_settings(model) or _why_not_records(job)
        return None if reason is None else reason[0].upper() + reason[1:] + "."

    def run(self, job, models):
        models = [int(k) for k in models]
        if not models:
            return
        estimator, n_jobs = clone(job.estimator), effective_n_jobs(job.n_jobs)
        if n_jobs > 1:
            estimator = use_one_job(estimator)  # workers must not start workers of their own
        data, settings = job.data, job.settings
        first = _prepare(estimator, data, job.membership[models[0]], job.seeds[models[0]]).network
        n_together = count_together(first, n_jobs)
        del first  # and with it a copy of the records
        tasks = (
            delayed(_train_group)(
                estimator, data, settings, [(k, job.membership[k], job.seeds[k]) for k in group]
            )
            for group in _split(models, n_together, n_jobs)
        )
        groups = Parallel(n_jobs=job.n_jobs, return_as="generator_unordered")(tasks)
        yield from chain.from_iterable(groups)


class _Prepared(NamedTuple):
    estimator: object
    network: Network | None  # None where the estimator is fitted already
    warnings: list


def _why_not_settings(model):
    if model.solver not in ("adam", "sgd"):
        return f"solver={model.solver!r} does not go through the records in batches"
    if model.solver == "sgd" and model.learning_rate != "constant":
        return f"learning_rate={model.learning_rate!r} changes the rate of each model on its own"
    if getattr(model, "loss", None) not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} is neither the log loss nor the squared error"
    for name, why in (
        ("early_stopping", "sets records aside for validation"),
        ("warm_start", "goes on from weights of an earlier fit"),
        ("verbose", "prints the progress of each model"),
    ):
        if getattr(model, name):
            return f"{name}={getattr(model, name)!r} {why}"
    return None


def _why_not_records(job):
    if np.ndim(job.data.y) != 1:
        return "there are several targets"
    has_steps = last_step(job.estimator) is not job.estimator
    for X in job.data.queries:
        if sparse.issparse(X):
            return "X is sparse"
        if is_tensor(X):
            return "X is a torch tensor"
        if has_steps:
            continue  # what the steps make of it is looked at model by model
        if X.ndim != 2:
            return f"X has {X.ndim} dimensions"
        kinds = {dtype.kind for dtype in X.dtypes} if is_frame(X) else {X.dtype.kind}
        if not kinds <= set("biuf"):
            return "X holds other things than numbers"
    return None


def _split(models, n_together, n_jobs):
    """Groups of models of about equal size, as many for each worker."""
    n_groups = -(-len(models) // n_together)
    n_groups = min(len(models), -(-n_groups // n_jobs) * n_jobs)
    return [group.tolist() for group in np.array_split(models, n_groups)]


def _prepare(estimator, data, inside, seeds):
    model = clone(estimator)
    seed_estimator(model, seeds)
    members = np.flatnonzero(inside)
    X, y = take_rows(data.queries[0], members), data.y[members]
    with isolated_randomness(seeds), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        network = fit_to_first_epoch(model, lambda: _fit(model, X, y, len(data.y)))
    return _Prepared(model, network, [(one.category, str(one.message)) for one in caught])


def _train_group(estimator, data, settings, group):
    """Results of a group of models, each given by its number, its records and its seeds."""
    prepared = [_prepare(estimator, data, inside, seeds) for _, inside, seeds in group]
    stacks = defaultdict(list)
    for one in prepared:
        if one.network is not None:
            stacks[one.network.kind].append(one.network)
    for networks in stacks.values():
        train(networks)
    return [
        (k, _summarise(one, estimator, data, settings, inside, seeds))
        for one, (k, inside, seeds) in zip(prepared, group, strict=True)
    ]


def _summarise(prepared, estimator, data, settings, inside, seeds):
    network, model = prepared.network, prepared.estimator
    if network is not None and not network.is_finite():
        # scikit-learn refuses such a model, in its own words.
        return fit_shadow(estimator, data, inside, seeds, settings)
    with isolated_randomness(seeds), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        if network is not None:
            warn_of_end(network)
        answers = [ask_model(model, X, data.y) for X in data.queries]
    caught = [(one.category, str(one.message)) for one in caught]
    # What the steps of a Pipeline say in fitting and again in answering counts once.
    caught = prepared.warnings + [one for one in caught if one not in prepared.warnings]
    return summarise_model(answers, data.y, settings, model, caught)
