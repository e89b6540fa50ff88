"""Solver of linear equations for numbers between 0 and 1 in the place of membership bits."""

import numpy as np
from scipy.optimize import minimize

from ._solve_bits import Solution, regress

_N_SWEEPS = 400
_MOST_WORK = 10**9  # coefficients that are read in all sweeps together, of many candidates


def bound(rows, targets, prior, seed, pulls=0.0):
    """Solve equations by ridge regression around the prior, with bits bounded by 0 and 1.

    Bits that are nearly known reach a bound, which leaves fewer unknowns to the equations. Only
    sparse products are computed. The evidence about a bit at a bound is its distance from
    the prior plus the force with which the equations push it beyond the bound.

    The parameters are those of :func:`regress`, whose solution without bounds is where it starts.
    """
    start, n = regress(rows, targets, prior, seed, pulls), rows.shape[1]
    prior = np.broadcast_to(prior, n)
    variance = prior * (1 - prior)
    center, columns, left = prior + variance * pulls, rows.T.tocsr(), 1 - start.known
    # Bits are measured in units in which all of them have the same curvature.
    units = np.sqrt(np.asarray((rows**2).sum(axis=0)).ravel() + 1 / variance)

    def lose(scaled):
        bits = scaled / units
        misfits, away = rows @ bits - targets, bits - center
        slope = columns @ misfits + away / variance
        return (misfits @ misfits + away @ (away / variance)) / 2, slope / units

    found = minimize(
        lose,
        units * np.clip(prior + variance * start.ratios * left, 0, 1),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([np.zeros(n), units]),
        options={"maxiter": int(min(_N_SWEEPS, _MOST_WORK // max(rows.nnz, 1) + 1))},
    )
    bits, slope = found.x / units, found.jac * units
    beyond = np.maximum(-slope, 0) * (bits >= 1) - np.maximum(slope, 0) * (bits <= 0)
    ratios = ((bits - prior) / variance + beyond) / left
    return Solution(ratios, start.known, targets - rows @ bits)
