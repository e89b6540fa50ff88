"""Predicates that hold for one row of a synthetic table, and the rows that satisfy them."""

from typing import NamedTuple

import numpy as np

# Draws of a predicate until it holds for a single synthetic row.
_N_TRIES = 50


class Condition(NamedTuple):
    """A condition on one column: ``==``, ``<=`` or ``>=`` a value, or ``is missing``."""

    column: int
    operation: str
    value: float

    def holds(self, table):
        """For each row, whether the condition holds."""
        cells = table[self.column]
        if self.operation == "is missing":
            return np.isnan(cells)
        if self.operation == "<=":
            return cells <= self.value
        return cells >= self.value if self.operation == ">=" else cells == self.value

    def show(self, cells):
        """Text for users."""
        if self.operation == "is missing":
            return f"{cells.columns[self.column]} is missing"
        value = self.value
        if not cells.is_number[self.column]:
            value = cells.kinds[self.column][int(value)]
            if value is None:
                return f"{cells.columns[self.column]} is missing"
        return f"{cells.columns[self.column]} {self.operation} {value}"


def holds(predicate, table):
    """For each row, whether all conditions of a predicate hold."""
    mask = predicate[0].holds(table)
    for condition in predicate[1:]:
        mask = mask & condition.holds(table)
    return mask


def list_single_values(cells):
    """Predicates of one column: values that occur once, the extremes, one missing value."""
    predicates = []
    for column, values in enumerate(cells.tables[-1]):
        if not cells.is_number[column]:
            codes, counts = np.unique(values, return_counts=True)
            predicates += [(Condition(column, "==", code),) for code in codes[counts == 1]]
            continue
        lacks = np.isnan(values)
        if lacks.sum() == 1:
            predicates.append((Condition(column, "is missing", 0.0),))
        numbers, counts = np.unique(values[~lacks], return_counts=True)
        predicates += [(Condition(column, "==", number),) for number in numbers[counts == 1]]
        if len(numbers):
            predicates.append((Condition(column, "<=", numbers[0]),))
            predicates.append((Condition(column, ">=", numbers[-1]),))
    return predicates


def draw_single_rows(cells, n_columns, n_predicates, random_state):
    """Predicates of several columns of a synthetic row that hold for this row alone."""
    table = cells.tables[-1]
    middles = compute_middles(cells)
    predicates, n_columns = {}, min(n_columns, len(table))
    for _ in range(n_predicates):
        for _ in range(_N_TRIES):
            row = random_state.randint(len(table[0]))
            columns = np.sort(random_state.choice(len(table), n_columns, replace=False))
            predicate = tuple(_describe(cells, column, row, middles) for column in columns)
            if predicate not in predicates and holds(predicate, table).sum() == 1:
                predicates[predicate] = None
                break
    return list(predicates)


def draw_blindly(cells, n_columns, n_predicates, random_state):
    """Predicates of random values that ignore which of them occur together."""
    table, n_columns = cells.tables[-1], min(n_columns, len(cells.columns))
    predicates = []
    for _ in range(n_predicates):
        columns = random_state.choice(len(table), n_columns, replace=False)
        predicate = []
        for column in columns:
            value = table[column][random_state.randint(len(table[column]))]
            operation = "=="
            if cells.is_number[column]:
                operation = (">=", "<=")[random_state.randint(2)]
            predicate.append(_make(cells, column, operation, value))
        predicates.append(tuple(predicate))
    return predicates


def compute_middles(cells):
    """Median of each column of numbers of the synthetic table."""
    return [
        np.median(known) if number and len(known := values[~np.isnan(values)]) else np.nan
        for values, number in zip(cells.tables[-1], cells.is_number)
    ]


def _describe(cells, column, row, middles):
    value = cells.tables[-1][column][row]
    operation = "=="
    if cells.is_number[column]:
        operation = ">=" if value >= middles[column] else "<="
    return _make(cells, column, operation, value)


def _make(cells, column, operation, value):
    if cells.is_number[column] and np.isnan(value):
        # No NaN here: predicates are compared with each other.
        return Condition(int(column), "is missing", 0.0)
    return Condition(int(column), operation, value)
