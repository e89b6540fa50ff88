"""The report of an audit."""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from .._core.brief import NamedChecks
from .._core.decisions import format_decision
from .._core.drawing import gray, ink, on_paper, shade
from .._core.escaping import visible
from .._core.files import PAGE, SHEET, split_place, write_bytes
from .._core.levels import Level
from .._core.optional import import_optional
from .._core.pages import frame_page
from .._core.saving import save_documents, warn_of_failures, write_json, write_text
from .._core.screens import write_as_markdown, write_steps_as_markdown
from .._core.text import escape, format_rows_of_table
from .._core.types import PathLike
from ..disclosure import write_sheet
from ..metrics import Interval
from ._captions import MISTAKEN, RECOGNIZED
from ._document import as_audit_document, compute_document_curves
from ._evidence import (
    choose_evidence,
    get_highest,
    list_routes,
    make_grounds,
    measure_audit_level,
)
from ._examine import Findings
from ._measure import TOO_FEW
from ._page import choose_mark, describe_picture, render_audit
from ._pool_size import describe_growth
from ._screen import list_document_routes, show_report
from ._short_findings import ShortFindings
from ._text import (
    describe_disparity,
    describe_performance,
    describe_reading,
    describe_sources,
    format_audit_summary,
    format_short,
    name_way,
    tabulate_attacks,
)
from ._verdict import write_audit_verdict
from .checks._base import ERROR, NOT_RUN, PASSED, WARNING
from .checks._baseline import BaselineCheck, DifficultyCheck
from .checks._drift import DriftCheck
from .checks._duplicates import DuplicatesCheck

# Colors of the levels, on light and on dark paper of the page, and of what is no member.
_COLORS = {
    "severe": ("#a3123a", "#ff8fa6"),
    "clear": ("#b04c00", "#ffb26b"),
    "slight": ("#806200", "#e6cd68"),
    "none": ("#0b6659", "#6fd6c2"),
    "unknown": ("#55606d", "#a3afbc"),
}
_SOFT = "#c3cad3", "#4a5665"
_LOWEST = 1e-3  # rate of the picture
# Letters of a line above dots, of which four pictures leave less room.
_LETTERS, _LETTERS_OF_FOUR = 20, 15


def draw_picture(document, axes):
    """Draw the first picture of the page: counts of a hundred as dots, and ROC curves."""
    routes = list_document_routes(document)
    grids, curves, rate = describe_picture(document, routes)
    _draw_dots(axes[0], grids, get_highest(routes).level)
    ax = axes[1]
    for curve in curves:
        kept = np.asarray(curve["fpr"]) >= curve["from"]
        fpr, tpr, low, high = (np.asarray(curve[k])[kept] for k in ("fpr", "tpr", "low", "high"))
        color = on_paper(ax, *_COLORS[curve["level"]])
        ax.plot(fpr, tpr, "--" if curve["dashed"] else "-", color=color, label=curve["name"])
        ax.fill_between(fpr, low, high, color=color, alpha=shade(ax), linewidth=0)
        place = curve["at"] or (fpr[0], tpr[0])
        place = tuple(np.maximum(place, _LOWEST))  # a rate of 0 is at the edge
        if curve["at"]:
            ax.plot(*place, "o", color=color, clip_on=False)
        ax.annotate(
            curve["name"],
            place,
            **{"xytext": (7, -12), "textcoords": "offset points", "color": color},
        )
    ax.plot([_LOWEST, 1], [_LOWEST, 1], ":", color=gray(ax), linewidth=1)
    ax.annotate("guessing", (0.12, 0.07), color=gray(ax))
    mark = choose_mark(curves, rate)
    if mark is not None:
        ax.axvline(mark, color=on_paper(ax, *_SOFT), linewidth=1, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=(_LOWEST, 1), ylim=(_LOWEST, 1))
    ax.set(xlabel=MISTAKEN, ylabel=RECOGNIZED)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter("")
        axis.set_ticks([_LOWEST, 1e-2, 0.1, 1], labels=["0.1%", "1%", "10%", "100%"])


