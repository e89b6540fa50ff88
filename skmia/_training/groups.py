"""Training of models in groups, one group per task."""

import gc
import sys
from contextlib import suppress
from functools import partial
from time import monotonic, perf_counter

import numpy as np
from joblib import effective_n_jobs

from .._core.budget import is_of_memory
from .backends.backend import train_alone
from .digests import digest_arrays
from .workers import run_on_one_thread

# If the process is killed, at most this time and the current epoch are lost.
SECONDS_BETWEEN_STATES = 60.0


class TrainingStates:
    """States of groups of models that are trained together, one file per group.

    If models are trained one by one, a killed process loses only one unfinished model. If many are
    trained at once, it would lose all of them, so the state of the training (weights, optimizer,
    random generators) is written now and then. A training that continues from a state gives bitwise
    the same models.
    """

    def __init__(self, folder, digest, write):
        self.folder, self._digest, self._write = folder, digest, write

    def groups(self):
        """List groups of models whose training was interrupted, as lists of their numbers."""
        found = [self._read(path) for path in sorted(self.folder.glob("training-*.npz"))]
        return [_models_of(arrays) for arrays in found if arrays is not None]

    def load(self, group):
        """Read the arrays of a group by name; None without a readable state."""
        arrays = self._read(self._path(group))
        return arrays if arrays is not None and _models_of(arrays) == group else None

    def save(self, group, arrays):
        """Write the arrays of a group over the previous ones."""
        arrays = {**arrays, "digest": np.array(self._digest), "models": np.array(group)}
        content = np.array(digest_arrays(arrays))
        self._write(self._path(group), lambda file: np.savez(file, content=content, **arrays))

    def drop(self, group):
        """Delete the state of a group whose models are all finished."""
        with suppress(OSError):  # what stays is of no use, and does no harm
            self._path(group).unlink()

    def _path(self, group):
        return self.folder / f"training-{group[0]:05d}.npz"

    def _read(self, path):
        # An unreadable state is ignored: it only costs the time to train the group again.
        with (
            suppress(Exception),
            open(path, "rb") as file,
            np.load(file, allow_pickle=False) as stored,
        ):
            arrays = {name: stored[name] for name in stored.files}
            intact = str(arrays.pop("content")) == digest_arrays(arrays)
            return arrays if intact and str(arrays["digest"]) == self._digest else None
        return None


def _models_of(arrays):
    return arrays["models"].tolist()


class StateKeeper:
    """Writes the state of one group of models, at most once a minute."""

    def __init__(self, states, group):
        self._states, self._group = states, group
        self._last = monotonic()

    def load(self):
        """Return the arrays that were kept, by name, or None."""
        return None if self._states is None else self._states.load(self._group)

    def offer(self, make_arrays):
        """Keep the arrays that a function returns, if enough time has passed."""
        if monotonic() - self._last >= SECONDS_BETWEEN_STATES:
            self.keep(make_arrays)

    def keep(self, make_arrays):
        if self._states is not None:
            self._states.save(self._group, make_arrays())
        self._last = monotonic()


def run_from_kept(trainings, keeper, progress=None):
    """Run trainings one after the other, continuing from a kept state if there is one."""

    def export():
        states = [training.export_state() for training in trainings]
        return {
            f"{i}/{name}": array for i, state in enumerate(states) for name, array in state.items()
        }

    kept = keeper.load()
    for i, training in enumerate(trainings if kept is not None else ()):
        begin = f"{i}/"
        own = {name: array for name, array in kept.items() if name.startswith(begin)}
        training.import_state({name.removeprefix(begin): array for name, array in own.items()})
    first = 0
    for training in trainings:
        show = None if progress is None else progress.part(first, training.n_models)
        training.run_to_end(lambda: keeper.offer(export), show)
        first += training.n_models
    # Querying and storing the models also takes time, and may be interrupted as well.
    keeper.keep(export)


def run_groups(job, models, where, count_together, train_group):
    """Train models in groups and yield their results.

    The arithmetic runs on one thread, because the rounding of sums would depend on the number of
    threads. Further cores are used by further processes.
    """
    # All are taken now, so that the groups are known: other processes do not share the work.
    models = [int(k) for k in models]
    if not models:
        return
    n_together = count_together(job.part(models[:1]))
    groups = split_models(job, models, min(n_together, job.most_together or n_together))
    wanted = set(models)
    train = partial(run_on_one_thread, train_group)
    for results in where.run(train, job, (job.part(group) for group in groups)):
        yield from ((k, kept) for k, kept in results if k in wanted)
        for k, _ in results if job.states is not None else ():
            job.states.drop([k])  # each part of a group that was halved has its own state


def split_models(job, models, n_together):
    """Split models into groups that are trained together, equally many for each worker."""
    groups, left = [], set(models)
    for group in [] if job.states is None else job.states.groups():
        if max(group) < job.n_models and left & set(group):
            groups.append(group)
            left -= set(group)
    n_models, n_jobs = job.n_models, effective_n_jobs(job.n_jobs)
    # A multiple of the number of jobs, so that all workers finish at about the same time.
    n_groups = min(n_models, -(-n_models // (n_together * n_jobs)) * n_jobs)
    for part in np.array_split(np.arange(n_models), n_groups):
        groups.append([k for k in part.tolist() if k in left])
    return [group for group in groups if group]


def train_or_halve(job, train, finish):
    """Train a group of models together, in halves if memory is short, and else one by one.

    A single model for which memory is short, and all models after another error, are trained by
    ``train_alone``, which warns of the reason (JointTrainingWarning).
    """
    start = perf_counter()
    try:
        trained = train(job)
    except Exception as error:
        reason, is_short = describe_training_error(error), is_of_memory(error)
    else:
        seconds = (perf_counter() - start) / job.n_models
        try:
            return list(_finish_all(job, partial(finish, trained, job), seconds))
        except Exception as error:
            if not is_of_memory(error):
                raise  # an invalid output would also be invalid after training one by one
            reason, is_short, trained = describe_training_error(error), True, None
    # Only after the except clause: the exception holds references to the allocated memory.
    _release_memory()
    if not is_short or job.n_models == 1:
        return [(job.number(i), train_alone(job, i, reason)) for i in range(job.n_models)]
    halves = [job.part(part) for part in np.array_split(np.arange(job.n_models), 2)]
    return [model for half in halves for model in train_or_halve(half, train, finish)]


def _finish_all(job, finish, seconds):
    for i in range(job.n_models):
        yield job.number(i), finish(i, seconds)
        if job.progress is not None:
            job.progress.show(job.n_models, "answers of model", i + 1, job.n_models)


def describe_training_error(error):
    """Return the class and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _release_memory():
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
