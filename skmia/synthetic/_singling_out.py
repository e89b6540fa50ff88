"""Singling out: whether a synthetic table yields predicates that isolate a training record."""

from functools import cache, reduce
from operator import and_
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from .._core.sklearn import StrOptions, at_least
from .._core.types import Seed
from ._cells import take
from ._neighbors import draw_places
from ._risks import AttackAttempts, TableRisk

# Draws of a predicate until it holds for a single synthetic row.
_N_TRIES = 50
# Numbers of rows in which a predicate is looked for before it is in all.
_N_FIRST = (1000, 30_000)


class CellCondition(NamedTuple):
    """A condition on one column: ``==``, ``<=`` or ``>=`` a value, or ``is missing``."""

    column: int
    operation: str
    value: float

    def holds(self, cells):
        """For each cell of the column, whether the condition holds."""
        if self.operation == "is missing":
            return np.isnan(cells)
        if self.operation == "<=":
            return cells <= self.value
        return cells >= self.value if self.operation == ">=" else cells == self.value

    def show(self, cells):
        name = cells.columns[self.column]
        is_missing = self.operation == "is missing"
        value = None if is_missing else cells.show_value(self.column, self.value)
        if value is None:
            return f"{name} is missing"
        return f"{name} {self.operation} {value}"


def find_rows_of_predicate(predicate, table):
    """Return the places of the rows for which all conditions of a predicate hold."""
    rows = slice(None)
    for condition in predicate:
        (is_so,) = condition.holds(table[condition.column][rows]).nonzero()
        rows = is_so if isinstance(rows, slice) else rows[is_so]
    return rows


def holds_once(predicate, tables):
    """Whether a predicate holds for one row of the last table and at most one of the others."""
    for table in tables[:-1]:
        if len(find_rows_of_predicate(predicate, table)) > 1:
            return False
    return len(find_rows_of_predicate(predicate, tables[-1])) == 1


def list_single_values(cells):
    """Return predicates of one column: values that occur once, the extremes, one missing value."""
    predicates = []
    for column, values in enumerate(cells.tables[-1]):
        if not cells.is_number[column]:
            codes, counts = np.unique(values, return_counts=True)
            predicates += [(CellCondition(column, "==", code),) for code in codes[counts == 1]]
            continue
        lacks = np.isnan(values)
        if lacks.sum() == 1:
            predicates.append((CellCondition(column, "is missing", 0.0),))
        numbers, counts = np.unique(values[~lacks], return_counts=True)
        predicates += [(CellCondition(column, "==", number),) for number in numbers[counts == 1]]
        if len(numbers):
            ends = zip(("<=", ">="), (numbers[0], numbers[-1]))
            predicates += [(CellCondition(column, *end),) for end in ends]
    return predicates


def draw_single_rows(cells, n_columns, n_predicates, random_state):
    """Return the predicates of several columns of a synthetic row that hold for this row alone."""
    table = cells.tables[-1]
    middles = compute_middles(cells)
    # The first rows refute most predicates.
    tables = [take(table, slice(n)) for n in _N_FIRST if n < len(table[0])] + [table]

    @cache
    def make_condition(column, row):
        """Return the condition of a cell, and the first rows for which it holds as bits."""
        condition = _make_cell_condition(cells, column, row, middles)
        bits = np.packbits(condition.holds(tables[0][column]))
        return condition, int.from_bytes(bits.tobytes(), "big")

    predicates, n_columns = {}, min(n_columns, len(table))
    for _ in range(n_predicates):
        for _ in range(_N_TRIES):
            row = random_state.randint(len(table[0]))
            columns = sorted(draw_some_columns(len(table), n_columns, random_state))
            predicate, rows = zip(*[make_condition(column, row) for column in columns])
            rows = reduce(and_, rows)
            is_several = rows & (rows - 1) != 0
            if not (is_several or predicate in predicates) and holds_once(predicate, tables):
                predicates[predicate] = None
                break
    return list(predicates)


def draw_some_columns(n, n_columns, random_state):
    """Draw different columns as RandomState.choice does, which takes many times as long."""
    places = np.arange(n)
    random_state.shuffle(places)
    return places[:n_columns].tolist()


def draw_blindly(cells, n_columns, n_predicates, random_state):
    """Return the predicates of random values that ignore which of them occur together."""
    table, n_columns = cells.tables[-1], min(n_columns, len(cells.columns))
    predicates = []
    for _ in range(n_predicates):
        predicate = []
        for column in draw_some_columns(len(table), n_columns, random_state):
            value = table[column][random_state.randint(len(table[column]))]
            is_number = cells.is_number[column]
            operation = (">=", "<=")[random_state.randint(2)] if is_number else "=="
            predicate.append(_make_condition(cells, column, operation, value))
        predicates.append(tuple(predicate))
    return predicates


