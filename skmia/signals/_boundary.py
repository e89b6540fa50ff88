"""Signal of the distance to the decision boundary, from predicted labels only."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from sklearn.utils import gen_batches

from .._core.numbers import check_count
from .._core.randomness import check_seed
from ._base import VictimSignal
from .changes import as_numbers, as_scale, check_scale, is_right

# Number of changed rows per query of the victim.
_ROWS = 50_000

# Number of lines along which a first misclassified point is searched, in both directions, and the
# radii tried.
_LINES, _RADII = 2, 2.0 ** np.arange(-3, 7)

# Number of halvings of the step along the estimated gradient.
_BACKTRACKS = 5

# Number of probes of the first gradient estimate.
_PROBES = 25


def _unit(vectors):
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


@dataclass
class _Search:
    """Steps from records to misclassified points, in units of the scale, and the queries so far."""

    victim: object
    restore: object
    shape: tuple
    scale: np.ndarray
    dtype: np.dtype
    origin: np.ndarray
    y: np.ndarray
    step: np.ndarray = field(init=False)
    used: np.ndarray = field(init=False)

    def __post_init__(self):
        self.step = np.zeros(self.origin.shape)
        self.used = np.zeros(len(self.origin), dtype=int)

    @property
    def distance(self):
        return np.linalg.norm(self.step, axis=1)

    def is_wrong(self, steps, rows):
        """Whether each of the same number of points around each record is misclassified.

        ``steps`` has the shape (n_rows, n_points, n_features).
        """
        wrong = np.empty(steps.shape[:2], dtype=bool)
        batches = gen_batches(len(rows), max(1, _ROWS // steps.shape[1])) if len(rows) else ()
        for some in batches:
            points = self.origin[rows[some], None] + steps[some] * self.scale
            points = points.reshape(-1, *self.shape).astype(self.dtype)
            y = np.repeat(self.y[rows[some]], steps.shape[1])
            right = is_right(
                self.victim, self.restore(points), y, f"Signal {BoundaryDistance.name!r}"
            )
            wrong[some] = ~right.reshape(-1, steps.shape[1])
        self.used[rows] += steps.shape[1]
        return wrong

    def start(self, rng):
        """Search for a misclassified point at growing distances; return the rows that have one."""
        n_features = self.origin.shape[1]
        lines = _unit(rng.normal(size=(_LINES, n_features)))
        rays = np.concatenate([lines, -lines])
        todo = np.arange(len(self.origin))
        todo = todo[~self.is_wrong(np.zeros((len(todo), 1, n_features)), todo)[:, 0]]
        found = []
        for radius in np.sqrt(n_features) * _RADII:
            wrong = self.is_wrong(np.broadcast_to(radius * rays, (len(todo), *rays.shape)), todo)
            hit = wrong.any(axis=1)
            self.step[todo] = radius * rays[wrong.argmax(axis=1)]  # the last one is the farthest
            found.append(todo[hit])
            todo = todo[~hit]
        return np.sort(np.concatenate(found))

    def shorten(self, steps, rows, n_halvings):
        """Return the steps to the boundary on the way to misclassified points, just beyond it."""
        near, far = np.zeros((len(rows), 1)), np.ones((len(rows), 1))
        for _ in range(n_halvings):
            middle = (near + far) / 2
            wrong = self.is_wrong((middle * steps)[:, None], rows)
            near, far = np.where(wrong, near, middle), np.where(wrong, middle, far)
        return far * steps

    def estimate_gradient(self, rows, probes):
        """Estimate the normal direction of the boundary from labels around the nearest point."""
        radius = self.distance[rows] / self.origin.shape[1]
        gradient = np.empty((len(rows), probes.shape[1]))
        for some in gen_batches(len(rows), max(1, _ROWS // len(probes))):
            around = self.step[rows[some], None] + radius[some, None, None] * probes
            sign = np.where(self.is_wrong(around, rows[some]), 1.0, -1.0)
            mean = sign.mean(axis=1, keepdims=True)
            sign = np.where(np.abs(mean) < 1, sign - mean, sign)
            gradient[some] = sign @ probes
        return _unit(gradient)

    def advance(self, rows, gradient, length):
        """Move along the gradient as far as the point stays misclassified."""
        steps, todo = self.step[rows].copy(), np.arange(len(rows))
        for _ in range(_BACKTRACKS):
            further = self.step[rows[todo]] + length[todo, None] * gradient[todo]
            wrong = self.is_wrong(further[:, None], rows[todo])[:, 0]
            steps[todo[wrong]] = further[wrong]
            todo = todo[~wrong]
            if not len(todo):
                break
            length = length / 2
        return steps


@dataclass(frozen=True)
class BoundaryDistance(VictimSignal):
    r"""Distance to a record that the victim misclassifies, found from predicted labels only.

    The distance is Euclidean, in units of ``scale``, and 0 for a record that is itself
    misclassified. It belongs to a point that the victim was queried for and misclassified, so it is
    never below the distance to the boundary; how far above depends on ``max_queries``. If no
    misclassified point is found along two random lines through the record, it is the largest radius
    tried, :math:`64 \sqrt d` for d features.

    The search is HopSkipJump: it repeatedly bisects the segment to a misclassified point, estimates
    the direction of the boundary from the labels of points around it, and moves along this
    direction. All records use the same random directions, so that a score depends only on the
    record.

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        Unit of the features, one for all or one per feature; 1 for standardized features.
    max_queries : int, default=1000
        Maximum number of queries per record, at least 150.
    random_state : int, default=0
        Controls the directions.

    See Also
    --------
    LabelRobustness : Share of random changes that keep the label, with fewer queries.
    AdversarialDistance : Distance found by gradients, which is shorter.

    Notes
    -----
    Sources: Chen, Jordan and Wainwright (2020) for the search; Choquette-Choo et al. (2021) and Li
    and Zhang (2021) for its use.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import BoundaryDistance
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> victim = LogisticRegression().fit(X, y)
    >>> BoundaryDistance(max_queries=150).of(victim, Records(X, y)).round(2)
    array([2., 1., 1., 2.])
    """

    scale: float | Sequence[float] = 1.0
    max_queries: int = 1000
    random_state: int = 0
    name = "boundary_distance"
    reads = ("proba", "logits", "decision", "label")

    def __post_init__(self):
        check_scale(self.scale)
        check_count(self.max_queries, "max_queries", low=150)
        check_seed(self.random_state)

    def _inspect(self, victim, records):
        return self._search(victim, records).distance

    def _search(self, victim, records):
        X, restore = as_numbers(records.X, f"Signal {self.name!r}")
        scale = as_scale(self.scale, X.shape[1:], f"signal {self.name!r}").ravel()
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(float)
        origin = X.reshape(len(X), -1)
        search = _Search(victim, restore, X.shape[1:], scale, dtype, origin, records.y)
        rng = np.random.RandomState(self.random_state)
        # At least as fine as the published tolerance of d^(-3/2), and finer for few features.
        n_halvings = max(10, int(np.ceil(1.5 * np.log2(max(1, origin.shape[1])))))
        rows = search.start(rng)
        search.step[rows] = search.shorten(search.step[rows], rows, n_halvings)
        for number in count(1):
            n_probes = int(_PROBES * np.sqrt(number))
            probes = _unit(rng.normal(size=(n_probes, origin.shape[1])))
            cost = n_probes + _BACKTRACKS + n_halvings
            rows = rows[search.used[rows] + cost <= self.max_queries]
            if not len(rows):
                break
            gradient = search.estimate_gradient(rows, probes)
            steps = search.advance(rows, gradient, search.distance[rows] / np.sqrt(number))
            steps = search.shorten(steps, rows, n_halvings)
            nearer = np.linalg.norm(steps, axis=1) < search.distance[rows]
            search.step[rows[nearer]] = steps[nearer]
        return search
