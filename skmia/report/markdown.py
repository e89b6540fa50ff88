"""An audit as Markdown, for a merge request or a model card."""

from .._core.pages.decision import format_decision
from .._core.pages.markdown import escape, make_table
from .checks.base import ERROR, NOT_RUN, PASSED, WARNING
from .evidence import LEAK
from .growth import describe_growth
from .measure import TOO_FEW
from .person_level import describe_people
from .text import (
    describe_disparity,
    describe_performance,
    describe_reading,
    describe_sources,
    name_way,
    tabulate,
)

_STATUS = {PASSED: "passed", WARNING: "**warning**", NOT_RUN: "not run", ERROR: "**failed**"}


def format_markdown(report, title):
    """Format an audit as Markdown, in tables of the extended syntax of GitHub and GitLab.

    Parameters
    ----------
    report : AuditReport
    title : str
        Heading.

    Returns
    -------
    text : str
    """
    data, n_shadows = report.data, report.settings["n_shadows"]
    lines = [f"# {escape(title)}", "", *_list_decision(report), *_list_verdicts(report), ""]
    lines += [
        f"* Model: {escape(report.victim_name)}",
        f"* Records: {data['n_records']:,}, {data['n_members']:,} of them members",
        f"* Shadow models: {n_shadows}",
        f"* {escape(describe_performance(report.performance))}",
        f"* Made by skmia {report.versions['skmia']}, {report.created}",
    ]
    for part in _list_parts(report.results):
        lines += ["", *part]
    lines += ["", f"Brackets: {100 * report.settings['confidence_level']:g}% intervals, pointwise."]
    lines += _list_people(report)
    for heading, paragraphs in _list_sections(report).items():
        if paragraphs:
            lines += ["", f"## {heading}", "", *(f"* {text}" for text in paragraphs)]
    return "\n".join(lines) + "\n"


def _list_decision(report):
    found = report.recommendation
    return [] if found is None else format_decision(found.to_dict())


def _list_verdicts(report):
    if report.file is None:
        return [f"**{report.evidence}**: {escape(report.verdict)}"]
    way = name_way(report.file.facts)
    return [
        f"**{way}: {report.evidence}**. {escape(report.verdict)}",
        "",
        f"**As a file: {report.file.evidence}**. {escape(report.file.verdict)}",
    ]


def _list_parts(frame):
    """A heading and a table for all records, and for each group."""
    for (scope, group), part in frame.groupby(["scope", "group"], sort=False):
        first = part.iloc[0]
        name = "All records" if scope == "overall" else f"{escape(scope)} = {escape(group)}"
        counts = f"{first['n_members']:,} members, {first['n_nonmembers']:,} non-members"
        yield [f"## {name}", "", f"{counts}."] + (
            [f"{TOO_FEW}."] if first["status"] == TOO_FEW else ["", *_as_table(tabulate(part))]
        )


def _as_table(columns):
    return make_table(list(columns), zip(*columns.values(), strict=True))


def _list_people(report):
    """How well people are found, and a table of those who are exposed most."""
    found = report.person_level
    if found is None:
        return []
    lines = ["", "## People", "", f"{escape(describe_people(found, report.results))}"]
    if report.evidence != LEAK or not found["exposed"]:
        return lines
    exposed = found["exposed"]
    columns = {
        "most exposed": [row["person"] for row in exposed],
        "records": [f"{row['n_records']:,}" for row in exposed],
        "score": [f"{row['score']:.4g}" for row in exposed],
        "non-members with an equal or higher score": [f"{row['n_above']:,}" for row in exposed],
        "p": [f"{row['pvalue']:.2g}" for row in exposed],
    }
    return [*lines, "", *_as_table(columns)]


def _list_sections(report):
    scopes = [] if report.disparity is None else report.disparity["scopes"]
    unequal = [describe_disparity(report.disparity, place) for place in range(len(scopes))]
    checks = [
        f"{escape(name)} ({_STATUS.get(check.status, check.status)}): {escape(check.text)}"
        for name, check in report.checks.items()
    ]
    notes = [] if report.growth is None else [describe_growth(report.growth)]
    file = []
    if report.file is not None:
        facts = report.file.facts
        file = [
            *describe_sources(facts),
            *describe_reading(facts),
            *facts["changes"],
            *report.file.notes,
        ]
    return {
        "Groups": list(map(escape, unequal)),
        "The file": list(map(escape, file)),
        "Checks": checks,
        "Notes": list(map(escape, [*notes, *report.notes])),
    }