def compute_middles(cells):
    """Return the median of each column of numbers of the synthetic table."""
    return [
        np.median(known) if number and len(known := values[~np.isnan(values)]) else np.nan
        for values, number in zip(cells.tables[-1], cells.is_number)
    ]


def _make_cell_condition(cells, column, row, middles):
    value = cells.tables[-1][column][row]
    operation = "=="
    if cells.is_number[column]:
        operation = ">=" if value >= middles[column] else "<="
    return _make_condition(cells, column, operation, value)


def _make_condition(cells, column, operation, value):
    if cells.is_number[column] and value != value:
        # No NaN here: predicates are compared with each other.
        return CellCondition(column, "is missing", 0.0)
    return CellCondition(column, operation, value)


# A predicate that holds for more rows isolates one of a random half with a chance below 1e-10.
_MOST_ROWS = 40
# Permutations at a time, which limits memory.
_BLOCK = 100


class SinglingOutRisk(TableRisk):
    """Risk that a synthetic table yields predicates that isolate a training record.

    The attacker makes predicates that hold for one synthetic row, such as the largest value of a
    column or a combination of values. The attack succeeds if exactly one training record satisfies
    the predicate. Control records show how often a predicate isolates a record by chance.

    Parameters
    ----------
    mode : {"multivariate", "univariate"}, default="multivariate"
        ``"univariate"`` predicates are a value that occurs once in its column, the smallest and the
        largest value, and a single missing one. ``"multivariate"`` predicates combine ``n_columns``
        values of a synthetic row: numbers from its value on, away from the median, and equal
        categories.
    n_columns : int, default=3
        Number of columns of a multivariate predicate.
    n_attacks : int, default=500
        Largest number of predicates.
    n_permutations : int, default=999
        Number of exchanges of training records with control records, for the p-value; 0 for no
        test.
    confidence_level : float, default=0.95
        Confidence level of each interval, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls which records are compared, the predicates, and the permutations.

    Attributes
    ----------
    result_ : DataFrame
        A row for all predicates, named by the mode, and for the univariate mode one for each
        column (``"univariate (column)"`` for a column of this name), with the success on training
        records (``attack``) and control records (``control``) and of predicates of random values
        (``naive``), Wilson's limits of the former two, the ``risk`` of :func:`excess_risk` with
        its limits ``low`` and ``high``, the ``pvalue``, and the numbers of predicates.
    predicates_ : list of str
        The predicates.

    Raises
    ------
    ValueError
        If columns of the tables differ.

    See Also
    --------
    InferenceRisk : Risk that a value of a record is inferred.
    LinkabilityRisk : Risk that two parts of a record are joined.

    Notes
    -----
    The score is the share of predicates that isolate a training record, less the share of those
    that isolate a control record; :meth:`predict` is 1 for the records that a predicate isolates
    among those that are given.

    The larger of the training and the control table is cut to the size of the other by one random
    draw, because a predicate isolates a record less often among more rows. Equal rows are counted
    as they are. The number of attacks is the number of predicates that were made.

    Predicates may isolate the same record, and are evaluated on both tables. The p-value takes this
    into account, because it exchanges records; the intervals treat predicates as independent.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. PoPETs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import SinglingOutRisk
    >>> train, test = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> risk = SinglingOutRisk(n_attacks=100, random_state=0).fit(train, test, train)
    >>> bool(risk.result_.loc["multivariate", "low"] > 0.9)
    True
    >>> bool(risk.predict(train).sum() > 50), risk.score() > 0.5
    (True, True)
    """

    _parameter_constraints = {
        **TableRisk._parameter_constraints,
        "mode": [StrOptions({"multivariate", "univariate"})],
        "n_columns": [at_least(1)],
    }

    def __init__(
        self,
        mode: Literal["multivariate", "univariate"] = "multivariate",
        *,
        n_columns: int = 3,
        n_attacks: int = 500,
        n_permutations: int = 999,
        confidence_level: float = 0.95,
        random_state: Seed = None,
    ) -> None:
        self.mode = mode
        self.n_columns = n_columns
        self.n_attacks = n_attacks
        self.n_permutations = n_permutations
        self.confidence_level = confidence_level
        self.random_state = random_state

    def _name_draws(self):
        return f"{super()._name_draws()} {self.mode}"

    def _attack(self, cells, random_state):
        """Return the attempts of all predicates, and by column: who of each side is singled out."""
        people = [np.unique(side) for side in self._persons]
        n = min(map(len, people))
        drawn = [names[draw_places(len(names), n, random_state)] for names in people]
        kept = [np.isin(side, some) for side, some in zip(self._persons, drawn)]
        real, n_train = cells.join_first(2), int(kept[0].sum())
        if not (kept[0].all() and kept[1].all()):
            real = take(real, np.concatenate(kept))
        # Persons are numbered from 0, those of training records first.
        person = np.concatenate([side[rows] for side, rows in zip(self._persons, kept)])
        person = np.searchsorted(np.concatenate(drawn), person)
        predicates, naive = self._make_predicates(cells, random_state)
        self._predicates = predicates
        self.predicates_ = [
            " and ".join(condition.show(cells) for condition in predicate)
            for predicate in predicates
        ]
        matches = [
            np.unique(person[find_rows_of_predicate(predicate, real)]) for predicate in predicates
        ]
        isolates = np.array([[np.sum(m < n) == 1, np.sum(m >= n) == 1] for m in matches])
        isolates = isolates.reshape(-1, 2).astype(float)
        blind = [
            _is_one(person[find_rows_of_predicate(one, take(real, slice(n_train)))])
            for one in naive
        ]
        draws = _exchange_sides(matches, n, self.n_permutations, random_state)
        kinds = {self.mode: np.full(len(predicates), True)}
        if self.mode == "univariate":
            columns = np.array([predicate[0].column for predicate in predicates], dtype=int)
            kinds |= {self._name_row(cells.columns, c): columns == c for c in np.unique(columns)}
        return {
            name: AttackAttempts(
                *isolates[kind].T, float(np.mean(blind)), _pvalue(isolates, draws, kind)
            )
            for name, kind in kinds.items()
        }

    def _name_row(self, columns, place):
        """Return the name of the row of a column, which is not that of all predicates."""
        name = columns[place]
        while name == self.mode or (name != columns[place] and name in columns):
            name = f"{name} (column)"
        return name

    def _attack_rows(self, cells):
        """Return which rows of the first table a predicate isolates among all rows of it."""
        isolated = np.zeros(cells.sizes[0])
        for predicate in self._predicates:
            rows = find_rows_of_predicate(predicate, cells.tables[0])
            if len(rows) == 1:
                isolated[rows] = 1.0
        return isolated

    def _compute_leakage(self):
        whole = self.result_.loc[self.mode]
        return float(whole["attack"] - whole["control"]) if whole["n_attacks"] else 0.0

    def _make_predicates(self, cells, random_state):
        if self.mode == "multivariate":
            made = draw_single_rows(cells, self.n_columns, self.n_attacks, random_state)
            return made, draw_blindly(cells, self.n_columns, self.n_attacks, random_state)
        made = list_single_values(cells)
        made = [made[place] for place in draw_places(len(made), self.n_attacks, random_state)]
        return made, draw_blindly(cells, 1, self.n_attacks, random_state)


