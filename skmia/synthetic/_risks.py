"""Singling out, linkability and inference: three risks of a synthetic table."""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from numbers import Real
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.special import gammaln, ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.groups import mean_by_group, number_groups
from .._core.numbers import check_count, check_number, show, to_array
from .._core.randomness import derive_random_state
from .._core.sklearn import Interval, at_least
from .._core.text import count_more
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from ._cells import TIE, TableCells, find_nearest_rows, iter_blocks, iter_nearest_without, take
from ._neighbors import as_frame

# A rate of failure below this one has no ratio.
_NO_RATE = 1e-9


class ExcessRisk(NamedTuple):
    """Risk of an attack in excess of its success on control records.

    Attributes
    ----------
    risk : float
        One minus the ratio of the rates of failure; 0 means that training records are attacked
        no better than control records, 1 that all attacks on training records succeed. NaN if no
        attack on control records fails.
    low, high : float
        Confidence limits, not cut to [0, 1].
    """

    risk: float
    low: float
    high: float


def wilson(successes, trials, confidence_level):
    """Return Wilson's limits of a rate; the number of successes may be an expected number."""
    if trials == 0:
        return 0.0, 1.0
    rate, z = successes / trials, ndtri((1 + confidence_level) / 2)
    center = rate + z**2 / (2 * trials)
    reach = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    low, high = (center - reach, center + reach) / (1 + z**2 / trials)
    return float(max(low, 0.0)), float(min(high, 1.0))


def excess_risk(
    successes: float,
    n_attacks: int,
    control_successes: float,
    n_controls: int,
    *,
    confidence_level: float = 0.95,
) -> ExcessRisk:
    """Compare successful attacks on training records with those on control records.

    The risk is ``(p_train - p_control) / (1 - p_control)``: the share of the attacks that succeed
    because of the training, among those that fail on control records. Its interval combines
    Wilson's intervals of the two rates of failure into one of their ratio (MOVER-R).

    Parameters
    ----------
    successes : float
        Number of successful attacks on training records; where ties are broken at random, the
        expected number.
    n_attacks : int
        Number of attacks on training records.
    control_successes : float
        Number of successful attacks on control records.
    n_controls : int
        Number of attacks on control records.
    confidence_level : float, default=0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    risk : ExcessRisk
        Risk and confidence limits.

    Raises
    ------
    ValueError
        If a number of successes exceeds the number of attacks, or a number is out of range.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. PoPETs.

    Donner, A. and Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal
    mean and standard deviation. Statistical Methods in Medical Research 21(4).

    Examples
    --------
    >>> from skmia.synthetic import excess_risk
    >>> found = excess_risk(300, 500, 100, 500)
    >>> print(f"{found.risk:.2f} [{found.low:.2f}, {found.high:.2f}]")
    0.50 [0.44, 0.56]
    """
    check_count(n_attacks, "n_attacks", 0)
    check_count(n_controls, "n_controls", 0)
    wanted = "a number from 0 to the number of attacks, "
    check_number(successes, "successes", f"{wanted}{n_attacks}", 0, n_attacks)
    check_number(control_successes, "control_successes", f"{wanted}{n_controls}", 0, n_controls)
    check_number(confidence_level, "confidence_level", "a number in (0, 1)", 0, 1)
    if confidence_level in (0, 1):
        raise ValueError(f"confidence_level must be a number in (0, 1); got {confidence_level}.")
    if n_attacks == 0 or n_controls == 0 or control_successes >= n_controls:
        return ExcessRisk(np.nan, np.nan, np.nan)
    failed, spared = n_attacks - successes, n_controls - control_successes
    q, q0 = failed / n_attacks, spared / n_controls
    limits = wilson(failed, n_attacks, confidence_level)
    low, high = _ratio_limits(q, q0, limits, wilson(spared, n_controls, confidence_level))
    return ExcessRisk(float(1 - q / q0), float(1 - high), float(1 - low))


