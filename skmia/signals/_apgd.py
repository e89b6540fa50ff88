"""Auto-PGD: ascent of the loss inside a ball, with step sizes that halve automatically.

Croce, F. and Hein, M. (2020). Reliable evaluation of adversarial robustness with an ensemble of
diverse parameter-free attacks. ICML. The sparse steps for l1 follow Croce and Hein (2021).
"""

import numpy as np

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


class _Ascent:
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

    Parameters
    ----------
    boundary : _Boundary
        Records of the chunk and queries to the victim.
    climb : callable
        Function of points and rows that returns the objective to maximize and its gradient.
    rows : ndarray of shape (m,), dtype int
        Records to start from.
    radius : ndarray of shape (m,)
        Radius of each ball.
    norm : {"l1", "l2", "linf"}
        Norm that defines the balls.
    n_steps : int
        Number of steps.

    Returns
    -------
    points : ndarray of shape (m, n_features)
        The misclassified point with the largest loss.
    found : ndarray of shape (m,), dtype bool
        Whether there is one.
    """
    state = _Ascent(boundary, climb, rows, radius, norm)
    checkpoints, last = _choose_checkpoints(n_steps), 0
    for k in range(1, n_steps + 1):
        state.step(is_first=k == 1)
        if k in checkpoints:
            state.reconsider(k - last)
            last = k
    return state.adversarial, state.found
