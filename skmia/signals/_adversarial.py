"""Signals of the distance of a record to the victim's decision boundary."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from sklearn.utils import gen_batches

from .._core.checks import check_option
from .._core.numbers import SMALLEST, as_numbers, check_count, check_number, show
from ..victims import open_white_box
from ._apgd import ascend, compute_norm
from ._base import VictimSignal

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


class _Boundary:
    """Flattened records of one chunk, and queries about points around them."""

    def __init__(self, white_box, inputs, y, bounds):
        self.white_box, self.y = white_box, y
        self.shape, self.bounds = inputs.shape[1:], bounds
        self.origin = inputs.reshape(len(inputs), -1)
        self.label = np.searchsorted(white_box.classes, y)

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
        logits, row = self.white_box.logits(given), np.arange(len(rows))
        own = logits[row, self.label[rows]]
        logits[row, self.label[rows]] = -np.inf
        other = logits.argmax(axis=1) if other is None else other
        weights = np.zeros_like(logits)
        weights[row, other], weights[row, self.label[rows]] = 1, -1
        gradient = self.white_box.logit_gradient(given, weights)
        return logits[row, other] - own, gradient.reshape(points.shape)

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
    Source: del Grosso, Jalalzai, Pichler, Palamidessi and Piantanida (2022). They ran an ensemble
    of attacks (Croce and Hein, 2020), and this is its first member. Each further member is run on
    the records for which those before found no misclassified point. Within the published radii,
    which are the defaults of ``eps`` here, the first one finds a point for every record (300 images
    of CIFAR-10 on a convolutional net and 900 digits on a perceptron, in each norm), so that the
    others have nothing to do.

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

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"adversarial_distance_{self.norm}"

    def _inspect(self, victim, records):
        white_box = open_white_box(victim)
        if white_box.classes is None:
            raise ValueError(f"Signal {self.name!r} needs a classifier; got a regressor.")
        inputs = white_box.encode(records.X)
        white_box.loss(inputs[:1], records.y[:1])  # names an unknown label
        eps = _diameter(self.norm, inputs.shape[1:]) if self.eps is None else float(self.eps)
        search = self._find_smallest if self.mode == "min" else self._find_in_ball
        distance = np.zeros(len(inputs))
        size = max(1, _CELLS // max(1, int(np.prod(inputs.shape[1:]))))
        for rows in gen_batches(len(inputs), size):
            boundary = _Boundary(white_box, inputs[rows], records.y[rows], self.bounds)
            right = np.flatnonzero(~boundary.is_wrong(boundary.origin))
            if len(right):
                distance[rows][right] = search(boundary, right, eps)
        return distance

    def _find_in_ball(self, boundary, rows, eps):
        radius = np.full(len(rows), eps)
        points, found = ascend(
            boundary, boundary.cross_entropy, rows, radius, self.norm, self.n_steps
        )
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
