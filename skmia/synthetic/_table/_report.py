"""The report of an audit of a synthetic table."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..._core.decisions import format_decision
from ..._core.escaping import to_plain, visible
from ..._core.files import PAGE, SHEET, split_place
from ..._core.levels import (
    CONCLUSIVE,
    LEAK,
    LIMITS,
    NONE,
    REVERSED,
    SHIFT,
    UNKNOWN,
    as_plain_level,
    read_level,
)
from ..._core.pages import render_page
from ..._core.pvalues import format_pvalue
from ..._core.saving import save_documents, write_text
from ..._core.screens import (
    Headline,
    NextStep,
    Screen,
    write_as_markdown,
    write_headlines,
    write_steps,
    write_steps_as_markdown,
)
from ..._core.text import (
    count_briefly,
    count_lower_end,
    count_of,
    escape,
    format_rows_of_table,
    inflect_word,
    shorten,
    shorten_count,
    wrap_lines,
    wrap_short,
    write_date,
)
from ...disclosure import summarize_policy, tell_what_decides, write_sheet
from ._evidence import (
    FEW_ROWS,
    FIRST,
    IDENTIFIERS,
    LOSS,
    NO_HOLDOUT,
    ONE_CELL,
    ONE_COLUMN,
    PERSONS,
    POWER,
    RARE_TEXTS,
    SHARED,
    TOO_SMALL,
    UNSEEN,
    count_units,
    find_obstacle,
    format_share,
    list_table_reversals,
    read_units,
    tell_unchanged,
)

TITLE, SCHEMA = "Audit of a synthetic table", "skmia.table"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
SCHEMA_VERSION = 1


def as_table_document(report):
    grounds = report.grounds
    names = ("created", "versions", "data", "settings", "seeds", "seconds", "notes")
    return to_plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(report, name) for name in names},
            "evidence": report.evidence,
            "verdict": report.verdict,
            "level": as_plain_level(report.level, ("excess",)),
            "recommendation": report.recommendation and report.recommendation.to_dict(),
            "checks": [{"name": name, **check} for name, check in report.checks.items()],
            "results": _list_frame_rows(grounds.results),
            "reversed": list_table_reversals(grounds.results),
            "unchanged": report.unchanged,
            "copies": _list_frame_rows(report.copies),
            "utility": _list_frame_rows(report.utility),
            "trained": report.trained,
            "spread": _list_frame_rows(report.spread),
            "columns": _list_frame_rows(report.columns),
            "pairs": _list_frame_rows(report.pairs),
        }
    )


def _list_frame_rows(frame):
    if frame is None:
        return None
    return [{"name": name, **row} for name, row in zip(frame.index, frame.to_dict("records"))]


# Columns that are named as least similar, and characters of a cell for a terminal.
_MOST_SHOWN, _WIDEST = 5, 30

# The titles and meanings of numbers on usefulness, and the meanings of attacks.
_UTILITY = {
    "columns": ("Single columns", "distribution of each column, mean"),
    "pairs": ("Pairs of columns", "pairs of columns, mean"),
    "quality": ("Both together", "mean of both"),
    "resemblance loss": (
        "Resemblance loss",
        "0: synthetic rows cannot be distinguished from real ones; 50: all can be",
    ),
}
_ATTACKS = {
    "membership by distances": "training {many} are nearer to synthetic than to other real {many}",
    "membership by DOMIAS": "synthetic {many} are denser around training {many}",
    "membership by Gen-LRA": "training {many} make the synthetic {many} more likely",
    "membership by a classifier": "training {many} look more like synthetic {many}",
}


def describe_table_rows(data):
    parts = [_describe_row_count(data, *one) for one in (("synthetic",) * 2, ("real", "training"))]
    held = "n_holdout" in data
    parts.append(_describe_row_count(data, "holdout", "held-out") if held else "no holdout")
    return f"{', '.join(parts)}; {data['n_columns']:,} columns."


def _describe_row_count(data, name, kind):
    units = read_units(data)
    persons = data.get(f"n_persons_{name}") if units != PERSONS else None
    if persons is not None:
        persons += data.get("n_persons_shared", 0)  # who are counted apart
    told = f"{data[f'n_{name}']:,} {kind} {units.many}"
    return told + (f" of {persons:,} persons" if persons else "")


def format_interval(row):
    """Return a number and its interval, ``0.021 [0.010, 0.033]``."""
    if row["estimate"] is None:
        return "cannot be said"
    text = format_number(row["estimate"])
    if row["low"] is None:
        return text
    return f"{text} [{format_number(row['low'])}, {format_number(row['high'])}]"


def format_number(value):
    """Return a number with three decimals, or a dash where there is none."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_table_share(rate):
    """Return a share as ``12.3%``, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f}%"


def tabulate_results(document):
    """Return the cells of the table of privacy numbers, with its headings first."""
    level = f"{100 * document['settings']['confidence_level']:g}%"
    many = read_units(document["data"]).many
    heads = [f"training {many}", f"held-out {many}", f"excess [{level}]", "p, corrected"]
    rows = [["number", *heads]]
    for row in document["results"]:
        p = format_pvalue(row["pvalue_holm"], 0.0).removeprefix("p ").removeprefix("= ")
        mark = " *" if row["leak"] else ""
        rates = [format_table_share(row[side]) for side in ("attack", "control")]
        rows.append([row["name"], *rates, format_interval(row), p + mark])
    return rows


def tabulate_utility(document):
    """Return the cells of the table of utility, with its headings first."""
    many = read_units(document["data"]).many
    head = ["utility", f"synthetic {many}", f"training {many}"]
    return [head] + [
        [row["name"], format_interval(row), format_number(row["real"])]
        for row in document["utility"]
    ]


def list_worst(rows):
    """Return the columns, or pairs, that are least similar to real rows."""
    known = [row for row in rows if row["estimate"] is not None]
    return sorted(known, key=lambda row: row["estimate"])[:_MOST_SHOWN]


def describe_use(document):
    """Return lines on the columns that are least similar, and on models and further tables."""
    worst = [f"{row['name']} {row['estimate']:.2f}" for row in list_worst(document["columns"])]
    return [f"Least similar columns: {', '.join(worst)}.", *_describe_trained(document)]


def _describe_trained(document):
    """Lines on the models of the target and on each number of the generator's further tables."""
    lines, trained = [], document["trained"]
    many = read_units(document["data"]).many
    if trained is not None:
        lines.append(
            f"A model of {trained['target']} that was fitted on synthetic {many} reaches an "
            f"{trained['metric']} of {trained['synthetic']:.3f} on held-out {many}, and a model "
            f"that was fitted on training {many} {trained['real']:.3f} (chance: "
            f"{trained['chance']:.3f})."
        )
    return lines + [
        f"{row['n_tables']} further tables of the generator: {row['name']} "
        f"{format_number(row['mean'])} on average, from {format_number(row['smallest'])} to "
        f"{format_number(row['largest'])}."
        for row in document["spread"] or ()
    ]