def _is_one(persons):
    """Return whether all of some rows, at least one, are of one person."""
    return len(persons) > 0 and bool((persons == persons[0]).all())


def _exchange_sides(matches, n, n_permutations, random_state):
    """Return predicates that isolate a training record but no control record, less the reverse.

    Returns an array of shape (n_predicates, n_permutations) of 1, 0 and -1.
    """
    few = [m if len(m) <= _MOST_ROWS else m[:0] for m in matches]
    involved, places = np.unique(np.concatenate([*few, []]).astype(int), return_inverse=True)
    starts = np.cumsum([0, *(len(m) for m in few)])
    shape = len(matches), len(involved)
    rows = sparse.csr_array((np.ones(len(places), dtype=np.int32), places, starts), shape=shape)
    draws = np.empty((len(matches), n_permutations), dtype=np.int8)
    n_involved = len(involved)
    for start in range(0, n_permutations, _BLOCK):
        # Of all records, those that are involved are enough.
        size = min(_BLOCK, n_permutations - start)
        n_train = random_state.hypergeometric(n, n, n_involved, size) if n_involved else [0] * size
        is_train = [random_state.permutation(n_involved) < number for number in n_train]
        trained = rows @ np.array(is_train, dtype=np.int32).T
        others = np.array([len(m) for m in few])[:, None] - trained
        draws[:, start : start + size] = (trained == 1).astype(np.int8) - (others == 1)
    return draws


def _pvalue(isolates, draws, kind):
    if not draws.shape[1] or not kind.any():
        return np.nan
    observed = isolates[kind, 0].sum() - isolates[kind, 1].sum()
    as_large = draws[kind].sum(axis=0, dtype=int) >= observed
    return float((1 + as_large.sum()) / (1 + draws.shape[1]))
