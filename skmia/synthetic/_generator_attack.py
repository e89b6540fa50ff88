"""Membership attacks on a model that generates rows."""

from collections.abc import Callable
from numbers import Real
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

from .._core.needs import ANY, Needs
from .._core.query import check_generator, draw_samples
from .._core.randomness import derive_random_state
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import Seed
from ..base import BaseAttack
from ._neighbors import TIE, GowerSpace, as_points, find_nearest, find_own

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


_SHRINKAGE = 0.05
_BLOCK = 2_000_000


class CopulaScore:
    """Logarithm of the ratio of two densities with a Gaussian copula and kernel marginals."""

    def __init__(self, space):
        if space.is_categorical:
            raise ValueError(
                "statistic='copula' needs columns of numbers; use 'classifier' or 'domias' for "
                "tables with categories."
            )
        widths = [_choose_width(column) for column in space.reference.T]
        self._made, self._known = (_TableCopula(rows, widths) for rows in space.tables)

    def __call__(self, points):
        return self._made.log_density(points) - self._known.log_density(points)


class _TableCopula:
    """Density of one table."""

    def __init__(self, rows, widths):
        self._columns, self._widths = [np.sort(column) for column in rows.T], widths
        normal = self._as_normal(rows)
        spread = normal.std(axis=0)
        normal = (normal - normal.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        correlation = (1 - _SHRINKAGE) * normal.T @ normal / len(rows)
        np.fill_diagonal(correlation, 1.0)
        self._log_volume = np.linalg.slogdet(correlation)[1]
        self._form = np.linalg.inv(correlation) - np.eye(len(correlation))

    def log_density(self, points):
        """Return the logarithm of the density, up to a constant that both tables share."""
        normal = self._as_normal(points)
        bent = np.einsum("ni,ij,nj->n", normal, self._form, normal)
        total = -(self._log_volume + bent) / 2
        for column, width, values in zip(self._columns, self._widths, points.T):
            step = max(1, _BLOCK // len(column))
            for start in range(0, len(values), step):
                gap = (values[start : start + step, None] - column) / width
                total[start : start + step] += logsumexp(-(gap**2) / 2, axis=1)
        return total - len(self._columns) * np.log(len(self._columns[0]))

    def _as_normal(self, points):
        """Return normal scores of the mid-ranks among the rows of the table."""
        scores = []
        for column, values in zip(self._columns, points.T):
            rank = np.searchsorted(column, values) + np.searchsorted(column, values, "right")
            scores.append(norm.ppf((rank / 2 + 0.5) / (len(column) + 1)))
        return np.stack(scores, axis=1)


def _choose_width(values):
    """Return Silverman's width of a normal kernel; 1 for a constant column."""
    low, high = np.quantile(values, [0.25, 0.75])
    spreads = [spread for spread in (values.std(), (high - low) / 1.34) if spread > 0]
    return 0.9 * min(spreads) * len(values) ** -0.2 if spreads else 1.0


# Distances are compared as if each were longer by this share of a typical one, so that a copy with
# rounded cells counts as much as an exact one.
_NEAR = 0.02


class DistanceDifference:
    """Log of the distance to the nearest reference row minus that to the nearest synthetic row.

    All rows are searched, as a single copy may be any of them. Among more rows the nearest one is
    nearer, which `find_offset` tells.
    """

    def __init__(self, space):
        n = min(map(len, space.tables))
        self._space = space
        self._thinned = [
            rows if len(rows) == n else rows[space.random_state.permutation(len(rows))[:n]]
            for rows in space.tables
        ]
        typical = np.median(space.nearest(space.reference, space.synthetic))
        self._near = max(_NEAR * typical, _TINY)

    def __call__(self, points):
        return self._compare(points, *self._space.tables)

    def find_offset(self, points):
        """Return by how much the median score is above that among as many rows of both tables."""
        if len(set(map(len, self._space.tables))) == 1:
            return 0.0
        return float(np.median(self(points)) - np.median(self._compare(points, *self._thinned)))

    def _compare(self, points, made, known):
        made, known = (
            np.log(self._space.nearest(points, rows) + self._near) for rows in (made, known)
        )
        return known - made


class NeighborhoodShare:
    """Share of the synthetic rows minus share of the reference rows within a radius.

    The radius is the median distance of reference rows from the nearest synthetic row.
    """

    def __init__(self, space):
        self._space = space
        radius = float(np.median(space.nearest(space.reference, space.synthetic)))
        self._reach = radius * (1 + TIE)

    def __call__(self, points):
        made, known = (
            [(block <= self._reach).mean(axis=1) for block in self._space.iter_from(points, rows)]
            for rows in self._space.tables
        )
        return np.concatenate(made) - np.concatenate(known)


class RareCopies:
    """Distance from the reference rows of a record that is a synthetic row; 0 for other records."""

    def __init__(self, space):
        self._space = space
        self._least = TIE * max(float(np.abs(space.synthetic).max()), np.finfo(float).tiny)

    def __call__(self, points):
        made, known = (self._space.nearest(points, rows) for rows in self._space.tables)
        return np.where(made <= self._least, known, 0.0)


class DensityRatio:
    """Logarithm of the ratio of the densities of synthetic and of reference rows.

    One bandwidth for both. The published form, a ratio of densities, is 0 / 0 for records far from
    all rows.
    """

    def __init__(self, space):
        self._space = space

    def __call__(self, points):
        tables = self._space.tables
        made, known = (_log_sums(self._space, points, t) - np.log(len(t)) for t in tables)
        return made - known


class LikelihoodRatio:
    """Likelihood of the nearest synthetic rows with the record among the reference rows, or not.

    A kernel density of n rows and the record is n / (n + 1) of the density of the n rows, plus the
    kernel of the record: nothing is refitted.
    """

    def __init__(self, space):
        self._space = space
        self._k = min(space.n_neighbors, len(space.synthetic))
        self._known = _log_sums(space, space.synthetic, space.reference)

    def __call__(self, points):
        space, n = self._space, len(self._space.reference)
        scores = []
        for block in space.iter_from(points, space.synthetic):
            nearest = np.argpartition(block, self._k - 1, axis=1)[:, : self._k]
            own = space.log_kernel(np.take_along_axis(block, nearest, axis=1))
            scores.append(np.logaddexp(0, own - self._known[nearest]).sum(axis=1))
        return np.concatenate(scores) + self._k * np.log(n / (n + 1))


def _log_sums(space, points, rows):
    """Return the logarithm of the sum of the kernels of rows at each point."""
    blocks = space.iter_from(points, rows)
    return np.concatenate([logsumexp(space.log_kernel(block), axis=1) for block in blocks])


# Cells of a block of distances.
# Metrics of scikit-learn that scipy calls by another name.
_NAMES = {"gower": "cityblock", "manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}


class RowSpace:
    """Synthetic and reference rows as points; other rows have no part in the encoding."""

    names = "The table of synthetic rows", "reference"

    def __init__(self, synthetic, reference, metric, bandwidth, n_neighbors, random_state):
        self.metric, self.n_neighbors, self.random_state = metric, n_neighbors, random_state
        self._metric = _NAMES.get(metric, metric) if isinstance(metric, str) else metric
        is_gower = metric == "gower"
        self._gower = GowerSpace((synthetic, reference), self.names) if is_gower else None
        self._frame = synthetic
        self.tables = (
            self._gower.tables if is_gower else (self.encode(synthetic), self.encode(reference, 1))
        )
        self.synthetic, self.reference = self.tables
        self.is_categorical = is_gower and self._gower.encoder.is_categorical_.any()
        self._bandwidth = bandwidth

    def encode(self, X, place=None):
        """Return the points of a table; ``place`` is its name."""
        name = "The table of records" if place is None else self.names[place]
        if self._gower is not None:
            return self._gower.encode(X, name)
        tables, _ = as_points((self._frame, X), "manhattan", (self.names[0], name))
        return np.asarray(tables[1], dtype=float)

    @property
    def bandwidth(self):
        """Width of kernels, above 0."""
        if self._bandwidth is None:
            k = min(10, len(self.reference) - 1)
            tenth = [np.partition(d, k, axis=1)[:, k] for d in self.iter_from(self.reference)]
            found = float(np.median(np.concatenate(tenth))) if k else 0.0
            # Where more than half of the rows have ten copies, no distance is a scale.
            self._bandwidth = found or 1.0
        return self._bandwidth

    def iter_from(self, points, others=None):
        """Yield the blocks of distances of points from others, by default from the reference."""
        others = self.reference if others is None else others
        step = max(1, _BLOCK // len(others))
        for start in range(0, len(points), step):
            yield cdist(points[start : start + step], others, self._metric)

    def nearest(self, points, others):
        """Return the distance of each point from the nearest of the others."""
        return np.concatenate([block.min(axis=1) for block in self.iter_from(points, others)])

    def log_kernel(self, distances):
        """Return the logarithm of the kernel, 0 at distance 0.

        Normal, or exponential in Gower's distance.
        """
        if self.metric == "gower":
            return -distances / self.bandwidth
        return -((distances / self.bandwidth) ** 2) / 2


# By the name of the statistic; an entry is a class whose instances are called with points.
SCORES = {
    "distance_difference": DistanceDifference,
    "neighborhood": NeighborhoodShare,
    "rare_copies": RareCopies,
    "domias": DensityRatio,
    "gen_lra": LikelihoodRatio,
    "copula": CopulaScore,
    "classifier": ClassifierScore,
}


_TINY = np.finfo(float).tiny
# Statistics that are exactly 0 for records of which they find nothing.
_TYING = "rare_copies", "neighborhood"


def score_by_each(statistics, synthetic, reference, rows, random_state):
    """Yield the scores of rows by each statistic, in one encoding of the tables.

    They are those of :class:`GeneratorAttack` with ``metric="gower"``.
    """
    space = RowSpace(synthetic, reference, "gower", None, GeneratorAttack().n_neighbors, None)
    points = space.encode(rows)
    for statistic in statistics:
        space.random_state = _seed_statistic(random_state, statistic)
        yield SCORES[statistic](space)(points)


def _seed_statistic(random_state, statistic):
    return derive_random_state(random_state, f"GeneratorAttack {statistic}")


class GeneratorAttack(BaseAttack):
    """Attack that flags records with generated rows nearby.

    The attack only needs rows from the generator.

    Parameters
    ----------
    victim : fitted generator or Records
        Generator with a method ``sample(n_samples)`` that returns rows, or rows and labels; or
        released rows as :class:`~skmia.Records`. Columns of DataFrames are compared by name.
    statistic : {"distance", "ratio", "density_ratio", "domias", ...}, default="density_ratio"
        ``"distance"``: minus the distance to the closest synthetic row. ``"ratio"``: minus that
        distance as a share of the distance to the second closest, which is small where a single row
        sticks to the record. ``"density_ratio"``: logarithm of how much denser synthetic rows lie
        around the record than the records given to ``fit`` do, both by the distance of the
        ``n_neighbors``-th neighbor; a record of ``fit`` with equal features is the record itself,
        whatever its label. The others compare synthetic rows with those of ``reference``,
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
        given to ``fit`` for ``"distance"``, ``"ratio"`` and ``"gen_lra"``. For
        ``"distance_difference"`` it is the difference of their median to that among as many
        synthetic as reference rows, and 0 otherwise. Of ``"neighborhood"`` and ``"rare_copies"``,
        which are 0 for most records, only numbers above 0 count.
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

    * ``"distance_difference"``: logarithm of the distance to the nearest reference row minus that
      of the distance to the nearest synthetic row, each longer by 2% of a typical one; the
      threshold allows for the numbers of rows.
    * ``"neighborhood"``: share of the synthetic minus share of the reference rows within a radius.
    * ``"domias"``: logarithm of the ratio of two kernel densities. The kernel is normal, for
      ``metric="gower"`` exponential. With more than about ten columns this is a smooth distance and
      not a density.
    * ``"gen_lra"``: by how much the likelihood of the ``n_neighbors`` nearest synthetic rows grows
      if the record is added to the reference rows.
    * ``"copula"``: logarithm of the ratio of two densities with a Gaussian copula and kernel
      marginals; columns of numbers only.
    * ``"classifier"``: log odds of a random forest that distinguishes synthetic from
      reference rows.
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
    >>> from sklearn.neighbors import KernelDensity
    >>> from skmia import Records
    >>> from skmia.synthetic import GeneratorAttack
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> records, membership = Records(X, np.zeros(200)), np.arange(200) < 100
    >>> generator = KernelDensity(bandwidth=0.1).fit(X[membership])
    >>> attack = GeneratorAttack(generator, random_state=0).fit(records)
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
        random_state = _seed_statistic(self.random_state, self.statistic)
        self.synthetic_ = self._draw(len(records), random_state)
        self._reference, self._score, self._space = None, None, None
        breaks_ties = self.statistic == "distance" and self.reference is not None
        if self.statistic in SCORES or breaks_ties:
            self._compare_with_reference(random_state)
        if self.statistic == "density_ratio":
            few = min(len(records) - 1, len(self.synthetic_))
            if self.n_neighbors > few:
                raise ValueError(
                    f"n_neighbors={self.n_neighbors} needs that many synthetic rows and one record "
                    f"more in fit; got {len(self.synthetic_)} rows and {len(records)} records."
                )
            self._reference = records
        # Records that do not fit the synthetic rows are refused here.
        _ = self._as_points(records) if self._score is None else self._space.encode(records.X)

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
        settings = self.metric, self.bandwidth, self.n_neighbors, random_state
        self._space = RowSpace(self.synthetic_, self.reference.X, *settings)
        if self.statistic in SCORES:
            self._score = SCORES[self.statistic](self._space)

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
        """Return differences too small to change the order of other distances.

        0 without reference.
        """
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
        # A record is not its own neighbor, whatever its label and the type of its numbers.
        own = find_own(points, known, places)
        last = np.where(own, k, k - 1)
        real = distances[np.arange(len(points)), last]
        n_real, n_made = len(known) - own, len(synthetic)
        n_columns = points.shape[1]
        # Logarithm of (k / n) / r^d of either table.
        volumes = np.log(np.maximum(real, _TINY)) - np.log(np.maximum(made, _TINY))
        return n_columns * volumes + np.log(n_real) - np.log(n_made)

    def _natural_offset(self, records):
        if self.statistic == "distance_difference":
            return self._score.find_offset(self._space.encode(records.X))
        if self.statistic in _TYING:
            return np.nextafter(0.0, 1.0)
        if self.statistic not in ("distance", "ratio", "gen_lra"):
            return 0.0
        return self.score_samples(records).mean()
