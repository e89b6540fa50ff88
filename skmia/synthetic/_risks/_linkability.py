"""Linkability: whether a synthetic table joins two parts of a record."""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from ..._core.numbers import show
from ..._core.sklearn import at_least
from ..._core.types import Seed
from ._base import Attempts, TableRisk, draw_targets, permute_rows
from ._cells import TIE, iter_blocks


class LinkabilityRisk(TableRisk):
    """Risk that a synthetic table links two parts of a record.

    The attacker has two files with different columns of the same people. A link is found if one
    synthetic row is among the nearest rows of both parts. Control records show how often this
    happens for people who were not in the training table.

    Parameters
    ----------
    columns : pair of sequences of str or int, default=None
        Names or positions of the columns of either part. If None, the first and the second half of
        the columns.
    n_neighbors : int, default=1
        Number of nearest synthetic rows of each part.
    n_attacks : int, default=500
        Largest number of training records, and of control records, to attack.
    n_permutations : int, default=999
        Number of exchanges of training records with control records, for the p-value; 0 for no
        test.
    confidence_level : float, default=0.95
        Confidence level of each interval, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls which records are attacked, and the permutations.

    Attributes
    ----------
    result_ : DataFrame
        A row ``"linkability"`` with the success on training records (``attack``) and control
        records (``control``) and of random guesses (``naive``), Wilson's limits of the former two,
        the ``risk`` of :func:`excess_risk` with its limits ``low`` and ``high``, the ``pvalue``,
        and the numbers of attacks.

    Raises
    ------
    ValueError
        If the two parts share a column, or columns of the tables differ.

    See Also
    --------
    SinglingOutRisk : Risk that a predicate isolates a record.
    InferenceRisk : Risk that a value of a record is inferred.

    Notes
    -----
    Distances are Gower's, with the ranges of the synthetic table; a value that is missing in both
    rows agrees. Rows at equal distances are equally likely to be chosen, for either part apart: a
    record with a rows tied for the one part, b for the other and c of these in common counts as
    c / (a b) successes.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. PoPETs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import LinkabilityRisk
    >>> train, test = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> risk = LinkabilityRisk(random_state=0).fit(train, test, train)
    >>> bool(risk.result_.loc["linkability", "low"] > 0.95)
    True
    """

    _parameter_constraints = {
        **TableRisk._parameter_constraints,
        "columns": ["array-like", None],
        "n_neighbors": [at_least(1)],
    }

    def __init__(
        self,
        columns: Sequence | None = None,
        *,
        n_neighbors: int = 1,
        n_attacks: int = 500,
        n_permutations: int = 999,
        confidence_level: float = 0.95,
        random_state: Seed = None,
    ) -> None:
        self.columns = columns
        self.n_neighbors = n_neighbors
        self.n_attacks = n_attacks
        self.n_permutations = n_permutations
        self.confidence_level = confidence_level
        self.random_state = random_state

    def _attack(self, cells, random_state):
        parts = self._split(cells)
        n_synthetic, k = cells.sizes[-1], self.n_neighbors
        if k > n_synthetic:
            raise ValueError(f"n_neighbors={k} needs that many synthetic rows; got {n_synthetic}.")
        train, test = (
            np.concatenate(
                [
                    link(*(cells.sum_distances(part, rows, cells.tables[-1]) for part in parts), k)
                    for rows in iter_blocks(
                        draw_targets(table, self.n_attacks, random_state), n_synthetic
                    )
                ]
            )
            for table in cells.tables[:2]
        )
        naive = 1 - np.exp(_log_choose(n_synthetic - k, k) - _log_choose(n_synthetic, k))
        pvalue = permute_rows(train, test, self.n_permutations, random_state)
        return {"linkability": Attempts(train, test, float(naive), pvalue)}

    def _split(self, cells):
        if self.columns is None:
            if len(cells.columns) < 2:
                raise ValueError("Linkability needs at least 2 columns; got 1.")
            return np.array_split(range(len(cells.columns)), 2)
        if len(self.columns) != 2:
            raise ValueError(f"columns must be a pair; got {show(self.columns)}.")
        parts = [find_columns(part, cells.columns, "columns") for part in self.columns]
        shared = sorted(set(parts[0]) & set(parts[1]))
        if shared:
            raise ValueError(
                f"The two parts of columns share {cells.columns[shared[0]]!r}, so that any record "
                "is linked; give each column to one part."
            )
        return parts


def find_columns(wanted, columns, name):
    """Positions of columns that are given by name or by position, at least one."""
    wanted = [wanted] if isinstance(wanted, str) or not np.iterable(wanted) else list(wanted)
    positions = []
    for column in wanted:
        if isinstance(column, str) and column in columns:
            positions.append(columns.index(column))
        elif isinstance(column, int | np.integer) and 0 <= column < len(columns):
            positions.append(int(column))
        else:
            raise ValueError(f"{name} has {show(column)}, which is not a column of the tables.")
    if not positions or len(set(positions)) < len(positions):
        raise ValueError(f"{name} must name columns, each of them once; got {show(wanted)}.")
    return positions


def link(one, other, k):
    """Probability that the k nearest rows of the two parts have a row in common.

    Parameters
    ----------
    one, other : ndarray of shape (n, m)
        Distances of n records from m synthetic rows, by the columns of either part.
    k : int
        Number of nearest rows; those tied for the last places are drawn at random.

    Returns
    -------
    probability : ndarray of shape (n,)
    """
    (sure, tied), (sure_other, tied_other) = (_nearest(part, k) for part in (one, other))
    n_drawn, n_drawn_other = k - sure.sum(axis=1), k - sure_other.sum(axis=1)
    n_tied, n_tied_other = tied.sum(axis=1), tied_other.sum(axis=1)
    met, met_other = (tied & sure_other).sum(axis=1), (sure & tied_other).sum(axis=1)
    both = (tied & tied_other).sum(axis=1)
    missed = np.zeros(len(one))
    # The draw of one part takes j of the rows that are tied for both, and none that would be met.
    for j in range(k + 1):
        ways = (
            _log_choose(both, j)
            + _log_choose(n_tied - met - both, n_drawn - j)
            - _log_choose(n_tied, n_drawn)
            + _log_choose(n_tied_other - met_other - j, n_drawn_other)
            - _log_choose(n_tied_other, n_drawn_other)
        )
        missed += np.exp(ways)
    return np.where((sure & sure_other).any(axis=1), 1.0, np.clip(1 - missed, 0, 1))


def _nearest(distances, k):
    """Rows that are certainly among the k nearest, and rows tied for the last places."""
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    return distances < last - TIE, np.abs(distances - last) <= TIE


def _log_choose(n, k):
    """Logarithm of the number of ways to choose k of n; minus infinity if there is none."""
    n, k = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(k, dtype=float))
    fine = (k >= 0) & (n >= k)
    n, k = np.where(fine, n, 0), np.where(fine, k, 0)
    return np.where(fine, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)
