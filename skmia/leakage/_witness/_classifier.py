"""Total variation by a classifier that is measured on rows it was not trained on."""

from contextlib import nullcontext
from numbers import Integral

import numpy as np
from joblib import Parallel
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ..._core.seeding import seed_estimator
from ..._core.tasks import delayed
from ._base import Witness, advantage, balanced_posterior


def _fit(estimator, X, members, seed):
    model = HistGradientBoostingClassifier() if estimator is None else clone(estimator)
    seed_estimator(model, np.random.SeedSequence(seed))
    # If other processes use the cores, the threads of small trees wait more than they work.
    limit = nullcontext() if estimator is not None else threadpool_limits(1, user_api="openmp")
    with limit:
        return model.fit(X, members.astype(int))


def _predict(model, X, share):
    """Posterior under equal priors of a model trained where `share` were members."""
    proba = model.predict_proba(X)
    return balanced_posterior(proba[:, 1] / share, proba[:, 0] / (1 - share))


def _cross_fit(estimator, splits, X, members, seed):
    """Posterior of each row by the model that was not trained on it."""
    posterior = np.full(len(X), np.nan)
    for train, held_out in splits:
        if members[train].all() or not members[train].any():
            raise ValueError(
                "A fold leaves only members, or only non-members, for training; use a stratified "
                "cv."
            )
        model = _fit(estimator, X[train], members[train], seed)
        posterior[held_out] = _predict(model, X[held_out], members[train].mean())
    return posterior


class ClassifierWitness(Witness):
    """Advantage of a classifier's cross-fitted predictions.

    Parameters
    ----------
    estimator : classifier or None
        Unfitted classifier with ``predict_proba``. If None, boosted trees are used.
    cv : int or splitter
        Number of folds, or a splitter.
    n_jobs : int or None
        Number of labelings processed in parallel.
    """

    def __init__(self, estimator, cv, n_jobs):
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    def learn(self, X, members, rng):
        self._share = members.mean()
        self._model = _fit(self.estimator, X, members, int(rng.integers(2**31)))
        return self

    def posterior(self, X):
        return _predict(self._model, X, self._share)

    def estimate(self, X, labelings, rng):
        seeds = rng.integers(2**31, size=(len(labelings), 2))
        posteriors = Parallel(n_jobs=self.n_jobs)(
            delayed(_cross_fit)(
                self.estimator, self._split(X, members, int(fold_seed)), X, members, int(seed)
            )
            for members, (fold_seed, seed) in zip(labelings, seeds, strict=True)
        )
        return np.array(
            [
                self._measure(posterior, members)
                for posterior, members in zip(posteriors, labelings, strict=True)
            ]
        )

    def _split(self, X, members, seed):
        cv = self.cv
        if isinstance(cv, Integral):
            cv = StratifiedKFold(cv, shuffle=True, random_state=seed)
        return list(cv.split(X, members))

    @staticmethod
    def _measure(posterior, members):
        # A splitter such as ShuffleSplit need not test every row.
        tested = ~np.isnan(posterior)
        return advantage(posterior[tested] > 0.5, members[tested])