@dataclass(frozen=True)
class TableScreen(Screen):
    """The first screen of an audit of a table."""

    trust: dict  # whether the numbers can be trusted, see `list_table_trust`
    counts: list  # a sentence on unchanged rows, unless the first sentence tells of them


def show_table(document):
    """Return the first screen of a document."""
    level = read_level(document["level"])
    counts = [] if _leads_with_counts(document) else _tell_unchanged_rows(document)
    headlines = (Headline(level.heading, "as a table", (level,)),)
    told = (
        write_table_sentence(document),
        tuple(advise_on_table(document)),
        list_table_trust(document),
        counts,
    )
    return TableScreen(level, level.heading, headlines, *told)


def format_table_summary(document):
    """Format the audit as lines of at most 100 characters."""
    lines = list(wrap_lines([TITLE, describe_table_rows(document["data"])]))
    if document["results"]:
        lines += ["", *_align_cells(tabulate_results(document))]
        lines += wrap_lines(["*: beyond chance after correction for all numbers."])
    lines += ["", *wrap_lines(_tell_unchanged_rows(document))]
    lines += ["", *_align_cells(tabulate_utility(document))]
    foot = describe_use(document)
    for check in document["checks"]:
        name = check["name"].capitalize()
        if check["status"] == "warning":
            name = f"Warning ({check['name']})"
        if check["status"] != "not run":
            foot.append(f"{name}: {check['text']}")
    foot += [f"Note: {note}" for note in document["notes"]]
    lines += wrap_lines(foot)
    lines += ["", *wrap_lines([document["verdict"]])]
    if document["recommendation"] is not None:
        lines += ["", *wrap_lines(f"  {text}" for text in document["recommendation"]["reasons"])]
    return "\n".join(lines)


