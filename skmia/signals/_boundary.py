"""Distances to the decision boundary: from predicted labels alone, and by gradients."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Literal

import numpy as np
from sklearn.utils import gen_batches

from .._core.metric_inputs import check_option
from .._core.numbers import SMALLEST, as_numbers, check_count, check_number, show
from .._core.query import CHUNK
from .._core.randomness import check_seed
from ..victims import open_white_box
from ._base import VictimSignal
from ._perturbation import as_rows_of_numbers, as_scale, check_scale, is_right

# The ascent of AdversarialDistance, Auto-PGD: Croce, F. and Hein, M. (2020). Reliable evaluation of
# adversarial robustness with an ensemble of diverse parameter-free attacks. ICML. The sparse steps
# for l1 follow Croce and Hein (2021).
_MOMENTUM = 0.75
_LEAST_SHARE = 0.75  # of steps that raised the loss, below which the step size halves
_SPARSITY = 0.2  # share of features that an l1 step changes at first


def compute_norm(perturbation, norm):
    """Compute the norm of each row."""
    return np.linalg.norm(perturbation, ord={"l1": 1, "l2": 2, "linf": np.inf}[norm], axis=1)


def _choose_checkpoints(n_steps):
    """Return the steps at which the step size is reconsidered."""
    shares, checkpoints = [0.0, 0.22], []
    while shares[-1] < 1:
        shares.append(shares[-1] + max(shares[-1] - shares[-2] - 0.03, 0.06))
    for share in shares[1:]:
        step = int(np.ceil(round(share * n_steps, 9)))
        if step < n_steps and step not in checkpoints:
            checkpoints.append(step)
    return checkpoints


def _project_l1(perturbation, radius):
    """Project onto the l1 ball by soft thresholding."""
    size = np.abs(perturbation)
    outside = size.sum(axis=1) > radius
    if not outside.any():
        return perturbation
    ordered = -np.sort(-size[outside], axis=1)
    excess = ordered.cumsum(axis=1) - radius[outside, None]
    count = np.arange(1, ordered.shape[1] + 1)
    last = (ordered * count > excess).sum(axis=1) - 1
    threshold = np.take_along_axis(excess, last[:, None], axis=1) / (last + 1)[:, None]
    projected = perturbation.copy()
    shrunk = np.maximum(size[outside] - threshold, 0)
    projected[outside] = np.sign(perturbation[outside]) * shrunk
    return projected


def _project(points, origin, radius, norm, bounds):
    """Move points into the ball and the box; for l1 and l2, not exactly to the nearest point."""
    step = points - origin
    if norm == "linf":
        step = np.clip(step, -radius[:, None], radius[:, None])
    elif norm == "l2":
        length = np.linalg.norm(step, axis=1)
        step *= np.minimum(1, radius / np.maximum(length, 1e-300))[:, None]
    else:
        step = _project_l1(step, radius)
    points = origin + step
    # The move is towards the record, which lies in the box, so points stay in the ball.
    return points if bounds is None else np.clip(points, *bounds)


def _compute_direction(gradient, norm, n_changed):
    """Return the step of norm 1 along which the loss rises most; for l1, along several features."""
    if norm == "linf":
        return np.sign(gradient)
    if norm == "l2":
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        return gradient / np.maximum(length, np.finfo(gradient.dtype).tiny)
    size = np.abs(gradient)
    rank = np.argsort(np.argsort(-size, axis=1), axis=1)
    chosen = (rank < n_changed[:, None]) & (size > 0)
    return np.sign(gradient) * chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)


class _BoundaryAscent:
    """State of the search, one row per record."""

    def __init__(self, boundary, climb, rows, radius, norm):
        self.boundary, self.climb, self.rows, self.norm = boundary, climb, rows, norm
        self.origin = boundary.origin[rows]
        self.radius = radius.astype(self.origin.dtype)
        self.eta = 2 * self.radius
        n_features = self.origin.shape[1]
        self.n_changed = np.full(len(rows), max(1, int(_SPARSITY * n_features)))
        self.points = self.last = self.origin
        self.loss, self.gradient = climb(self.origin, rows)
        self.best, self.best_loss, self.best_gradient = self.points, self.loss, self.gradient
        self.adversarial = self.origin.copy()
        self.found = np.zeros(len(rows), dtype=bool)
        self.adversarial_loss = np.full(len(rows), -np.inf)
        self.n_raised = np.zeros(len(rows), dtype=int)
        self.loss_before, self.eta_before = self.best_loss, self.eta

    def project(self, points):
        return _project(points, self.origin, self.radius, self.norm, self.boundary.bounds)

    def step(self, is_first):
        direction = _compute_direction(self.gradient, self.norm, self.n_changed)
        ahead = self.project(self.points + self.eta[:, None] * direction.astype(self.origin.dtype))
        if not is_first:
            inertia = (1 - _MOMENTUM) * (self.points - self.last)
            ahead = self.project(self.points + _MOMENTUM * (ahead - self.points) + inertia)
        self.last, self.points = self.points, ahead
        loss, self.gradient = self.climb(ahead, self.rows)
        self.n_raised += loss > self.loss
        self.loss = loss
        better = loss > self.best_loss
        self.best = np.where(better[:, None], ahead, self.best)
        self.best_gradient = np.where(better[:, None], self.gradient, self.best_gradient)
        self.best_loss = np.where(better, loss, self.best_loss)
        keep = self.boundary.is_wrong(ahead, self.rows) & (loss > self.adversarial_loss)
        self.found |= keep
        self.adversarial[keep] = ahead[keep]
        self.adversarial_loss = np.where(keep, loss, self.adversarial_loss)

    def reconsider(self, n_steps):
        """Halve the steps and return to the best point where the loss has stopped rising."""
        stuck = self.n_raised < _LEAST_SHARE * n_steps
        stuck |= (self.eta == self.eta_before) & (self.best_loss == self.loss_before)
        self.loss_before, self.eta_before = self.best_loss, self.eta
        self.eta = np.where(stuck, self.eta / 2, self.eta)
        self.points = np.where(stuck[:, None], self.best, self.points)
        self.last = np.where(stuck[:, None], self.best, self.last)
        self.gradient = np.where(stuck[:, None], self.best_gradient, self.gradient)
        self.loss = np.where(stuck, self.best_loss, self.loss)
        self.n_raised = np.zeros_like(self.n_raised)
        if self.norm == "l1":
            n_changed = (self.best != self.origin).sum(axis=1) / 1.5
            self.n_changed = np.clip(n_changed.astype(int), 1, self.n_changed)


def ascend(boundary, climb, rows, radius, norm, n_steps):
    """Search for misclassified points with a large loss, each within a radius of its record.

    Return points of shape (m, n_features).
    """
    state = _BoundaryAscent(boundary, climb, rows, radius, norm)
    checkpoints, last = _choose_checkpoints(n_steps), 0
    for k in range(1, n_steps + 1):
        state.step(is_first=k == 1)
        if k in checkpoints:
            state.reconsider(k - last)
            last = k
    return state.adversarial, state.found


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
class _BoundarySearch:
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
        """Return whether each of the same number of points around each record is misclassified.

        steps has the shape (n_rows, n_points, n_features).
        """
        wrong = np.empty(steps.shape[:2], dtype=bool)
        batches = gen_batches(len(rows), max(1, CHUNK // steps.shape[1])) if len(rows) else ()
        for some in batches:
            points = self.origin[rows[some], None] + steps[some] * self.scale
            points = points.reshape(-1, *self.shape).astype(self.dtype)
            y = np.repeat(self.y[rows[some]], steps.shape[1])
            who = f"Signal {BoundaryDistance.name!r}"
            right = is_right(self.victim, self.restore(points), y, who)
            wrong[some] = ~right.reshape(-1, steps.shape[1])
        self.used[rows] += steps.shape[1]
        return wrong

    def start(self, rng):
        """Search for a misclassified point at growing distances; return the rows that have one."""
        n_features = self.origin.shape[1]
        lines = _unit(rng.normal(size=(_LINES, n_features)))
        rays = np.concatenate([lines, -lines])
        todo = np.arange(len(self.origin))
        todo = todo[~self.is_wrong(np.zeros((len(todo), 1, n_features)), todo).ravel()]
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
        for some in gen_batches(len(rows), max(1, CHUNK // len(probes))):
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
            wrong = self.is_wrong(further[:, None], rows[todo]).ravel()
            steps[todo[wrong]] = further[wrong]
            todo = todo[~wrong]
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
        super().__post_init__()

    def _inspect(self, victim, records):
        return self._search(victim, records).distance

    def _search(self, victim, records):
        X, restore = as_rows_of_numbers(records.X, f"Signal {self.name!r}")
        scale = as_scale(self.scale, X.shape[1:], f"signal {self.name!r}").ravel()
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(float)
        origin = X.reshape(len(X), -1)
        search = _BoundarySearch(victim, restore, X.shape[1:], scale, dtype, origin, records.y)
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


# Number of values in one array of a chunk of records; the search holds about ten such arrays.
_CELLS = 1 << 22

# Number of halvings of the segment between a record and a misclassified point.
_HALVINGS = 12

# Number of most probable classes that are candidates for the nearest class.
_CANDIDATES = 9

_DUALS = {"l1": "linf", "l2": "l2", "linf": "l1"}
_NORMS = ("l1", "l2", "linf")
_MODES = ("min", "fixed_eps")


def _diameter(norm, shape):
    """Return the diameter of the unit cube, with the channels of an image counted as one."""
    n_places = int(np.prod(shape[1:])) if len(shape) == 3 else int(np.prod(shape))
    return float({"linf": 1, "l2": np.sqrt(n_places), "l1": n_places}[norm])


def compute_margin(white_box, points, label, other=None):
    """By how much the logit of the label exceeds another, or all others, and its gradient."""
    logits, row = white_box.logits(points), np.arange(len(points))
    own = logits[row, label]
    logits[row, label] = -np.inf
    other = logits.argmax(axis=1) if other is None else other
    weights = np.zeros_like(logits)
    weights[row, label], weights[row, other] = 1, -1
    return own - logits[row, other], white_box.logit_gradient(points, weights)


class _DecisionBoundary:
    """Flattened records of one chunk, and queries about points around them."""

    def __init__(self, white_box, inputs, y, label, bounds):
        self.white_box, self.y = white_box, y
        self.shape, self.bounds = inputs.shape[1:], bounds
        self.origin = inputs.reshape(len(inputs), -1)
        self.label = label

    def is_wrong(self, points, rows=slice(None)):
        logits = self.white_box.logits(points.reshape(-1, *self.shape))
        return logits.argmax(axis=1) != self.label[rows]

    def cross_entropy(self, points, rows):
        """Return the objective for fixed radii: the loss and its gradient."""
        given = points.reshape(-1, *self.shape)
        loss, gradient = self.white_box.input_gradient(given, self.y[rows])
        return loss, gradient.reshape(points.shape)

    def margin(self, points, rows, other=None):
        """Return the objective for the smallest distance: another logit minus the label's logit."""
        given = points.reshape(-1, *self.shape)
        margin, gradient = compute_margin(self.white_box, given, self.label[rows], other)
        return -margin, -gradient.reshape(points.shape)

    def find_nearest_classes(self, rows, norm):
        """Return the class that each record would reach first if the victim were linear."""
        points = self.origin[rows]
        logits = self.white_box.logits(points.reshape(-1, *self.shape))
        logits[np.arange(len(rows)), self.label[rows]] = -np.inf
        candidates = np.argsort(-logits, axis=1)[:, : min(_CANDIDATES, logits.shape[1] - 1)]
        distances = []
        for other in candidates.T:
            margin, gradient = self.margin(points, rows, other)
            slope = compute_norm(gradient, _DUALS[norm])
            distances.append(-margin / np.maximum(slope, np.finfo(slope.dtype).tiny))
        return candidates[np.arange(len(rows)), np.argmin(distances, axis=0)]

    def approach(self, wrong, rows):
        """Return the nearest misclassified point found between each record and a wrong point."""
        near, far = np.zeros(len(rows)), np.ones(len(rows))
        step = wrong - self.origin[rows]
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            points = self.origin[rows] + middle[:, None].astype(step.dtype) * step
            is_wrong = self.is_wrong(points, rows)
            far, near = np.where(is_wrong, middle, far), np.where(is_wrong, near, middle)
        return self.origin[rows] + far[:, None].astype(step.dtype) * step