def _ratio_limits(q, q0, limits, limits0):
    """Return the limits of q / q0 by the method of variance estimates recovery."""
    (l1, u1), (l0, u0) = limits, limits0
    low, high = 0.0, np.inf
    if 2 * q0 > u0:
        root = max((q * q0) ** 2 - l1 * u0 * (2 * q - l1) * (2 * q0 - u0), 0.0)
        low = (q * q0 - np.sqrt(root)) / (u0 * (2 * q0 - u0))
    if l0 >= _NO_RATE:
        root = max((q * q0) ** 2 - u1 * l0 * (2 * q - u1) * (2 * q0 - l0), 0.0)
        high = (q * q0 + np.sqrt(root)) / (l0 * (2 * q0 - l0))
    return low, high


class AttackAttempts(NamedTuple):
    """Success of the attacks of one kind, in [0, 1] each, and of guesses without the attack."""

    train: np.ndarray
    test: np.ndarray
    naive: float
    pvalue: float


def number_persons(groups, sizes):
    """Number the persons of training rows and control rows; nobody may be in both."""
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        raise ValueError(
            f"groups must be a pair: persons of train, persons of test; got {show(groups)}."
        )
    named = zip(groups, sizes, ("train", "test"))
    parts = [number_groups(part, n, f"groups of {name}") for part, n, name in named]
    both = np.intersect1d(*(names.astype(object) for names, _ in parts))
    if len(both):
        raise ValueError(
            f"{len(both)} persons are in train and in test, such as {show(both[0])}; leave their "
            "rows out."
        )
    return np.append(parts[0][1], len(parts[0][0]) + parts[1][1])


# What y says of the table that a row is in.
_SIDES = {1: "training rows", 0: "held-out rows", -1: "synthetic rows"}


def split_sides(X, y, needed):
    """Return the training, held-out and synthetic rows of X by what y says of each.

    Some may be missing.
    """
    names = ", ".join(f"{side} for {_SIDES[side]}" for side in _SIDES)
    if y is None:
        raise ValueError(f"y must say of each row of X what it is: {names}; got None.")
    labels = to_array(y, "y", "be a vector")
    if labels.ndim == 2:
        raise ValueError(
            "A table in the place of y needs the synthetic table beside it: fit(train, test, "
            f"synthetic); or let y say of each row of X what it is: {names}."
        )
    X = as_frame(X, "X")
    if labels.shape != (len(X),):
        raise ValueError(f"y must hold a number for each of the {len(X)} rows of X; got {show(y)}.")
    unknown = ~np.isin(labels, list(_SIDES))
    if unknown.any():
        raise ValueError(f"y must hold {names}; got {show(labels[unknown].tolist()[0])}.")
    for side in needed:
        if not (labels == side).any():
            raise ValueError(f"X has no {_SIDES[side]}, which have {side} in y.")
    return [X.iloc[np.flatnonzero(labels == side)] for side in _SIDES]


def join_unseen(table, rows):
    """Return a table with the rows that it does not hold yet."""
    if not len(rows):
        return table
    pair = TableCells((rows, table), ("X", "synthetic")).tables
    frames = [pd.DataFrame({place: c + 0.0 for place, c in enumerate(cells)}) for cells in pair]
    given, known = (pd.util.hash_pandas_object(frame, index=False) for frame in frames)
    frame = as_frame(table, "synthetic")
    unseen = rows[~np.isin(given, known)]
    if not all(isinstance(name, str) for name in [*frame.columns, *rows.columns]):
        unseen = unseen.set_axis(frame.columns, axis=1)
    return pd.concat([frame, unseen[frame.columns]], ignore_index=True)


