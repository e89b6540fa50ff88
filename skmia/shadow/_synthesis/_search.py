"""Parallel searches for records that the victim classifies with confidence."""

from typing import NamedTuple

import numpy as np


class SearchSettings(NamedTuple):
    """Limits of a search; see :class:`ModelBasedSynthesizer`."""

    min_confidence: float
    max_changes: int
    min_changes: int
    max_rejections: int
    max_iter: int


class HillClimb:
    """Parallel searches, each for one record of a class, with one query of the victim per step.

    Parameters
    ----------
    table : TableCodes
        The domain of the features.
    ask : callable
        Function of codes that returns the probabilities of the classes.
    settings : SearchSettings
        Limits of each search.
    rng : numpy Generator
        Source of all draws.

    Attributes
    ----------
    target : ndarray of shape (n_running,)
        Column of the wanted class of each search.
    """

    def __init__(self, table, ask, settings, rng):
        self._table, self._ask, self._settings, self._rng = table, ask, settings, rng
        self.target = np.empty(0, dtype=np.intp)
        self._proposal = self._best = np.empty((0, table.n_features))
        self._best_proba = np.empty(0)
        self._n_rejections = self._n_changes = self._n_iter = np.empty(0, dtype=np.intp)

    def start(self, targets):
        """Begin a search at a random record for each target."""
        n = len(targets)
        drawn = self._table.draw(n, self._rng)
        self.target = np.append(self.target, targets)
        self._proposal = np.concatenate([self._proposal, drawn])
        self._best = np.concatenate([self._best, drawn])
        self._best_proba = np.append(self._best_proba, np.zeros(n))
        self._n_rejections = np.append(self._n_rejections, np.zeros(n, dtype=np.intp))
        self._n_changes = np.append(self._n_changes, np.full(n, self._settings.max_changes))
        self._n_iter = np.append(self._n_iter, np.zeros(n, dtype=np.intp))

    def step(self):
        """Query the victim with each search's proposal and make the next proposals.

        Returns
        -------
        codes : ndarray of shape (n_found, n_features)
            Records found.
        found : ndarray of shape (n_found,)
            Their targets.
        failed : ndarray of shape (n_failed,)
            Targets of the searches that ended without a record.
        """
        proba = self._ask(self._proposal)
        own = proba[np.arange(len(proba)), self.target]
        # A step to an equal probability is accepted, so that plateaus are crossed.
        better = own >= self._best_proba
        sure = (own > self._settings.min_confidence) & (proba.argmax(axis=1) == self.target)
        found = better & sure & (self._rng.random(len(own)) < own)
        self._move(better, own)
        ended = ~found & (self._n_iter >= self._settings.max_iter)
        result = self._proposal[found], self.target[found], self.target[ended]
        self._keep(~(found | ended))
        self._proposal = self._table.redraw(self._best, self._n_changes, self._rng)
        return result

    def _move(self, better, own):
        self._best = np.where(better[:, None], self._proposal, self._best)
        self._best_proba = np.where(better, own, self._best_proba)
        self._n_rejections = np.where(better, 0, self._n_rejections + 1)
        stuck = self._n_rejections > self._settings.max_rejections
        halved = np.maximum(self._settings.min_changes, (self._n_changes + 1) // 2)
        self._n_changes = np.where(stuck, halved, self._n_changes)
        self._n_rejections[stuck] = 0
        self._n_iter = self._n_iter + 1

    def _keep(self, kept):
        self.target, self._best = self.target[kept], self._best[kept]
        self._best_proba = self._best_proba[kept]
        self._n_rejections = self._n_rejections[kept]
        self._n_changes, self._n_iter = self._n_changes[kept], self._n_iter[kept]