def _draw_dots(ax, grids, level):
    """Draw a grid of dots for each count, with its number above it."""
    columns, rows = np.arange(100) % 10, np.arange(100) // 10
    letters = _LETTERS if len(grids) < 4 else _LETTERS_OF_FOUR
    texts = [fill(one["text"], letters) for one in grids]
    n_lines = 1 + max((words.count("\n") for words in texts), default=0)
    for place, one in enumerate(grids):
        pair = one["level"] and _COLORS[one["level"].name]
        x, color = 13 * place + columns, on_paper(ax, *pair) if pair else ink(ax)
        is_filled = np.arange(100) < one["filled"]
        if one["base"] == 100:
            ax.scatter(x[is_filled], -rows[is_filled], 22, color)
            ax.scatter(x[~is_filled], -rows[~is_filled], 3, on_paper(ax, *_SOFT))
        # From the dots upwards, however many lines the words have.
        above = {"textcoords": "offset points", "xy": (13 * place - 0.4, 0.8)}
        ax.annotate(texts[place], **above, xytext=(0, 0), size=8, color=ink(ax))
        height = 10 * n_lines + 3
        number = one["number"] if one["base"] is None else f"{one['number']} of {one['base']:,}"
        ax.annotate(number, **above, xytext=(0, height), size=14, color=color)
    ax.set(xlim=(-1, max(13 * len(grids) - 3, 10)), ylim=(-10, 8), aspect="equal")
    color = on_paper(ax, *_COLORS[level.name])
    ax.set_title(level.heading, loc="left", color=color, weight="bold")
    ax.set_axis_off()


_STATUS = {PASSED: "passed", WARNING: "**warning**", NOT_RUN: "not run", ERROR: "**failed**"}


def format_audit_markdown(report, title):
    """Format an audit as Markdown, in tables of the extended syntax of GitHub and GitLab."""
    data, n_shadows = report.data, report.settings["n_shadows"]
    found = report.recommendation
    lines = [f"# {escape(title)}", "", *([] if found is None else format_decision(found.to_dict()))]
    screen = show_report(report)
    lines += [*write_as_markdown(screen), *write_steps_as_markdown(screen)]
    lines += [*_list_verdicts(report), ""]
    lines += [
        f"* Model: {escape(report.victim_name)}",
        f"* Records: {data['n_records']:,}, {data['n_members']:,} of them members",
        f"* Shadow models: {n_shadows}",
        f"* {escape(describe_performance(report.performance))}",
        f"* Made by skmia {report.versions['skmia']}, {report.created}",
    ]
    for part in _list_report_tables(report.results):
        lines += ["", *part]
    lines += ["", f"Brackets: {100 * report.settings['confidence_level']:g}% intervals, pointwise."]
    lines += [] if screen.people is None else _list_people_sections(screen.people)
    for heading, paragraphs in _list_sections(report).items():
        if paragraphs:
            lines += ["", f"## {heading}", "", *(f"* {text}" for text in paragraphs)]
    return "\n".join(lines) + "\n"


def _list_verdicts(report):
    """Return what each way of release was found to be, after all numbers."""
    file = report.file
    if file is None:
        return [f"**{report.evidence}**: {escape(report.verdict)}"]
    lines = [f"**{name_way(file.facts)}: {report.evidence}**. {escape(report.verdict)}"]
    return [*lines, "", f"**As a file: {file.evidence}**. {escape(file.verdict)}"]


def _list_report_tables(frame):
    """Yield a heading and a table for all records, and for each group."""
    for (scope, group), part in frame.groupby(["scope", "group"], sort=False):
        first = part.iloc[0]
        name = "All records" if scope == "overall" else f"{escape(scope)} = {escape(group)}"
        counts = f"{first['n_members']:,} members, {first['n_nonmembers']:,} non-members"
        lines = [f"## {name}", "", f"{counts}."]
        if first["status"] == TOO_FEW:
            yield [*lines, f"{TOO_FEW}."]
        else:
            columns = tabulate_attacks(part)
            yield [
                *lines,
                "",
                *format_rows_of_table(list(columns), zip(*columns.values(), strict=True)),
            ]


def _list_people_sections(people):
    """Return how well people are found, and a table of those who are exposed most."""
    lines = ["", "## People", "", escape(people.text)]
    if not people.exposed:
        return lines
    head = ["most exposed", "records", "score", "non-members with an equal or higher score", "p"]
    rows = [
        [row["person"], f"{row['n_records']:,}", f"{row['score']:.4g}", f"{row['n_above']:,}"]
        + [f"{row['pvalue']:.2g}"]
        for row in people.exposed
    ]
    more = ["", people.more] if people.more else []
    return [*lines, "", *format_rows_of_table(head, rows), *more]


