"""A job of training, a model that was just trained, and the results that are kept of it."""

import warnings
from collections import Counter
from contextlib import contextmanager, nullcontext
from functools import cached_property
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.utils import gen_batches

from .._core.callers import level_of_user
from .._core.containers import get_place, pack, take_rows, unpack
from .._core.kinds import is_regressor
from .._core.progress import make_bar
from .._core.query import CHUNK, query_aligned, trained_as
from .._core.randomness import isolated_randomness, preserved_randomness
from .._core.sample_weights import WEIGHTS, name_parameter, requests_weights
from .._core.targets import TargetForm, choose_form
from ..exceptions import JointTrainingWarning


def warn_once(caught, n_models, what="shadow models"):
    """Repeat each distinct warning of the workers once, with the number of models it came from."""
    for (category, message), count in Counter(caught).items():
        warnings.warn(
            f"{count} of {n_models} {what}: {message}", category, stacklevel=level_of_user()
        )


def count_failures(caught):
    """Count the models that could not be trained together."""
    failures = Counter(text for category, text in caught if category is JointTrainingWarning)
    return "; ".join(failures), sum(failures.values())


def note_failures(caught, n_models):
    """Return a list of one note on models that could not be trained together, or an empty list."""
    why, n_alone = count_failures(caught)
    if not n_alone:
        return []
    return [f"{n_alone} of {n_models} shadow models were trained one by one: {why}."]


def warn_of_weights(estimator, records, what="shadow models"):
    """Say whether models are trained with sample weights, and warn if weights are not used."""
    if WEIGHTS in records.fields and name_parameter(estimator) is not None:
        return [f"The {what} are trained with the weights of the field {WEIGHTS!r}."]
    if WEIGHTS in records.fields:
        why = f"fit of {type(trained_as(estimator)).__name__} takes none"
        if requests_weights(estimator) or sklearn.get_config()["enable_metadata_routing"]:
            why = "no part of the estimator requests them (set_fit_request)"
        found = f"the field {WEIGHTS!r} of the records is not used, because {why}"
        advice = "use an estimator whose fit takes them, or finds them in a column of X"
    elif requests_weights(estimator):
        found = f"the estimator requests {WEIGHTS} for fit, and the records have no such field"
        advice = f"add them by records.with_fields({WEIGHTS}=...)"
    else:
        return []
    note = (
        f"The {what} are trained without weights: {found}. If the victim was trained with weights, "
        f"{advice}."
    )
    warnings.warn(note, UserWarning, stacklevel=level_of_user())
    return [note]


# Models of a group that are being trained count in part, so that the count is not an integer.
_FORMAT = "{l_bar}{bar}| {n:.0f}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_SECONDS_BETWEEN_MOVES = 1.0  # at least; a log gets fewer lines


class JobProgress:
    """The progress of a job, as far as this process knows of it."""

    def __init__(self, bar):
        self._bar, self._finished, self._last = bar, set(), monotonic()
        self._seconds = max(_SECONDS_BETWEEN_MOVES, bar.mininterval)

    def finish(self, k):
        """Count a model as finished; a model that appears twice counts once."""
        self._finished.add(k)
        self._move(len(self._finished), "")

    def show(self, n_models, what, i, n):
        """Show how far the group at work has come."""
        if self._is_due():
            self._move(len(self._finished) + n_models, f"{what} {i} of {n}")

    def _is_due(self):
        return monotonic() - self._last >= self._seconds

    def _move(self, n, text):
        # The bar does not go back if a group is trained again in halves.
        self._bar.n = max(self._bar.n, min(n, self._bar.total))
        self._bar.set_postfix_str(text, refresh=False)
        if self._is_due():
            self._last = monotonic()
            self._bar.refresh()

    def part(self, first, n_models):
        """Return a function that shows the progress of models that are trained at once."""
        return lambda share, what, i, n: self.show(first + share * n_models, what, i, n)


def run_visibly(plan, job, verbose, desc, checkpoint=None):
    """Run a plan with a progress bar, if it is wanted.

    Without a bar tqdm is not called: even a bar that is disabled takes a lock that forked processes
    share, and if one of them is killed in that moment, the others wait for it forever.
    """
    return _with_bar(plan, job, desc, checkpoint) if verbose else plan.run(job, checkpoint)


def _with_bar(plan, job, desc, checkpoint):
    with make_bar(desc, job.n_models, _FORMAT) as bar:
        progress = JobProgress(bar)
        for k, kept in plan.run(job._replace(progress=progress), checkpoint):
            progress.finish(k)
            yield k, kept