class TablesEstimator(TransactionMixin, BaseEstimator):
    """Base of the estimators that compare real rows with a synthetic table.

    A subclass computes its leakage from what it found in fit in _compute_leakage().
    """

    def _read_tables(self, X, y, synthetic, *others):
        """Keep what a later score is about, and return training, held-out and synthetic rows."""
        if synthetic is None:
            X, y, synthetic = split_sides(X, y, (1, 0, -1))
        self._others = deepcopy((synthetic, *others))
        return X, y, synthetic

    def score(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> float:
        """Return how much the synthetic table leaks; higher means that more leaks.

        A search with this score selects the setting that finds most, as a search over attacks does.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, d), default=None
            Training rows and held-out rows. If None, the rows given to `fit`.
        y : array-like of shape (n_rows,), default=None
            1 for training rows, 0 for held-out rows, and -1 for synthetic rows, which a search
            has taken out of the synthetic table and which join it again.

        Returns
        -------
        score : float
            See the class; 0 means no leakage. The synthetic table is the one given to `fit`.
        """
        check_is_fitted(self)
        if X is None:
            return self._compute_leakage()
        return self._fit_again(*split_sides(X, y, (1, 0)))._compute_leakage()

    def _fit_again(self, train, test, made):
        """Fit to other real rows, without the test of a permutation."""
        again = clone(self)
        if "n_permutations" in again.get_params(deep=False):
            again.set_params(n_permutations=0)
        synthetic, *others = self._others
        # An attacker has the whole synthetic table, whatever rows are held out.
        return again.fit(train, test, join_unseen(synthetic, made), *others)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        # It predicts which rows are exposed, and a search has to find each table in each fold.
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class TableRisk(TablesEstimator):
    """Base of the estimators that attack a synthetic table and compare with control records."""

    _parameter_constraints = {
        "n_attacks": [at_least(1)],
        "n_permutations": [at_least(0)],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        synthetic: ArrayLike | None = None,
        *,
        groups: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Attack training records and control records.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_train, d)
            Rows that the generator was trained on. If `synthetic` is None, the rows of all three
            tables.
        y : DataFrame or array-like of shape (n_test, d)
            Control: rows of the same population that it has not seen. If `synthetic` is None, an
            array of shape (n_rows,): 1 for training rows, 0 for control rows, -1 for synthetic
            rows.
        synthetic : DataFrame or array-like of shape (n_synthetic, d), default=None
            Rows that it returned.
        groups : pair of array-like of shape (n_train,) and (n_test,), default=None
            Person of each record; no person is in both. Persons then take the place of records: the
            success is the mean over the attacked records of a person, or a predicate must isolate a
            person.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        cells = TableCells(self._read_tables(X, y, synthetic), ("train", "test", "synthetic"))
        self._warn_of(cells)
        return self._fit_cells(cells, groups)

    def _fit_cells(self, cells, groups=None):
        """Fit to tables that are encoded already, and are neither changed nor kept."""
        random_state = derive_random_state(self.random_state, self._name_draws())
        sides = np.arange(sum(cells.sizes[:2]))
        if groups is not None:
            sides = number_persons(groups, cells.sizes[:2])
        self._persons = np.split(sides, [cells.sizes[0]])
        attempts = self._attack(cells, random_state)
        self._fitted_level = self.confidence_level
        found = [self._summarize(one) for one in attempts.values()]
        self.result_ = pd.DataFrame(found, index=list(attempts))
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return for which records the attack succeeds.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, d)
            Records to attack, by the synthetic table given to `fit`.

        Returns
        -------
        succeeds : ndarray of shape (n_rows,), dtype int
            1 where the attack succeeds, more often than not if ties are broken at random;
            otherwise 0.
        """
        check_is_fitted(self)
        cells = TableCells((X, self._others[0]), ("X", "synthetic"))
        return (self._attack_rows(cells) > 0.5).astype(int)

    def _warn_of(self, cells):
        pass

    def _name_draws(self):
        return type(self).__name__

    def _compute_leakage(self):
        """Success on training records less that on control records, the mean over the attacks."""
        gap = self.result_["attack"] - self.result_["control"]
        # Where no attack could be made, none succeeds.
        return float(gap.fillna(0.0).mean())

    def _summarize(self, attempts):
        found = {}
        for name, values in (("attack", attempts.train), ("control", attempts.test)):
            low, high = wilson(values.sum(), len(values), self.confidence_level)
            rate = values.mean() if len(values) else np.nan
            found.update({name: rate, f"{name}_low": low, f"{name}_high": high})
        sides = attempts.train, attempts.test
        counts = [number for side in sides for number in (float(side.sum()), len(side))]
        risk = excess_risk(*counts, confidence_level=self.confidence_level)
        found |= {"naive": attempts.naive, **risk._asdict(), "pvalue": attempts.pvalue}
        return found | dict(zip(("n_attacks", "n_controls"), map(len, sides)))

    def summary(self) -> str:
        """Summarize the risks and their meaning as text.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        lines = [f"intervals at {100 * self._fitted_level:g}%"]
        for name, row in self.result_.iterrows():
            risk = f"{row.risk:6.3f} [{row.low:.3f}, {row.high:.3f}]"
            if np.isnan(row.risk):
                risk = "cannot be said: no attack on a control record fails"
                if not row.n_attacks:
                    lines.append(f"{name}: risk cannot be said: no attack could be made")
                    continue
            rates = f"attack {row.attack:.3f}, control {row.control:.3f}, naive {row.naive:.3f}"
            weak = " (not better than guessing)" if row.attack_low <= row.naive else ""
            lines.append(f"{name}: risk {risk}; {rates}{weak}")
        return "\n".join(lines)


