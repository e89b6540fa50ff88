"""The report of an audit of a synthetic table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..._core.pages.saved import (
    frame_page,
    save_documents,
    warn_of_failures,
    write_json,
    write_text,
)
from ..._core.types import PathLike
from .document import as_document
from .evidence import FIRST, Grounds, choose_evidence, write_verdict
from .page import TITLE, render
from .text import format_markdown, format_summary

if TYPE_CHECKING:
    from ...disclosure import Recommendation


@dataclass(frozen=True, eq=False, repr=False)
class TableReport:
    """What :func:`audit_table` found.

    In a notebook, it is displayed as the page.

    Attributes
    ----------
    results : DataFrame of shape (n_numbers, 11)
        For each number the ``estimate`` of the excess of training rows over held-out rows and its
        single limits ``low`` and ``high``; the success on training rows (``attack``), on held-out
        rows (``control``) and of guesses (``naive``), with the numbers of rows ``n_attacks`` and
        ``n_controls``; ``pvalue``, ``pvalue_below`` for the other direction, and ``pvalue_holm``,
        which decides. Empty without a holdout.
    copies : DataFrame or None
        Result of the :class:`CopyTest`, and the smallest share of copies that would have been found
        after the correction, ``smallest_share_corrected``.
    utility : DataFrame
        ``estimate``, ``low`` and ``high`` of the similarity of ``"columns"``, of ``"pairs"`` of
        columns, and of their mean, ``"quality"``; of the ``"resemblance loss"``; and of the share
        of a model's gain over guessing that a model of synthetic rows reaches. ``real`` is what the
        training rows reach.
    columns, pairs : DataFrame
        Similarity of each column and of each pair, with the same columns.
    trained : dict or None
        The models of ``target``: ``metric``, ``chance``, ``synthetic``, ``real``.
    spread : DataFrame or None
        Quality, privacy loss and share of rare copies of five further tables of the generator, if
        it was given: ``mean``, ``sd``, ``smallest``, ``largest``, ``n_tables``.
    checks : dict of str to dict
        ``status`` and ``text`` of each check.
    data : dict
        ``n_real``, ``n_synthetic``, ``n_holdout``, ``n_columns``.
    settings, seeds : dict
        Parameters, and the integer that all draws begin with.
    seconds, versions : dict
        Time spent on each part, in seconds; versions of Python and of the packages.
    created : str
        Time at which the audit ended, ISO 8601 in UTC.
    notes : list of str
        What a reader should know.
    recommendation : Recommendation or None
        What a policy recommends, see :func:`skmia.report.recommend_release`, if one was asked.
    grounds : Grounds
        The part of the findings on which evidence and verdict rest.
    evidence : {"leak", "none", "shift", "reversed", "unknown"}
        Conclusion of the audit:

        - "leak": some number is beyond chance after correction for all of them;
        - "none": no number is;
        - "shift": training rows and holdout come from different populations;
        - "reversed": the synthetic rows are significantly nearer to the holdout;
        - "unknown": there is no holdout, a table has fewer than 20 rows, or copies of all training
          rows would not have been found.
    verdict : str
        The conclusion in words, after a headline.

    See Also
    --------
    audit_table : Audits a synthetic table and returns this report.
    """

    results: pd.DataFrame
    copies: pd.DataFrame | None
    utility: pd.DataFrame
    columns: pd.DataFrame
    pairs: pd.DataFrame
    trained: dict[str, Any] | None
    spread: pd.DataFrame | None
    checks: dict[str, dict[str, str]]
    data: dict[str, int]
    settings: dict[str, Any]
    seeds: dict[str, Any]
    seconds: dict[str, float]
    versions: dict[str, str]
    created: str
    notes: list[str]
    recommendation: "Recommendation | None" = None

    @property
    def grounds(self) -> "Grounds":
        level, shift = self.settings["confidence_level"], self.checks["one population"]
        rows = {name: self.data.get(f"n_{name}", 0) for name in ("real", "synthetic", "holdout")}
        share = np.inf
        if self.copies is not None:
            share = float(self.copies.loc[FIRST, "smallest_share_corrected"])
        results = self.results.assign(leak=self.results["pvalue_holm"] <= 1 - level)
        text = shift["text"] if shift["status"] == "warning" else None
        return Grounds(results, rows, level, share, text)

    @property
    def evidence(self) -> Literal["leak", "none", "shift", "reversed", "unknown"]:
        return choose_evidence(self.grounds)

    @property
    def verdict(self) -> str:
        return write_verdict(self.grounds, self.evidence)

    def to_frame(self) -> pd.DataFrame:
        """The numbers as a DataFrame.

        Returns
        -------
        frame : DataFrame
            A copy of ``results``.
        """
        return self.results.copy()

    def to_json(self, path: PathLike | None = None) -> str:
        """The report as a JSON document.

        Its ``schema`` is "skmia.table" and its ``schema_version`` 1. Missing numbers are null.
        Fields may be added without a new version; if a field is removed or changes its meaning, the
        version is raised.

        Parameters
        ----------
        path : str or path, default=None
            File to which the document is also written, atomically and readable by its owner only.

        Returns
        -------
        text : str
            The report as JSON.
        """
        return write_json(as_document(self), path)

    def to_html(self, path: PathLike | None = None, *, title: str = TITLE) -> str:
        """The report as a page that needs no other file and no network.

        Parameters
        ----------
        path : str or path, default=None
            File to which the page is also written, atomically and readable by its owner only.
        title : str, default="Audit of a synthetic table"
            Title of the page.

        Returns
        -------
        page : str
            HTML.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        return write_text(render(as_document(self), title), path)

    def summary(self) -> str:
        """The report as text, in lines of at most 100 characters.

        Returns
        -------
        text : str
        """
        return format_summary(as_document(self))

    def to_markdown(self, title: str = TITLE) -> str:
        """The report as Markdown, for a merge request or a data sheet.

        Parameters
        ----------
        title : str, default="Audit of a synthetic table"
            Heading.

        Returns
        -------
        text : str
            Verdict, tables of the numbers, checks and notes; names are escaped.
        """
        return format_markdown(as_document(self), title)

    def save(self, directory: PathLike) -> list[Path]:
        """Write ``table.json`` and ``report.html``, each of them atomically.

        Only the user can read the files (mode 600).

        Parameters
        ----------
        directory : str or path
            Folder, which is created if it does not exist.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Warns
        -----
        RuntimeWarning
            If the page could not be made though its package is installed.
        """
        return warn_of_failures(save_table(as_document(self), directory))

    def _repr_html_(self):
        """The page for a notebook."""
        return frame_page(self, TITLE)

    def __repr__(self):
        return f"TableReport({self.data['n_synthetic']} rows, evidence={self.evidence!r})"


def save_table(document, directory):
    """Write ``table.json`` and ``report.html``, see :func:`save_documents`."""

    def write_page(noted, path):
        write_text(render(noted), path)

    return save_documents(document, directory, "table.json", {"report.html": write_page})
