"""Attack on a released model by the sums over its training rows that it stores."""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.base import BaseEstimator

from .._core.callers import level_of_user
from .._core.needs import ANY, Needs
from .._core.query import unwrap
from .._core.randomness import check_random_state
from .._core.sklearn import Interval
from .._core.types import Seed
from ..victims import read_stored_sums
from ._file_attack import CandidatesAttack, find_known

# More equations of the same candidates are replaced by so many random sums of them.
_MOST_EQUATIONS = 2000
_N_SCALED = 2000  # candidates by which equations are scaled before they are added
_BLOCK = 2**22  # numbers in a block of features
# Directions of the scaled equations that are shorter are rounding errors.
_LEAST = 1e-9
_MOST_LEVERAGE = 1 - 1e-6
_MOST_FURTHER = 1e6  # of a record that was not among the candidates
_N_QUANTILES = 500
# A candidate of this leverage is told with an AUC above .68, if all have it.
_EXPOSED = 0.1
_FPR = 0.01
_MOST_MISFIT = 3


class MomentsAttack(CandidatesAttack):
    r"""Solve the sums over the training rows that a file stores for the membership of candidates.

    Naive Bayes, discriminant analysis, scalers and the like store counts, means, variances or
    covariances of their training rows. Each of these numbers is a sum over the rows, hence a linear
    equation in membership bits. They are solved together by least squares. An attacker who has the
    file needs no queries, shadow models or known members.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked: GaussianNB, BernoulliNB, MultinomialNB, ComplementNB,
        CategoricalNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, NearestCentroid,
        DummyClassifier, StandardScaler, SimpleImputer, PCA, TfidfTransformer, TfidfVectorizer,
        EmpiricalCovariance, ShrunkCovariance, LedoitWolf or OAS, a Pipeline with some of them, or a
        search that has chosen one.
    outsiders : float, default=0.0
        Share of the training rows that are not among the candidates, in [0, 1).
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1). It is replaced by what follows from
        `outsiders` if the file stores the number of training rows.
    random_state : int, RandomState instance or None, default=None
        Controls the random sums of equations, which replace the equations if there are more than
        2,000. Pass an int for reproducible results.

    Attributes
    ----------
    n_rows_ : float or None
        Number of training rows according to the file. If the file stores only shares of classes, or
        of the texts that contain a word, it follows from their smallest denominator: the multiple
        that is closest to the expected number, or for eight or more different shares of texts the
        denominator itself. None if the file contains neither.
    n_sums_ : int
        Number of sums that were read.
    n_equations_ : int
        Number of equations that are independent for these candidates.
    leverage_ : ndarray of shape (n,)
        Leverage of each candidate in the equations, in [0, 1), in the order of the records given to
        ``fit``. The mean is ``n_equations_ / n``.
    n_exposed_ : int
        Number of candidates with a leverage above 0.1. Features with heavy tails lead to such
        candidates, which are identified far more often than others.
    expected_auc_ : float
        Expected AUC, which does not require membership, see Notes.
    expected_tpr_ : float
        Expected true positive rate at a false positive rate of 1%.
    misfit_ : float
        Root mean square of the equations without those of the expected number of rows, in units of
        their spread over memberships. Above 3, the training rows come from a different population
        than the candidates, or were weighted.
    refused_ : list of str
        Numbers of the model that are not read, and why.
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
        If the victim was trained with sample weights, no equations are known for its settings, or a
        record has a label that the victim does not know.

    Warns
    -----
    UserWarning
        If the sums do not fit to the candidates, see ``misfit_``.

    See Also
    --------
    StationarityAttack : Equations of linear models.
    NodeEquationsAttack : Equations of models of trees.
    ReleasedModelAttack : Combines all attacks on files.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership; a record that is
    scored later is treated as one more candidate.

    Let the row :math:`F_i` hold what candidate i adds to each sum, :math:`t` the sums, p the prior
    and b the memberships, so that :math:`F^\top b = t`. With :math:`\hat{b} = F (F^\top F)^+ (t - p
    F^\top 1)` and the leverage :math:`h_i = F_i (F^\top F)^+ F_i^\top`, the score is the log
    likelihood ratio

    .. math:: \frac{\hat{b}_i - h_i (1/2 - p)}{p (1 - p) (1 - h_i)}.

    Outsiders add noise with the mean and covariance of the candidates. If all candidates have the
    same leverage, p is one half and there are no outsiders,

    .. math:: AUC = \Phi\left(\sqrt{2 h / (1 - h)}\right), \quad
        TPR = \Phi\left(z_\alpha + 2 \sqrt{h / (1 - h)}\right)

    at a false positive rate of :math:`\alpha`. The expected values are those of the mixture over
    the leverages, without the equation of the number of rows, which does not rank candidates, for
    sums of many rows. Sums of one class are equations for its candidates. Equations beyond 2,000
    are replaced by random sums of them, and the attack is weaker than it could be.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.attacks import MomentsAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = GaussianNB().fit(members.X, members.y)
    >>> attack = MomentsAttack(victim).fit(records)
    >>> attack.n_equations_ == 2 * (1 + 2 * records.X.shape[1])
    True
    >>> attack.n_rows_ == len(members)
    True
    """

    _parameter_constraints = {
        **CandidatesAttack._parameter_constraints,
        "outsiders": [Interval(Real, 0, 1, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float = 0.0,
        prior: float = 0.5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior
        self.random_state = random_state

    def _needs(self):
        return Needs(ANY, access=frozenset({"file", "sums"}))

    def _fit(self, records, membership):
        super()._fit(records, membership)
        place, _ = find_known(self._digests, records)
        self.leverage_ = self._leverages[place]

    def _judge_candidates(self, records):
        n = len(records)
        self._seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        expected = self.prior * n / (1 - self.outsiders)
        sources, self.refused_ = read_stored_sums(self.victim, records, expected)
        self.sources_ = [(source.model, frozenset(source.reads)) for source in sources]
        self.n_rows_ = next((one.n_rows for one in sources if one.n_rows is not None), None)
        self.n_sums_ = sum(len(block.targets) for one in sources for block in one.blocks)
        self._share, self._noise = self._split_rows(n)
        self._solved = []
        leverages, ratios, squares, square = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
        # The number of rows alone ranks nobody.
        alone = 0.0 if self.n_rows_ is None else 1 / n
        for system in _make_systems(sources):
            solved = solve(system, self._share + self._noise, self._seed)
            self._solved.append(solved)
            own, fitted = judge_bits(solved, system)
            spread = self._spread(own, solved)
            leverages[system.rows], squares[system.rows] = own, (own - alone).clip(0) / spread
            ratios[system.rows] = self._center(fitted, own) / spread
            square += solved.force @ solved.force
        self.n_equations_ = sum(solved.basis.shape[1] for solved in self._solved)
        self._leverages = np.empty(self._digests.shape[1])
        self._leverages[self._groups] = leverages
        self._describe(leverages, squares, square)
        return ratios

    def _split_rows(self, n):
        """Return share of members among the candidates, and number of outsiders per candidate."""
        rate = self.prior / (1 - self.outsiders) if self.n_rows_ is None else self.n_rows_ / n
        share = float(np.clip((1 - self.outsiders) * rate, 0.01, 0.99))
        return share, max(rate - share, 0.0)

    def _spread(self, leverages, solved):
        """Return the variance of what was found of each membership, divided by the leverage."""
        return self._share * (1 - self._share) * (1 - leverages) + self._blur(solved)

    def _blur(self, solved):
        """Return variance that outsiders add, and the mean of candidates that stands for theirs.

        The inverse of the candidates' own moments is larger than that of all records would be.
        """
        return self._noise * (1 + self._noise) / (1 - solved.leverage)

    def _center(self, fitted, leverages):
        return fitted - leverages * (0.5 - self._share - self._noise)

    def _describe(self, leverages, squares, square):
        self.expected_auc_, self.expected_tpr_ = expect_strength(squares)
        self.n_exposed_ = int(np.count_nonzero(leverages > _EXPOSED))
        variance = self._share * (1 - self._share)
        spread = sum(one.basis.shape[1] * (variance + self._blur(one)) for one in self._solved)
        self.misfit_ = float(np.sqrt(square / max(spread, 1e-12)))
        if self.misfit_ > _MOST_MISFIT:
            warnings.warn(
                f"The sums in the {type(unwrap(self.victim)).__name__} do not fit to the "
                f"candidates (misfit {self.misfit_:.1f}; at most {_MOST_MISFIT} is expected): it "
                "was trained on rows of another kind, or with sample weights. Scores may be of no "
                "use.",
                UserWarning,
                stacklevel=level_of_user(),
            )

    def _judge_further(self, records):
        sources, _ = read_stored_sums(self.victim, records, self.prior * self._digests.shape[1])
        ratios = np.zeros(len(records))
        by_label = {system.label: system for system in _make_systems(sources)}
        for solved in self._solved:
            system = by_label.get(solved.label)
            if system is None:
                continue
            own, fitted = judge_bits(solved, system, _MOST_FURTHER)
            # One more candidate takes a part of the sums for itself.
            own = own / (1 + own)
            fitted = fitted * (1 - own) - (self._share + self._noise) * own
            ratios[system.rows] = self._center(fitted, own) / self._spread(own, solved)
        return ratios


class MomentSystem(NamedTuple):
    """Equations that concern the same candidates."""

    label: int | None  # number of the class; None if the equations concern all candidates
    rows: np.ndarray  # positions of the candidates
    parts: list  # of pairs of a Source and a Block

    @property
    def targets(self):
        return np.concatenate([block.targets for _, block in self.parts])

    @property
    def floors(self):
        """Size below which a coefficient consists of rounding errors."""
        return np.concatenate(
            [np.broadcast_to(block.floors, len(block.targets)) for _, block in self.parts]
        )

    def read(self, rows):
        """Return the coefficients of the candidates at some positions, one row each."""
        return np.concatenate([self._read_part(*part, rows) for part in self.parts], axis=1)

    def _read_part(self, source, block, rows):
        X = source.X[rows]
        X = X.toarray() if sparse.issparse(X) else X
        y = None if source.y is None else source.y[rows]
        if block.label is None or self.label is not None:
            return block.features(X, y)
        values, own = np.zeros((len(rows), len(block.targets))), y == block.label
        values[own] = block.features(X[own], y[own])
        return values

    def iter_blocks(self):
        """Yield slices of the candidates whose coefficients fit into memory."""
        size = max(_BLOCK // len(self.targets), 1)
        for start in range(0, len(self.rows), size):
            yield slice(start, start + size)


def _make_systems(sources):
    """Return one system per class if all sums are of classes of the same model, else one of all."""
    parts = [(source, block) for source in sources for block in source.blocks]
    parts = [part for part in parts if len(part[1].targets)]
    n = sources[0].X.shape[0]
    if len(sources) > 1 or any(block.label is None for _, block in parts):
        return [MomentSystem(None, np.arange(n), parts)]
    systems = []
    for label in dict.fromkeys(block.label for _, block in parts):
        rows = np.flatnonzero(sources[0].y == label)
        if len(rows):
            own = [part for part in parts if part[1].label == label]
            systems.append(MomentSystem(label, rows, own))
    return systems


class SolvedSystem(NamedTuple):
    """Solution of a system."""

    label: int | None
    weights: np.ndarray  # (n_equations,): factors of the equations
    sketch: object  # random sums of the equations; None if all are used
    basis: np.ndarray  # (n_used, rank): orthonormal directions of the coefficients that are left
    # (rank,): right-hand sides in these directions, without what is expected of the candidates.
    force: np.ndarray
    leverage: float  # mean of the candidates, less than 1

    def turn(self, features):
        """Return coefficients in the directions of the basis."""
        return self._add(features * self.weights) @ self.basis

    def _add(self, scaled):
        return scaled if self.sketch is None else (self.sketch @ scaled.T).T


def solve(system, rate, seed):
    """Solve the equations of a system by least squares, reading its candidates in blocks."""
    targets, rng = system.targets, np.random.default_rng(seed)
    some = rng.permutation(len(system.rows))[:_N_SCALED]
    size = _measure_size(system, some)
    weights = np.divide(1, size, out=np.zeros_like(size), where=size > system.floors)
    sketch = _draw_sums(len(targets), rng) if len(targets) > _MOST_EQUATIONS else None
    solved = SolvedSystem(system.label, weights, sketch, None, None, 0.0)
    square, total = 0.0, 0.0
    for block in system.iter_blocks():
        used = solved._add(system.read(system.rows[block]) * weights)
        square, total = square + used.T @ used, total + used.sum(axis=0)
    norms = np.sqrt(np.diag(square))
    norms[norms == 0] = np.inf
    values, vectors = np.linalg.eigh(square / np.outer(norms, norms))
    kept = values > _LEAST * max(values[-1], 1)
    basis = vectors[:, kept] / norms[:, None] / np.sqrt(values[kept])
    force = (solved._add((targets * weights)[None])[0] - rate * total) @ basis
    mean = min(basis.shape[1] / len(system.rows), _MOST_LEVERAGE)
    return solved._replace(basis=basis, force=force, leverage=mean)


def _measure_size(system, some):
    """Return the root mean square of the coefficients of some candidates in each equation."""
    square, size = 0.0, max(_BLOCK // len(system.targets), 1)
    for start in range(0, len(some), size):
        square = square + (system.read(system.rows[some[start : start + size]]) ** 2).sum(axis=0)
    return np.sqrt(square / len(some))


def _draw_sums(n, rng):
    """Add each of n equations, with a random sign, to one of fewer."""
    place, signs = rng.permutation(n) % _MOST_EQUATIONS, rng.choice([-1.0, 1.0], size=n)
    return sparse.csr_array((signs, (place, np.arange(n))), shape=(_MOST_EQUATIONS, n))


def judge_bits(solved, system, most=_MOST_LEVERAGE):
    """Leverage of each candidate of a system, and the part of its membership that was found."""
    leverages, fitted = np.zeros(len(system.rows)), np.zeros(len(system.rows))
    for block in system.iter_blocks():
        turned = solved.turn(system.read(system.rows[block]))
        leverages[block] = np.einsum("ij,ij->i", turned, turned)
        fitted[block] = turned @ solved.force
    return leverages.clip(0, most), fitted


def expect_strength(squares):
    """Return expected AUC and TPR of log likelihood ratios that are normal, of various strength."""
    if not squares.any():
        return 0.5, _FPR
    grid = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
    squares = np.quantile(squares, grid)
    auc = ndtr(np.sqrt(squares[:, None] + squares) / 2).mean()
    tails = np.sqrt(np.maximum(squares, 1e-12))

    def exceed(threshold, side):
        return ndtr((side * squares / 2 - threshold) / tails).mean()

    low, high = -squares.max() - 10 * tails.max(), squares.max() + 10 * tails.max()
    threshold = brentq(lambda one: exceed(one, -1) - _FPR, low, high)
    return float(auc), float(exceed(threshold, 1))
