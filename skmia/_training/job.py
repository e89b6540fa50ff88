"""What is to be trained, what a finished model shows, and what is kept of it."""

import warnings
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._core.asking import query_aligned
from .._core.containers import pack, unpack
from .._core.randomness import preserved_randomness
from .._core.seeding import isolated_randomness


class Data(NamedTuple):
    """The records of a job, as workers need them."""

    tables: list  # features of the records, then features of further queries
    y: np.ndarray

    def packed(self):
        """The same in arrays, which joblib maps into the memory of workers; tensors it sends."""
        return self._replace(tables=[pack(X) for X in self.tables])

    def unpacked(self):
        """The records as they were before :meth:`packed`."""
        return self._replace(tables=[unpack(X) for X in self.tables])


class Job(NamedTuple):
    """Clones of an estimator, each to be trained on its own subset of the same records.

    ``keep`` runs in the worker and has to be picklable: it takes a :class:`Trained` and returns a
    :class:`Kept`. With ``fit`` a model is trained by ``fit(model, rows)`` instead of its own method
    on the rows of the first table.
    """

    estimator: Any
    data: Data
    subsets: np.ndarray  # (n_models, n), dtype bool
    seeds: list | None  # a SeedSequence a model; None leaves the estimator its own
    keep: Any
    n_jobs: int | None = None
    fit: Any = None
    states: Any = None  # TrainingStates of a checkpoint
    numbers: list | None = None  # of the models, where the job is a part of another one

    @property
    def n_models(self):
        """Number of models."""
        return len(self.subsets)

    def part(self, models):
        """The job of some of the models, which are counted from 0 in it."""
        numbers = range(self.n_models) if self.numbers is None else self.numbers
        return self._replace(
            subsets=self.subsets[models],
            seeds=None if self.seeds is None else [self.seeds[k] for k in models],
            numbers=[int(numbers[k]) for k in models],
        )

    def number(self, i):
        """Number of a model in the whole job."""
        return i if self.numbers is None else self.numbers[i]

    def randomness(self, i):
        """The context in which a model is trained and asked."""
        return preserved_randomness() if self.seeds is None else isolated_randomness(self.seeds[i])


class Kept(NamedTuple):
    """All that is left of a model: small facts, arrays by name, perhaps the model itself."""

    facts: dict
    arrays: dict
    model: Any = None
    warnings: tuple = ()  # (category, text) of its training


class Trained:
    """A model that was just trained, as ``keep`` sees it.

    Parameters
    ----------
    job : Job
        Job that the model belongs to.
    i : int
        Place of the model in it.
    model : estimator or callable
        Fitted, or what makes it when it is asked for.
    seconds : float
        What the training took; of models that were trained together an equal share.
    caught : list of (category, str), default=()
        Warnings of the training.
    answers : list of Outputs, default=None
        Of the model to each table, where they are known already.
    asking : callable, default=nullcontext
        Makes the context in which the model is asked.

    Attributes
    ----------
    number : int
        Number of the model in the whole job.
    subset : ndarray of shape (n,), dtype bool
        What it was trained on.
    data : Data
        All records.
    """

    def __init__(self, job, i, model, seconds, *, caught=(), answers=None, asking=nullcontext):
        self.number, self.subset, self.data = job.number(i), job.subsets[i], job.data
        self.seconds, self.warnings = seconds, list(caught)
        self._model, self._asking = model, asking
        if answers is not None:
            self.answers = answers

    @cached_property
    def model(self):
        """The fitted model."""
        return self._model() if not hasattr(self._model, "fit") else self._model

    @cached_property
    def answers(self):
        """Answers to each table, with a column for every class that occurs in y."""
        with recorded_warnings() as said, self._asking():
            answers = [query_aligned(self.model, X, self.data.y) for X in self.data.tables]
        # What the steps of a Pipeline say in fitting and again in answering counts once.
        self.warnings += [warning for warning in said if warning not in self.warnings]
        return answers


def keep(job, trained):
    """What is kept of a model of a job, with the warnings of its training."""
    return job.keep(trained)._replace(warnings=tuple(trained.warnings))


def keep_model(trained):
    """The model itself, where nothing has to be asked."""
    return Kept({}, {}, trained.model)


@contextmanager
def recorded_warnings():
    """Collect warnings as pairs of category and text, which are there when the context ends."""
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield said
    said += [(warning.category, str(warning.message)) for warning in caught]
