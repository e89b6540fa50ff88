"""Solving linear equations for membership bits."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import lsqr
from scipy.special import expit, logit

# Relative noise that an exact equation is given, so that it does not rule all others.
_NOISE = 1e-2
_N_STEPS = 15
_DAMPING = 0.5
_LEAST_PRECISION = 1e-3
_LEAST_VARIANCE = 1e-6
_N_SWEEPS = 60
_MOST_PROBES = 8
_N_PROBED = 8000  # records in all probes together
_MOST_KNOWN = 1 - 1e-9


class Solution(NamedTuple):
    """What equations say of each bit.

    Attributes
    ----------
    ratios : ndarray of shape (n,)
        Log likelihood ratio of membership.
    known : float
        Share of what is to be known that the equations determine, in [0, 1]: their rank over the
        number of bits, where they have no noise.
    residuals : ndarray of shape (n_equations,)
        Right-hand sides less what the candidates explain.
    inverse : ndarray of shape (n, n) or None
        Covariance of the bits; None where it was too large to be had.
    """

    ratios: np.ndarray
    known: float
    residuals: np.ndarray
    inverse: np.ndarray | None

    def judge(self, rows, columns):
        """Log likelihood ratio of further records, each as one more candidate.

        Given what was found of the candidates, a member beside them moves the right-hand sides by
        its column, and what is left of them tells whether it did.

        Parameters
        ----------
        rows : csr_array of shape (n_equations, n)
            Of the candidates, at unit noise.
        columns : csr_array of shape (n_equations, n_records)
            Of the further records, at unit noise.

        Returns
        -------
        ratios : ndarray of shape (n_records,)
        """
        size = np.asarray((columns**2).sum(axis=0)).ravel()
        if self.inverse is None:
            spread = (1 - self.known) * size
        else:
            shared = (rows.T @ columns).toarray()
            spread = size - np.einsum("nr,nr->r", shared, self.inverse @ shared)
        return columns.T @ self.residuals - spread / 2


def scale(equations, outsiders, n_candidates):
    """Equations of unit noise, as a matrix and a vector.

    Parameters
    ----------
    equations : Equations
    outsiders : float
        Share of the training rows that are not among the candidates.
    n_candidates : int

    Returns
    -------
    rows : csr_array of shape (n_equations, n_candidates)
    targets : ndarray of shape (n_equations,)
    weights : ndarray of shape (n_equations,)
        By which the rows were multiplied.
    pulls : ndarray of shape (n_candidates,)
        Log likelihood ratio of each bit by how the noise grows with it: a leaf value that was
        rounded fixes a sum over members with an error in proportion to their number. Without it,
        having no members would explain such a file best.
    """
    rows, targets = equations.rows, equations.targets
    squares = np.asarray((rows**2).sum(axis=1)).ravel()
    # Rows of other people come to the nodes as candidates do.
    rate = outsiders * equations.n_rows / n_candidates
    targets = targets - rate * np.asarray(rows.sum(axis=1)).ravel()
    noise = np.sqrt(equations.variances + rate * squares + _NOISE**2 * squares)
    pulls = equations.blur.T @ noise**-2.0
    return multiply_rows(rows, 1 / noise), targets / noise, 1 / noise, pulls


def multiply_rows(rows, weights):
    """Rows of a sparse matrix, each times its weight."""
    data = rows.data * np.repeat(weights, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def propagate(rows, targets, prior, pulls=0.0):
    """Expectation propagation: a Gaussian in place of each bit, refined until they agree.

    Parameters
    ----------
    rows : csr_array of shape (n_equations, n)
    targets : ndarray of shape (n_equations,)
        Of equations of unit noise.
    prior : float or ndarray of shape (n,)
        Probability of membership without the equations.
    pulls : float or ndarray of shape (n,), default=0.0
        Log likelihood ratio of each bit beside the equations.

    Returns
    -------
    solution : Solution
    """
    prior = np.broadcast_to(prior, rows.shape[1])
    gram, moment = (rows.T @ rows).toarray(), rows.T @ targets + pulls
    precision, known = 1 / (prior * (1 - prior)), None
    shift = prior * precision
    for _ in range(_N_STEPS):
        mean, inverse = _invert(gram, precision, moment + shift)
        variance = inverse.diagonal()
        if known is None:
            known = _as_share(np.mean(1 - variance * precision))
        cavity = 1 / np.maximum(1 / variance - precision, _LEAST_PRECISION)
        center = cavity * (mean / variance - shift)
        ratios = (center - 0.5) / cavity
        posterior = expit(ratios + logit(prior))
        spread = np.maximum(posterior * (1 - posterior), _LEAST_VARIANCE)
        wanted = np.maximum(1 / spread - 1 / cavity, _LEAST_PRECISION)
        precision = _DAMPING * precision + (1 - _DAMPING) * wanted
        shift = _DAMPING * shift + (1 - _DAMPING) * (posterior / spread - center / cavity)
    return Solution(ratios, known, targets - rows @ mean, _fill(inverse))


def _invert(gram, precision, moment):
    """Mean of a Gaussian of precision ``gram + diag(precision)``, and half of its covariance."""
    total = gram.copy()
    total[np.diag_indices(len(total))] += precision
    factor, _ = linalg.cho_factor(total, lower=True, overwrite_a=True, check_finite=False)
    mean = linalg.cho_solve((factor, True), moment, check_finite=False)
    inverse, _ = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    return mean, inverse


def _fill(lower):
    """The symmetric matrix of a lower triangle."""
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T


def _as_share(known):
    return float(min(max(known, 0.0), _MOST_KNOWN))


def regress(rows, targets, prior, seed, pulls=0.0):
    """Ridge regression around the share of members, by sparse products alone.

    Parameters
    ----------
    rows : csr_array of shape (n_equations, n)
    targets : ndarray of shape (n_equations,)
        Of equations of unit noise.
    prior : float or ndarray of shape (n,)
        Probability of membership without the equations.
    seed : int
        Draws the probes of the rank.
    pulls : float or ndarray of shape (n,), default=0.0
        Log likelihood ratio of each bit beside the equations.

    Returns
    -------
    solution : Solution
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    spread = np.sqrt(prior * (1 - prior))
    scaled = sparse.csr_array(rows * spread)  # bits of one spread, around 0

    def solve(right):
        return lsqr(scaled, right, damp=1, iter_lim=_N_SWEEPS)[0]

    moved = spread * pulls  # a linear term of the likelihood moves the center of the prior
    away = moved + solve(targets - rows @ prior - scaled @ moved)
    rng = np.random.default_rng(seed)
    # The error of one probe is the root of two over the number of records at most.
    n_probes = int(np.clip(_N_PROBED // n, 1, _MOST_PROBES))
    probes = rng.choice([-1.0, 1.0], size=(n_probes, n))
    known = _as_share(np.mean([probe @ solve(scaled @ probe) for probe in probes]) / n)
    ratios = away / (spread * (1 - known))
    return Solution(ratios, known, targets - rows @ prior - scaled @ away, None)
