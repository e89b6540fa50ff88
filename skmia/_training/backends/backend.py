"""Base class of the ways to train the models of a job."""

from abc import ABC, abstractmethod
from time import perf_counter

import numpy as np

from ..._core.containers import find_rows, take_rows
from ..._core.copies import copy_unfitted
from ..._core.error_hints import get_advice
from ..._core.query import trained_as
from ..._core.randomness import seed_estimator
from ..._core.sample_weights import fit_weighted
from ..._core.targets import BROADCAST, is_broadcast
from ...exceptions import JointTrainingWarning, TrainingError
from ..job import TrainedModel, keep, recorded_warnings


class TrainingBackend(ABC):
    """A way to train the models of a job."""

    name: str  # as shown in ShadowPool.backend_
    note = ""  # what chosen chose, in a few words
    slower: str | None = None  # why training one by one takes less time, if chosen found so
    together = True  # many models are trained in one program
    exact = True  # the models equal models trained one by one

    @abstractmethod
    def why_not(self, job):
        """Return the reason why the way cannot train a job, in one sentence, or None."""

    def is_meant_for(self, estimator):
        """Return whether the way trains estimators of this kind, with suitable parameters."""
        return False

    def nearly(self, job):
        """Return what in the user's code prevents training a job for which the way is meant.

        Return reason: one sentence; None if the way can train the job, or is meant for other
        estimators.
        """
        return None

    @property
    def numbers(self):
        """Name that is equal for ways with bitwise the same results."""
        return self.name

    def chosen(self, job, known=None, forced=False):
        """Return the way with the variant that takes the least time here."""
        return self

    @abstractmethod
    def run(self, job, models, where):
        """Train some of the models of a job."""


class OneByOneWay(TrainingBackend):
    """Trains any estimator, one model after the other in each worker."""

    name = "one_by_one"
    together = False

    def why_not(self, job):
        return None

    def run(self, job, models, where):
        # Models are taken one at a time, because other processes may share the checkpoint.
        tasks = (job.part([k]) for k in models)
        for kept in where.run(_train_part, job, tasks):
            yield from kept


def _train_part(job):
    return [(job.number(i), train_alone(job, i)) for i in range(job.n_models)]


def fit_model(job, i, model):
    """Train a model of a job on its records, in place.

    Its error ends the fit; models that were done before are in the checkpoint.
    """
    members = find_rows(job.subsets[i])
    if job.fit is not None:
        job.fit(model, members)  # raises its own errors
        return
    n_records, y = len(job.data.y), job.data.take_targets(members)
    try:
        weights = None if job.data.weights is None else job.data.weights[members]
        rows = take_rows(job.data.tables[0], members)
        fit_weighted(model, rows, y, weights, job.data.fit_params)
    except Exception as error:
        estimator = trained_as(job.estimator)
        reason = get_advice(error, estimator, job.data.tables[0])
        reason = " ".join((reason or f"{type(error).__name__}: {error}").split())
        raise TrainingError(
            f"A shadow model ({type(estimator).__name__}) could not be trained on its {len(y)} "
            f"of {n_records} records with {len(np.unique(y))} different labels: {reason}"
        ) from error


def make_model(job, i):
    """Return an unfitted model of a job, with its seeds."""
    model = copy_unfitted(job.estimator)
    if job.seeds is not None:
        seed_estimator(model, job.seeds[i])
    return model


def train_alone(job, i, reason=None):
    """Train one model of a job alone; warn of a reason why it was not trained with others.

    ``warn_once`` repeats a warning of several models once, and ``note_failures`` makes a note of
    it.
    """
    model = make_model(job, i)
    with job.randomness(i):
        start = perf_counter()
        with recorded_warnings() as said:
            fit_model(job, i, model)
        if any(is_broadcast(text) for _, text in said):
            raise TrainingError(BROADCAST)
        trained = TrainedModel(job, i, model, perf_counter() - start, caught=said)
        kept = keep(job, trained)
    if reason is None:
        return kept
    failure = JointTrainingWarning, f"joint training failed ({reason})"
    return kept._replace(warnings=(*kept.warnings, failure))