class JobData(NamedTuple):
    """The records of a job, as workers need them."""

    tables: list  # features of the records, then features of further queries
    y: np.ndarray
    weights: Any = None  # sample weights for fit, of shape (n,)
    fit_params: Any = None  # further parameters of fit, or a function of (X, y) that gives them
    column: bool = False  # whether the user gave y with the shape (n, 1)
    form: TargetForm | None = None  # of y in fit; None until it has been chosen

    def take_targets(self, rows=slice(None)):
        """Return the labels of some records in the form that fit needs."""
        return (self.form or TargetForm()).apply(self.y[rows])

    def packed(self):
        """Convert to arrays, which joblib can map into the memory of workers instead of copying."""
        return self._replace(tables=[pack(X) for X in self.tables])

    def by_place(self):
        """Convert arrays that are mapped from files to their places, so that no bytes travel."""
        places = [get_place(X) for X in (*self.tables, self.y)]
        *tables, y = (
            X if place is None else place
            for X, place in zip((*self.tables, self.y), places, strict=True)
        )
        return self._replace(tables=tables, y=y)

    def unpacked(self):
        """Undo :meth:`packed` and :meth:`by_place`."""
        return self._replace(tables=[unpack(X) for X in self.tables], y=unpack(self.y))


class Job(NamedTuple):
    """Clones of an estimator, each to be trained on its own subset of the same records.

    keep takes a Trained and returns a Kept. It runs in the worker, so it has to be picklable. If
    fit is given, a model is trained by fit(model, rows) instead of its own method on the rows of
    the first table.
    """

    estimator: Any
    data: JobData
    subsets: Any  # ndarray of shape (n_models, n), dtype bool, or DrawnSets
    # One SeedSequence per model, of which `make_model` sets each random_state and
    # `isolated_randomness` seeds the global generators; None keeps the estimator's random_state.
    seeds: list | None
    keep: Any
    n_jobs: int | None = None
    fit: Any = None
    states: Any = None  # TrainingStates of a checkpoint
    numbers: list | None = None  # of the models in the whole job, if this is a part of it
    # Writes the results of a model, in the worker, and returns what is left to send.
    write: Any = None
    most_together: int | None = None  # largest number of models that are trained at once
    progress: Any = None  # Progress of the job, in the process that runs it

    @property
    def n_models(self):
        return len(self.subsets)

    def part(self, models):
        """Return the job of some of the models, in which they are counted from 0."""
        numbers = range(self.n_models) if self.numbers is None else self.numbers
        return self._replace(
            subsets=self.subsets[models],
            seeds=None if self.seeds is None else [self.seeds[k] for k in models],
            numbers=[int(numbers[k]) for k in models],
        )

    def number(self, i):
        """Return the number of a model in the whole job."""
        return i if self.numbers is None else self.numbers[i]

    def randomness(self, i):
        """Return the context in which a model is trained and queried."""
        return preserved_randomness() if self.seeds is None else isolated_randomness(self.seeds[i])


def settle_targets(job):
    """Choose the form of y that the models of a job are fitted on, if it is not chosen yet."""
    if job.data.form is not None or job.fit is not None:
        return job
    form = choose_form(job.estimator, job.data.tables[0], job.data.y, job.data.column)
    return job._replace(data=job.data._replace(form=form))


class KeptResults(NamedTuple):
    """Results of a model: small facts, arrays by name, and the model itself if requested."""

    facts: dict
    arrays: dict
    model: Any = None
    warnings: tuple = ()  # (category, text) from its training


class TrainedModel:
    """A model that was just trained, as passed to ``keep``."""

    def __init__(self, job, i, model, seconds, *, caught=(), answers=None, asking=nullcontext):
        # The number in the whole job; (n,): which records it was trained on; and all of them.
        self.number, self.subset, self.data = job.number(i), job.subsets[i], job.data
        self.seconds, self.warnings = seconds, list(caught)
        self._model, self._asking = model, asking
        if answers is not None:
            self.answers = answers

    @cached_property
    def model(self):
        return self._model() if not hasattr(self._model, "fit") else self._model

    @cached_property
    def answers(self):
        """Outputs for each table, with a column for every class that occurs in y."""
        with recorded_warnings() as said, self._asking():
            answers = [query_aligned(self.model, X, self.data.y) for X in self.data.tables]
        # A step of a Pipeline may warn both in fit and in predict; such a warning counts once.
        self.warnings += [warning for warning in said if warning not in self.warnings]
        return answers

    @property
    def is_asked(self):
        """Whether the outputs for all records are known already."""
        return "answers" in vars(self)

    def ask_in_blocks(self):
        """Query the model for one block of records after the other, and keep no outputs."""
        classes = None if is_regressor(self.model) else np.unique(self.data.y)
        for number, X in enumerate(self.data.tables):
            for rows in gen_batches(len(self.data.y), CHUNK):
                with recorded_warnings() as said, self._asking():
                    outputs = query_aligned(self.model, take_rows(X, rows), classes)
                self.warnings += [warning for warning in said if warning not in self.warnings]
                yield number, rows, outputs


def keep(job, trained):
    """Return the results of a model of a job, with the warnings of its training."""
    kept = job.keep(trained)._replace(warnings=tuple(trained.warnings))
    return kept if job.write is None else job.write(trained.number, kept, trained.subset)


def keep_model(trained):
    """Keep only the model itself, without querying it."""
    return KeptResults({}, {}, trained.model)


@contextmanager
def recorded_warnings():
    """Collect different warnings in a list of (category, text), filled when the context ends."""
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield said
    said += dict.fromkeys((warning.category, str(warning.message)) for warning in caught)
