"""Attack on a released linear model or support vector machine by its optimum."""

import numpy as np

from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from ..victims import (
    decide_by_margins,
    estimate_gradients,
    find_model,
    has_edge,
    is_machine,
    read_further_gradients,
    read_gradients,
)
from ._bit_solver import NOISE, EquationsAttack, expect_step, is_propagated
from ._file_attack import expect_auc

# Variance of the number of members, in units of that of independent bits: whoever states the share
# mostly knows it better, and a share that is off by four standard deviations costs little.
_OF_COUNT = 0.25


class StationarityAttack(EquationsAttack):
    r"""Solve the conditions at the optimum of a released model for the membership of candidates.

    At the optimum of a linear model, the gradients of its training rows and of its penalty add up
    to zero. The gradient of each candidate at the released coefficients is known, so each
    coefficient and the intercept give one linear equation in membership bits; the expected number
    of members gives another one. The equations are solved together. A support vector machine stores
    each training row with a margin below 1: a candidate with such a margin that is not stored was
    not a training row. An attacker who has the file needs no queries, shadow models or known
    members.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked, a Pipeline that ends in it or a search that has chosen it:

        - least squares: LinearRegression, Ridge, RidgeCV with ``cv=None``, BayesianRidge,
          ARDRegression, Lasso, LassoCV, ElasticNet, ElasticNetCV, LassoLars, LassoLarsCV,
          LassoLarsIC, OrthogonalMatchingPursuit and OrthogonalMatchingPursuitCV;
        - other targets: PoissonRegressor, GammaRegressor, TweedieRegressor, HuberRegressor, and
          LinearSVR with ``loss="squared_epsilon_insensitive"``;
        - classes: LogisticRegression and LogisticRegressionCV with any penalty and solver,
          RidgeClassifier, RidgeClassifierCV with ``cv=None``, LinearSVC with
          ``loss="squared_hinge"``;
        - losses with an edge: LinearSVC with ``loss="hinge"``, LinearSVR with
          ``loss="epsilon_insensitive"`` and QuantileRegressor;
        - SVC and SVR.
    outsiders : float, default=0.0
        Share of the training rows that are not among the candidates, in [0, 1). If a few are
        missing and it is 0, more noise is assumed until the equations agree.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1). The number of members that follows is an
        equation, with half of the standard deviation that independent bits would give it.
    solver : {"auto", "propagation", "bounded", "ridge"}, default="auto"
        Method that solves the equations, see :class:`NodeEquationsAttack`. Support vector machines
        have none.
    random_state : int, RandomState instance or None, default=None
        Controls the probes that estimate ``known_`` of ridge regression. Pass an int for
        reproducible results.

    Attributes
    ----------
    n_equations_ : int
        Number of equations; for a support vector machine, the number of decided candidates.
    known_ : float
        Share of the information about the bits that the equations contain, in [0, 1): their rank
        divided by the number of candidates. For a support vector machine, the share of decided
        candidates.
    misfit_ : float
        Root mean square of the residuals of the first solution, in units of their noise. A small
        value does not show that no training row is missing, because few equations do not contradict
        each other. 0 for a support vector machine.
    expected_auc_ : float or None
        Expected AUC, which does not require membership: the AUC that follows if the scores are log
        likelihood ratios; up to 0.1 too low with ``outsiders``. None if solutions with different
        noise contradict each other, or the equations do not look like those of training rows, see
        the notes, so that it is not known.
    offset_ : float
        Threshold of the score. Without ``membership``, the smallest threshold above 0 that at most
        5% of the non-members reach if the scores are log likelihood ratios.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a model of another kind.
    ValueError
        If the victim has coefficients that were bounded, several targets, or a solver that stops
        elsewhere, if the solver stopped early, or if a record has a label that the victim does not
        know.

    Warns
    -----
    UserWarning
        If the equations contradict each other, see ``misfit_``.

    See Also
    --------
    NodeEquationsAttack : Equations of models of trees.
    StoredValuesAttack : Finds the support vectors, and rows that other models store.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership; a record that is
    scored later is treated as one more candidate, which may explain the residuals of the others.

    The score is the log likelihood ratio of membership, without the prior. For features :math:`x_i`
    as they reach the model, the derivative :math:`r_i` of the loss by the output, and coefficients
    :math:`w` with a penalty of strength :math:`\alpha` (``1 / C``), the equations are

    .. math:: \sum_i b_i r_i x_i + \alpha w = 0, \quad \sum_i b_i r_i = 0,

    for each class if there are more than two. With an l1 penalty, coefficients of 0 have no
    equation, and the others have :math:`\alpha \, \mathrm{sign}(w)`. What a solver leaves of the
    gradients follows from how it stops, and is the noise of the equations: ``lbfgs`` stops when no
    element of the mean gradient exceeds ``tol``, and coordinate descent stores a ``dual_gap_``.
    Balanced class weights are as accurate as the estimated share of each class.

    Many sets of members have gradients that add up to nearly zero. A set is as likely as the
    density that it gives the coefficients, which is the determinant of its second derivatives. A
    training row of curvature :math:`c_i` multiplies it by :math:`1 + c_i x_i^\top H^{-1} x_i`,
    where H is the matrix of second derivatives of the others. Its expectation is computed from the
    probabilities of membership, which are solved for in turn.

    The equations get a relative noise of 0.01. Where there are at least a tenth as many of them as
    candidates, propagation starts with a noise of 0.1, which is lowered to 0.06, 0.03 and 0.01, as
    long as it settles and the residuals do not rise, as a share of those that bits as unsure as it
    says would leave. Bits that are determined are solved with 0.003 at last. The score of others is
    the mean over the noises, since a small noise makes them too sure. With the largest one they are
    not sure enough: a part of the variance that the equations leave open is noise that is assumed
    and is not there. Log likelihood ratios are divided by the share that is left without this part,
    or by 1/2 if that is larger. If the probabilities with the largest and the smallest noise differ
    by more than 0.12 (root mean square), ``expected_auc_`` is None.

    Training rows of the victim have equations like random bits. If the model does not know the
    candidates, their gradients are farther from 0. If a set of random bits would be as far with a
    probability of at most 0.01 (a chi-squared test), ``expected_auc_`` is None.

    Sample weights are not stored in a file, and make the equations wrong. If the model was trained
    on scaled features, pass a Pipeline with its scaler.

    A loss with an edge leaves about as many training rows exactly on its edge as there are
    coefficients (margins of 1, residuals of `epsilon`, quantiles that are met), and others only by
    chance. How much each of them pulls is not known, so the gradients are not solved: a candidate
    on the edge, up to ``tol``, was a training row, and the others are members as often as is left.

    Candidates that are decided by a support vector machine have a score of :math:`\pm \log(n + 1)`
    for n candidates, the others 0. A stored row is evidence for every candidate that equals it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.attacks import StationarityAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = LogisticRegression().fit(members.X, members.y)
    >>> attack = StationarityAttack(victim).fit(records)
    >>> attack.n_equations_ == records.X.shape[1] + 2  # of the intercept and of the number
    True
    >>> round(attack.expected_auc_, 2)
    0.58
    """

    # Gradients may be exact, but if bits are solved for as if they were, propagation settles on
    # wrong ones, or wanders.
    _noises, _n_steps = (0.003, NOISE, 0.03, 0.06, 0.1, 0.3), 40
    # About 35 with all noises together, and 30 for the second derivatives.
    _n_usual = 65
    _propagates_outsiders = True

    def _needs(self):
        return Needs(ANY, access=frozenset({"file", "optimum"}))

    @classmethod
    def expect_seconds(
        cls, n_equations: int, n_candidates: int, most: float | None = None
    ) -> float:
        """Estimate the time in which the conditions at an optimum are solved.

        Parameters
        ----------
        n_equations : int
            Number of coefficients of the victim, with intercepts.
        n_candidates : int
            Number of records.
        most : float, default=None
            Seconds that propagation may take at most; otherwise equations are solved with bounds,
            as ``max_seconds`` of :class:`ReleasedModelAttack` does, which takes little time. By
            default they may take any time.

        Returns
        -------
        seconds : float
            About how long it takes, on one core.

        Examples
        --------
        >>> from skmia.attacks import StationarityAttack
        >>> StationarityAttack.expect_seconds(100, 400) < 1
        True
        """
        if not is_propagated(n_equations, n_candidates):
            return 0.0
        seconds = cls._n_usual * expect_step(n_equations, n_candidates)
        return seconds if most is None or seconds <= most else 0.0

    def _estimate_cost(self, records):
        return estimate_gradients(self.victim, records)

    # Error of the outputs, of coefficients that are known up to errors.
    _slack = 0.0

    def _judge_candidates(self, records):
        if not is_machine(self.victim):
            return super()._judge_candidates(records)
        decided = decide_by_margins(self.victim, records, self._slack)
        self._certain, self._undecided = np.log(len(records) + 1), 0.0
        self.n_equations_ = int(np.count_nonzero(decided))
        if has_edge(find_model(self.victim)[0]):
            # Members that are left once those on the edge are taken out.
            left = max(1 - self.n_equations_ / self._count(records)[0], 1 / len(records))
            self._undecided = np.log(left)
        ratios = self._rate_decided(decided)
        self.known_, self.misfit_ = self.n_equations_ / len(records), 0.0
        self.expected_auc_ = expect_auc(posterior_of(ratios, self.prior))
        return ratios

    def _rate_decided(self, decided):
        return np.where(decided, decided * self._certain, self._undecided)

    def _judge_further(self, records):
        if is_machine(self.victim):
            return self._rate_decided(decide_by_margins(self.victim, records, self._slack))
        return super()._judge_further(records)

    def _read(self, records):
        return read_gradients(self.victim, records, *self._count(records))

    def _count(self, records):
        """Return the assumed number of training rows, and its variance."""
        n_members = self.prior * len(records)
        return n_members / (1 - self.outsiders), _OF_COUNT * n_members * (1 - self.prior)

    def _read_further(self, records):
        return read_further_gradients(self.victim, records, self._equations)
