"""An audit of a synthetic table as text and as Markdown."""

from ..._core.pages.decision import format_decision
from ..._core.pages.markdown import escape, make_table
from ..._core.pages.text import wrap_lines
from ..._core.pvalues import format_pvalue
from ..._core.visible import visible

# Columns that are named as least similar, and characters of a cell for a terminal.
_MOST_SHOWN, _WIDEST = 5, 30

_MEANINGS = {
    "rare copies": "rows with rare values that are in the synthetic table",
    "near copies": "rows to which a synthetic row is much nearer than any other real row",
    "privacy loss": "how much nearer synthetic rows are to training rows",
    "membership by distances": "training rows have smaller distances, compared with real rows",
    "membership by DOMIAS": "synthetic rows lie more densely around training rows",
    "membership by Gen-LRA": "training rows make the synthetic rows more likely",
    "membership by a classifier": "training rows look more like synthetic rows",
    "singling out": "a combination of values of a synthetic row isolates one real row",
    "singling out, one column": "a single value of the synthetic table isolates one real row",
    "linkability": "the synthetic table joins two halves of a row",
}
_OF_UTILITY = {
    "columns": "distribution of each column, mean",
    "pairs": "pairs of columns, mean",
    "quality": "mean of both",
    "resemblance loss": "0: synthetic rows lie like other real rows; 0.5: all are told apart",
}


def explain(name):
    """What a number is, in a few words."""
    if name in _MEANINGS:
        return _MEANINGS[name]
    if name.startswith("inference of "):
        column = name.removeprefix("inference of ")
        return f"the value of {column} is guessed from the nearest synthetic row"
    if name.startswith("model of "):
        return "gain over guessing of a model of synthetic rows, as a share of one of real rows"
    return _OF_UTILITY.get(name, "")


def describe_rows(data):
    """The numbers of rows, in a line."""
    parts = [f"{data['n_synthetic']:,} synthetic rows", f"{data['n_real']:,} training rows"]
    held = data.get("n_holdout")
    parts.append(f"{held:,} held-out rows" if held else "no holdout")
    return f"{', '.join(parts)}; {data['n_columns']:,} columns."


def format_interval(row):
    """A number and its interval, ``0.021 [0.010, 0.033]``."""
    if row["estimate"] is None:
        return "cannot be said"
    text = format_number(row["estimate"])
    if row["low"] is None:
        return text
    return f"{text} [{format_number(row['low'])}, {format_number(row['high'])}]"


def format_number(value):
    """A number with three decimals, or a dash where there is none."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_rate(rate):
    """A share as ``12.3%``, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f}%"


def tabulate_results(document):
    """Cells of the table of privacy numbers, with its headings first."""
    level = f"{100 * document['settings']['confidence_level']:g}%"
    rows = [["number", "training rows", "held-out rows", f"excess [{level}]", "p, corrected"]]
    for row in document["results"]:
        p = format_pvalue(row["pvalue_holm"], 0.0).removeprefix("p ").removeprefix("= ")
        mark = " *" if row["leak"] else ""
        rates = [format_rate(row[side]) for side in ("attack", "control")]
        rows.append([row["name"], *rates, format_interval(row), p + mark])
    return rows


def tabulate_utility(document):
    """Cells of the table of utility, with its headings first."""
    rows = [["utility", "synthetic rows", "training rows"]]
    for row in document["utility"]:
        rows.append([row["name"], format_interval(row), format_number(row["real"])])
    return rows


def list_worst(rows):
    """The columns, or pairs, that are least similar to real rows."""
    known = [row for row in rows if row["estimate"] is not None]
    return sorted(known, key=lambda row: row["estimate"])[:_MOST_SHOWN]


def describe_worst(document):
    """A line on the columns that are least similar."""
    worst = [f"{row['name']} {row['estimate']:.2f}" for row in list_worst(document["columns"])]
    return f"Least similar columns: {', '.join(worst)}."


def describe_models(trained):
    """A line on the models of the target, or None."""
    if trained is None:
        return None
    made, own = (f"{trained[name]:.3f}" for name in ("synthetic", "real"))
    return (
        f"A model of {trained['target']} that was fitted on synthetic rows reaches an "
        f"{trained['metric']} of {made} on held-out rows; one of training rows {own} (chance: "
        f"{trained['chance']:.3f})."
    )


def describe_spread(document):
    """A line on each number of the further tables of the generator."""
    return [
        f"{row['n_tables']} further tables of the generator: {row['name']} "
        f"{format_number(row['mean'])} on average, from {format_number(row['smallest'])} to "
        f"{format_number(row['largest'])}."
        for row in document["spread"] or ()
    ]


def format_summary(document):
    """Format the audit as lines of at most 100 characters."""
    lines = [*wrap_lines(["Audit of a synthetic table", describe_rows(document["data"])])]
    if document["results"]:
        lines += ["", *_align(tabulate_results(document))]
        lines += wrap_lines(["*: beyond chance after correction for all numbers."])
    lines += ["", *_align(tabulate_utility(document))]
    foot = [describe_worst(document), describe_models(document["trained"])]
    foot += describe_spread(document)
    foot += [
        f"{'Warning' if check['status'] == 'warning' else check['name'].capitalize()}"
        f"{' (' + check['name'] + ')' if check['status'] == 'warning' else ''}: {check['text']}"
        for check in document["checks"]
        if check["status"] != "not run"
    ]
    foot += [f"Note: {note}" for note in document["notes"]]
    lines += wrap_lines(text for text in foot if text)
    lines += ["", *wrap_lines([document["verdict"]])]
    if document["recommendation"] is not None:
        lines += ["", *wrap_lines(_list_decision(document["recommendation"]))]
    return "\n".join(lines)


def _list_decision(found):
    head = f"As a {found['release']}, by the policy {found['policy']['name']}: {found['result']}"
    return [
        head,
        *(f"  {reason}" for reason in found["reasons"]),
        *(f"  Condition: {name}" for name in found["conditions"]),
    ]


def _align(rows):
    rows = [[_shorten(visible(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _shorten(text):
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def format_markdown(document, title):
    """Format the audit as Markdown, in tables of the extended syntax of GitHub and GitLab."""
    lines = [f"# {escape(title)}", ""]
    if document["recommendation"] is not None:
        lines += format_decision(document["recommendation"])
    lines += [f"**{document['evidence']}**: {escape(document['verdict'])}", ""]
    lines += [f"* {describe_rows(document['data'])}"]
    lines += [f"* Made by skmia {document['versions']['skmia']}, {document['created']}"]
    if document["results"]:
        lines += ["", "## Privacy", "", *_as_table(tabulate_results(document))]
    lines += ["", "## Utility", "", *_as_table(tabulate_utility(document)), ""]
    found = [describe_worst(document), describe_models(document["trained"])]
    found += describe_spread(document)
    lines += [f"* {escape(text)}" for text in found if text]
    checks = [
        f"* {check['name']} ({check['status']}): {escape(check['text'])}"
        for check in document["checks"]
    ]
    lines += ["", "## Checks", "", *checks]
    if document["notes"]:
        lines += ["", "## Notes", "", *(f"* {escape(note)}" for note in document["notes"])]
    return "\n".join(lines) + "\n"


def _as_table(rows):
    head, *body = rows
    return make_table(list(map(escape, head)), body)
