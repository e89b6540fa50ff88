"""Joint training of perceptrons of scikit-learn."""

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline

from ...._core.containers import is_foreign, is_frame, is_tensor, name_kind
from ...._core.sklearn import export_training, fit_to_first_epoch, import_training
from ...groups import StateKeeper, run_from_kept, run_groups, train_or_halve
from ...job import TrainedModel, keep, recorded_warnings
from ..backend import TrainingBackend, fit_model, make_model, train_alone
from .train import PerceptronTraining, batch_size_of, warn_of_end

# More models do not reduce the overhead any further.
_LARGEST_STACK = 64
# Memory that the models of a stack touch in every step. Measurements show that a larger stack does
# not fit the second-level cache, and the time per model rises again.
_BYTES_OF_STEP = 2**22
_BYTES_OF_RECORDS = 2**29
# Arrays per weight: the weight, its gradient, a scratch array and up to two in the optimizer.
_COPIES = 5


def count_together(network, n_jobs):
    """Return the number of models like this one that are trained in one stack."""
    if network is None:
        return 1
    n_rows, widths, item = len(network.X), network.widths, network.X.itemsize
    weights = sum((a + 1) * b for a, b in pairwise(widths))
    # The activations of each layer and their gradients.
    batch = 2 * batch_size_of(network.model, n_rows) * sum(widths)
    by_cache = _BYTES_OF_STEP // (item * (batch + _COPIES * weights))
    # There are three arrays of targets: by record, in the order of the epoch, and the outputs.
    by_memory = _BYTES_OF_RECORDS // n_jobs // (item * n_rows * (widths[0] + 3 * widths[-1]))
    return max(1, min(_LARGEST_STACK, by_cache, by_memory))


class PreparedPerceptron:
    """A perceptron that is ready to be trained.

    Shapes: X (n, d), y (n, n_outputs).
    """

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, np.ascontiguousarray(X), y.astype(X.dtype)
        # Order of the records in the current epoch, whether max_iter was reached, and in the end
        # the weights and arrays of the optimizer.
        self.order, self.reached_limit, self.ending = None, False, None
        self.widths = (X.shape[1], *(coef.shape[1] for coef in model.coefs_))

    @property
    def kind(self):
        """Properties that networks must have in common to be trained in one stack."""
        return self.widths, self.X.dtype, self.model.out_activation_

    def facts(self):
        """Return the state of the training other than arrays, as values that JSON can hold."""
        facts = {"reached": self.reached_limit, "ended": self.ending is not None}
        return export_training(self.model) | facts

    def set_facts(self, facts):
        """Restore a state that :meth:`facts` returned."""
        import_training(self.model, facts)
        self.reached_limit = facts["reached"]

    def is_finite(self):
        """Return whether the trained weights are finite, as scikit-learn requires."""
        weights = (*self.model.coefs_, *self.model.intercepts_)
        return all(np.isfinite(weight).all() for weight in weights)


def get_final_estimator(estimator):
    """Return the last step of an estimator, through any number of Pipelines."""
    while type(estimator) is Pipeline and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def start_network(estimator, fit):
    """Fit an estimator up to the first epoch of the perceptron at its end.

    Return network: None if the model is already trained, because scikit-learn trains on sparse
    records itself.
    """
    model = get_final_estimator(estimator)
    X, y = fit_to_first_epoch(model, fit)
    return None if X is None else PreparedPerceptron(model, X, y)


# Larger networks spend their time in matrix products, which a model that is trained alone can
# spread over all cores.
_MOST_WEIGHTS = 2_000_000


class PerceptronWay(TrainingBackend):
    """Trains many MLPClassifiers or MLPRegressors with a stochastic solver at a time.

    Each model draws, rounds and stops exactly as in scikit-learn, so its weights are those that it
    would have alone. The models share the overhead of Python and numpy. This saves much time if
    networks and batches are small (an epoch takes a fifteenth of the time with 20 features, 16
    hidden units and batches of 32), and less if matrix products dominate (half the time with 105
    features, 100 hidden units and batches of 200). The steps of a Pipeline before the perceptron
    are fitted separately for each model.
    """

    name = "perceptron"

    def is_meant_for(self, estimator):
        return type(get_final_estimator(estimator)) in (MLPClassifier, MLPRegressor)

    def why_not(self, job):
        model = get_final_estimator(job.estimator)
        if not self.is_meant_for(job.estimator):
            return f"{type(model).__name__} is neither MLPClassifier nor MLPRegressor."
        reason = _why_not_settings(model) or _why_not_records(job) or _why_not_size(job, model)
        return None if reason is None else reason[0].upper() + reason[1:] + "."

    def run(self, job, models, where):
        yield from run_groups(job, models, where, _count_together, _train_group)


