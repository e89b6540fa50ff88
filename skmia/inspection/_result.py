"""What an inspection found, as frozen values."""

from dataclasses import dataclass, field

import pandas as pd

from ._text import write_summary


@dataclass(frozen=True)
class Finding:
    """What one kind of estimator in a model reveals.

    Attributes
    ----------
    path : str
        Where it stands, ``[*]`` for every number of a list; empty for the model itself.
    estimator : str
        Name of its class.
    n_estimators : int
        How many there are.
    level : {"rows", "values", "per-record", "counts", "summaries"}
        The most that it holds: training rows, values of training rows, a number for each of them,
        counts and sums of the rows of a node or group, or weights and moments over all rows.
    stores : str
        What it stores.
    attacks : tuple of str
        Attacks of :mod:`skmia.attacks` that read it.
    changes : tuple of str
        What would change it.
    """

    path: str
    estimator: str
    n_estimators: int
    level: str
    stores: str
    attacks: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CandidateSearch:
    """What the file attacks find of candidate records.

    Attributes
    ----------
    n_candidates : int
        Number of records.
    n_rows : int
        Records whose whole row is stored.
    n_values : int
        Further records with a stored value that would be stored without the record with a
        probability of at most 1/2.
    places : DataFrame
        As ``places_`` of :class:`~skmia.attacks.StoredValuesAttack`: hits in each stored array,
        beside the number that is expected by chance.
    equations : dict or None
        ``n_equations``, ``n_rows``, ``known``, ``expected_auc`` and ``misfit`` of a
        :class:`~skmia.attacks.NodeEquationsAttack`, or None if it does not read the model.
    thresholds : dict or None
        ``n_thresholds``, ``explained`` and ``expected_auc`` of a
        :class:`~skmia.attacks.SplitThresholdAttack`, or None if it does not read the model.
    optimum : dict or None
        ``n_equations``, ``known`` and ``expected_auc`` of a
        :class:`~skmia.attacks.StationarityAttack`, or None if it does not read the model.
    notes : tuple of str
        Warnings of the attacks, and why one was not run.
    """

    n_candidates: int
    n_rows: int
    n_values: int
    places: pd.DataFrame
    equations: dict | None = None
    thresholds: dict | None = None
    optimum: dict | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ModelInspection:
    """What a fitted model stores of its training rows, as returned by :func:`inspect_model`.

    Attributes
    ----------
    model : str
        Names of the classes of the model and of the steps of a Pipeline.
    n_rows : int or None
        Number of training rows that the model states, or None. Rows that were set apart, as for
        early stopping, can be missing in it.
    level : {"rows", "values", "per-record", "counts", "summaries"} or None
        The most that a part of the model holds, see :class:`Finding`.
    findings : tuple of Finding
        One for each kind of estimator that stores something, the most telling first.
    stored : DataFrame
        What ``to_frame`` returns.
    rebuilt : DataFrame
        How many values of each column :func:`reconstruct_values` can rebuild without candidates,
        with the columns ``exact``, ``derived`` and ``edge``.
    unread : tuple of str
        Paths of objects that could not be read, with their types.
    candidates : CandidateSearch or None
        What was found of candidate records, if there were any.
    """

    model: str
    n_rows: int | None
    level: str | None
    findings: tuple[Finding, ...]
    stored: pd.DataFrame = field(repr=False)
    rebuilt: pd.DataFrame = field(repr=False)
    unread: tuple[str, ...] = ()
    candidates: CandidateSearch | None = None

    def to_frame(self) -> pd.DataFrame:
        """Stored arrays that come from training rows.

        Returns
        -------
        frame : DataFrame
            One row for each place, the most telling kinds first: ``path``, with ``[*]`` for every
            number of a list; ``kind`` as in :class:`~skmia.victims.StoredArray`; ``n_arrays``;
            ``shape``, None if they differ; ``n_values``, ``bytes``.
        """
        return self.stored.copy()

    def to_dict(self) -> dict:
        """All of it in plain numbers, texts and lists, as JSON takes them.

        Returns
        -------
        document : dict
        """
        found = self.candidates
        return {
            "model": self.model,
            "n_rows": self.n_rows,
            "level": self.level,
            "stored": _as_lists(self.stored),
            "findings": [
                vars(one) | {"attacks": list(one.attacks), "changes": list(one.changes)}
                for one in self.findings
            ],
            "rebuilt": _as_lists(self.rebuilt.reset_index()),
            "unread": list(self.unread),
            "candidates": None
            if found is None
            else vars(found) | {"places": _as_lists(found.places), "notes": list(found.notes)},
        }

    def summary(self) -> str:
        """Return the inspection as text.

        Returns
        -------
        text : str
        """
        return write_summary(self)

    def __str__(self) -> str:
        return self.summary()


def _as_lists(frame):
    rows = frame.astype(object).to_dict("records")
    return [
        {name: list(cell) if isinstance(cell, tuple) else cell for name, cell in row.items()}
        for row in rows
    ]
