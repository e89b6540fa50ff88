"""Estimate of the share of the training rows that are not among the candidates."""

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import lsqr

from ._solve_bits import NOISE, multiply_rows

_N_STEPS = 5
_N_SWEEPS = 60
_N_PROBES = 2
# Candidates of which one probe says enough, and fewer steps and sweeps: they change the estimate by
# less than its own error, and would take longer than all else that the attack does.
_MANY = 8000
_N_STEPS_OF_MANY = 2
_N_SWEEPS_OF_MANY = 20
_HELD_OUT = 0.1
_START = 0.05
_MOST = 0.95
_CLOSE = 0.05  # relative change of the estimate after which it is taken
# Share of an outsider's coefficients that the noise of the equations stands for. Most of them are
# sums of coefficients of candidates, which come to the same nodes.
_UNLIKE = 0.1


def estimate_outsiders(equations, n_candidates, seed):
    """Estimate the share of the training rows that are not among the candidates.

    Let s be the share of members among the candidates and r the number of outsiders per candidate,
    so that s + r is known from the number of training rows. The squared length of the right-hand
    sides around their mean, in a metric in which equations that candidates cannot explain count
    most, is expected to be s (1 - s) times its value for a random sum of candidates, plus r times
    its value for a candidate that was left out. This is solved for r.

    Parameters
    ----------
    equations : Equations
        Equations that state the number of training rows.
    n_candidates : int
    seed : int
        Random seed of the probes that estimate sums over the candidates.

    Returns
    -------
    share : float
        Estimate in [0, 0.95].
    """
    rows, n = equations.rows, n_candidates
    rate = equations.n_rows / n
    squares = np.asarray((rows**2).sum(axis=1)).ravel()
    away = equations.targets - rate * np.asarray(rows.sum(axis=1)).ravel()
    probes = _draw_probes(n, np.random.default_rng(seed))
    outside = _START * rate
    for _ in range(_N_STEPS_OF_MANY if n > _MANY else _N_STEPS):
        share = min(max(rate - outside, 0.1), 0.9)
        variance = share * (1 - share)
        noise = equations.variances + (NOISE**2 + _UNLIKE * outside) * squares
        scaled = multiply_rows(rows, np.sqrt(variance / noise))  # for bits of unit variance
        found = _measure(scaled, away / np.sqrt(noise))
        own, others = (np.mean(part) / variance for part in zip(*probes(scaled), strict=True))
        # What remains of the noise that the file itself explains, after a fit of as many bits.
        left = 1 - own * variance / len(noise)
        found -= left * np.sum(equations.variances / noise)
        last, outside = outside, _solve(found, own, others, rate)
        if abs(outside - last) <= _CLOSE * outside:
            break
        outside = max(outside, NOISE**2)
    return outside / rate if outside > NOISE**2 else 0.0


def _measure(scaled, away):
    """Squared length of a vector in the metric of the covariance of the right-hand sides."""
    n_sweeps = _N_SWEEPS_OF_MANY if scaled.shape[1] > _MANY else _N_SWEEPS
    return away @ (away - scaled @ lsqr(scaled, away, damp=1, iter_lim=n_sweeps)[0])


def _draw_probes(n, rng):
    """Probes of the sum over the candidates of the squared lengths of their columns.

    The first of each pair is among all candidates, the second for candidates that were left out.
    """
    n_held = max(round(_HELD_OUT * n), 1)
    n_probes = 1 if n > _MANY else _N_PROBES
    signs = rng.choice([-1.0, 1.0], size=(n_probes, n))
    held = [rng.permutation(n)[:n_held] for _ in range(n_probes)]

    def probe(scaled):
        for sign, some in zip(signs, held, strict=True):
            kept = np.ones(n)
            kept[some] = 0
            left_out = _measure(sparse.csr_array(scaled * kept), scaled @ (sign * (1 - kept)))
            yield _measure(scaled, scaled @ sign), left_out * n / n_held

    return probe


def _solve(found, own, others, rate):
    """Number of outsiders per candidate whose expected squared length is the one found."""

    def excess(outside):
        share = rate - outside
        return share * (1 - share) * own + outside * others - found

    most = _MOST * rate
    if excess(0.0) >= 0:
        return 0.0
    return brentq(excess, 0.0, most) if excess(most) > 0 else most
