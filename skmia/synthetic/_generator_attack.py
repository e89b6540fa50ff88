"""Membership attacks on a model that generates rows."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._core.needs import ANY, Needs
from .._core.sampling import check_generator, draw_samples
from .._core.sklearn import StrOptions, at_least
from .._core.types import Seed
from ..base import BaseAttack
from ._neighbors import as_points, find_nearest

_TINY = np.finfo(float).tiny


class GeneratorAttack(BaseAttack):
    """Attack that flags records with generated rows nearby.

    The attack only needs rows from the generator.

    Parameters
    ----------
    victim : fitted generator
        Generator with a method ``sample(n_samples)`` that returns rows, or rows and labels, in a
        :class:`~sklearn.frozen.FrozenEstimator`.
    statistic : {"distance", "ratio", "density_ratio"}, default="density_ratio"
        ``"distance"``: minus the distance to the closest synthetic row. ``"ratio"``: minus that
        distance as a share of the distance to the second closest, which is small where a single row
        sticks to the record. ``"density_ratio"``: logarithm of how much denser synthetic rows lie
        around the record than the records given to ``fit`` do, both by the distance of the
        ``n_neighbors``-th neighbor.
    n_samples : int, default=None
        Number of synthetic rows to draw. If None, the number of records in ``fit``.
    n_neighbors : int, default=3
        Number of neighbors for ``"density_ratio"``.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of rows, if the generator's ``sample`` has such a parameter.

    Attributes
    ----------
    synthetic_ : ndarray or DataFrame of shape (n_samples, d)
        The rows that were drawn.
    offset_ : float
        Threshold of the statistic. Without ``membership`` it is 0 for ``"density_ratio"`` and
        otherwise the mean statistic over the records given to ``fit``.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    SyntheticDistance : Regressor of the distance, for shadow generators.
    PrivacyLoss : Test whether training rows as a whole are nearer than others.

    Notes
    -----
    Task labels are not part of the rows; put them into X as a column if the generator also returns
    them. Records of `fit` should be a sample of the population: if all of them are members, their
    density is not informative.

    References
    ----------
    Chen, D., Yu, N., Zhang, Y. and Fritz, M. (2020). GAN-Leaks: a taxonomy of membership inference
    attacks against generative models. CCS.

    van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership inference attacks
    against synthetic data through overfitting detection. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neighbors import KernelDensity
    >>> from skmia import Records
    >>> from skmia.synthetic import GeneratorAttack
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> records, membership = Records(X, np.zeros(200)), np.arange(200) < 100
    >>> generator = KernelDensity(bandwidth=0.1).fit(X[membership])
    >>> attack = GeneratorAttack(FrozenEstimator(generator), random_state=0).fit(records)
    >>> bool(attack.score(records, membership) > 0.2)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "statistic": [StrOptions({"distance", "ratio", "density_ratio"})],
        "n_samples": [at_least(2), None],
        "n_neighbors": [at_least(1)],
        "metric": [str, callable],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        statistic: Literal["distance", "ratio", "density_ratio"] = "density_ratio",
        n_samples: int | None = None,
        n_neighbors: int = 3,
        metric: str | Callable[..., float] = "euclidean",
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.statistic = statistic
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.random_state = random_state

    def _needs(self):
        return Needs(ANY, access=frozenset({"samples"}))

    def _fit(self, records, membership):
        check_generator(self.victim)
        random_state = check_random_state(self.random_state)
        n_samples = self.n_samples or max(2, len(records))
        self.synthetic_ = draw_samples(self.victim, n_samples, random_state)
        self._reference = None
        if self.statistic == "density_ratio":
            few = min(len(records) - 1, len(self.synthetic_))
            if self.n_neighbors > few:
                raise ValueError(
                    f"n_neighbors={self.n_neighbors} needs that many synthetic rows and one record "
                    f"more in fit; got {len(self.synthetic_)} rows and {len(records)} records."
                )
            self._reference = records

    def _score_samples(self, records):
        if self._reference is not None:
            return self._compare_densities(records)
        tables, metric = self._as_points(records)
        nearest = find_nearest(*tables, 2, metric)[0]
        if self.statistic == "distance":
            return -nearest[:, 0]
        # A record with two copies among the synthetic rows has no distance at all.
        return -nearest[:, 0] / np.maximum(nearest[:, 1], _TINY)

    def _as_points(self, records, *others):
        names = "The table of records", "The table of synthetic rows", "The table given to fit"
        return as_points((records.X, self.synthetic_, *others), self.metric, names)

    def _compare_densities(self, records):
        (points, synthetic, known), metric = self._as_points(records, self._reference.X)
        k = self.n_neighbors
        made = find_nearest(points, synthetic, k, metric)[0][:, -1]
        distances, places = find_nearest(points, known, k + 1, metric)
        # A record is not its own neighbor.
        own = self._reference.fingerprint[places] == records.fingerprint[:, None]
        last = np.where(own.any(axis=1), k, k - 1)
        real = distances[np.arange(len(points)), last]
        n_real, n_made = len(known) - own.any(axis=1), len(synthetic)
        n_columns = points.shape[1]
        # Logarithm of (k / n) / r^d of either table.
        volumes = np.log(np.maximum(real, _TINY)) - np.log(np.maximum(made, _TINY))
        return n_columns * volumes + np.log(n_real) - np.log(n_made)

    def _natural_offset(self, records):
        return 0.0 if self.statistic == "density_ratio" else self.score_samples(records).mean()