class _PerceptronStart(NamedTuple):
    estimator: object
    network: PreparedPerceptron | None  # None if the estimator is already fitted
    warnings: list


def _why_not_settings(model):
    if model.solver not in ("adam", "sgd"):
        return f"solver={model.solver!r} does not train in batches"
    if model.solver == "sgd" and model.learning_rate != "constant":
        return f"learning_rate={model.learning_rate!r} changes the rate of each model on its own"
    if getattr(model, "loss", None) not in ("log_loss", "squared_error"):
        return f"loss={model.loss!r} is neither the log loss nor the squared error"
    for name, why in (
        ("early_stopping", "sets records aside for validation"),
        ("warm_start", "continues from the weights of an earlier fit"),
        ("verbose", "prints the progress of each model"),
    ):
        if getattr(model, name):
            return f"{name}={getattr(model, name)!r} {why}"
    return None


def _why_not_records(job):
    if np.ndim(job.data.y) != 1:
        return "there are several targets"
    has_steps = get_final_estimator(job.estimator) is not job.estimator
    for X in job.data.tables:
        if sparse.issparse(X):
            return "X is sparse"
        if is_tensor(X):
            return "X is a torch tensor"
        if has_steps:
            continue  # the output of the steps is checked for each model
        if is_foreign(X):
            return f"X is a {name_kind(X)}, which each model reads itself"
        if X.ndim != 2:
            return f"X has {X.ndim} dimensions"
        kinds = {dtype.kind for dtype in X.dtypes} if is_frame(X) else {X.dtype.kind}
        if not kinds <= set("biuf"):
            return "X holds values that are not numbers"
    return None


def _why_not_size(job, model):
    hidden = np.ravel(model.hidden_layer_sizes)
    if hidden.dtype.kind not in "iu":
        return None  # scikit-learn raises its own error
    # The number of features behind the steps of a Pipeline is not known before they are fitted.
    known = (
        [job.data.tables[0].shape[1]] if get_final_estimator(job.estimator) is job.estimator else []
    )
    n_weights = sum(a * b for a, b in pairwise([*known, *hidden.tolist()]))
    if n_weights > _MOST_WEIGHTS:
        return f"networks of {n_weights:,} weights spend their time in products that are not shared"
    return None


def _count_together(job):
    """Return the number of models like the first of a job that are trained together."""
    return count_together(_prepare_perceptron(job, 0).network, effective_n_jobs(job.n_jobs))


def _prepare_perceptron(job, i):
    model = make_model(job, i)
    with job.randomness(i), recorded_warnings() as said:
        network = start_network(model, lambda: fit_model(job, i, model))
    return _PerceptronStart(model, network, said)


def _train_group(job):
    """Train all models of a job, which is one group, and return their results."""
    return train_or_halve(job, _train_perceptrons, _finish_perceptron)


def _train_perceptrons(job):
    prepared = [_prepare_perceptron(job, i) for i in range(job.n_models)]
    stacks = defaultdict(list)
    for net in prepared:
        if net.network is not None:
            stacks[net.network.kind].append(net.network)
    trainings = [PerceptronTraining(networks) for networks in stacks.values()]
    run_from_kept(trainings, StateKeeper(job.states, job.numbers), job.progress)
    return prepared


def _finish_perceptron(trained, job, i, seconds):
    prepared = trained[i]
    network, said = prepared.network, prepared.warnings
    if network is not None and not network.is_finite():
        # scikit-learn raises an error for such a model.
        return train_alone(job, i)
    with job.randomness(i):
        if network is not None:
            with recorded_warnings() as of_end:
                warn_of_end(network)
            said = said + [warning for warning in of_end if warning not in said]
        return keep(job, TrainedModel(job, i, prepared.estimator, seconds, caught=said))