def _tell_unchanged_rows(document):
    """Return the sentence on unchanged rows; none in documents of before."""
    counts = document.get("unchanged")
    return [tell_unchanged(counts, read_units(document["data"]))] if counts else []


def _align_cells(rows):
    rows = [[shorten(visible(cell), _WIDEST) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def format_table_markdown(document, title):
    """Format the audit as Markdown, in tables of the extended syntax of GitHub and GitLab."""
    lines = [f"# {escape(title)}", ""]
    if document["recommendation"] is not None:
        lines += format_decision(document["recommendation"])
    screen = show_table(document)
    lines += [*write_as_markdown(screen), *write_steps_as_markdown(screen)]
    lines += [f"**{document['evidence']}**: {escape(document['verdict'])}", ""]
    lines += [f"* {text}" for text in _tell_unchanged_rows(document)]
    lines += [f"* {describe_table_rows(document['data'])}"]
    lines += [f"* Made by skmia {document['versions']['skmia']}, {document['created']}"]
    if document["results"]:
        lines += ["", "## Privacy", "", *_format_markdown_table(tabulate_results(document))]
    lines += ["", "## Utility", "", *_format_markdown_table(tabulate_utility(document)), ""]
    lines += [f"* {escape(text)}" for text in describe_use(document)]
    checks = [
        f"* {check['name']} ({check['status']}): {escape(check['text'])}"
        for check in document["checks"]
    ]
    lines += ["", "## Checks", "", *checks]
    if document["notes"]:
        lines += ["", "## Notes", "", *(f"* {escape(note)}" for note in document["notes"])]
    return "\n".join(lines) + "\n"


def _format_markdown_table(rows):
    return format_rows_of_table(list(map(escape, rows[0])), rows[1:])


def render_table(document, title=None):
    """Return the HTML page of a document."""
    screen, data = show_table(document), document["data"]
    command = document["settings"].get("command") or {}
    name = command.get("synthetic", "a synthetic table")
    held, units = data.get("n_holdout", 0), read_units(data)
    subject = f"{name[0].upper()}{name[1:]}" if not command else name
    is_shown = document["evidence"] in CONCLUSIVE
    return render_page(
        "page_table.html.j2",
        __package__,
        title=f"{screen.level.heading}: {title or f'privacy audit of {visible(name)}'}",
        kind=title or "privacy audit of a synthetic table",
        date=write_date(document["created"]),
        audit=document,
        level=screen.level,
        subject=f"{subject} · {data['n_synthetic']:,} {units.many}, {data['n_columns']:,} columns "
        f"· made from {data['n_real']:,} {units.many}",
        units=units,
        sentence=screen.sentence,
        counts=screen.counts,
        steps=screen.steps,
        risks=[*_describe_risks(document)] if is_shown else [],
        doubts=_list_table_doubts(document),
        held=f"{held:,}" if held else None,
        copies=_describe_copies(document) if is_shown else None,
        inferred=_rank_table_rows(document, "inference of ") if is_shown else [],
        members=_rank_table_rows(document, "membership by ") if is_shown else [],
        utility=[_describe_utility(row) for row in document["utility"]],
        worst=[
            (heading, [_describe_utility(row) for row in list_worst(document[name])])
            for heading, name in (("column", "columns"), ("pair of columns", "pairs"))
        ],
        lines=_describe_use(document),
        trust=screen.trust,
        limits=LIMITS["excess"],
        rows=[_format_table_number(document, row) for row in document["results"]],
        unseen=UNSEEN,
        interval=f"{100 * document['settings']['confidence_level']:g}%",
        command=_tell_table_call(document, command),
    )


def _list_table_doubts(document):
    """Return how often a training row ranks above one never seen, the obstacle first."""
    checks = {check["name"]: check for check in document["checks"]}
    shift = checks["one population"]["interval"]
    rows = [("without the table", *shift)] if shift else []
    attacks = [
        [(1 + row[end]) / 2 for end in ("estimate", "low", "high")]
        for row in document["results"]
        if row["name"].startswith("membership by ") and row["low"] is not None
    ]
    if attacks and document["evidence"] == REVERSED:
        rows.insert(0, ("worst attack on the table", *min(attacks)))
    elif attacks:
        rows.append(("best attack on the table", *max(attacks)))
    # Without rows never seen, it could be anything.
    return rows or [("nothing was measured", None, 0.0, 1.0)]


def _tell_table_call(document, command):
    if "repeat" in command:
        return str(command["repeat"])
    given = {**document["settings"], **document["seeds"]}
    told = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    held = ", holdout" if "n_holdout" in document["data"] else ""
    return f"audit_table(real, synthetic{held}{told})"


def _find_table_numbers(document, start):
    """Return the numbers whose name begins so, each with its level, the highest first."""
    levels = {one["number"]: read_level(one) for one in document["level"]["groups"]}
    rows = [row for row in document["results"] if row["name"].startswith(start)]
    found = [(row, levels[row["name"]]) for row in rows if row["name"] in levels]
    return sorted(found, key=lambda pair: (pair[1].order, _get_low(pair[1])), reverse=True)


def _get_low(level):
    return level.numbers["excess"]["low"]


# What a number means for the people in the training rows, by the beginning of its name.
_CLAUSES = {
    "inference of ": "a missing value can be **inferred** from it",
    "near copies": "{count} training {many} have a **near copy** in it",
    IDENTIFIERS: "the **identifiers** of training {many} are in it",
    "copies but one cell": "{count} training {many} are in it **but for one cell**",
    "rare copies": "{count} training {many} are **copied** into it",
    "singling out": "a {one} can be **singled out** with it",
    "linkability": "two parts of a {one} can be **linked** with it",
    "membership by ": "it shows who is in the **training data**",
}
_DOUBTS = {
    SHIFT: "**Training {many} and {many} never seen differ even without the table.** An attack may "
    "only see this difference, and not what the table reveals: leakage can be neither shown nor "
    "ruled out.",
    REVERSED: "**The table is nearer to {many} never seen than to its training {many}.** The most "
    "common reason is that the two tables were swapped.",
}


def write_table_sentence(document):
    """Return what was found, with what is stressed between two asterisks."""
    level, units = read_level(document["level"]), read_units(document["data"])
    if level.name == "unknown":
        why = document["verdict"].partition(". ")[2]
        doubt = _DOUBTS.get(document["evidence"])
        return (
            doubt.format(many=units.many)
            if doubt
            else f"**A leak could not have been detected.** {why}"
        )
    if level.name == "none":
        return (
            f"None of {len(document['results'])} numbers is significantly higher on training "
            f"{units.many} than on **{units.many} never seen**. {_tell_smallest(document)} A "
            "stronger attack may still succeed."
        )
    found = [
        (start, pairs[0]) for start in _CLAUSES if (pairs := _find_table_numbers(document, start))
    ]
    found = sorted(found, key=lambda one: (one[1][1].order, _get_low(one[1][1])), reverse=True)
    if level.name == "slight":
        return _write_slight_table(document, found)
    is_counted = _leads_with_counts(document)
    clauses = [
        _CLAUSES[start].format(
            count=f"{count_of(row['attack'] or 0, 100)} of 100", **units._asdict()
        )
        for start, (row, own) in found
        if own.rank == level.rank and not (is_counted and "copies" in start)
    ]
    if is_counted:
        more = f" {clauses[0][0].upper()}{clauses[0][1:]}." if clauses else ""
        return _write_counts(document["unchanged"], units) + more
    return (
        f"The table reveals {units.many} that it was generated from: {' and '.join(clauses[:2])}."
    )


def _leads_with_counts(document):
    """Return whether the first sentence is of rows that are in the table unchanged."""
    rare = [row for row in document["results"] if row["name"] == FIRST]
    return bool(document.get("unchanged")) and document["evidence"] == LEAK and rare[0]["leak"]


def _write_counts(counts, units):
    alone = f", {counts['alone']:,} of them with values that no other {units.one} has"
    are, others_are = (inflect_word(counts[name], "is", "are") for name in ("train", "test"))
    return (
        f"**{counts['train']:,} of {counts['n_train']:,}** training {units.many} {are} in the "
        f"synthetic table **unchanged**{alone if counts['alone'] else ''}; of {units.many} never "
        f"seen, {counts['test']:,} of {counts['n_test']:,} {others_are}."
    )


def _write_slight_table(document, found):
    names = [row["name"] for _, (row, own) in found if own.rank >= 0] or [LOSS]
    many = read_units(document["data"]).many
    return (
        f"The table reveals more about its training {many} than about {many} never seen, most by "
        f"**{names[0]}**. This is more than chance, but too little to identify anyone with "
        "certainty."
    )


def _tell_smallest(document):
    copies = {row["name"]: row for row in document["copies"]}
    share = copies[FIRST]["smallest_share_corrected"]
    share = format_share(np.inf if share is None else share)
    chance = f"with a probability of {100 * POWER:g}%"
    many = read_units(document["data"]).many
    return f"Copies of {share} of the training {many} would have been found {chance}."


# What to do next.
_RESULTS = {
    "do not release": "Do not publish the table.",
    "release": "The table may be published.",
    "release with conditions": "Publish the table under conditions only.",
    "cannot be said": "Do not publish the table yet.",
}
_CHANGE = NextStep(
    "Change the generator, not the table.",
    "Train it for fewer steps, on more data, or privately. A filter that removes near copies "
    "reveals where the training data are.",
    "#copies",
    "Copies",
)
_AGAIN = NextStep("Audit the new table.", "Each draw of a generator can leak more or less.")
_AGAIN_BELOW = NextStep("Then audit again.", "The numbers below have no level.", "#all", "Where")
_STEPS = {
    NONE: (
        NextStep(
            "State with the table what was tested.",
            "Also state what would not have been found.",
            "#trust",
            "Where",
        ),
        NextStep(
            "Audit each table that is published.", "Another draw of the same generator can leak."
        ),
        NextStep("Use a private generator for the worst case.", "No audit gives a guarantee."),
    ),
    SHIFT: (
        NextStep("Take both tables from one population.", "Assign rows at random, by person."),
        NextStep(
            "Find out how they differ.",
            "Such as in dates, ages, a filter or the source.",
            "#trust",
            "Where",
        ),
        _AGAIN_BELOW,
    ),
    REVERSED: (
        NextStep(
            "Check the order of the tables.",
            "Synthetic rows first, then training rows.",
            "#repeat",
            "Where",
        ),
        _AGAIN_BELOW,
    ),
}
_ASSIGN = NextStep(
    "Assign all rows of a person to one table.",
    "To the training rows or to the holdout, before the generator is trained.",
)
# What ends that nothing can be measured, by what prevents it.
_REMEDIES = {
    NO_HOLDOUT: (
        NextStep("Set data aside before the generator is trained.", "At random and by person."),
        NextStep("Then audit again, with these data as the holdout.", "`--held-out FILE`"),
    ),
    SHARED: (_ASSIGN, _AGAIN_BELOW),
    TOO_SMALL: (
        NextStep(
            "Audit with larger tables.",
            f"Each needs {FEW_ROWS} rows, or persons, or more: real, synthetic and holdout.",
        ),
        _AGAIN_BELOW,
    ),
    None: (
        NextStep(
            "Compare with data that are not in the training table.",
            "Remove rows of the holdout that equal training rows, or give more columns.",
        ),
        _AGAIN_BELOW,
    ),
}
_PUBLISH_NOT = NextStep(
    "This page is not a reason to publish the table.", "Leaks could not be measured."
)


def advise_on_table(document):
    """Return at most three steps on what to do next."""
    steps, found = [], document["recommendation"]
    if found is not None:
        by = f"By the policy {found['policy']['name']}: {found['result']}."
        if found["result"] == "cannot be said" and document["evidence"] in CONCLUSIVE:
            by += f" {tell_what_decides(found)}"
        steps.append(NextStep(_RESULTS[found["result"]], by, "#decision", "Recommendation"))
    if document["evidence"] == UNKNOWN:
        remedies = _REMEDIES[find_obstacle(count_units(document["data"]))]
        steps += [*remedies, _PUBLISH_NOT]
    elif document["evidence"] != LEAK:
        if document["evidence"] == NONE and document["data"].get("n_persons_shared"):
            steps.append(_ASSIGN)
        steps += _STEPS[document["evidence"]]
    else:
        if found is None:
            near = next(row for row in document["copies"] if row["name"] == "near copies")
            many = read_units(document["data"]).many
            why = "For the people in the training data, it is personal data."
            if _find_table_numbers(document, "near copies")[0][1].rank >= 0:
                why = f"{near['train']:,.0f} of {near['n_train']:,.0f} training {many} have a near "
                why += "copy in it."
            told = _RESULTS["do not release"]
            if read_level(document["level"]) == "slight":
                told = "Do not treat the table as anonymous."
            steps.append(NextStep(told, why))
        steps += [_CHANGE, _AGAIN]
    return steps[:3]


# The three risks of European guidance: heading, what it is, beginning of the names of its numbers.
_RISKS = (
    ("Singling out", "Values of a synthetic {one} identify one real {one}.", "singling out"),
    ("Linkability", "Two halves of a real {one} are linked.", "linkability"),
    ("Inference", "A missing value is inferred.", "inference of "),
)


def _describe_risks(document):
    units = read_units(document["data"])
    many = units.many
    for heading, what, start in _RISKS:
        found = _find_table_numbers(document, start)
        if not found:
            yield {"heading": heading, "what": "It could not be measured.", "number": "-"}
            continue
        row, level = found[0]
        what = what.format(one=units.one)
        if start == "inference of ":
            what = f"{what[:-1]}; worst column: {row['name'].removeprefix(start)}."
        if row["name"] == ONE_COLUMN:
            what = f"A single value of a synthetic {units.one} identifies one real {units.one}."
        if row["name"] == RARE_TEXTS:
            what = f"A text that only one real {units.one} has is in the table."
        names = (f"training {many}", "attack"), (f"{many} never seen", "control")
        names += (("guesses", "naive"),)
        bars = [(words, row[name], _percent(row[name])) for words, name in names]
        yield {"heading": heading, "what": what, "bars": bars, **_describe_excess(row, level)}


def _percent(share):
    if share is None:
        return "-"
    from_end = min(share, 1 - share)
    if 0 < from_end < 0.0005:
        return "<0.1%" if share < 0.5 else ">99.9%"
    digits = 1 if 0 < from_end < 0.0095 else 0
    return f"{100 * share:.{digits}f}%"


def _describe_excess(row, level, unit="%"):
    """Return a number as whole percent with its interval, and as a bar.

    Below 0, which is chance, as 0.
    """
    share, low, high = (min(1.0, max(0.0, row[name])) for name in ("estimate", "low", "high"))
    cells = {"share": share, "low": low, "high": high, "level": level}
    return cells | {
        "number": f"{count_briefly(share, 100)}{unit}",
        "ends": f"{shorten_count(count_lower_end(low, 100))} to {count_briefly(high, 100)}",
    }


def _rank_table_rows(document, start):
    """Return the rows of a table of numbers, the highest first."""
    many = read_units(document["data"]).many
    return [
        {
            "name": row["name"].removeprefix(start),
            "small": _ATTACKS.get(row["name"], "").format(many=many),
        }
        | _describe_excess(row, level)
        for row, level in _find_table_numbers(document, start)
    ]


def _describe_copies(document):
    """Describe near copies of a hundred on both sides, exact copies, and nearness."""
    rows = {row["name"]: row for row in document["copies"]}
    many = read_units(document["data"]).many
    near, every = rows["near copies"], rows.get("all copies")
    level = next((level for _, level in _find_table_numbers(document, "near copies")), None)
    sides = []
    for side, words, color in (
        ("train", f"training {many} have a near copy", level),
        ("test", f"{many} never seen have one", None),
    ):
        share = near[side] / near[f"n_{side}"]
        number = count_of(share, 100).replace("fewer than ", "< ").replace("more than ", "> ")
        sides.append({"number": number, "base": 100, "filled": round(100 * share)})
        sides[-1] |= {"text": words, "level": color}
    counts = ""
    if every is not None:
        copied, held = (f"{every[k]:,.0f} of {every[f'n_{k}']:,.0f}" for k in ("train", "test"))
        units = "persons" if "n_persons_real" in document["data"] else many
        counts = f"{copied} training {units} and {held} {units} never seen. "
    rare = rows[FIRST]
    counts += f"{rare['train']:,.0f} of the copies are rare. "
    one = rows.get("copies but one cell")
    if one is not None:
        counts += (
            f"Copies that differ in at most one cell: {one['train']:,.0f} rare ones, and "
            f"{one['test']:,.0f} of {many} never seen. "
        )
    counts += _tell_smallest(document)
    loss = next((row for row in document["results"] if row["name"] == LOSS), None)
    nearness = None
    if loss is not None and loss["estimate"] is not None:
        points, low, high = (round(100 * loss[name]) for name in ("estimate", "low", "high"))
        nearness = (
            f"How much nearer synthetic {many} are to training {many} than to {many} never seen: "
            f"{points} of 50 points ({low} to {high}). A table of copies has 50, and a table that "
            "is equally far from both has 0 (privacy loss)."
        )
    return {"sides": sides, "exact": counts, "nearness": nearness}


def _format_table_number(document, row):
    p = row["pvalue_holm"]
    return {
        "name": row["name"],
        "rates": [format_table_share(row[name]) for name in ("attack", "control", "naive")],
        "excess": format_interval(row),
        "pvalue": "< 0.001" if p < 0.001 else f"{p:.2g}",
    }


def _describe_utility(row):
    made, own = (None if row[k] is None else f"{100 * row[k]:.1f}" for k in ("estimate", "real"))
    name, meaning = _UTILITY.get(row["name"], (row["name"], ""))
    if name.startswith("model of "):
        meaning = "gain over guessing of a model fitted on synthetic data, as a share of the gain "
        meaning += "of a model fitted on real data"
    return {"name": name, "meaning": meaning, "value": made, "real": own}


def _describe_use(document):
    """Return sentences on what the table is good for."""
    least = list_worst(document["columns"])[:3]
    # Rounded once: half a hundredth is written as among all numbers.
    shares = (float(f"{row['estimate']:.2f}") for row in least)
    alike = [f"{row['name']} ({100 * one:.0f})" for row, one in zip(least, shares, strict=True)]
    told = [f"Least alike: {', '.join(alike)}."] if alike else []
    return told + _describe_trained(document)


# What a check says if it passed, and if it warns.
_STATEMENTS = {
    "one population": (
        "Training data and holdout are alike",
        "Training data and holdout differ",
    ),
    "duplicates": ("Few rows are on both sides", "Many rows are on both sides"),
    "rows of one person": (
        "Rows of a person are together",
        "Several rows are of one person",
    ),
    "columns fit": ("The columns of the tables fit", "Columns of the tables do not fit"),
    "identifiers": ("", "Identifiers of real rows are in the synthetic table"),
    "resolution": ("Fewer copies would not be found", ""),
}


def list_table_trust(document):
    """Return whether the numbers can be trusted, the checks as statements, and what was not run."""
    checks = sorted(document["checks"], key=lambda check: check["status"] != "warning")
    rows = []
    for check in checks:
        passed, warned = _STATEMENTS.get(check["name"], (check["name"],) * 2)
        if check["status"] != "not run":
            words = warned if check["status"] == "warning" else passed
            rows.append({"status": check["status"], "words": words, "text": check["text"]})
    n_passed = sum(row["status"] == "passed" for row in rows)
    bad = [row["words"] for row in rows if row["status"] == "warning"]
    passed = f"{n_passed or 'no'} check{'' if n_passed == 1 else 's'} passed"
    failed = f"{len(bad) or 'none'} failed"
    answer = "With care" if bad else "Yes"
    answer = answer if document["evidence"] in CONCLUSIVE else "No"
    not_run = [check["name"] for check in checks if check["status"] == "not run"]
    line = f"{answer}: {passed}, {failed}." if rows else "No: no check could be run."
    return {"line": line, "rows": rows, "bad": bad, "not_run": not_run}


_WIDTHS = 25, 14, 9, 6, 9


def _lay_table_row(*cells):
    padded = (f"{cell:{width}s}" for cell, width in zip(cells, _WIDTHS))
    return f"  {''.join(padded)}{cells[-1]}".rstrip()


def format_short_table(document):
    """Format what a reader needs first, in lines of at most 80 characters, as on the page."""
    screen = show_table(document)
    trust, lines = screen.trust, [*write_headlines(screen), "", *wrap_short(screen.plain)]
    if document["evidence"] in CONCLUSIVE:
        lines += ["", *_tabulate_risks(document)]
    bad = f" {'; '.join(trust['bad'])}." if trust["bad"] else ""
    lines += ["", *wrap_short(" ".join(screen.counts), "  Copies  ", 10)]
    lines += wrap_short(f"{trust['line']}{bad}", "  Trust   ", 10)
    if trust["not_run"]:
        lines += wrap_short(f"Not run: {', '.join(trust['not_run'])}.", " " * 10, 10)
    if document["evidence"] == NONE:
        lines += wrap_short(UNSEEN, " " * 10, 10)
    lines += wrap_short(" ".join(_describe_use(document)[:1]), "  Use     ", 10)
    lines += ["", *write_steps(screen)]
    found = document["recommendation"]
    if found is not None:
        told = f"As a table, by the policy {found['policy']['name']}: {found['result']}."
        lines += ["", *wrap_short(told, "  Policy  ", 10)]
        for text in summarize_policy(found):
            lines += wrap_short(text, " " * 10, 10)
    return [*lines, "", *wrap_short(describe_table_rows(document["data"]), "  Table   ", 10)]


_SHOWN = "singling out", "linkability", "inference of ", "near copies", "membership by "


def _list_shown_kinds(document):
    """Return the kinds of numbers that are shown first, with copies that no sentence counts."""
    for start in (IDENTIFIERS,) if _leads_with_counts(document) else (IDENTIFIERS, ONE_CELL):
        if any(level.rank >= 0 for _, level in _find_table_numbers(document, start)):
            yield start
    yield from _SHOWN


def _tabulate_risks(document):
    """Return the highest number of each kind, in the order of the page."""
    level = f"{100 * document['settings']['confidence_level']:g}%"
    many = read_units(document["data"]).many
    lines = [
        _lay_table_row("", "because of", "training", "never", "by", ""),
        _lay_table_row("of 100 attacks", "the table", many, "seen", "guessing", "level"),
    ]
    for start in _list_shown_kinds(document):
        for row, own in _find_table_numbers(document, start)[:1]:
            told = _describe_excess(row, own, "")
            name = shorten(visible(row["name"]), _WIDTHS[0] - 1, "\u2026")
            ends = told["ends"].replace(" to ", ", ")
            rates = (
                "-" if row[side] is None else _percent(row[side]).removesuffix("%")
                for side in ("attack", "control", "naive")
            )
            number = f"{told['number']:>3} [{ends}]"
            lines.append(_lay_table_row(name, number, *rates, own.word.lower()))
    foot = f"Brackets: {level} intervals. All numbers: --verbose, or summary(verbose=True)."
    return [*lines, *wrap_short(foot, "  ", 2)]


def save_table(document, directory):
    """Write ``table.json``, the page and the decision sheet, see :func:`save_documents`."""

    def write_page(noted, path):
        write_text(render_table(noted), path)

    others = {PAGE: write_page}
    if document["recommendation"] is not None:
        others[SHEET] = partial(write_sheet, report=split_place(directory)[1])
    return save_documents(document, directory, "table.json", others)
