"""Base class of attacks that solve linear equations in membership bits."""

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse, special
from scipy.optimize import brentq, minimize
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.budget import format_apart, format_duration
from .._core.callers import level_of_user
from .._core.coefficients import (
    BLOCK,
    as_dense,
    count_coefficients,
    count_work,
    multiply_pairs,
    multiply_rows,
    multiply_transposed,
    square_columns,
    square_rows,
    take_first_equations,
    take_record_coefficients,
)
from .._core.probabilities import posterior_of
from .._core.query import unwrap
from .._core.randomness import check_random_state
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from .._core.text import tell_percent
from .._core.types import Seed
from ._file_attack import CandidatesAttack, expect_auc

# Least precision of the evidence of the equations about one bit.
LEAST_PRECISION = 1e-3

# Rounding error of single precision times the largest product of a bit's precision and variance.
# Relative errors of variances were measured to be at most 25 times this product.
_MOST_ROUNDING = 1e-3
_N_REFINEMENTS = 20
_REFINED = 1e-5  # root mean squared residual of means, in units of their precision


class SquaredMatrix(NamedTuple):
    """The matrix ``root.T @ root`` of some bits, and zeros for all others."""

    root: np.ndarray
    bits: np.ndarray

    def __matmul__(self, right):
        product = np.zeros(right.shape)
        product[self.bits] = self.apply(right[self.bits])
        return product

    def apply(self, right):
        """Multiply by the matrix of these bits alone."""
        return self.root.T @ (self.root @ right.astype(self.root.dtype))


class LowRank(NamedTuple):
    """The inverse of ``rows.T @ rows + diag(1 / spread)``."""

    spread: np.ndarray
    rows: np.ndarray
    factor: np.ndarray  # Cholesky factor of the identity plus rows @ diag(spread) @ rows.T

    def __matmul__(self, right):
        away = (self.spread * right.T).T
        shared = linalg.cho_solve((self.factor, True), self.rows @ away, check_finite=False)
        return away - (self.spread * (self.rows.T @ shared).T).T


class DenseInverter:
    """Gaussian of precision ``rows.T @ rows + diag(precision)``, in which sure bits are known.

    Bits whose values are nearly sure are taken for known, which leaves a smaller matrix to invert.
    It is inverted in single precision unless rounding errors matter; means are refined to double
    precision.

    Shapes: rows (n_equations, n).
    """

    leaves_out = True  # bits that are known save time

    def __init__(self, rows):
        self._rows, self._columns = rows, rows.T
        self.squares = square_columns(rows)
        self._gram = multiply_transposed(rows, np.float32)

    def __call__(self, precision, field, bits, unsure):
        """Return mean, precisions of the evidence about unsure bits, and covariance."""
        mean = bits.copy()
        mean[unsure] = 0
        if not len(unsure):
            return mean, np.empty(0), SquaredMatrix(np.empty((0, 0), dtype=np.float32), unsure)
        precision, field = precision[unsure], (field - self._columns @ (self._rows @ mean))[unsure]
        inverse, variance = self._invert(precision, unsure)
        mean[unsure] = self._refine(inverse, precision, field)
        return mean, np.maximum(1 / variance - precision, LEAST_PRECISION), inverse

    def judge_sure(self, inverse, bits):
        """Return the precision of the evidence about bits that are taken for known."""
        if not len(inverse.bits):
            return np.maximum(self.squares[bits], LEAST_PRECISION)
        part = self._gram[np.ix_(bits, inverse.bits)].T
        (multiply,) = linalg.get_blas_funcs(("trmm",), (inverse.root,))  # by a triangle
        part = multiply(1.0, inverse.root, part, lower=True, overwrite_b=True)
        explained = np.einsum("ub,ub->b", part, part, dtype=np.float64)
        return np.maximum(self.squares[bits] - explained, LEAST_PRECISION)

    def _invert(self, precision, unsure):
        try:
            inverse = self._factor(precision, unsure)
            variance = np.einsum("nm,nm->m", inverse.root, inverse.root, dtype=np.float64)
            size = np.max((self.squares[unsure] + precision) * variance)
            is_exact = np.finfo(self._gram.dtype).eps / 2 * size < _MOST_ROUNDING
        except linalg.LinAlgError:
            if self._gram.dtype == np.float64:
                raise
            is_exact = False
        if is_exact or self._gram.dtype == np.float64:
            return inverse, variance
        self._gram = multiply_transposed(self._rows, np.float64)
        return self._invert(precision, unsure)

    def _factor(self, precision, unsure):
        everything = len(unsure) == len(self._gram)
        total = self._gram.copy() if everything else self._gram[np.ix_(unsure, unsure)]
        total = total.T  # in the order of LAPACK
        total[np.diag_indices(len(total))] += precision.astype(total.dtype)
        root = linalg.cholesky(total, lower=True, overwrite_a=True, check_finite=False)
        # Variances are sums of squares of the inverse root, which takes a third of the time of the
        # whole inverse.
        (invert,) = linalg.get_lapack_funcs(("trtri",), (root,))
        root, _ = invert(root, lower=True, overwrite_c=True)
        return SquaredMatrix(root, unsure)

    def _refine(self, inverse, precision, field):
        """Solve for the mean by conjugate gradients, with an inverse of lower precision."""
        rows, bits = self._rows, inverse.bits
        rows = take_record_coefficients(rows, bits) if len(bits) < len(self.squares) else rows
        columns = rows.T
        mean = inverse.apply(field).astype(np.float64)
        rest = field - columns @ (rows @ mean) - precision * mean
        away = inverse.apply(rest)
        direction, size = away, rest @ away
        for _ in range(_N_REFINEMENTS):
            if size <= _REFINED**2 * len(rest):
                break
            forward = columns @ (rows @ direction) + precision * direction
            step = size / (direction @ forward)
            mean, rest = mean + step * direction, rest - step * forward
            away, before = inverse.apply(rest), size
            size = rest @ away
            direction = away + size / before * direction
        return mean