def draw_targets(table, persons, n_attacks, random_state):
    """Return the cells and persons of at most ``n_attacks`` rows, drawn without replacement."""
    n_rows = len(table[0])
    if n_rows <= n_attacks:
        return table, persons
    drawn = random_state.choice(n_rows, n_attacks, replace=False)
    return take(table, drawn), persons[drawn]


def average_by_person(success, persons):
    """Return the mean success of the attacks on each person.

    The successes of rows of different persons.
    """
    _, first, codes = np.unique(persons, return_index=True, return_inverse=True)
    if len(first) == len(success):
        return success
    return mean_by_group(success, codes, len(first))


def permute_rows(train, test, n_permutations, random_state):
    """Return P-value of a larger success on training records, by exchanges with control records."""
    if not n_permutations:
        return np.nan
    values, n = np.concatenate([train, test]), len(train)
    draws = (random_state.permutation(values)[:n] for _ in range(n_permutations))
    sums = list(map(np.add.reduce, draws))  # faster than the method of arrays
    # Equal sums may differ by rounding.
    return float((1 + np.sum(np.array(sums) >= train.sum() - 1e-9)) / (1 + n_permutations))


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
    The score is the success on training records less that on control records.

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
    >>> int(risk.predict(train).sum()), int(risk.predict(test).sum()), risk.score() > 0.95
    (200, 0, True)
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
        linked = []
        for table, persons in zip(cells.tables[:2], self._persons):
            targets, persons = draw_targets(table, persons, self.n_attacks, random_state)
            linked.append(average_by_person(self._link_rows(cells, parts, targets), persons))
        train, test = linked
        naive = 1 - np.exp(_log_choose(n_synthetic - k, k) - _log_choose(n_synthetic, k))
        pvalue = permute_rows(train, test, self.n_permutations, random_state)
        return {"linkability": AttackAttempts(train, test, float(naive), pvalue)}

    def _attack_rows(self, cells):
        """Return the probability that each row of the first table is linked."""
        return self._link_rows(cells, self._split(cells), cells.tables[0])

    def _link_rows(self, cells, parts, rows):
        made, k = cells.tables[-1], self.n_neighbors
        blocks = [
            compute_linkability(
                *(find_nearest_rows(cells, part, block, made, k) for part in parts), k
            )
            for block in iter_blocks(rows, cells.sizes[-1])
        ]
        return np.concatenate(blocks)

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
    """Return the positions of columns that are given by name or by position, at least one."""
    wanted = [wanted] if isinstance(wanted, str) or not np.iterable(wanted) else list(wanted)
    positions = []
    for column in wanted:
        is_place = isinstance(column, int | np.integer) and not isinstance(column, bool)
        if isinstance(column, str) and column in columns:
            positions.append(columns.index(column))
        elif is_place and 0 <= column < len(columns):
            positions.append(int(column))
        else:
            raise ValueError(f"{name} has {show(column)}, which is not a column of the tables.")
    if not positions or len(set(positions)) < len(positions):
        raise ValueError(f"{name} must name columns, each of them once; got {show(wanted)}.")
    return positions


def compute_linkability(one, other, k):
    """Return the probability that the k nearest rows of the two parts have a row in common.

    one, other: near rows of each part, with the distances of the k-th nearest.
    """
    (sure, tied), (sure_other, tied_other) = (_nearest(*part) for part in (one, other))
    n_rows = len(one[1])

    def count(rows):
        return np.bincount(rows, minlength=n_rows)

    def count_common(pairs, others):
        width = 1 + max(int(part.place.max(initial=0)) for part in (pairs, others))
        is_other = np.zeros(n_rows * width, dtype=bool)
        is_other[others.row * width + others.place] = True
        return count(pairs.row[is_other[pairs.row * width + pairs.place]])

    n_drawn, n_drawn_other = k - count(sure.row), k - count(sure_other.row)
    n_tied, n_tied_other = count(tied.row), count(tied_other.row)
    met, met_other = count_common(tied, sure_other), count_common(sure, tied_other)
    both = count_common(tied, tied_other)
    missed = np.zeros(n_rows)
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
    return np.where(count_common(sure, sure_other) > 0, 1.0, np.clip(1 - missed, 0, 1))


