"""Membership attacks on a model that generates rows."""

from collections.abc import Callable
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._core.needs import ANY, Needs
from .._core.records import Records
from .._core.sampling import check_generator, draw_samples
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import Seed
from ..base import BaseAttack
from ._neighbors import TIE, as_points, find_nearest
from ._scores import SCORES
from ._scores._space import Space

_TINY = np.finfo(float).tiny


class GeneratorAttack(BaseAttack):
    """Attack that flags records with generated rows nearby.

    The attack only needs rows from the generator.

    Parameters
    ----------
    victim : fitted generator or Records
        Generator with a method ``sample(n_samples)`` that returns rows, or rows and labels, in a
        :class:`~sklearn.frozen.FrozenEstimator`, or released rows as :class:`~skmia.Records`.
    statistic : {"distance", "ratio", "density_ratio", "domias", ...}, default="density_ratio"
        ``"distance"``: minus the distance to the closest synthetic row. ``"ratio"``: minus that
        distance as a share of the distance to the second closest, which is small where a single row
        sticks to the record. ``"density_ratio"``: logarithm of how much denser synthetic rows lie
        around the record than the records given to ``fit`` do, both by the distance of the
        ``n_neighbors``-th neighbor. The others compare synthetic rows with those of ``reference``,
        see Notes.
    n_samples : int, default=None
        Number of synthetic rows to draw. If None, the number of records in ``fit``, or all released
        rows.
    n_neighbors : int, default=3
        Number of neighbors for ``"density_ratio"`` and ``"gen_lra"``.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`.
    reference : Records, default=None
        Records of the population that are neither training records nor records to attack. With
        ``"distance"``, they break ties: of two records that are equally far from the synthetic
        rows, the one farther from the reference is more likely a member.
    bandwidth : float, default=None
        Width of the kernels of ``"domias"`` and ``"gen_lra"``. If None, the median distance of a
        reference row from its tenth neighbor.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of rows, if the generator's ``sample`` has such a parameter, and draws
        from ``reference``.

    Attributes
    ----------
    synthetic_ : ndarray or DataFrame of shape (n_samples, d)
        The rows that were drawn.
    offset_ : float
        Threshold of the statistic. Without ``membership`` it is the mean statistic over the records
        given to ``fit`` for ``"distance"``, ``"ratio"`` and ``"gen_lra"``, and otherwise 0.
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

    Statistics that need ``reference``, whose rows and the synthetic rows alone are encoded and
    scaled, so that the score of a record does not depend on other records:

    * ``"distance_difference"``: distance to the nearest reference row minus that to the nearest
      synthetic row, among as many rows of both.
    * ``"neighborhood"``: share of the synthetic minus share of the reference rows within a radius.
    * ``"domias"``: logarithm of the ratio of two kernel densities. The kernel is normal, for
      ``metric="gower"`` exponential. With more than about ten columns this is a smooth distance and
      not a density.
    * ``"gen_lra"``: by how much the likelihood of the ``n_neighbors`` nearest synthetic rows grows
      if the record is added to the reference rows.
    * ``"copula"``: logarithm of the ratio of two densities with a Gaussian copula and kernel
      marginals; columns of numbers only.
    * ``"classifier"``: log odds of a random forest that tells synthetic from reference rows.
    * ``"rare_copies"``: for records that are among the synthetic rows, the distance to the nearest
      reference row; 0 for others.

    References
    ----------
    Chen, D., Yu, N., Zhang, Y. and Fritz, M. (2020). GAN-Leaks: a taxonomy of membership inference
    attacks against generative models. CCS.

    van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership inference attacks
    against synthetic data through overfitting detection. AISTATS.

    Houssiau, F., Jordon, J., Cohen, S. N. et al. (2022). TAPAS: a toolbox for adversarial privacy
    auditing of synthetic data. NeurIPS workshop on synthetic data for empowering ML research.

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
        "statistic": [StrOptions({"distance", "ratio", "density_ratio", *SCORES})],
        "n_samples": [at_least(2), None],
        "n_neighbors": [at_least(1)],
        "metric": [str, callable],
        "reference": [Records, None],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | Records | None = None,
        *,
        statistic: Literal[
            "distance",
            "ratio",
            "density_ratio",
            "distance_difference",
            "neighborhood",
            "domias",
            "gen_lra",
            "copula",
            "classifier",
            "rare_copies",
        ] = "density_ratio",
        n_samples: int | None = None,
        n_neighbors: int = 3,
        metric: str | Callable[..., float] = "euclidean",
        reference: Records | None = None,
        bandwidth: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.statistic = statistic
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.reference = reference
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _needs(self):
        lacks = ("reference",) if self.statistic in SCORES and self.reference is None else ()
        return Needs(ANY, access=frozenset({"samples"}), lacks=lacks)

    def _fit(self, records, membership):
        random_state = check_random_state(self.random_state)
        self.synthetic_ = self._draw(len(records), random_state)
        self._reference, self._score, self._space = None, None, None
        if self.statistic in SCORES or (
            self.statistic == "distance" and self.reference is not None
        ):
            self._compare_with_reference(random_state)
        if self.statistic == "density_ratio":
            few = min(len(records) - 1, len(self.synthetic_))
            if self.n_neighbors > few:
                raise ValueError(
                    f"n_neighbors={self.n_neighbors} needs that many synthetic rows and one record "
                    f"more in fit; got {len(self.synthetic_)} rows and {len(records)} records."
                )
            self._reference = records

    def _draw(self, n_records, random_state):
        if isinstance(self.victim, Records):
            return self.victim[: self.n_samples].X
        check_generator(self.victim)
        return draw_samples(self.victim, self.n_samples or max(2, n_records), random_state)

    def _compare_with_reference(self, random_state):
        if self.reference is None:
            raise ValueError(
                f"statistic={self.statistic!r} needs reference: records of the population that are "
                "neither training records nor records to attack."
            )
        space = Space(
            self.synthetic_,
            self.reference.X,
            self.metric,
            self.bandwidth,
            self.n_neighbors,
            random_state,
        )
        if self.statistic in SCORES:
            self._score = SCORES[self.statistic](space)
        self._space = space

    def _score_samples(self, records):
        if self._score is not None:
            return self._score(self._space.encode(records.X))
        if self._reference is not None:
            return self._compare_densities(records)
        tables, metric = self._as_points(records)
        nearest = find_nearest(*tables, 2, metric)[0]
        if self.statistic == "distance":
            return self._break_ties(records) - nearest[:, 0]
        # A record with two copies among the synthetic rows has no distance at all.
        return -nearest[:, 0] / np.maximum(nearest[:, 1], _TINY)

    def _break_ties(self, records):
        """Differences too small to change the order of other distances; 0 without reference."""
        if self._space is None:
            return 0.0
        return TIE * self._space.nearest(self._space.encode(records.X), self._space.reference)

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
        if self.statistic not in ("distance", "ratio", "gen_lra"):
            return 0.0
        return self.score_samples(records).mean()