class LowRankInverter:
    """The same where there are far fewer equations than bits, with no bit taken for known."""

    leaves_out = False

    def __init__(self, rows):
        self._rows = as_dense(rows)

    def __call__(self, precision, field, bits, unsure):
        spread, n_equations = 1 / precision, len(self._rows)
        blocks = list(gen_batches(len(spread), max(1, BLOCK // n_equations)))
        inner, roots = np.eye(n_equations), np.sqrt(spread)
        for some in blocks:
            scaled = self._rows[:, some] * roots[some]
            inner += scaled @ scaled.T  # of which one half is computed
        factor = linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        variance = spread.copy()
        for some in blocks:
            scaled = self._rows[:, some] * roots[some]
            part = linalg.solve_triangular(factor, scaled, lower=True, check_finite=False)
            variance[some] -= spread[some] * np.einsum("en,en->n", part, part)
        evidence = np.maximum(1 / variance - precision, LEAST_PRECISION)
        inverse = LowRank(spread, self._rows, factor)
        return inverse @ field, evidence, inverse


# What a coefficient takes in all that is held at once: as it is read, and scaled.
BYTES_PER_COEFFICIENT = 20

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
# Of equations with so many numbers that this many are read in one solution, fewer sweeps are made.
_MOST_SWEPT, _FEWEST_SWEEPS = 5 * 10**9, 10
_MOST_PROBES = 8
_N_PROBED = 8000  # records in all probes together
_MOST_KNOWN = 1 - 1e-9


class BitSolution(NamedTuple):
    """Solution of equations for membership bits.

    * ratios (n,): log likelihood ratio of membership of each candidate
    * known: share of the information about the bits that the equations contain, in [0, 1]: without
      noise, their rank divided by the number of bits
    * residuals (n_equations,): right-hand sides minus the part that the candidates explain
    * inverse: covariance of the bits; None if it was too large to compute
    * evidence (n,): precision of the evidence about each bit in propagation, or None
    * inverter: what propagation inverts, for further solutions of the same equations, or None
    * is_settled: whether the iteration came to rest
    """

    ratios: np.ndarray
    known: float
    residuals: np.ndarray
    inverse: object = None
    evidence: np.ndarray | None = None
    inverter: object = None
    is_settled: bool = True

    def judge(self, rows, columns):
        """Compute log likelihood ratios of further records, each as one more candidate.

        A further member adds its column to the right-hand sides. The residuals, given the solution
        for the candidates, show whether the column is contained in them.

        Shapes: rows (n_equations, n), columns (n_equations, n_records).
        """
        size = square_columns(columns)
        if self.inverse is None:
            spread = (1 - self.known) * size
        else:
            shared = multiply_pairs(rows, columns)
            spread = size - np.einsum("nr,nr->r", shared, self.inverse @ shared)
        return columns.T @ self.residuals - spread / 2


def measure_misfit(solution):
    """Return the root mean square of the residuals, in units of their noise."""
    return float(np.sqrt(np.mean(solution.residuals**2)))


def expect_misfit(solution, prior):
    """Return the misfit of right bits that are as unsure as a solution of propagation says.

    It is the root mean square of the residuals of a linear Gaussian model whose bits have the
    variances of the solution. A solution that settled on wrong bits leaves more.
    """
    posterior = posterior_of(solution.ratios, prior)
    spread = np.maximum(posterior * (1 - posterior), _LEAST_VARIANCE)
    n = len(spread)
    _, evidence, _ = solution.inverter(1 / spread, np.zeros(n), posterior, np.arange(n))
    fitted = np.sum(evidence / (evidence + 1 / spread))  # as many equations as bits that they tell
    return float(np.sqrt(max(1 - fitted / len(solution.residuals), 0.0)))


def whiten_equations(equations, outsiders, n_candidates, relative=NOISE):
    """Scale equations to unit noise, of which a part is relative to what the candidates move.

    Return rows of shape (n_equations, n_candidates).
    """
    rows, targets = equations.rows, equations.targets
    squares = square_rows(rows)
    # Training rows that are not candidates are assumed to spread over the nodes like candidates.
    rate = outsiders * equations.n_rows / n_candidates
    targets = targets - rate * (rows @ np.ones(n_candidates))
    noise = np.sqrt(equations.variances + rate * squares + relative**2 * squares)
    pulls = equations.blur.T @ noise**-2.0 + equations.pulls
    return multiply_rows(rows, 1 / noise), targets / noise, 1 / noise, pulls


def propagate(rows, targets, prior, pulls=0.0, start=None, n_steps=_N_STEPS):
    """Solve equations by expectation propagation.

    The prior of each bit, which has two values, is replaced by a Gaussian. The Gaussians are
    refined until their moments agree with those of the bits.

    Shapes: rows (n_equations, n), targets (n_equations,), prior, pulls (n,).
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    inverter = getattr(start, "inverter", None)
    if inverter is None:
        inverter = (LowRankInverter if _is_low_rank(*rows.shape) else DenseInverter)(rows)
    believe = _BitBelief(rows, targets, rows.T @ targets + pulls, prior, inverter)
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
    step, is_settled = 1 - _DAMPING, False
    for _ in range(n_steps - 1):
        after = believe(now.sites + step * (now.wanted - now.sites), now.bits, now.evidence)
        if now.misfit <= 1 < after.misfit:
            # All bits that are nearly sure were moved at once, too far for equations that a smaller
            # step fulfills up to their noise.
            step /= 2
            continue
        now, change = after, np.mean(np.abs(after.bits - now.bits))
        is_settled = bool(change < _SETTLED * step)
        if is_settled:
            break
    ratios, evidence = believe.judge_all(now)
    return BitSolution(ratios, known, now.residuals, now.inverse, evidence, inverter, is_settled)


class _ExpectationStep(NamedTuple):
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


class _BitBelief:
    """Joint Gaussian belief about all bits, and what it says of each.

    Parameters are those of propagate; moment are the products of the columns with the right-hand
    sides, plus the pulls.
    """

    def __init__(self, rows, targets, moment, prior, inverter):
        self._rows, self._columns, self._targets = rows, rows.T, targets
        self._moment, self._prior = moment, prior
        self._invert, self._sure = inverter, -1.0
        if inverter.leaves_out:
            size = np.maximum(inverter.squares, _RIGID / _SURE)
            self._sure = np.where(size * _LEAST_VARIANCE > _RIGID, -1.0, _RIGID / size)

    def __call__(self, sites, bits, evidence):
        """Return the belief that follows from the Gaussians of all bits.

        Shapes: sites (2, n), bits, evidence (n,).
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
        return _ExpectationStep(
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


def solve_ridge(rows, targets, prior, seed, pulls=0.0):
    """Solve equations by ridge regression around the prior, with sparse products only.

    Shapes: rows (n_equations, n), targets (n_equations,), prior, pulls (n,).
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    spread = np.sqrt(prior * (1 - prior))
    columns = rows.T

    # Products of the equations of bits that are centered and have unit variance, which are not
    # held beside the equations.
    def multiply(bits):
        return rows @ (spread * bits)

    scaled = LinearOperator(
        rows.shape, multiply, lambda values: spread * (columns @ values), dtype=np.float64
    )
    n_sweeps = int(np.clip(_MOST_SWEPT // max(count_work(rows), 1), _FEWEST_SWEEPS, _N_SWEEPS))

    def solve(right):
        return lsqr(scaled, right, damp=1, iter_lim=n_sweeps)[0]

    moved = spread * pulls  # a linear term of the likelihood moves the center of the prior
    away = moved + solve(targets - rows @ prior - multiply(moved))
    rng = np.random.default_rng(seed)
    # Random probes estimate a trace. The standard error of one probe is at most sqrt(2 / n).
    n_probes = int(np.clip(_N_PROBED // n, 1, _MOST_PROBES))
    probes = rng.choice([-1.0, 1.0], size=(n_probes, n))
    known = _as_share(np.mean([probe @ solve(multiply(probe)) for probe in probes]) / n)
    ratios = away / (spread * (1 - known))
    return BitSolution(ratios, known, targets - rows @ prior - multiply(away))


_N_SWEEPS_BOUNDED_BITS = 400
_N_SWEEPS_AGAIN = 100  # from another solution
_MOST_WORK = 10**9  # coefficients that are read in all sweeps together, of many candidates


def solve_bounded_ridge(rows, targets, prior, seed, pulls=0.0, start=None):
    """Solve equations by ridge regression around the prior, with bits bounded by 0 and 1.

    Bits that are nearly known reach a bound, which leaves fewer unknowns to the equations. Only
    sparse products are computed. The evidence about a bit at a bound is its distance from the prior
    plus the force with which the equations push it beyond the bound. The parameters are those of
    solve_ridge, whose solution without bounds is where it starts, unless the same equations were
    solved before.
    """
    n = rows.shape[1]
    prior = np.broadcast_to(prior, n)
    variance = prior * (1 - prior)
    most = _N_SWEEPS_BOUNDED_BITS if start is None else _N_SWEEPS_AGAIN
    if start is None:
        start = solve_ridge(rows, targets, prior, seed, pulls)
    left = 1 - start.known
    center = prior + variance * pulls
    # Bits are measured in units in which all of them have the same curvature.
    units = np.sqrt(square_columns(rows) + 1 / variance)
    # Steps to the minimum need fewer digits than equations, and products take half of the time.
    single = rows.astype(np.float32)
    columns = single.T.tocsr() if sparse.issparse(single) else single.T

    def lose(scaled):
        bits = scaled / units
        misfits, away = single @ bits.astype(np.float32) - targets, bits - center
        slope = columns @ misfits.astype(np.float32) + away / variance
        return (misfits @ misfits + away @ (away / variance)) / 2, slope / units

    found = minimize(
        lose,
        units * np.clip(prior + variance * start.ratios * left, 0, 1),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([np.zeros(n), units]),
        options={"maxiter": int(min(most, _MOST_WORK // max(count_coefficients(rows), 1) + 1))},
    )
    bits, slope = found.x / units, found.jac * units
    beyond = np.maximum(-slope, 0) * (bits >= 1) - np.maximum(slope, 0) * (bits <= 0)
    ratios = ((bits - prior) / variance + beyond) / left
    return BitSolution(ratios, start.known, targets - rows @ bits)


_N_STEPS_OUTSIDERS = 5
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
    """
    rows, n = equations.rows, n_candidates
    rate = equations.n_rows / n
    squares = np.asarray((rows**2).sum(axis=1)).ravel()
    away = equations.targets - rate * np.asarray(rows.sum(axis=1)).ravel()
    probes = _draw_probes(n, np.random.default_rng(seed))
    outside = _START * rate
    for _ in range(_N_STEPS_OF_MANY if n > _MANY else _N_STEPS_OUTSIDERS):
        share = min(max(rate - outside, 0.1), 0.9)
        variance = share * (1 - share)
        noise = equations.variances + (NOISE**2 + _UNLIKE * outside) * squares
        scaled = multiply_rows(rows, np.sqrt(variance / noise))  # for bits of unit variance
        found = _measure_scaled_length(scaled, away / np.sqrt(noise))
        own, others = (np.mean(part) / variance for part in zip(*probes(scaled), strict=True))
        # What remains of the noise that the file itself explains, after a fit of as many bits.
        left = 1 - own * variance / len(noise)
        found -= left * np.sum(equations.variances / noise)
        last, outside = outside, _solve(found, own, others, rate)
        if abs(outside - last) <= _CLOSE * outside:
            break
        outside = max(outside, NOISE**2)
    return outside / rate if outside > NOISE**2 else 0.0


def _measure_scaled_length(scaled, away):
    """Return squared length of a vector in the metric of the covariance of the right-hand sides."""
    n_sweeps = _N_SWEEPS_OF_MANY if scaled.shape[1] > _MANY else _N_SWEEPS
    return away @ (away - scaled @ lsqr(scaled, away, damp=1, iter_lim=n_sweeps)[0])


def _draw_probes(n, rng):
    """Return the probes of the sum over the candidates of the squared lengths of their columns.

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
            left_out = _measure_scaled_length(
                sparse.csr_array(scaled * kept), scaled @ (sign * (1 - kept))
            )
            yield _measure_scaled_length(scaled, scaled @ sign), left_out * n / n_held

    return probe


def _solve(found, own, others, rate):
    """Return number of outsiders per candidate whose expected squared length is the one found."""

    def excess(outside):
        share = rate - outside
        return share * (1 - share) * own + outside * others - found

    most = _MOST * rate
    if excess(0.0) >= 0:
        return 0.0
    return brentq(excess, 0.0, most) if excess(most) > 0 else most


# Largest product of the sizes of a dense system, because its time grows faster.
_MOST_DENSE = 4000**2

# Largest number of candidates whose bits are bounded: with more, bounds say less and take longer.
_MOST_BOUNDED = 20_000

# Root mean squared residual above which equations are taken to contradict each other.
_MOST_MISFIT = 3

# Share of the misfit expected of right bits above which a solution is taken for a wrong one. Most
# of the noise is assumed, so that right bits leave less than they are expected to.
_MOST_OF_EXPECTED = 0.9
_MUCH_NOISE = 0.1  # with which a solution that settles is taken
# With less noise, a share that is larger than before shows that a solution became surer of wrong
# bits, unless it is below the first number.
_LEAST_DOUBTFUL, _MOST_RISE = 0.6, 1.05
_MOST_SHARPENED = 2  # times which ratios are at most
_LEAST_EXPECTED = 1e-9
_SURPRISING = 0.01  # probability of equations of random candidates below which others are meant
_ALIKE = 0.05  # difference of solutions that say the same
_FEW_EQUATIONS = 0.1  # per candidate, which are solved with one noise
_DETERMINED = 0.5  # expected misfit from which bits are determined
_APART = 0.12  # difference of solutions with different noise from which none is trusted

# Priors from other evidence are limited to this distance from 0 and 1, so that exact equations can
# overrule evidence that is wrong. Ridge regression takes a prior for a normal distribution, in
# which a bit that is wrong lies many standard deviations away and misleads all others.
_SURE_OF_RIDGE = 0.1


# Products of numbers in double precision that one core adds up in a second; twice as many in
# single precision.
_PRODUCTS_PER_SECOND = 2e10


def is_propagated(n_equations, n):
    """Return whether equations are few enough for propagation."""
    return min(n_equations, n) * n <= _MOST_DENSE


def expect_step(n_equations, n):
    """Return about how many seconds a step of propagation takes."""
    if _is_low_rank(n_equations, n):  # multiplied with itself, factored, and solved for all bits
        return (n_equations**2 * n + n_equations**3 / 3) / _PRODUCTS_PER_SECOND
    return n**3 / 3 / _PRODUCTS_PER_SECOND  # factored and inverted


def _is_low_rank(n_equations, n):
    """Return whether the system of the equations is the smaller one of two."""
    return n_equations < n / 2


class EquationsAttack(CandidatesAttack):
    """Base class of attacks that solve linear equations in membership bits.

    A subclass implements _read(records), which returns the Equations of the candidates, and
    _read_further(records), which returns the columns that further records would have in them, and
    their log likelihood ratios beside the equations.
    """

    # Relative noises of the equations in rising order, NOISE among them.
    _noises, _n_steps = (NOISE,), _N_STEPS
    # Within which propagation has to end, with as many steps as are usual; ReleasedModelAttack sets
    # it.
    _allowed_seconds, _n_usual = np.inf, _N_STEPS
    # Whether equations that hold up to missing rows are solved by propagation.
    _propagates_outsiders = False

    _parameter_constraints = {
        **CandidatesAttack._parameter_constraints,
        "outsiders": [Interval(Real, 0, 1, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "solver": [StrOptions({"auto", "propagation", "bounded", "ridge"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float = 0.0,
        prior: float = 0.5,
        solver: Literal["auto", "propagation", "bounded", "ridge"] = "auto",
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior
        self.solver = solver
        self.random_state = random_state

    def _judge_candidates(self, records):
        self._equations = self._read(records)
        self._n_candidates = len(records)
        self._seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self.outsiders_ = 0.0 if self.outsiders == "auto" else float(self.outsiders)
        self._is_surprised = False
        self._solution = self._solve()
        self.misfit_ = measure_misfit(self._solution)
        if self.misfit_ > _MOST_MISFIT or self._has_collapsed(self._solution, len(records)):
            self._solution = self._solve_contradicting()
        # Of the equations without scale, the coefficients are needed no more.
        self._equations = self._equations._replace(rows=None, blur=None)
        if self._equations.hessian is not None:
            self._equations.hessian.drop_candidates()
        self.n_equations_, self.known_ = len(self._targets), self._solution.known
        self.expected_auc_ = None
        if self._disagreement <= _APART and not self._is_surprised:
            self.expected_auc_ = expect_auc(posterior_of(self._solution.ratios, self.prior))
        return self._solution.ratios

    def _solve(self, *, is_contradicting=False):
        self._disagreement = 0.0
        n_equations, hessian = self._equations.rows.shape[0], self._equations.hessian
        is_few = hessian is None or n_equations < _FEW_EQUATIONS * self._n_candidates
        # Where noise is lowered in any case, this one only tells how much the equations contain.
        n_steps = self._n_steps if is_few or len(self._noises) == 1 else 1
        first = self._solve_with(NOISE, is_contradicting, n_steps=n_steps)
        if self._method != "propagation" or len(self._noises) == 1:
            return first
        if not is_contradicting:  # more noise makes nothing surprising
            self._is_surprised = self._find_surprise()
        if is_few and self._is_taken(first, NOISE):
            return first
        if hessian is None:
            return self._raise_noise(first, is_contradicting)
        return self._lower_noise(is_contradicting)._replace(known=first.known)

    def _find_surprise(self):
        """Return whether random candidates would hardly have equations as far from their mean.

        Those of training rows are like random ones. Gradients of rows that a model does not know
        are two or three times as far, squared. Totals that a model was fitted to are left out: they
        are those of training rows and of no others.
        """
        n_gradients = len(self._targets) - self._equations.n_totals
        rows, targets = take_first_equations(self._rows, n_gradients), self._targets[:n_gradients]
        first = propagate(rows, targets, self.prior, n_steps=1)
        away = targets - rows @ np.full(self._n_candidates, self.prior)
        return bool(away @ first.residuals > special.chdtri(len(away), _SURPRISING))

    def _raise_noise(self, solution, is_contradicting):
        """Solve with more noise until propagation settles, and return to less that says the same.

        Sets of members that have no Hessian are weighed wrongly, which leaves larger residuals.
        """
        settled = []
        for noise in (one for one in self._noises if one > NOISE):
            if solution.is_settled:
                settled.append((self._noise, solution))
            solution = self._solve_with(noise, is_contradicting)
            if self._is_taken(solution, noise):
                break
        for noise, same in settled:
            if self._compare_ratios(same.ratios, solution.ratios) <= _ALIKE:
                self._whiten(noise)
                return same
        return solution

    def _lower_noise(self, is_contradicting):
        """Solve with noise that is lowered step by step, each time from the last solution.

        Where bits remain unsure, what is said is the mean over the noises: the least one with which
        propagation settles makes them too sure. The largest one makes them not sure enough, which
        is corrected.
        """
        for noise in (one for one in self._noises if one >= _MUCH_NOISE):
            solution = self._solve_with(noise, is_contradicting)
            if self._is_taken(solution, noise):
                break
        self._learn_pulls(solution)
        again = self._solve_with(noise, is_contradicting, solution._replace(inverter=None))
        solution = again if self._is_taken(again, noise) else solution
        ratios, taken = [self._sharpen(solution)], noise
        most = max(_MOST_RISE * self._compare_misfit(solution), _LEAST_DOUBTFUL)
        for noise in reversed(self._noises[: self._noises.index(taken)]):
            if noise < NOISE and not self._is_determined(solution):
                break
            self._learn_pulls(solution)
            colder = self._solve_with(noise, is_contradicting, solution._replace(inverter=None))
            if not colder.is_settled or self._compare_misfit(colder) > most:
                break
            solution, taken = colder, noise
            ratios.append(solution.ratios)
        self._whiten(taken)
        if taken <= NOISE and self._is_determined(solution):
            return solution
        self._disagreement = self._compare_ratios(ratios[0], ratios[-1])
        return solution._replace(ratios=np.mean(ratios, axis=0))

    def _compare_ratios(self, *ratios):
        """Return the root mean squared difference of the probabilities of two solutions."""
        first, second = (posterior_of(one, self.prior) for one in ratios)
        return float(np.sqrt(np.mean((first - second) ** 2)))

    def _learn_pulls(self, solution):
        """Let the pulls follow from the probabilities of membership."""
        pulls = self._equations.hessian.find_pulls(posterior_of(solution.ratios, self.prior))
        self._equations = self._equations._replace(pulls=pulls)

    def _solve_with(self, noise, is_contradicting, start=None, n_steps=None):
        self._whiten(noise)
        self._method = self._choose_solver(is_contradicting)
        return self._solve_around(self.prior, start, n_steps)

    def _whiten(self, noise):
        self._rows, self._targets, self._weights, self._pulls = whiten_equations(
            self._equations, self.outsiders_, self._n_candidates, noise
        )
        self._noise = noise

    def _is_taken(self, solution, noise):
        """Whether propagation has settled on bits that leave what bits as unsure as it says do."""
        if not solution.is_settled or noise >= _MUCH_NOISE:
            return solution.is_settled
        return self._compare_misfit(solution) <= _MOST_OF_EXPECTED

    def _compare_misfit(self, solution):
        """Return the misfit as a share of the one that is expected of right bits."""
        expected = expect_misfit(solution, self.prior)
        return measure_misfit(solution) / max(expected, _LEAST_EXPECTED)

    def _sharpen(self, solution):
        """Return the ratios of a solution without the noise that was assumed and is not there.

        The squared expected misfit is the share of all noise in what equations leave open, which is
        the variance of the evidence about a bit. As far as the residuals are no smaller than
        expected, the noise is there.
        """
        expected = max(expect_misfit(solution, self.prior) ** 2, _LEAST_EXPECTED)
        is_there = min(measure_misfit(solution) ** 2 / expected, 1)
        assumed = expected * self._noise**2 * np.mean(square_rows(self._rows))
        return solution.ratios / max(1 - assumed, is_there, 1 / _MOST_SHARPENED)

    def _is_determined(self, solution):
        """Whether so many equations are left over once bits are known that others would not fit."""
        return expect_misfit(solution, self.prior) >= _DETERMINED

    def _choose_solver(self, is_contradicting):
        n_equations, n = self._rows.shape
        if self.solver != "auto":
            return self.solver
        if is_contradicting or (self.outsiders_ and not self._propagates_outsiders):
            return "ridge"
        if is_propagated(n_equations, n):
            usual = self._n_usual * expect_step(n_equations, n)
            if usual <= self._allowed_seconds:
                return "propagation"
            taken, allowed = format_apart(format_duration, usual, self._allowed_seconds)
            warnings.warn(
                f"{n_equations:,} equations of {n:,} candidates were solved with bounds, which is "
                f"weaker: their propagation takes about {taken}, and {allowed} are allowed; "
                "max_seconds of ReleasedModelAttack allows more.",
                UserWarning,
                stacklevel=level_of_user(),
            )
        return "bounded" if n <= _MOST_BOUNDED else "ridge"

    def _solve_around(self, prior, start=None, n_steps=None):
        given = self._rows, self._targets, prior
        if self._method == "propagation":
            return propagate(*given, self._pulls, start, n_steps or self._n_steps)
        if self._method == "bounded":
            return solve_bounded_ridge(*given, self._seed, self._pulls, start)
        return solve_ridge(*given, self._seed, self._pulls)

    def _solve_contradicting(self):
        """Solve equations again that contradict each other, and warn."""
        assumed = self.outsiders_
        advice = "set outsiders to the share of missing rows, if you know it."
        if self.outsiders == "auto" and not self._equations.is_assumed:
            self.outsiders_ = estimate_outsiders(self._equations, self._n_candidates, self._seed)
            advice = (
                f"{tell_percent(self.outsiders_)} of its rows are estimated to be missing; {advice}"
            )
        found = f"misfit {self.misfit_:.1f}; at most {_MOST_MISFIT} is expected"
        if self.misfit_ <= _MOST_MISFIT:
            found = "they do not allow the number of members that prior states"
        warnings.warn(
            f"The equations of the {type(unwrap(self.victim)).__name__} contradict each other "
            f"({found}): it was trained on "
            "rows that are not among the candidates, or with sample weights. Scores are weaker "
            f"than they could be; {advice}",
            UserWarning,
            stacklevel=level_of_user(),
        )
        if self.outsiders_ == assumed and (self._method == "ridge" or self.solver != "auto"):
            return self._solution
        return self._solve(is_contradicting=True)

    def _has_collapsed(self, solution, n):
        """Whether the number of members that were found is far from the assumed number of rows."""
        if not len(solution.residuals):
            return False
        missing = solution.residuals[-1] / self._weights[-1]
        return self._equations.is_assumed and abs(missing) > n * self.prior / 2

    def solve_again(self, candidates: Records, ratios: np.ndarray) -> bool:
        """Solve the equations with other evidence as their prior, and keep what fits no worse.

        Parameters
        ----------
        candidates : Records of n records
            Records passed to `fit`, in any order.
        ratios : ndarray of shape (n,)
            Log likelihood ratio of membership of each record, from other evidence in the file.

        Returns
        -------
        fits : bool
            Whether the equations are fitted no worse with the evidence. If not, nothing changes.
        """
        check_is_fitted(self)
        ratios = self._sort_by_content(candidates, ratios)
        sure = _SURE if self._method == "propagation" else _SURE_OF_RIDGE
        prior = posterior_of(ratios, self.prior).clip(sure, 1 - sure)
        solution = self._solve_around(prior, self._solution)
        most = max(measure_misfit(self._solution), 1)  # noise alone has a misfit of 1
        if not measure_misfit(solution) <= most:
            return False
        self._solution = solution
        self._keep(solution.ratios)
        return True

    def drop_inverter(self) -> None:
        """Forget what only a further solution of the same equations needs, and is made again."""
        check_is_fitted(self)
        self._solution = self._solution._replace(inverter=None)

    def _judge_further(self, records):
        columns, pulls = self._read_further(records)
        ratios = self._solution.judge(self._rows, multiply_rows(columns, self._weights))
        # Of blur the mean, because it differs little between records.
        return ratios + pulls + np.mean(self._pulls - self._equations.pulls)

    @abstractmethod
    def _read(self, records):
        """Read the equations of the candidates."""

    @abstractmethod
    def _read_further(self, records):
        """Read the columns of further records, and their pulls."""