def _list_sections(report):
    checks = [
        f"{escape(name)} ({_STATUS.get(check.status, check.status)}): {escape(check.text)}"
        for name, check in report.checks.items()
    ]
    notes = [] if report.growth is None else [describe_growth(report.growth)]
    file = []
    if report.file is not None:
        facts = report.file.facts
        file = [*describe_sources(facts), *describe_reading(facts), *facts["changes"]]
        file += report.file.notes
    return {
        "Groups": list(map(escape, describe_disparity(report.disparity))),
        "The file": list(map(escape, file)),
        "Checks": checks,
        "Notes": list(map(escape, [*notes, *report.notes])),
    }


def save_report(document, directory, values=None):

    def write_page(noted, path):
        write_text(render_audit(noted, values=values), path)

    others = {"roc.png": _draw_report, PAGE: write_page}
    if document["recommendation"] is not None:
        others[SHEET] = partial(write_sheet, report=split_place(directory)[1])
    return save_documents(document, directory, "audit.json", others)


def _draw_report(document, path):
    # A figure made without pyplot opens no window and leaves the caller's backend and state alone.
    module = import_optional("matplotlib.figure", extra="plot")
    figure = module.Figure(figsize=(10, 4), layout="constrained")
    draw_picture(document, figure.subplots(1, 2))
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_bytes(path, content.getvalue())


if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..disclosure import Recommendation
    from ._evidence import Grounds
    from ._file import FileFindings
    from .checks._base import Check
    from .checks._control import ControlResult
    from .checks._drift import DriftResult
    from .checks._duplicates import Duplicates
    from .checks._permutation import PermutationResult


@dataclass(frozen=True, eq=False, repr=False)
class ServiceFindings(ShortFindings):
    """What the answers of a model reveal, as measured by :func:`audit`.

    Attributes
    ----------
    results : DataFrame
        Numbers of the attacks, as in :meth:`AuditReport.to_frame`.
    grounds : Grounds
        What evidence and verdict rest on.

    See Also
    --------
    skmia.audit : Makes it, as ``report.service``.
    """

    results: pd.DataFrame
    grounds: Any

    @property
    def evidence(self) -> Literal["leak", "none", "shift", "reversed", "unknown"]:
        """Conclusion about the answers, one of the words of :class:`AuditReport`."""
        return self._remember("_evidence", lambda: choose_evidence(self.grounds))

    @property
    def verdict(self) -> str:
        """The same in words, after a headline."""
        return self._remember("_verdict", lambda: write_audit_verdict(self.grounds, self.evidence))

    @property
    def level(self) -> Level:
        """How much the answers reveal, a word with an order as :attr:`AuditReport.level`."""
        return self._remember("_level", lambda: measure_audit_level(self.grounds, self.evidence))


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, content):
        return len(content)


