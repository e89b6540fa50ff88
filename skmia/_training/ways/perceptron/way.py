"""The way that trains many perceptrons of scikit-learn together."""

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ...._core.containers import is_frame, is_tensor
from ...groups import run_groups, train_or_halve
from ...job import Trained, keep, recorded_warnings
from ...states import StateKeeper, run_from_kept
from ..one_by_one import fit_model, make_model, train_alone
from ..way import Way
from .memory import count_together
from .prepare import Network, last_step, start_network
from .train import Training, warn_of_end

# Beyond, the time goes into products of matrices, which a model that is trained alone can
# spread over all cores.
_MOST_WEIGHTS = 2_000_000


class PerceptronWay(Way):
    """MLPClassifier and MLPRegressor with a stochastic solver, many at a time.

    Each model draws, rounds and stops as scikit-learn has it, so that its weights are the ones that
    it would have got alone; what the models share is the way through Python and numpy. That is
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
        reason = _why_not_settings(model) or _why_not_records(job) or _why_not_size(job, model)
        return None if reason is None else reason[0].upper() + reason[1:] + "."

    def run(self, job, models, where):
        yield from run_groups(job, models, where, _count_together, _train_group)


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
    for X in job.data.tables:
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


def _why_not_size(job, model):
    hidden = np.ravel(model.hidden_layer_sizes)
    if hidden.dtype.kind not in "iu":
        return None  # scikit-learn says in its own words what is wrong
    # How many features the steps of a Pipeline make is not known before they are fitted.
    known = [job.data.tables[0].shape[1]] if last_step(job.estimator) is job.estimator else []
    n_weights = sum(a * b for a, b in pairwise([*known, *hidden.tolist()]))
    if n_weights > _MOST_WEIGHTS:
        return f"networks of {n_weights:,} weights leave nothing to share but the products"
    return None


def _count_together(job):
    """How many models like the first of a job are trained together."""
    return count_together(_prepare(job, 0).network, effective_n_jobs(job.n_jobs))


def _prepare(job, i):
    model = make_model(job, i)
    with job.randomness(i), recorded_warnings() as said:
        network = start_network(model, lambda: fit_model(job, i, model))
    return _Prepared(model, network, said)


def _train_group(job):
    """What is kept of the models of a group, which are all of the job's."""
    return train_or_halve(job, _train, _finish)


def _train(job):
    prepared = [_prepare(job, i) for i in range(job.n_models)]
    stacks = defaultdict(list)
    for net in prepared:
        if net.network is not None:
            stacks[net.network.kind].append(net.network)
    trainings = [Training(networks) for networks in stacks.values()]
    run_from_kept(trainings, StateKeeper(job.states, job.numbers))
    return prepared


def _finish(trained, job, i, seconds):
    prepared = trained[i]
    network, said = prepared.network, prepared.warnings
    if network is not None and not network.is_finite():
        # scikit-learn refuses such a model, in its own words.
        return train_alone(job, i)
    with job.randomness(i):
        if network is not None:
            with recorded_warnings() as of_end:
                warn_of_end(network)
            said = said + [warning for warning in of_end if warning not in said]
        return keep(job, Trained(job, i, prepared.estimator, seconds, caught=said))
