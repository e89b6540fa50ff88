"""Base class of attacks that solve linear equations in membership bits."""

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._core.asking import unwrap
from .._core.probabilities import posterior_of
from .._core.randomness import check_random_state
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from .._core.types import Seed
from ._bounded_bits import bound
from ._candidates import CandidatesAttack
from ._outsiders import estimate_outsiders
from ._solve_bits import multiply_rows, propagate, regress, scale

# Largest product of the sizes of a dense system, because its time grows faster.
_MOST_DENSE = 4000**2

# Largest number of candidates whose bits are bounded: with more, bounds say less and take longer.
_MOST_BOUNDED = 20_000

# Root mean squared residual above which equations are taken to contradict each other.
_MOST_MISFIT = 3

# Priors from other evidence are limited to this distance from 0 and 1, so that exact equations can
# overrule evidence that is wrong. Ridge regression takes a prior for a normal distribution, in
# which a bit that is wrong lies many standard deviations away and misleads all others.
_SURE = 1e-4
_SURE_OF_RIDGE = 0.1


class EquationsAttack(CandidatesAttack):
    """Base class of attacks that solve linear equations in membership bits.

    A subclass implements ``_read(records)``, which returns the :class:`Equations` of the
    candidates, ``_read_further(records)``, which returns the columns that further records would
    have in them, and ``_expect(solution)``, which returns the AUC to be expected.
    """

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
        self._solution = self._solve()
        self.misfit_ = float(np.sqrt(np.mean(self._solution.residuals**2)))
        if self.misfit_ > _MOST_MISFIT or self._has_collapsed(self._solution, len(records)):
            self._solution = self._solve_contradicting()
        self.n_equations_, self.known_ = len(self._targets), self._solution.known
        self.expected_auc_ = float(self._expect(self._solution))
        return self._solution.ratios

    def _solve(self, *, is_contradicting=False):
        self._rows, self._targets, self._weights, self._pulls = scale(
            self._equations, self.outsiders_, self._n_candidates
        )
        self._method = self._choose_solver(is_contradicting)
        return self._solve_around(self.prior)

    def _choose_solver(self, is_contradicting):
        n_equations, n = self._rows.shape
        if self.solver != "auto":
            return self.solver
        if is_contradicting or self.outsiders_:
            return "ridge"
        if min(n_equations, n) * n <= _MOST_DENSE:
            return "propagation"
        return "bounded" if n <= _MOST_BOUNDED else "ridge"

    def _solve_around(self, prior, start=None):
        if self._method == "propagation":
            return propagate(self._rows, self._targets, prior, self._pulls, start)
        solve = bound if self._method == "bounded" else regress
        return solve(self._rows, self._targets, prior, self._seed, self._pulls)

    def _solve_contradicting(self):
        """Solve equations again that contradict each other, and warn."""
        assumed = self.outsiders_
        advice = "set outsiders to the share of missing rows, if you know it."
        if self.outsiders == "auto" and not self._equations.is_assumed:
            self.outsiders_ = estimate_outsiders(self._equations, self._n_candidates, self._seed)
            advice = f"{self.outsiders_:.0%} of its rows are estimated to be missing; {advice}"
        warnings.warn(
            f"The equations of the {type(unwrap(self.victim)).__name__} contradict each other "
            f"(misfit {self.misfit_:.1f}; at most {_MOST_MISFIT} is expected): it was trained on "
            "rows that are not among the candidates, or with sample weights. Scores are weaker "
            f"than they could be; {advice}",
            UserWarning,
            stacklevel=5,
        )
        if self.outsiders_ == assumed and (self._method == "ridge" or self.solver != "auto"):
            return self._solution
        return self._solve(is_contradicting=True)

    def _has_collapsed(self, solution, n):
        """Whether the number of members that were found is far from the assumed number of rows."""
        if not len(solution.residuals):
            return False
        missing = solution.residuals[-1] * np.sqrt(n * self.prior * (1 - self.prior))
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
        ratios = self._sort_by_content(candidates, ratios)
        sure = _SURE if self._method == "propagation" else _SURE_OF_RIDGE
        prior = posterior_of(ratios, self.prior).clip(sure, 1 - sure)
        solution = self._solve_around(prior, self._solution)
        misfit = float(np.sqrt(np.mean(solution.residuals**2)))
        plain = float(np.sqrt(np.mean(self._solution.residuals**2)))
        if not misfit <= max(plain, 1):  # noise alone has a misfit of 1
            return False
        self._solution = solution
        self._keep(solution.ratios)
        return True

    def _judge_further(self, records):
        columns = self._read_further(records)
        ratios = self._solution.judge(self._rows, multiply_rows(columns, self._weights))
        return ratios + self._pulls.mean()  # the mean, because pulls differ little between records

    @abstractmethod
    def _read(self, records):
        """Read the equations of the candidates."""

    @abstractmethod
    def _read_further(self, records):
        """Read the columns of further records."""

    @abstractmethod
    def _expect(self, solution):
        """Return the AUC to be expected."""