def check_bounds(bounds):
    """Check the smallest and the largest value of a feature."""
    ends = as_numbers(bounds, "bounds", "two numbers")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"bounds must be two numbers, the smaller one first; got {show(bounds)}.")


@dataclass(frozen=True)
class AdversarialDistance(VictimSignal):
    r"""Distance to a record that the victim misclassifies, found by gradients.

    The distance is 0 for a record that is itself misclassified. ``mode="min"`` searches for the
    smallest distance, by bisection over the radius and along the segment; ``"fixed_eps"`` is the
    published strategy, the distance of the point with the largest loss inside a fixed ball, which
    says little about the smallest distance. Points are found by Auto-PGD on the cross-entropy,
    started at the record. If no point is found, the distance is ``eps``. The name is
    ``"adversarial_distance_linf"`` for ``norm="linf"``, and so on.

    Distances are measured in the input of the last step of the victim, which should be scaled to
    [0, 1].

    Parameters
    ----------
    norm : {"l1", "l2", "linf"}, default="linf"
        Norm of the perturbation.
    mode : {"min", "fixed_eps"}, default="min"
        Which distance is computed.
    eps : float, default=None
        Largest radius. If None, 1 for ``"linf"``, :math:`\sqrt d` for ``"l2"`` and :math:`d` for
        ``"l1"``, with :math:`d` the number of features or of pixels.
    bounds : tuple of two floats, default=None
        Smallest and largest value of a feature, such as (0, 1) for images. If None, features are
        not bounded.
    n_steps : int, default=20
        Number of steps of Auto-PGD per radius.
    n_rounds : int, default=8
        Number of radii tried by ``mode="min"``.

    Notes
    -----
    Source: del Grosso, Jalalzai, Pichler, Palamidessi and Piantanida (2022), who ran an ensemble of
    attacks (Croce and Hein, 2020). This is its first member; the others run on records for which it
    found no point, which none was within the published radii, the defaults of ``eps``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import AdversarialDistance
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> victim = LogisticRegression().fit(X, y)
    >>> AdversarialDistance(eps=10.0).of(victim, Records(X, y)).round(2)
    array([2., 1., 1., 2.])
    """

    norm: Literal["l1", "l2", "linf"] = "linf"
    mode: Literal["min", "fixed_eps"] = "min"
    eps: float | None = None
    bounds: tuple[float, float] | None = None
    n_steps: int = 20
    n_rounds: int = 8
    reads = ("proba", "logits")
    access = ("gradients",)

    def __post_init__(self):
        check_option(self.norm, "norm", _NORMS)
        check_option(self.mode, "mode", _MODES)
        if self.eps is not None:
            check_number(self.eps, "eps", "above 0", SMALLEST)
        if self.bounds is not None:
            check_bounds(self.bounds)
        check_count(self.n_steps, "n_steps")
        check_count(self.n_rounds, "n_rounds")
        super().__post_init__()

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"adversarial_distance_{self.norm}"

    def _inspect(self, victim, records):
        white_box = open_white_box(victim)
        if white_box.classes is None:
            raise ValueError(f"Signal {self.name!r} needs a classifier; got a regressor.")
        inputs = white_box.encode(records.X)
        label = white_box.outputs(inputs).label_index(records.y)
        eps = _diameter(self.norm, inputs.shape[1:]) if self.eps is None else float(self.eps)
        search = self._find_smallest if self.mode == "min" else self._find_in_ball
        distance = np.zeros(len(inputs))
        size = max(1, _CELLS // max(1, int(np.prod(inputs.shape[1:]))))
        for rows in gen_batches(len(inputs), size):
            given = inputs[rows], records.y[rows], label[rows]
            boundary = _DecisionBoundary(white_box, *given, self.bounds)
            right = np.flatnonzero(~boundary.is_wrong(boundary.origin))
            if len(right):
                distance[rows][right] = search(boundary, right, eps)
        return distance

    def _find_in_ball(self, boundary, rows, eps):
        radius = np.full(len(rows), eps)
        climb = boundary.cross_entropy
        points, found = ascend(boundary, climb, rows, radius, self.norm, self.n_steps)
        return np.where(found, compute_norm(points - boundary.origin[rows], self.norm), eps)

    def _find_smallest(self, boundary, rows, eps):
        shortest, failed = np.full(len(rows), eps), np.zeros(len(rows))
        nearest_class = boundary.find_nearest_classes(rows, self.norm)
        climbs = partial(boundary.margin, other=nearest_class), boundary.margin
        radius = shortest.copy()
        for k in range(self.n_rounds):
            points, found = ascend(boundary, climbs[k % 2], rows, radius, self.norm, self.n_steps)
            hits = np.flatnonzero(found)
            if len(hits):
                nearest = boundary.approach(points[hits], rows[hits])
                length = compute_norm(nearest - boundary.origin[rows[hits]], self.norm)
                shortest[hits] = np.minimum(shortest[hits], length)
            failed = np.where(found, failed, radius)
            # A failure at some radius does not prove that nothing is there.
            failed = np.minimum(failed, shortest)
            radius = (failed + shortest) / 2
        return shortest
