"""Where the training of groups of shadow models stands, kept on disk from time to time."""

from contextlib import suppress
from time import monotonic

import numpy as np

from .identity import digest_arrays

# What a kill costs at most, but for the epoch that is under way.
SECONDS_BETWEEN_STATES = 60.0


class TrainingStates:
    """States of groups of models that are trained together, one file a group.

    A model that is trained alone is lost with its process, and no more than that. Where many are
    trained at once, the loss would be the loss of all of them, so what the training consists of
    (weights, optimizer, generators) is written down as it goes on. A training that starts from
    there comes to bitwise the same models.

    Parameters
    ----------
    folder : Path
        That of the checkpoint.
    digest : str
        Of the pool, so that no state of another one is taken.
    write : callable
        Writes a file atomically.
    """

    def __init__(self, folder, digest, write):
        self.folder, self._digest, self._write = folder, digest, write

    def groups(self):
        """Groups of models whose training has been interrupted, as lists of their numbers."""
        found = [self._read(path) for path in sorted(self.folder.glob("training-*.npz"))]
        return [_models_of(arrays) for arrays in found if arrays is not None]

    def load(self, group):
        """Arrays of a group by name; None without a state that can be read."""
        arrays = self._read(self._path(group))
        return arrays if arrays is not None and _models_of(arrays) == group else None

    def save(self, group, arrays):
        """Write the arrays of a group in place of the previous ones."""
        arrays = {**arrays, "digest": np.array(self._digest), "models": np.array(group)}
        content = np.array(digest_arrays(arrays))
        self._write(self._path(group), lambda file: np.savez(file, content=content, **arrays))

    def drop(self, group):
        """Forget the state of a group whose models are all finished."""
        self._path(group).unlink(missing_ok=True)

    def _path(self, group):
        return self.folder / f"training-{group[0]:05d}.npz"

    def _read(self, path):
        # A state that cannot be read costs the time since the group began, and nothing else.
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
    """Keeps the state of one group of models, at most once a minute.

    Parameters
    ----------
    states : TrainingStates or None
        Where; None keeps nothing.
    group : list of int
        Numbers of the models.
    """

    def __init__(self, states, group):
        self._states, self._group = states, group
        self._last = monotonic()

    def load(self):
        """Arrays that were kept, by name; None where there are none."""
        return None if self._states is None else self._states.load(self._group)

    def offer(self, make_arrays):
        """Keep the arrays that a function makes, if it is time to."""
        if monotonic() - self._last >= SECONDS_BETWEEN_STATES:
            self.keep(make_arrays)

    def keep(self, make_arrays):
        """Keep the arrays that a function makes."""
        if self._states is not None:
            self._states.save(self._group, make_arrays())
        self._last = monotonic()


def run_from_kept(trainings, keeper):
    """Run trainings one after the other, from where they were when their process was killed.

    Parameters
    ----------
    trainings : list
        With ``export_state``, ``import_state`` and ``run_to_end(after_epoch)``; arrays of a state
        have names.
    keeper : StateKeeper
        Of the group that they make up.
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
    for training in trainings:
        training.run_to_end(lambda: keeper.offer(export))
    # What is asked and stored of the models takes time as well, and may end halfway.
    keeper.keep(export)
