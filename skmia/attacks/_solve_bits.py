"""Solvers of linear equations for membership bits."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import lsqr

from .._core.probabilities import posterior_of

# Relative noise that is added to exact equations, so that they do not dominate all others.
NOISE = 1e-2
_N_STEPS = 15
_DAMPING = 0.3
_SETTLED = 2e-4  # mean change of the probabilities of membership per step, of the last step
_LEAST_PRECISION = 1e-3
_LEAST_VARIANCE = 1e-6
_N_SWEEPS = 60
_MOST_PROBES = 8
_N_PROBED = 8000  # records in all probes together
_MOST_KNOWN = 1 - 1e-9


class Solution(NamedTuple):
    """Solution of equations for membership bits.

    Attributes
    ----------
    ratios : ndarray of shape (n,)
        Log likelihood ratio of membership of each candidate.
    known : float
        Share of the information about the bits that the equations contain, in [0, 1]: without
        noise, their rank divided by the number of bits.
    residuals : ndarray of shape (n_equations,)
        Right-hand sides minus the part that the candidates explain.
    inverse : Squared, LowRank or None
        Covariance of the bits; None if it was too large to compute.
    """

    ratios: np.ndarray
    known: float
    residuals: np.ndarray
    inverse: object

    def judge(self, rows, columns):
        """Compute log likelihood ratios of further records, each as one more candidate.

        A further member adds its column to the right-hand sides. The residuals, given the solution
        for the candidates, show whether the column is contained in them.

        Parameters
        ----------
        rows : csr_array of shape (n_equations, n)
            Coefficients of the candidates in equations of unit noise.
        columns : csr_array of shape (n_equations, n_records)
            Coefficients of the further records in these equations.

        Returns
        -------
        ratios : ndarray of shape (n_records,)
            Log likelihood ratio of membership of each record.
        """
        size = np.asarray((columns**2).sum(axis=0)).ravel()
        if self.inverse is None:
            spread = (1 - self.known) * size
        else:
            shared = (rows.T @ columns).toarray()
            spread = size - np.einsum("nr,nr->r", shared, self.inverse @ shared)
        return columns.T @ self.residuals - spread / 2


def scale(equations, outsiders, n_candidates):
    """Scale equations to unit noise.

    Parameters
    ----------
    equations : Equations
    outsiders : float
        Share of the training rows that are not among the candidates.
    n_candidates : int
        Number of candidates.

    Returns
    -------
    rows : csr_array of shape (n_equations, n_candidates)
        Scaled coefficients.
    targets : ndarray of shape (n_equations,)
        Scaled right-hand sides.
    weights : ndarray of shape (n_equations,)
        Factors of the equations.
    pulls : ndarray of shape (n_candidates,)
        Log likelihood ratio of each bit that follows from the growth of the noise with the bit. A
        rounded leaf value determines a sum over members with an error in proportion to their
        number. Without this correction, no members at all would explain such a file best.
    """
    rows, targets = equations.rows, equations.targets
    squares = np.asarray((rows**2).sum(axis=1)).ravel()
    # Training rows that are not candidates are assumed to spread over the nodes like candidates.
    rate = outsiders * equations.n_rows / n_candidates
    targets = targets - rate * np.asarray(rows.sum(axis=1)).ravel()
    noise = np.sqrt(equations.variances + rate * squares + NOISE**2 * squares)
    pulls = equations.blur.T @ noise**-2.0
    return multiply_rows(rows, 1 / noise), targets / noise, 1 / noise, pulls


def multiply_rows(rows, weights):
    """Multiply each row of a sparse matrix by its weight."""
    data = rows.data * np.repeat(weights, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def propagate(rows, targets, prior, pulls=0.0):
    """Solve equations by expectation propagation.

    The prior of each bit, which has two values, is replaced by a Gaussian. The Gaussians are
    refined until their moments agree with those of the bits.

    Parameters
    ----------
    rows : csr_array of shape (n_equations, n)
        Coefficients of equations of unit noise.
    targets : ndarray of shape (n_equations,)
        Right-hand sides of these equations.
    prior : float or ndarray of shape (n,)
        Probability of membership without the equations.
    pulls : float or ndarray of shape (n,), default=0.0
        Log likelihood ratio of each bit in addition to the equations.

    Returns
    -------
    solution : Solution
    """
    n_equations, n = rows.shape
    prior, moment = np.broadcast_to(prior, n), rows.T @ targets + pulls
    # The smaller of two systems is solved.
    invert = _LowRankInverter(rows) if n_equations < n / 2 else _DenseInverter(rows)
    # The first Gaussians have the mean and the variance of the prior. Damping keeps the iteration
    # from oscillating, and the bounds keep variances positive if equations contradict each other.
    precision = 1 / (prior * (1 - prior))
    sites, step, best = np.stack([precision, prior * precision]), 1 - _DAMPING, None
    for _ in range(_N_STEPS):
        mean, variance = invert(sites[0], moment + sites[1])
        if best is None:
            # With the prior alone, the mean reduction of the variances is rank / n without noise.
            known = _as_share(np.mean(1 - variance * precision))
        residuals = targets - rows @ mean
        misfit = np.mean(residuals**2)
        overshoots = best is not None and best.misfit <= 1 < misfit
        if overshoots:
            # All bits that are nearly sure were moved at once, too far for equations that a smaller
            # step fulfills up to their noise.
            step /= 2
        else:
            last = best
            best = _Iterate(misfit, residuals, sites, *_match_moments(mean, variance, sites, prior))
            if last is not None and np.mean(np.abs(best.members - last.members)) < _SETTLED * step:
                break
        sites = best.sites + step * (best.wanted - best.sites)
    if overshoots:
        invert(best.sites[0], moment + best.sites[1])
    return Solution(best.ratios, known, best.residuals, invert.covariance())


class _Iterate(NamedTuple):
    """Step of expectation propagation: the Gaussians of all bits, and those that they call for."""

    misfit: float
    residuals: np.ndarray
    sites: np.ndarray  # precisions, and means times precisions
    ratios: np.ndarray
    members: np.ndarray  # probabilities of membership
    wanted: np.ndarray


def _match_moments(mean, variance, sites, prior):
    """Return the evidence about each bit, its probability, and Gaussians with these moments."""
    # The cavity is the belief about a bit without its own Gaussian, from the equations alone.
    cavity = 1 / np.maximum(1 / variance - sites[0], _LEAST_PRECISION)
    center = cavity * (mean / variance - sites[1])
    ratios = (center - 0.5) / cavity
    posterior = posterior_of(ratios, prior)
    spread = np.maximum(posterior * (1 - posterior), _LEAST_VARIANCE)
    precision = np.maximum(1 / spread - 1 / cavity, _LEAST_PRECISION)
    return ratios, posterior, np.stack([precision, posterior / spread - center / cavity])


class _DenseInverter:
    """Mean and variances of a Gaussian of precision ``rows.T @ rows + diag(precision)``."""

    def __init__(self, rows):
        self._gram = np.asfortranarray((rows.T @ rows).toarray())

    def __call__(self, precision, moment):
        total = self._gram.copy(order="F")
        total[np.diag_indices(len(total))] += precision
        root = linalg.cholesky(total, lower=True, overwrite_a=True, check_finite=False)
        # Variances are sums of squares of the inverse root, which takes a third of the time of the
        # whole inverse.
        root, _ = linalg.lapack.dtrtri(root, lower=True, overwrite_c=True)
        self._inverse = Squared(root)
        return self._inverse @ moment, np.einsum("nm,nm->m", root, root)

    def covariance(self):
        return self._inverse


class _LowRankInverter:
    """The same where there are far fewer equations than bits."""

    def __init__(self, rows):
        self._rows = rows.toarray()

    def __call__(self, precision, moment):
        spread = 1 / precision
        scaled = self._rows * spread
        inner = scaled @ self._rows.T
        inner[np.diag_indices(len(inner))] += 1
        factor = linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        part = linalg.solve_triangular(factor, scaled, lower=True, check_finite=False)
        self._inverse = LowRank(spread, part)
        return self._inverse @ moment, spread - np.einsum("en,en->n", part, part)

    def covariance(self):
        return self._inverse


class Squared(NamedTuple):
    """The matrix ``root.T @ root``."""

    root: np.ndarray

    def __matmul__(self, right):
        return self.root.T @ (self.root @ right)


class LowRank(NamedTuple):
    """The matrix ``diag(spread) - part.T @ part``."""

    spread: np.ndarray
    part: np.ndarray

    def __matmul__(self, right):
        return (self.spread * right.T).T - self.part.T @ (self.part @ right)


def _as_share(known):
    return float(min(max(known, 0.0), _MOST_KNOWN))


def regress(rows, targets, prior, seed, pulls=0.0):
    """Solve equations by ridge regression around the prior, with sparse products only.

    Parameters
    ----------
    rows : csr_array of shape (n_equations, n)
        Coefficients of equations of unit noise.
    targets : ndarray of shape (n_equations,)
        Right-hand sides of these equations.
    prior : float or ndarray of shape (n,)
        Probability of membership without the equations.
    seed : int
        Random seed of the probes that estimate the rank.
    pulls : float or ndarray of shape (n,), default=0.0
        Log likelihood ratio of each bit in addition to the equations.

    Returns
    -------
    solution : Solution
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    spread = np.sqrt(prior * (1 - prior))
    scaled = sparse.csr_array(rows * spread)  # for bits that are centered and have unit variance

    def solve(right):
        return lsqr(scaled, right, damp=1, iter_lim=_N_SWEEPS)[0]

    moved = spread * pulls  # a linear term of the likelihood moves the center of the prior
    away = moved + solve(targets - rows @ prior - scaled @ moved)
    rng = np.random.default_rng(seed)
    # Random probes estimate a trace. The standard error of one probe is at most sqrt(2 / n).
    n_probes = int(np.clip(_N_PROBED // n, 1, _MOST_PROBES))
    probes = rng.choice([-1.0, 1.0], size=(n_probes, n))
    known = _as_share(np.mean([probe @ solve(scaled @ probe) for probe in probes]) / n)
    ratios = away / (spread * (1 - known))
    return Solution(ratios, known, targets - rows @ prior - scaled @ away, None)
