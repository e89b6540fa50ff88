"""What an audit of a synthetic table will take and hold, by the sizes of the tables."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from ..._core.budget import format_bytes, format_duration
from ..._core.types import ArrayLike
from .._neighbors import MOST_COMPARED, as_frame


class _PartCost(NamedTuple):
    """Seconds on one core of a laptop: at least, and of one cell of a table."""

    least: float
    each: float = 0.0
    # Of the rows of each table that are compared by distance, all pairs: of one cell of a pair.
    pairs: float = 0.0


_PARTS = {
    "copies": _PartCost(0.3, 7e-7),
    "privacy loss": _PartCost(0.1, pairs=4e-8),
    "membership": _PartCost(0.1, pairs=4e-8),
    "singling out": _PartCost(2.0, 1.2e-6),
    "singling out, one column": _PartCost(0.05, 5e-7),
    "linkability": _PartCost(0.4, 1.7e-6),
    "inference": _PartCost(1.1, 3e-6),
    "holdout": _PartCost(0.1, 1.2e-6),
    "utility": _PartCost(0.4, 1e-7),
}
# Parts that need rows that the generator has not seen.
_OF_HOLDOUT = set(_PARTS) - {"utility"}
# Bytes beside the tables: at least, and times all tables.
_LEAST_BYTES, _TABLES = 190e6, 3.6


@dataclass(frozen=True, repr=False)
class TableCost:
    """What an audit of a table will take and hold, as of :func:`estimate_table_cost`.

    Attributes
    ----------
    phases : DataFrame
        One row for each phase, with the ``seconds`` that it takes, about, on one core.
    n_bytes : float
        About the most memory that the audit uses in addition to the tables.
    notes : list of str
        Sentences on what is left out.
    """

    phases: pd.DataFrame
    n_bytes: float
    notes: list

    @property
    def seconds(self) -> float:
        """Seconds of all phases."""
        return float(self.phases["seconds"].sum())

    def __repr__(self):
        return f"TableCost(about {format_duration(self.seconds)}, {format_bytes(self.n_bytes)})"

    def summary(self) -> str:
        """Return the phases as a table, the total, and what is left out.

        Returns
        -------
        text : str
            What ``skmia table --dry-run`` prints.
        """
        width = max(map(len, [*self.phases.index, "phase"])) + 2
        lines = [f"{'phase':<{width}}{'time':>9}"]
        for name, seconds in self.phases["seconds"].items():
            lines.append(f"{name:<{width}}{format_duration(seconds):>9}")
        held = f"{format_bytes(self.n_bytes)} beside the tables"
        told = f"In all about {format_duration(self.seconds)} on one core, {held}."
        return "\n".join([*lines, "", told, *self.notes])


def estimate_table_cost(
    real: ArrayLike, synthetic: ArrayLike, held_out: ArrayLike | None = None
) -> TableCost:
    """Estimate what an audit of a synthetic table will take and hold, before it is begun.

    Times follow from the numbers of rows and columns alone, and are those of one core of a laptop
    that does nothing else. Nothing is compared.

    Parameters
    ----------
    real : DataFrame or array-like of shape (n_real, d)
        As in :func:`audit_table`.
    synthetic : DataFrame or array-like of shape (n_synthetic, d)
        As in :func:`audit_table`.
    held_out : DataFrame or array-like of shape (n_held_out, d), default=None
        As in :func:`audit_table`; without it only the utility of the table is measured.

    Returns
    -------
    cost : TableCost
        ``print(cost.summary())`` shows it as a table.

    See Also
    --------
    audit_table : The audit itself.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic.cost import estimate_table_cost
    >>> real, held_out, made = np.random.default_rng(0).normal(size=(3, 1000, 4))
    >>> cost = estimate_table_cost(real, made, held_out)
    >>> bool(0 < cost.seconds < 60), cost.notes
    (True, [])
    >>> estimate_table_cost(real, made).notes
    ['Without held-out rows nothing is said about leaks.']
    """
    given = {"real": real, "synthetic": synthetic, "held_out": held_out}
    tables = {
        name: as_frame(table, name)
        for name, table in given.items()
        if table is not None or name != "held_out"
    }
    n_rows, n_columns = max(map(len, tables.values())), tables["real"].shape[1]
    n_compared = min(n_rows, MOST_COMPARED)
    n_cells, n_pairs = n_rows * n_columns, n_compared**2 * n_columns
    has_holdout = held_out is not None
    seconds = {
        name: part.least + part.each * n_cells + part.pairs * n_pairs
        for name, part in _PARTS.items()
        if has_holdout or name not in _OF_HOLDOUT
    }
    held = sum(float(table.memory_usage(index=False).sum()) for table in tables.values())
    notes = [] if has_holdout else ["Without held-out rows nothing is said about leaks."]
    phases = pd.DataFrame({"seconds": pd.Series(seconds).rename_axis("phase")})
    return TableCost(phases, _LEAST_BYTES + _TABLES * held, notes)