@dataclass(frozen=True, eq=False, repr=False)
class AuditReport:
    """Numbers, scores, checks and circumstances of an audit, as returned by :func:`audit`.

    In a notebook, it is displayed as the page.

    Attributes
    ----------
    results : DataFrame
        Table of the numbers, see :meth:`to_frame`; empty if the model does not know the records, so
        that the audit ended before its first attack.
    scores : dict of str to ndarray of shape (n,)
        Scores of each attack, higher means more likely a member.
    membership : ndarray of shape (n,), dtype bool
        True membership of each record.
    victim : str
        Representation of the victim.
    victim_name : str
        Short name of the victim: its class, for a pipeline or a search the one of what predicts.
    task : {"classification", "regression"}
        Task of the victim.
    data : dict
        ``n_records``, ``n_members``, ``n_nonmembers``; of a service also ``n_queries``, the rows
        that the audit asked it for; if records were left out, ``unknown_classes``, the numbers of
        those with labels that the victim does not know (``unknown_members``,
        ``unknown_nonmembers``) and of members of classes that no non-member has
        (``unmatched_members``), and ``weightless``, the numbers of those with a sample weight of 0
        (``weightless_members``, ``weightless_nonmembers``).
    performance : dict
        ``metric`` ("accuracy" or "r2"; "confidence", the mean probability of the label, if only its
        log odds are known), its value for ``members`` and ``nonmembers``, and their difference
        ``gap``, the generalization gap.
    baseline : Interval or None
        AUC of a baseline that sees the records but not the victim's outputs. None if there are too
        few records.
    difficulty : Interval or None
        AUC of the performance of shadow models on records that they were not trained on, with a 99%
        interval. It should not separate members from non-members.
    drift : DriftResult or None
        Comparison of models that were trained on members with models that were trained on
        non-members. None if they cannot be trained.
    permutation : PermutationResult or None
        The numbers over all records, and of groups and classes, compared with their values under
        permuted membership. None if the test failed.
    duplicates : Duplicates or None
        Records that are, exactly or nearly, on both sides of the split. None if the search failed.
    controls : dict of str to ControlResult
        ``positive`` and ``negative``, if they were requested and possible.
    power : dict or None
        AUC of the best attack (a StackedAttack only if there is no other) on shadow models treated
        as the victim: ``attack``, and ``numbers`` (``n_shadows``, ``auc``, ``sd``, ``n_models``).
    growth : dict or None
        How ``shadows="auto"`` chose the number of models: ``n_shadows``; ``reason`` ("enough",
        the next doubling is expected to bring no more than models differ by; "most", 64; "time";
        "unmeasured", no attack can be repeated on shadow models; "memory", it did not suffice for
        more); ``metric``; ``max_fpr``;
        ``steps``, one for each number of models; ``seconds_per_model``; ``time_budget``.
    recommendation : Recommendation or None
        What a policy recommends, see :func:`skmia.report.recommend_release`, if one was asked.
    reference : dict or None
        What the victim was compared with, for a policy that asks for it: ``recipe`` of the shadow
        models ("own", clones of the victim; "given"; or "chosen", a stand-in); their
        ``estimator``; ``distances`` of the kinds among which a stand-in was chosen, and the
        ``obstacle`` if none could be; ``attacks``, those that compare with models, each with the
        ``share`` of the records that it judged and the number ``n_models`` of models, None in
        closed form; ``left_out``, attacks that did not run and why; and the ``gap`` between
        training records and others, of the ``victim`` with its ``standard_error`` and of the
        ``n_models`` models with ``mean`` and ``sd``, and the difference ``z`` in standard errors.
    disparity : dict or None
        Whether groups are exposed unequally, measured on the same models by a
        :class:`~skmia.disparity.DisparityTest`: ``attack``, and ``scopes``, one for each field and
        for the classes, with the keys of :ref:`the document <audit_format>`.
    person_level : dict or None
        The strongest attack on people instead of records, if they have the field ``group_by`` and
        several records: ``attack``; ``combine``, the "sum" of its scores over the records of a
        person, or their "mean" if they are not differences from a neutral score; ``n_members``,
        ``n_nonmembers`` and, left out, ``n_mixed`` people with records on both sides; ``auc``,
        ``low``, ``high``; ``pvalue`` by ``n_permutations`` permutations of people, corrected for
        all attacks; and
        ``exposed``, up to 20 members with the highest scores, each with ``person``, ``n_records``,
        ``score``, ``n_above``, the number of non-members that score as high, ``n_equal``, the
        number of members with the same score, and ``pvalue``, the share of non-members that score
        as high if this person is counted as one of them.
    checks : dict of str to Check
        Whether the numbers can be trusted, by name; each has a ``status`` ("passed", "warning",
        "stated", "not run", or "error" if the check itself failed) and a ``text``.
    settings : dict
        Parameters of the audit.
    attacks : "default", dict of str to attack, or None
        The attacks of the audit as they were given, unfitted. None in a copy from a pickle, if
        they cannot be pickled, as a lambda cannot.
    seeds : dict
        ``random_state`` as given, and the integers drawn from it.
    seconds, versions : dict
        Time spent on each part, in seconds; versions of Python and of the packages.
    created : str
        Time at which the audit ended, ISO 8601 in UTC.
    notes : list of str
        Sentences on what was left out and why, and on what a reader should know.
    record_ids : ndarray of shape (n,)
        Names of the records: their field ``record_id``, or their positions among all that were
        given.
    positions : ndarray of shape (n,)
        Positions of the records among all that were given, some of which may be left out.
    people : ndarray of shape (n,) or None
        Person of each record: their field ``group_by``.
    judged : dict of str to ndarray of shape (n,) or None
        Records that each attack can judge; the numbers of the attack leave out the others.
    findings : Findings
        All measurements and checks, including those in the attributes above.
    grounds : Grounds
        The part of the findings on which evidence and verdict rest.
    evidence : {"leak", "none", "shift", "reversed", "unknown"}
        Conclusion on the answers; :ref:`the guide <verdict>` says what each word means.
    verdict : str
        The conclusion in words, after a headline.
    level : Level
        How much leaks, by limits that :ref:`no policy changes <level>`: the level of the page, the
        higher one of ``service.level`` and ``file.level``. A word that is ordered: "severe" >
        "clear" > "slight" > "none" > "unknown", the last without a verdict. It has ``at_least``,
        whether an estimate reaches a higher level; the ``numbers`` "auc" and "ratio" that set it,
        with their corrected ``low`` ends; and ``groups``, the level of each group.
    service : ServiceFindings
        What the answers of the model reveal, with its own ``results``, ``evidence``, ``verdict``
        and ``level``.
    file : FileFindings or None
        What the file of the model reveals, with its own ``results``, ``evidence``, ``verdict``
        and ``level``; None if it was not asked for, or if the model has no file at hand.
    records_digest : str or None
        Digest of the rows and labels in their order, by which a recommendation refuses others. It
        is in no document.

    See Also
    --------
    audit : Attacks a victim and returns this report.
    """

    findings: Findings
    scores: dict[str, np.ndarray]
    judged: dict[str, np.ndarray | None]
    membership: np.ndarray
    record_ids: np.ndarray
    positions: np.ndarray
    people: np.ndarray | None
    victim: str
    victim_name: str
    task: str
    data: dict[str, int]
    performance: dict[str, Any]
    settings: dict[str, Any]
    seeds: dict[str, Any]
    seconds: dict[str, float]
    versions: dict[str, str]
    created: str
    notes: list[str]
    file: "FileFindings | None" = None
    growth: dict | None = None
    recommendation: "Recommendation | None" = None
    reference: dict | None = None
    attacks: Any = "default"
    records_digest: str | None = None

    @property
    def results(self) -> pd.DataFrame:
        return self.findings.numbers

    @property
    def baseline(self) -> Interval | None:
        return self.findings.of(BaselineCheck.name)

    @property
    def difficulty(self) -> Interval | None:
        return self.findings.of(DifficultyCheck.name)

    @property
    def drift(self) -> "DriftResult | None":
        return self.findings.of(DriftCheck.name)

    @property
    def permutation(self) -> "PermutationResult | None":
        return self.findings.permutation

    @property
    def duplicates(self) -> "Duplicates | None":
        return self.findings.of(DuplicatesCheck.name)

    @property
    def controls(self) -> "dict[str, ControlResult]":
        return self.findings.controls

    @property
    def power(self) -> dict | None:
        return self.findings.power

    @property
    def disparity(self) -> dict | None:
        return self.findings.disparity

    @property
    def person_level(self) -> dict | None:
        return self.findings.person_level

    @property
    def checks(self) -> "dict[str, Check]":
        return NamedChecks(self.findings.checks)

    @property
    def grounds(self) -> "Grounds":
        return make_grounds(
            self.results,
            self.permutation,
            self.checks,
            self.settings["confidence_level"],
            list(self.settings["attacks"]),
        )

    @cached_property
    def _service(self):
        return ServiceFindings(self.results, self.grounds)

    @property
    def service(self) -> ServiceFindings:
        return self._service

    @property
    def evidence(self) -> Literal["leak", "none", "shift", "reversed", "unknown"]:
        return self.service.evidence

    @property
    def verdict(self) -> str:
        return self.service.verdict

    @cached_property
    def _curves(self):
        return compute_document_curves(self)

    @cached_property
    def _level(self):
        return get_highest(list_routes(self)).level

    @property
    def level(self) -> Level:
        return self._level

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a table with one row for each attack, group and metric.

        Returns
        -------
        frame : DataFrame
            ``attack``; ``scope`` ("overall" or the name of the field) and ``group`` ("all" or a
            value of the field); ``metric`` ("auc", "advantage" or "tpr") and for a TPR the largest
            FPR allowed, ``max_fpr``; ``estimate``, ``low``, ``high``; for a TPR the FPR that was
            realized, ``fpr``, ``fpr_low``, ``fpr_high``; ``n_members``, ``n_nonmembers``;
            ``status``: "ok", "not resolvable" or "too few records"; ``told``, whether this attack
            was chosen for the number without looking at it, as one attack of each is. Estimates
            are NaN unless the status is "ok". Rates are fractions.
        """
        return self.results.copy()

    def to_json(self, path: PathLike | None = None) -> str:
        """Return the audit as a JSON document.

        Its ``schema`` is "skmia.audit" and its ``schema_version`` 1. It holds the attributes of
        the report, with an object in ``results`` for each row of :meth:`to_frame`; the user guide
        describes each field. Missing numbers are null. Fields may be added without a new version;
        if a field is removed or changes its meaning, the version is raised.

        Parameters
        ----------
        path : str or path, default=None
            File to which the document is also written, atomically and readable by its owner only.

        Returns
        -------
        text : str
            The report as JSON.
        """
        return write_json(as_audit_document(self), path)

    def to_html(
        self,
        path: PathLike | None = None,
        *,
        title: str | None = None,
        values: pd.DataFrame | None = None,
    ) -> str:
        """Return the audit as a page that needs no other file and no network.

        It begins with the level, and holds no script: its content security policy allows only the
        page's own style.

        Parameters
        ----------
        path : str or path, default=None
            File to which the page is also written, atomically and readable by its owner only.
        title : str, default=None
            Title of the page, after the level. If None, it names the model.
        values : DataFrame, default=None
            Values to show with the most exposed records, a row for each record that the audit was
            given, also for those that it left out. If None, only the names of the records are
            shown, because values may be personal data.

        Returns
        -------
        page : str
            HTML.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        ValueError
            If `values` does not have one row for each record that was given.
        """
        return write_text(render_audit(as_audit_document(self), title, values), path)

    def summary(self, verbose: bool = False) -> str:
        """Return the audit as text, in lines of at most 80 characters, in the order of the page.

        Parameters
        ----------
        verbose : bool, default=False
            Whether all attacks, numbers, checks and notes follow, in lines of at most 100
            characters.

        Returns
        -------
        text : str
        """
        screen = show_report(self)
        return "\n".join(
            [
                *format_short(self, screen),
                *(["", format_audit_summary(self, screen)] if verbose else []),
            ]
        )

    def to_markdown(self, title: str = "Membership-inference audit") -> str:
        """Return the audit as Markdown, for a merge request or a model card.

        Parameters
        ----------
        title : str, default="Membership-inference audit"
            Heading.

        Returns
        -------
        text : str
            Verdicts, tables of the numbers, checks and notes; names are escaped.
        """
        return format_audit_markdown(self, title)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "np.ndarray":
        """Draw the first picture of the page: counts of a hundred as dots, and ROC curves.

        Each route is drawn by its reported attack. For the curves of all attacks see
        :meth:`skmia.metrics.MembershipRocDisplay.from_predictions`, with `membership` and `scores`.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Axes for the dots and for the curves. If None, a new figure is created.

        Returns
        -------
        axes : ndarray of shape (2,)

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `axes` are not two.
        """
        if axes is None:
            pyplot = import_optional("matplotlib.pyplot", extra="plot")
            _, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
        both = np.ravel(np.asarray(axes, dtype=object))
        if len(both) != 2:
            raise ValueError(f"axes must be two, as of pyplot.subplots(1, 2); got {len(both)}.")
        draw_picture(as_audit_document(self), both)
        return both

    def save(self, directory: PathLike, *, values: pd.DataFrame | None = None) -> list[Path]:
        """Write ``audit.json``, ``roc.png`` and ``report.html``, each of them atomically.

        The numbers are written first; a note in them says why the figure or the page could not be
        made, for example without jinja2. What an earlier audit has left under the name of a file
        that is not made, also its decision sheet, is removed. Only the user can read the files
        (mode 600), because they name the most exposed records; ``chmod`` shares them.

        Parameters
        ----------
        directory : str or path
            Folder, which is created if it does not exist. A name that ends in ``.html`` is the name
            of the page; the other files are in the same folder and share its name.
        values : DataFrame, default=None
            As for :meth:`to_html`.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        FileExistsError
            If a decision is recorded in the folder, under the same name.

        Warns
        -----
        RuntimeWarning
            If the figure or the page could not be made though its package is installed.
        """
        return warn_of_failures(save_report(as_audit_document(self), directory, values))

    def __getstate__(self):
        state = dict(self.__dict__)
        try:
            pickle.Pickler(_Nowhere()).dump(self.attacks)
        except Exception:  # the results can be stored without attacks that cannot
            state["attacks"] = None
        return state

    def _repr_html_(self):
        return frame_page(self, "Membership-inference audit")

    def __repr__(self):
        attacks = ", ".join(map(visible, self.scores))
        return f"AuditReport({self.data['n_records']} records; attacks: {attacks})"
