"""Inference: whether a synthetic table reveals a value of a record whose others are known."""

import warnings
from collections.abc import Sequence
from numbers import Real

import numpy as np

from ..._core.sklearn import Interval, at_least
from ..._core.types import Seed
from ._base import Attempts, TableRisk, draw_targets, permute_rows
from ._cells import TIE, iter_blocks
from ._linkability import find_columns


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
        Largest error of a right guess of a number, as a share of its range in the synthetic table.
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
        _warn_of_determined(cells, known)
        made = cells.tables[-1]
        right, targets = [], []
        for table in cells.tables[:2]:
            drawn = draw_targets(table, self.n_attacks, random_state)
            blocks = [self._guess(cells, known, rows) for rows in iter_blocks(drawn, len(made[0]))]
            right.append({secret: np.concatenate([b[secret] for b in blocks]) for secret in known})
            targets.append(drawn)
        return {
            cells.columns[secret]: Attempts(
                right[0][secret],
                right[1][secret],
                self._guess_blindly(cells, secret, targets[0][secret]),
                permute_rows(right[0][secret], right[1][secret], self.n_permutations, random_state),
            )
            for secret in known
        }

    def _choose(self, cells):
        """Known columns of each secret."""
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
        """Share of right guesses of each secret for a block of records."""
        made, found = cells.tables[-1], {}
        shared = sorted(set().union(*known.values()))
        total = cells.sum_distances(shared, rows, made)
        for secret, columns in known.items():
            distances = total
            if len(columns) < len(shared):
                distances = total - cells.distance(secret, rows, made)
            nearest = distances <= distances.min(axis=1, keepdims=True) + TIE
            record, place = np.nonzero(nearest)
            right = self._is_right(cells, secret, made[secret][place], rows[secret][record])
            sums = np.bincount(record, weights=right, minlength=len(distances))
            found[secret] = sums / nearest.sum(axis=1)
        return found

    def _is_right(self, cells, secret, guess, value):
        if not cells.is_number[secret]:
            return guess == value
        near = np.abs(guess - value) <= self.tolerance * cells.kinds[secret]
        return near | (np.isnan(guess) & np.isnan(value))

    def _guess_blindly(self, cells, secret, values):
        """Expected success of guesses drawn from the synthetic column."""
        made = cells.tables[-1][secret]
        if not cells.is_number[secret]:
            counts = np.append(np.bincount(made, minlength=len(cells.kinds[secret])), 0)
            return float(counts[values].mean() / len(made))  # the code -1 is the last place
        ordered, reach = np.sort(made[~np.isnan(made)]), self.tolerance * cells.kinds[secret]
        inside = np.searchsorted(ordered, values + reach, "right")
        inside = inside - np.searchsorted(ordered, values - reach, "left")
        right = np.where(np.isnan(values), np.isnan(made).sum(), inside)
        return float(right.mean() / len(made))


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
        more = f", and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
        warnings.warn(
            f"In the synthetic table, {', '.join(pairs[:3])}{more}: a right guess of such a secret "
            "may say nothing about the training records; leave the column out of known.",
            stacklevel=4,
        )
