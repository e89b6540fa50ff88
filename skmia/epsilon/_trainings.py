"""Trainings of an audit, with the canary and without it, some of them at a time."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from .._core.records import Records
from .._training.checkpoint import FolderCheckpoint
from .._training.identity import digest_arrays, identify_values
from .._training.job import Kept
from .._training.manifest import Owner, describe_job
from .._training.notes import warn_once
from .._training.plan import plan_training
from .._training.progress import run_visibly
from .._training.resume import saying_what_is_kept
from ._base import read_claim, score_canaries

# Number of trainings by which the way of training is chosen.
_MOST_PLANNED = 64
_OWNER = Owner("audit", "trainings", "checkpoint")


class SidesOfCoins:
    """Training sets, one of two for each coin, that are made when they are needed.

    Parameters
    ----------
    sides : ndarray of shape (2, n), dtype bool
        Training sets without the canary and with it.
    coins : ndarray of shape (n_models,), dtype bool
    """

    def __init__(self, sides, coins):
        self._sides, self._coins = sides, coins.astype(np.intp)

    def __len__(self):
        return len(self._coins)

    def __getitem__(self, models):
        return self._sides[self._coins[models]]


class Trainings:
    """Trainings of one audit; a checkpoint keeps each that is finished.

    Parameters
    ----------
    job : Job
        All trainings that the audit may make.
    records : Records of n records
        Records of the job.
    checkpoint : FolderCheckpoint or None
    entropy : list of int
        What all randomness of the audit follows from.
    design : dict
        Parameters of the audit on which the trainings depend.
    verbose : int
    """

    def __init__(self, job, records, checkpoint, entropy, design, verbose):
        self._job, self._checkpoint, self._verbose = job, checkpoint, verbose
        self._said, self._n_made = [], 0
        known = None if checkpoint is None else checkpoint.read_numbers()
        # A plan holds for any number of models.
        some = job.part(range(min(_MOST_PLANNED, job.n_models)))
        self._plan = plan_training(some, exact=True, known=known)
        if checkpoint is not None:
            manifest = describe_job(job, records, entropy, design, self._plan.numbers)
            checkpoint.open(manifest, job.keep)

    def run(self, models):
        """Make some trainings, or read those that are kept.

        Parameters
        ----------
        models : range
            Their numbers.

        Returns
        -------
        scores : ndarray of shape (n_models,)
            Scores of the canary.
        claims : list of float or None
            What each model claims as its epsilon.
        """
        found = {k: self._load(k) for k in models}
        missing = [k for k in models if found[k] is None]
        if missing:
            part = self._job.part(missing)._replace(numbers=None)  # counted from 0
            with saying_what_is_kept(self._checkpoint, self._job.n_models):
                for i, kept in run_visibly(self._plan, part, self._verbose, "trainings"):
                    found[missing[i]] = kept
                    self._save(missing[i], kept)
        results = [found[k] for k in models]
        self._said += [warning for kept in results for warning in kept.warnings]
        self._n_made += len(results)
        scores = np.concatenate([kept.arrays["score"] for kept in results])
        return scores, [kept.facts["claim"] for kept in results]

    def close(self):
        """Repeat the warnings of all trainings, and remove temporary files of the checkpoint."""
        warn_once(self._said, self._n_made, "trainings")
        if self._checkpoint is not None:
            self._checkpoint.close()

    def _load(self, k):
        if self._checkpoint is None:
            return None
        return self._checkpoint.load(k, self._job.subsets[k])

    def _save(self, k, kept):
        if self._checkpoint is not None:
            self._checkpoint.save(k, kept, self._job.subsets[k])


def start(folder, random_state):
    """Open a folder, and seed an audit.

    Parameters
    ----------
    folder : str, Path or None
    random_state : int, RandomState instance or None
        If None, an audit that continues in a folder has the seed that it began with.

    Returns
    -------
    checkpoint : FolderCheckpoint or None
    rng : RandomState
    seeds : list of int
        The seed, if it is known only to the folder.
    """
    if folder is None:
        return None, check_random_state(random_state), []
    checkpoint = FolderCheckpoint(folder, owner=_OWNER)
    if random_state is not None:
        return checkpoint, check_random_state(random_state), []
    kept = checkpoint.read_entropy()
    is_known = isinstance(kept, list) and kept and isinstance(kept[0], int)
    limit = np.iinfo(np.int32).max
    seed = kept[0] if is_known and 0 <= kept[0] < limit else check_random_state(None).randint(limit)
    return checkpoint, check_random_state(int(seed)), [int(seed)]


@dataclass(frozen=True)
class CanaryKeeper:
    """Keeps the score of the canary and the epsilon that the model claims."""

    attack: object
    canary: Records

    keeps_models = False

    def __call__(self, trained):
        """Score the canary with a trained model."""
        scores = score_canaries(self.attack, trained.model, self.canary)[:1]
        claim = read_claim(trained.model)
        return Kept({"claim": None if claim is None else float(claim)}, {"score": scores})

    def describe(self):
        """Describe what the scores depend on, for the identity of a checkpoint."""
        canary = digest_arrays({"X": np.asarray(self.canary.X), "y": np.asarray(self.canary.y)})
        return {"attack": identify_values({"attack": self.attack}), "canary": canary}

    def check(self, arrays, n_records):
        """Refuse arrays that cannot come from a training of this audit.

        Raises
        ------
        ValueError
            If they are not one score.
        """
        scores = arrays.get("score")
        if len(arrays) != 1 or scores is None or scores.shape != (1,) or scores.dtype != np.float64:
            raise ValueError("it does not hold one score of a canary")
