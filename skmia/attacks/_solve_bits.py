"""Solvers of linear equations for membership bits."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from .._core.probabilities import posterior_of
from ._invert_bits import LEAST_PRECISION, make_inverter

# Relative noise that is added to exact equations, so that they do not dominate all others.
NOISE = 1e-2
_N_STEPS = 15
_DAMPING = 0.3
_SETTLED = 1e-3  # mean change of the probabilities of membership per step, of the last step
_LEAST_VARIANCE = 1e-6
# Bits are taken for known while others are judged if their variance is this small, also times the
# precision of all equations together: with less, known bits could not give way to exact equations.
_SURE = 1e-4
_RIGID = 0.1
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
    evidence : ndarray of shape (n,) or None
        Precision of the evidence about each bit in propagation; None for other solvers.
    inverter : DenseInverter, LowRankInverter or None
        What propagation inverts, for further solutions of the same equations.
    """

    ratios: np.ndarray
    known: float
    residuals: np.ndarray
    inverse: object = None
    evidence: np.ndarray | None = None
    inverter: object = None

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


def propagate(rows, targets, prior, pulls=0.0, start=None):
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
    start : Solution, default=None
        Solution of the same equations with another prior, from which the iteration starts.

    Returns
    -------
    solution : Solution
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    inverter = make_inverter(rows) if start is None else start.inverter
    believe = _Belief(rows, targets, rows.T @ targets + pulls, prior, inverter)
    if start is None:
        # The first Gaussians have the mean and the variance of the prior.
        precision = 1 / (prior * (1 - prior))
        now = believe(np.stack([precision, prior * precision]), prior, np.ones(n))
        # With the prior alone, the mean reduction of the variances is rank / n without noise.
        known = _as_share(np.mean(now.evidence / (now.evidence + precision)))
    else:
        bits, wanted = _match_moments(start.ratios, start.evidence, prior)
        now, known = believe(wanted, bits, start.evidence), start.known
    # Damping keeps the iteration from oscillating.
    step = 1 - _DAMPING
    for _ in range(_N_STEPS - 1):
        after = believe(now.sites + step * (now.wanted - now.sites), now.bits, now.evidence)
        if now.misfit <= 1 < after.misfit:
            # All bits that are nearly sure were moved at once, too far for equations that a smaller
            # step fulfills up to their noise.
            step /= 2
            continue
        now, change = after, np.mean(np.abs(after.bits - now.bits))
        if change < _SETTLED * step:
            break
    ratios, evidence = believe.judge_all(now)
    return Solution(ratios, known, now.residuals, now.inverse, evidence, inverter)


class _Iterate(NamedTuple):
    """Step of expectation propagation: the Gaussians of all bits, and those that they call for."""

    misfit: float
    residuals: np.ndarray
    sites: np.ndarray  # precisions, and means times precisions
    force: np.ndarray  # log likelihood ratio of each bit without the evidence of its own value
    mean: np.ndarray
    evidence: np.ndarray  # precision of the evidence about each bit
    unsure: np.ndarray
    bits: np.ndarray  # probabilities of membership
    wanted: np.ndarray
    inverse: object


class _Belief:
    """Joint Gaussian belief about all bits, and what it says of each.

    Parameters are those of :func:`propagate`; ``moment`` are the products of the columns with the
    right-hand sides, plus the pulls.
    """

    def __init__(self, rows, targets, moment, prior, inverter):
        self._rows, self._columns, self._targets = rows, rows.T.tocsr(), targets
        self._moment, self._prior = moment, prior
        self._invert = inverter
        size = np.maximum(np.asarray((rows**2).sum(axis=0)).ravel(), _RIGID / _SURE)
        self._sure = np.where(size * _LEAST_VARIANCE > _RIGID, -1.0, _RIGID / size)
        if not inverter.leaves_out:
            self._sure[:] = -1.0

    def __call__(self, sites, bits, evidence):
        """Return the belief that follows from the Gaussians of all bits.

        Parameters
        ----------
        sites : ndarray of shape (2, n)
            Precisions, and means times precisions, of the bits' own Gaussians.
        bits : ndarray of shape (n,)
            Probabilities of membership so far.
        evidence : ndarray of shape (n,)
            Precision of the evidence about each bit so far.

        Returns
        -------
        iterate : _Iterate
        """
        unsure = np.flatnonzero(bits * (1 - bits) > self._sure)
        mean, own, inverse = self._invert(sites[0], self._moment + sites[1], bits, unsure)
        evidence = evidence.copy()
        evidence[unsure] = own
        fitted = self._rows @ mean
        force = self._moment - self._columns @ fitted
        posterior = posterior_of(force + evidence * (mean - 0.5), self._prior)
        # The evidence about known bits dates from an earlier step. It only matters for those that
        # it would change.
        doubtful = np.abs(posterior - bits) > _SURE
        doubtful[unsure] = False
        if doubtful.any():
            evidence[doubtful] = self._invert.judge_sure(inverse, np.flatnonzero(doubtful))
        posterior, wanted = _match_moments(force + evidence * (mean - 0.5), evidence, self._prior)
        residuals = self._targets - fitted
        return _Iterate(
            np.mean(residuals**2), residuals, sites, force, mean, evidence, unsure, posterior,
            wanted, inverse,
        )  # fmt: skip

    def judge_all(self, now):
        """Return log likelihood ratio of each bit and precision of its evidence, all up to date."""
        sure, evidence = np.delete(np.arange(len(now.mean)), now.unsure), now.evidence.copy()
        if len(sure):
            evidence[sure] = self._invert.judge_sure(now.inverse, sure)
        return now.force + evidence * (now.mean - 0.5), evidence


def _match_moments(ratios, evidence, prior):
    """Return the probability of each bit, and Gaussians with the moments of the bits."""
    posterior = posterior_of(ratios, prior)
    spread = np.maximum(posterior * (1 - posterior), _LEAST_VARIANCE)
    precision = np.maximum(1 / spread - evidence, LEAST_PRECISION)
    # The Gaussian of the equations alone has the first natural parameter ratios + evidence / 2.
    return posterior, np.stack([precision, posterior / spread - ratios - evidence / 2])


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
    return Solution(ratios, known, targets - rows @ prior - scaled @ away)
