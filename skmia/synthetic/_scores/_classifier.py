"""Score from a classifier of synthetic against reference rows."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

_N_TREES = 100


class ClassifierScore:
    """Log odds of a synthetic row against a reference row, as of tables of equal size."""

    def __init__(self, space):
        rows = np.concatenate([space.synthetic, space.reference])
        made = np.arange(len(rows)) < len(space.synthetic)
        seed = space.random_state.randint(np.iinfo(np.int32).max)
        forest = RandomForestClassifier(_N_TREES, min_samples_leaf=5, random_state=seed)
        self._forest = forest.fit(rows, made)
        self._prior = np.log(len(space.synthetic) / len(space.reference))

    def __call__(self, points):
        # A leaf of one kind has a probability of 0 or 1; half a tree keeps the odds finite.
        share = self._forest.predict_proba(points)[:, 1] * _N_TREES
        return np.log((share + 0.5) / (_N_TREES - share + 0.5)) - self._prior
