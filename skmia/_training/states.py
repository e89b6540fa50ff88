"""Intermediate states of the training of groups of models, written to disk now and then."""

from contextlib import suppress
from time import monotonic

import numpy as np

from .identity import digest_arrays

# If the process is killed, at most this time and the current epoch are lost.
SECONDS_BETWEEN_STATES = 60.0


class TrainingStates:
    """States of groups of models that are trained together, one file per group.

    If models are trained one by one, a killed process loses only one unfinished model. If many are
    trained at once, it would lose all of them, so the state of the training (weights, optimizer,
    random generators) is written now and then. A training that continues from a state gives bitwise
    the same models.

    Parameters
    ----------
    folder : Path
        Folder of the checkpoint.
    digest : str
        Digest of the pool, so that the state of another pool is not used.
    write : callable
        Function that writes a file atomically.
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
    """Writes the state of one group of models, at most once a minute.

    Parameters
    ----------
    states : TrainingStates or None
        Storage of the states. If None, nothing is kept.
    group : list of int
        Numbers of the models.
    """

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
        """Keep the arrays that a function returns."""
        if self._states is not None:
            self._states.save(self._group, make_arrays())
        self._last = monotonic()


def run_from_kept(trainings, keeper, progress=None):
    """Run trainings one after the other, continuing from a kept state if there is one.

    Parameters
    ----------
    trainings : list
        Objects with ``n_models``, ``export_state``, ``import_state`` and
        ``run_to_end(after_epoch, show)``; a state is a dict of arrays.
    keeper : StateKeeper
        Keeper of the group that the trainings form.
    progress : Progress, default=None
        Progress of the job, to be shown.
    """

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
