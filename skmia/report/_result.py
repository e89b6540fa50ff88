"""What an audit found."""

import io
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ..metrics import Interval, MembershipRocDisplay
from ..utils._optional import import_optional
from ._curves import find_curves, find_exposed, rank_attacks
from ._html import render
from ._measure import COLUMNS, OK, OVERALL
from ._text import find_verdict, format_summary

SCHEMA = "skmia.audit"

# Raised when a field changes its meaning or goes; new fields may come without it.
SCHEMA_VERSION = 1


def _as_json(value):
    """Plain Python values; what is no finite number becomes null."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def write_atomically(path, content):
    """Write bytes so that a reader finds the old file or the whole new one, never a part."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_current_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """Numbers, scores and circumstances of an audit, as returned by :func:`audit`.

    Attributes
    ----------
    results : DataFrame
        The numbers, see :meth:`to_frame`.
    scores : dict of str to ndarray of shape (n,)
        Scores of each attack, higher = more likely a member.
    membership : ndarray of shape (n,), dtype bool
        The truth.
    victim : str
        Representation of the victim.
    victim_name : str
        The same in short: of a pipeline, the kinds of its steps and its last one in full.
    task : {"classification", "regression"}
        What the victim does.
    data : dict
        ``n_records``, ``n_members``, ``n_nonmembers``.
    performance : dict
        ``metric`` ("accuracy" or "r2"), its value for ``members`` and ``nonmembers``, and their
        difference ``gap``, the generalisation gap.
    baseline : Interval or None
        AUC of a model that is told the records but not the victim's answers.
    settings : dict
        What the audit was asked to do.
    seeds : dict
        ``random_state`` as given and the integers drawn from it.
    seconds : dict
        Time spent on each part.
    versions : dict
        Versions of Python and of the packages.
    created : str
        When the audit ended, ISO 8601 in UTC.
    notes : list of str
        What was left out and why, and what a reader should know.
    record_ids : ndarray of shape (n,)
        Names of the records: their field ``record_id``, or their positions.
    verdict : str
        One sentence.

    See Also
    --------
    audit : Makes it.
    """

    results: pd.DataFrame
    scores: dict
    membership: np.ndarray
    victim: str
    victim_name: str
    task: str
    data: dict
    performance: dict
    baseline: Interval | None
    settings: dict
    seeds: dict
    seconds: dict
    versions: dict
    created: str
    notes: list
    record_ids: np.ndarray

    @property
    def verdict(self):
        return find_verdict(self.results, self.settings["confidence_level"], self.baseline)

    def to_frame(self):
        """The numbers as a table with one row for each attack, group and metric.

        Returns
        -------
        frame : DataFrame
            ``attack``; ``scope`` ("overall" or the name of the field) and ``group`` ("all" or a
            value of the field); ``metric`` ("auc", "advantage" or "tpr") and for a TPR the largest
            FPR allowed, ``max_fpr``; ``estimate``, ``low``, ``high``; for a TPR the FPR that was
            realised, ``fpr``, ``fpr_low``, ``fpr_high``; ``n_members``, ``n_nonmembers``;
            ``status``: "ok", "not resolvable" or "too few records". All estimates are NaN unless
            it is "ok". Rates are fractions.
        """
        return self.results.copy()

    def to_json(self, path=None):
        """The audit as a JSON document.

        The document is an object with ``schema`` ("skmia.audit"), ``schema_version`` (1), the
        attributes ``created``, ``versions``, ``victim``, ``victim_name``, ``task``, ``data``,
        ``performance``, ``baseline`` (``auc``, ``low``, ``high``, or null), ``settings``,
        ``seeds``, ``seconds``, ``notes``, ``verdict``, and ``results``: an array with one object
        for each row of :meth:`to_frame`. ``curves`` holds for each attack, the best one first, up
        to 120 points of its ROC curve (``attack``, ``fpr``, ``tpr``, and the limits ``low`` and
        ``high`` of the TPR); ``exposed`` the 20 members with the highest scores of that attack
        (``record``, ``attack``, ``score``, and ``n_above``, the non-members that score as high).
        Numbers that are not there are null. Fields may be added without a new version; a field that
        goes or changes its meaning raises it.

        Parameters
        ----------
        path : str or path, default=None
            File to write as well, atomically.

        Returns
        -------
        text : str
            The document.
        """
        document = self._document()
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_atomically(path, text.encode())
        return text

    def _document(self):
        names = ("created", "versions", "victim", "victim_name", "task", "data", "performance")
        rest = ("settings", "seeds", "seconds", "notes", "verdict")
        baseline = self.baseline and dict(zip(("auc", "low", "high"), self.baseline))
        rows = [dict(zip(COLUMNS, row)) for row in self.results[list(COLUMNS)].to_numpy(object)]
        ranked = rank_attacks(self.scores, self.membership)
        return _as_json(
            {
                "schema": SCHEMA,
                "schema_version": SCHEMA_VERSION,
                **{name: getattr(self, name) for name in names},
                "baseline": baseline,
                **{name: getattr(self, name) for name in rest},
                "results": rows,
                "curves": find_curves(ranked, self.membership, self.settings["confidence_level"]),
                "exposed": find_exposed(ranked, self.membership, self.record_ids),
            }
        )

    def to_html(self, path=None, *, title="Membership-inference audit"):
        """The audit as a page that needs no other file and no network.

        Parameters
        ----------
        path : str or path, default=None
            File to write as well, atomically.
        title : str, default="Membership-inference audit"
            Of the page.

        Returns
        -------
        page : str
            HTML.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        page = render(self._document(), title)
        if path is not None:
            write_atomically(path, page.encode())
        return page

    def summary(self):
        """The audit as text for a terminal.

        Returns
        -------
        text : str
            Lines of at most 100 characters; rates in percent, intervals in brackets.
        """
        return format_summary(self)

    def plot(self, ax=None, **kwargs):
        """Draw the ROC curves of all attacks over all records on logarithmic axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Passed to :meth:`skmia.metrics.MembershipRocDisplay.plot`.

        Returns
        -------
        display : MembershipRocDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        settings = {"confidence_level": self.settings["confidence_level"]}
        overall = self.results[self.results["scope"] == OVERALL]
        resolved = overall[(overall["metric"] == "tpr") & (overall["status"] == OK)]
        if len(resolved):
            settings["max_fpr"] = resolved["max_fpr"].iloc[0]
        return MembershipRocDisplay.from_predictions(
            self.membership, self.scores, ax=ax, **(settings | kwargs)
        )

    def save(self, directory):
        """Write ``audit.json``, ``roc.png`` and ``report.html``, each of them atomically.

        The numbers are written first: where the figure or the page cannot be made, without
        matplotlib or jinja2, a note in them says so.

        Parameters
        ----------
        directory : str or path
            Folder, made where it does not exist.

        Returns
        -------
        paths : list of Path
            The files that were written.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        written = [directory / "audit.json"]
        self.to_json(written[0])
        for name, make in (("roc.png", self._draw_png), ("report.html", self._make_page)):
            try:
                written.append(write_atomically(directory / name, make()))
            except Exception as error:  # whatever fails, the numbers stay and say so
                self.notes.append(f"The file {name} could not be made: {error}")
                self.to_json(written[0])
        return written

    def _make_page(self):
        return self.to_html().encode()

    def _draw_png(self):
        # A figure of its own, without pyplot: no window, no backend and no state of the caller.
        module = import_optional("matplotlib.figure", extra="plot")
        figure = module.Figure(figsize=(7.5, 5.5), layout="constrained")
        self.plot(figure.subplots())
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=150)
        return content.getvalue()

    def __repr__(self):
        attacks = ", ".join(self.scores)
        return f"AuditResult({self.data['n_records']} records; attacks: {attacks})"