def _nearest(near, last):
    """Return rows that are certainly among the k nearest, and rows tied for the last places."""
    last = last[near.row]
    return (
        near.select(near.distance < last - TIE),
        near.select(np.abs(near.distance - last) <= TIE),
    )


def _log_choose(n, k):
    """Return logarithm of the number of ways to choose k of n; minus infinity if there is none."""
    n, k = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(k, dtype=float))
    fine = (k >= 0) & (n >= k)
    n, k = np.where(fine, n, 0), np.where(fine, k, 0)
    return np.where(fine, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)


class InferenceRisk(TableRisk):
    """Risk that a synthetic table reveals a value of a record whose other values are known.

    The attacker knows some columns of a record and takes the secret of the nearest synthetic row as
    the guess. Control records show how much of that is true of the whole population: a high success
    on both is not a leak.

    Parameters
    ----------
    secrets : str, int or sequence of these, default=None
        Names or positions of the columns to infer, one at a time. If None, each column in turn.
    known : sequence of str or int, default=None
        Columns that the attacker knows. If None, all columns except the secret.
    tolerance : float, default=0.05
        Largest error of a right guess of a number, as a share of its range in the synthetic table;
        where this is 0, the largest error itself.
    n_attacks : int, default=500
        Largest number of training records, and of control records, to attack.
    n_permutations : int, default=999
        Number of exchanges of training records with control records, for the p-values; 0 for no
        test.
    confidence_level : float, default=0.95
        Confidence level of each interval, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls which records are attacked, and the permutations.

    Attributes
    ----------
    result_ : DataFrame
        A row for each secret, with the success on training records (``attack``) and control records
        (``control``) and of guesses drawn from the synthetic column (``naive``), Wilson's limits of
        the former two, the ``risk`` of :func:`excess_risk` with its limits ``low`` and ``high``,
        the ``pvalue``, and the numbers of attacks.

    Raises
    ------
    ValueError
        If a secret is among the known columns, or columns of the tables differ.

    Warns
    -----
    UserWarning
        If a known column determines a secret.

    See Also
    --------
    LinkabilityRisk : Risk that two parts of a record are joined.
    SinglingOutRisk : Risk that a predicate isolates a record.

    Notes
    -----
    The score is the success on training records less that on control records, the mean over the
    secrets; :meth:`predict` is 1 where more than half of the secrets are inferred.

    Distances are Gower's, with the ranges of the synthetic table; a value that is missing in both
    rows agrees. Where several rows are nearest, a record counts with the share of them whose secret
    is right.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. PoPETs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import InferenceRisk
    >>> train, test = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> risk = InferenceRisk(secrets=0, random_state=0).fit(train, test, train)
    >>> bool(risk.result_["low"].iloc[0] > 0.95)
    True
    >>> int(risk.predict(train).sum()), int(risk.predict(test).sum()), risk.score() > 0.8
    (200, 28, True)
    """

    _parameter_constraints = {
        **TableRisk._parameter_constraints,
        "secrets": ["array-like", str, at_least(0), None],
        "known": ["array-like", None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        secrets: str | int | Sequence | None = None,
        *,
        known: Sequence | None = None,
        tolerance: float = 0.05,
        n_attacks: int = 500,
        n_permutations: int = 999,
        confidence_level: float = 0.95,
        random_state: Seed = None,
    ) -> None:
        self.secrets = secrets
        self.known = known
        self.tolerance = tolerance
        self.n_attacks = n_attacks
        self.n_permutations = n_permutations
        self.confidence_level = confidence_level
        self.random_state = random_state

    def _attack(self, cells, random_state):
        known = self._choose(cells)
        right, targets = [], []
        for table, persons in zip(cells.tables[:2], self._persons):
            drawn, persons = draw_targets(table, persons, self.n_attacks, random_state)
            found = self._infer_rows(cells, known, drawn)
            right.append({s: average_by_person(found[s], persons) for s in known})
            targets.append(drawn)
        return {
            cells.columns[secret]: AttackAttempts(
                right[0][secret],
                right[1][secret],
                self._guess_blindly(cells, secret, targets[0][secret]),
                permute_rows(right[0][secret], right[1][secret], self.n_permutations, random_state),
            )
            for secret in known
        }

    def _warn_of(self, cells):
        _warn_of_determined(cells, self._choose(cells))

    def _attack_rows(self, cells):
        """Return the share of the secrets of each row of the first table that are inferred."""
        found = self._infer_rows(cells, self._choose(cells), cells.tables[0])
        return np.mean(list(found.values()), axis=0)

    def _infer_rows(self, cells, known, rows):
        """Return the share of right guesses of each secret for rows of a table."""
        blocks = [self._guess(cells, known, block) for block in iter_blocks(rows, cells.sizes[-1])]
        return {secret: np.concatenate([b[secret] for b in blocks]) for secret in known}

    def _choose(self, cells):
        """Return the known columns of each secret."""
        everything = range(len(cells.columns))
        if len(everything) < 2:
            raise ValueError("Inference needs at least 2 columns; got 1.")
        secrets = everything
        if self.secrets is not None:
            secrets = find_columns(self.secrets, cells.columns, "secrets")
        if self.known is None:
            return {secret: [c for c in everything if c != secret] for secret in secrets}
        known = find_columns(self.known, cells.columns, "known")
        for secret in secrets:
            if secret in known:
                raise ValueError(
                    f"known has the secret {cells.columns[secret]!r}; an attacker who knows it has "
                    "nothing to infer."
                )
        return dict.fromkeys(secrets, known)

    def _guess(self, cells, known, rows):
        """Return the share of right guesses of each secret for a block of records."""
        made, found = cells.tables[-1], {}
        shared = sorted(set().union(*known.values()))
        left_out = [secret if secret in shared else None for secret in known]
        nearest = iter_nearest_without(cells, shared, rows, made, left_out)
        for secret, (record, place) in zip(known, nearest):
            guess, value = made[secret][place], rows[secret][record]
            right = guess == value
            if cells.is_number[secret]:
                right = np.abs(guess - value) <= _measure_reach(cells, secret, self.tolerance)
                right |= np.isnan(guess) & np.isnan(value)
            found[secret] = np.bincount(record, weights=right) / np.bincount(record)
        return found

    def _guess_blindly(self, cells, secret, values):
        """Return the expected success of guesses drawn from the synthetic column."""
        made = cells.tables[-1][secret]
        if not cells.is_number[secret]:
            counts = np.append(np.bincount(made, minlength=len(cells.kinds[secret])), 0)
            return float(counts[values].mean() / len(made))  # the code -1 is the last place
        ordered, reach = (
            np.sort(made[~np.isnan(made)]),
            _measure_reach(cells, secret, self.tolerance),
        )
        inside = np.searchsorted(ordered, values + reach, "right")
        inside = inside - np.searchsorted(ordered, values - reach, "left")
        right = np.where(np.isnan(values), np.isnan(made).sum(), inside)
        return float(right.mean() / len(made))


def _measure_reach(cells, secret, tolerance):
    """Return how far a right guess may be from the value, also if both lie at the ends of it."""
    return tolerance * cells.kinds[secret] * (1 + TIE)


def _warn_of_determined(cells, known):
    """Warn of known columns that have repeated values and one secret for each of them."""
    made = cells.tables[-1]
    codes = [np.unique(column, return_inverse=True)[1] for column in made]
    sizes = [code.max() + 1 for code in codes]
    pairs = []
    for secret, columns in known.items():
        if sizes[secret] == 1:
            continue
        for column in columns:
            if 2 * sizes[column] <= len(codes[column]):
                both = np.unique(codes[column] * sizes[secret] + codes[secret])
                if len(both) == sizes[column]:
                    pairs.append(f"{cells.columns[column]!r} determines {cells.columns[secret]!r}")
    if pairs:
        more = f", and {count_more(len(pairs) - 3, 'pair')}" if len(pairs) > 3 else ""
        warnings.warn(
            f"In the synthetic table, {', '.join(pairs[:3])}{more}: a right guess of such a secret "
            "may say nothing about the training records; leave the column out of known.",
            stacklevel=level_of_user(),
        )
