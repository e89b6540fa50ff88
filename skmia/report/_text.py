"""An audit as sentences and tables for a terminal."""

import numpy as np

from .._core.escaping import visible
from .._core.levels import read_level
from .._core.pvalues import format_pvalue
from .._core.screens import write_headlines, write_steps
from .._core.text import (
    WIDTH,
    choose_base,
    count_briefly,
    count_lower_end,
    count_more,
    count_nouns,
    drop_sign,
    inflect_word,
    shorten,
    shorten_count,
    tell_percent,
    wrap_lines,
    wrap_short,
)
from ..disclosure import summarize_policy
from ..metrics import resolvable_fpr
from ._captions import caption_counts, caption_intervals, count_mistaken
from ._evidence import find_worst_group
from ._measure import CLASS, FEWEST, INTERVAL, NOT_RESOLVABLE, OK, OVERALL, TOO_FEW, list_rows
from ._pool_size import describe_growth
from ._words import format_auc, format_rate
from ._words import join_names as join_names
from .checks import find_outcome, get_check
from .checks._base import RATES

# Names of unread numbers in a sentence; the others are counted.
_MOST_UNREAD = 3

_GAP = "  "
_LONGEST_NAME = 32
_LONGEST_VICTIM = 240


_SHARES = {"accuracy": "Accuracy", "confidence": "Mean probability of the label"}


def describe_performance(performance):
    """Describe in one line how well the victim fits members and non-members."""
    members, others, gap = (
        np.nan if performance[key] is None else performance[key]
        for key in ("members", "nonmembers", "gap")
    )
    if performance["metric"] not in _SHARES:
        members, others, gap = (drop_sign(f"{share:.3f}") for share in (members, others, gap))
        return f"R2 {members} on members, {others} on non-members, generalization gap {gap}."
    what = _SHARES[performance["metric"]]
    return (
        f"{what} {tell_percent(members, 1)} on members, {tell_percent(others, 1)} on non-members, "
        f"generalization gap {drop_sign(f'{100 * gap:.1f}')} percentage points."
    )


def describe_disparity(disparity, scopes=None):
    """Describe in a sentence or two for each scope whether its groups are exposed unequally."""
    tests = [] if disparity is None else disparity["scopes"]
    return [
        _describe_scope(disparity["attack"], test)
        for test in tests
        if scopes is None or test["scope"] in scopes
    ]


def _describe_scope(attack, test):
    groups = sorted(test["groups"], key=lambda group: group["mean"])
    rounds = f"Over {test['n_rounds']} shadow models treated as the victim"
    if test["disparity"] == 0:
        return visible(f"{rounds}, all groups of {test['scope']} have the same mean advantage.")
    span = " to ".join(
        f"{format_rate(*(group[key] for key in ('mean', 'low', 'high')))} for {group['group']}"
        for group in (groups[0], groups[-1])
    )
    p = format_pvalue(test["pvalue"], 1 / (1 + test["n_permutations"]))
    found = "differs between" if test["reject"] else "does not differ significantly between"
    pairs = ""
    if len(test["pairs"]) > 1 and test["reject"]:
        differ = sum(pair["reject"] for pair in test["pairs"])
        verb = inflect_word(differ, "differs", "differ")
        pairs = f"; of {len(test['pairs'])} pairs {differ} {verb} after Holm's correction"
    left = f" Too small to take part: {', '.join(test['left_out'])}." if test["left_out"] else ""
    return visible(
        f"{rounds}, the mean advantage of {attack} {found} the groups of "
        f"{test['scope']}: from {span} ({p} by permutation of the groups)"
        f"{pairs}.{left}"
    )


def format_cell(row):
    """Format the estimate of a row of results with its interval, or why there is none."""
    if row["status"] != OK:
        return NOT_RESOLVABLE if row["status"] == NOT_RESOLVABLE else "-"
    numbers = [row[name] for name in INTERVAL]
    return format_auc(*numbers) if row["metric"] == "auc" else format_rate(*numbers)


def column_name(metric, max_fpr):
    if metric == "tpr":
        return f"TPR @ {100 * max_fpr:g}% FPR"
    return {"auc": "AUC", "advantage": "advantage"}[metric]


def tabulate_attacks(part):
    """Return one row per attack and one column per metric.

    The cells by the heading of the column.
    """
    names = list(dict.fromkeys(part["attack"]))
    columns = {"attack": [shorten(visible(name), _LONGEST_NAME) for name in names]}
    cells = {}
    for row in list_rows(part):
        own = cells.setdefault(column_name(row["metric"], row["max_fpr"]), {})
        own[row["attack"]] = format_cell(row)
    return columns | {heading: [own[name] for name in names] for heading, own in cells.items()}


def _group_title(part):
    first = part.iloc[0]
    counts = f"{first['n_members']:,} members, {first['n_nonmembers']:,} non-members"
    name = "all records" if first["scope"] == OVERALL else f"{first['scope']} = {first['group']}"
    return f"{shorten(visible(name), WIDTH - len(counts) - 3)} ({counts})"


def _layout(headings, widths):
    """Split the columns into blocks that fit on a line; each begins with the attack."""
    blocks, used = [], WIDTH + 1
    for heading in headings[1:]:
        needed = len(_GAP) + widths[heading]
        if used + needed > WIDTH:
            blocks.append([headings[0]])
            used = widths[headings[0]]
        blocks[-1].append(heading)
        used += needed
    return blocks


def format_table(frame):
    """Format the numbers as lines of at most 100 characters."""
    if frame.empty:
        return []
    parts = [part for _, part in frame.groupby(["scope", "group"], sort=False)]
    tables = [tabulate_attacks(part) for part in parts]
    widths = {
        heading: max(len(text) for table in tables for text in (heading, *table[heading]))
        for heading in tables[0]
    }
    lines = []
    for part, table in zip(parts, tables):
        lines += ["", _group_title(part)]
        if part.iloc[0]["status"] == TOO_FEW:
            needed = f"at least {FEWEST} members and {FEWEST} non-members are needed"
            lines.append(f"  {TOO_FEW}: {needed}")
            continue
        for block in _layout(list(table), widths):
            heading = _GAP.join(name.ljust(widths[name]) for name in block)
            lines.append(heading.rstrip())
            for cells in zip(*(table[name] for name in block)):
                line = _GAP.join(text.ljust(widths[name]) for name, text in zip(block, cells))
                lines.append(line.rstrip())
    return lines


_MOST_NOTES = 4
# Groups of a route in the summary; all of them are among the details.
_MOST_GROUPS = 8


def format_short(result, screen):
    """Format what a reader needs first, in lines of at most 80 characters, as on the page."""
    lines = [*write_headlines(screen), "", *wrap_short(screen.plain)]
    if screen.level != "unknown":
        level = result.settings["confidence_level"]
        lines += ["", *_tabulate_routes(screen.routes, screen.rate, level)]
        lines += wrap_short(screen.caution, "  ", 2)
    people = [] if screen.people is None else wrap_short(screen.people.line, "  People  ", 10)
    lines += ["", *people, *_list_trust(result, screen.trust), "", *write_steps(screen)]
    if result.recommendation is not None:
        lines += ["", *_list_policy(result.recommendation)]
    subject = shorten(result.victim_name, _LONGEST_NAME + 8)
    lines += ["", *wrap_short(f"{subject}: {_describe_sizes(result)}", "  Model   ", 10)]
    notes = list(map(visible, result.notes))
    if len(notes) > _MOST_NOTES:
        more = f"{len(notes) - _MOST_NOTES + 1} more notes are among the details."
        notes = [*notes[: _MOST_NOTES - 1], more]
    for place, note in enumerate(notes):
        lines += wrap_short(note, " " * 10 if place else "  Note    ", 10)
    return lines


def _describe_sizes(result):
    """Return members, others, shadow models, and queries of a service."""
    data, n_shadows = result.data, result.settings["n_shadows"]
    pool = f"{n_shadows} shadow models" if n_shadows else "no shadow models"
    asked = f"; {data['n_queries']:,} queries" if "n_queries" in data else ""
    return f"{data['n_members']:,} members, {data['n_nonmembers']:,} non-members; {pool}{asked}."


_COLUMNS = (9, 16, 15, 22)


def _lay_audit_row(*cells):
    padded = (f"{cell:{width - 1}s} " for cell, width in zip(cells, _COLUMNS))
    return f"  {''.join(padded)}{cells[-1]}".rstrip()


def _tabulate_routes(routes, rate, level):
    """Return the reported attack of each route, on all records and on the groups with the most."""
    base, shown = 100 if rate is None else choose_base(rate), []
    lines = [
        _lay_audit_row("", "", "recognized", "how often a member", ""),
        _lay_audit_row("", "", f"of {base:,}", "ranks higher (AUC)", "level"),
    ]
    # Classes, which nobody asked for, are shown if one has another level than the whole.
    shows_classes = find_worst_group(routes) is not None
    for route in routes:
        groups = [one for one in route.level.groups if one["scope"] != CLASS or shows_classes]
        groups.sort(key=lambda group: read_level(group).order, reverse=True)
        parts = [(OVERALL, "all", route.own_level)]
        parts += [(g["scope"], g["group"], read_level(g)) for g in groups[:_MOST_GROUPS]]
        shown += [part[:2] for part in parts]
        for place, (scope, group, found) in enumerate(parts):
            name = f"{visible(scope)} {visible(group)}" if place else "all"
            if len(name) >= _COLUMNS[1]:
                name = f"{name[: _COLUMNS[1] - 2]}\u2026"
            tpr = None if rate is None else route.find_best("tpr", rate, scope, group)
            auc = route.find_best("auc", None, scope, group)
            count, rank = "  -", "-" if auc is None else format_cell(auc)
            if tpr is not None:
                number, high = (count_briefly(tpr[end], base) for end in ("estimate", "high"))
                low = shorten_count(count_lower_end(tpr["low"], base))
                count = f"{number:>3} [{low:>2}, {high:>2}]"
            way = "" if place else route.way
            lines.append(_lay_audit_row(way, name, count, rank, found.word.lower()))
        if len(groups) > _MOST_GROUPS:
            lines.append(f"{'':11s}{count_more(len(groups) - _MOST_GROUPS, 'group')}: --verbose")
    mistaken = set() if rate is None else {*count_mistaken(routes, rate).values()}
    count = shorten_count(mistaken.pop()) if len(mistaken) == 1 else "-"
    lines.append(_lay_audit_row("guessing", "", f"{count:>3}", "0.5", "none shown"))
    told = [] if rate is None else [caption_counts(routes, rate, dict.fromkeys(shown))]
    told.append(f"brackets: {caption_intervals(level)}")
    told = "; ".join(told)
    return [*lines, *wrap_short(f"{told[0].upper()}{told[1:]}.", "  ", 2)]


def _list_trust(result, trust):
    """Return whether the numbers can be trusted.

    What passed and failed, and what was not measured.
    """
    line = trust["line"]
    if trust["bad"]:
        line += f" {'. '.join(trust['bad'])}."
    names = [name for name, check in result.checks.items() if check.status == "not run"]
    more = f"Not run: {', '.join(names)}. " if names else ""
    if not result.results.empty:
        more += _tell_rates(result.data["n_nonmembers"], find_outcome(result.checks, RATES))
    return [*wrap_short(line, "  Trust   ", 10), *wrap_short(more, " " * 10, 10)]


def _tell_rates(n, check):
    """Return which rates cannot be measured with so many non-members, and people who have them."""
    least, rates = resolvable_fpr(n), check and check.finding
    which = f"Rates below {_write_percent(least)}" if least < 1 else "Rates"
    told = f"{which} cannot be measured with {n:,} non-members"
    if rates is None or rates.n_people is None or least >= 1:
        return f"{told}."
    return (
        f"{told} of {rates.n_people:,} people; those below {_write_percent(rates.alike)} can be "
        "only if the records of a person are not alike."
    )


def _write_percent(share):
    return f"{float(f'{100 * share:.2g}'):g}%"


def _list_policy(found):
    """Return what a policy recommends, without the names that only programs need."""
    said = f"As a {found.release}, by the policy {found.policy.name}: {found.result}."
    told = [
        *summarize_policy(found.to_dict()),
        *(f"Condition: {name}." for name in found.conditions),
    ]
    lines = wrap_short(said, "  Policy  ", 10)
    for text in told:
        lines += wrap_short(text, " " * 10, 10)
    for condition in found.tried:
        verb = "suffices" if condition.helps else "does not suffice"
        lines += wrap_short(f"{condition.name}: {verb}.", " " * 10, 12)
    return lines


def list_leading(checks):
    """Return the outcomes that stand at the head of the summary."""
    return [check for name, check in checks.items() if get_check(name).leads]


def format_audit_summary(result, screen):
    """Format all attacks and all numbers as text."""
    frame = result.results
    if CLASS not in np.atleast_1d(result.settings["group"]).tolist():
        frame = frame[frame["scope"] != CLASS]
    head = [
        f"Membership-inference audit of {shorten(result.victim_name, _LONGEST_VICTIM)}",
        f"{result.data['n_records']:,} records: {_describe_sizes(result)}",
        describe_performance(result.performance),
    ]
    leading = [] if result.results.empty else list_leading(result.checks)
    head += [check.text for check in leading if not check.is_error]
    unequal = describe_disparity(result.disparity, set(frame["scope"]))
    people = [] if screen.people is None else [f"People: {screen.people.text}", screen.people.named]
    found = result.recommendation
    policy = [] if found is None else str(found).split("\n")
    lines = [*wrap_lines(head), *format_table(frame)]
    ways = _describe_ways(result)
    for paragraphs in (unequal, people, _list_caveats(result, frame), ways, policy):
        lines += ["", *wrap_lines(paragraphs)] if paragraphs else []
    return "\n".join(lines)


def _list_caveats(result, frame):
    """Return what to know of the numbers.

    Intervals, rates that were not measured, warnings and notes.
    """
    level = result.settings["confidence_level"]
    foot = [] if frame.empty else [f"Brackets: {caption_intervals(level)}."]
    if (frame["status"] == NOT_RESOLVABLE).any():
        foot.append(
            f"{NOT_RESOLVABLE}: fewer than 10 false positives are allowed at this rate, so it "
            "cannot be measured."
        )
    foot += [] if result.growth is None else [describe_growth(result.growth)]
    foot += [
        f"{'Error' if check.is_error else 'Warning'} ({name}): {check.text}"
        for name, check in result.checks.items()
        if check.is_error or (check.is_warning and not get_check(name).leads)
    ]
    foot += [f"Note: {note}" for note in result.notes]
    return foot


def _describe_ways(result):
    """Return what was found of the answers, and of the file apart if it was attacked."""
    if result.file is None:
        return [result.verdict]
    file = result.file
    return [
        f"{name_way(file.facts)}: {result.verdict}",
        f"As a file: {file.verdict}",
        *describe_sources(file.facts),
        *describe_reading(file.facts),
        *(f"What would change it: {one}" for one in file.facts["changes"]),
        *(f"Note on the file: {note}" for note in file.notes),
    ]


def name_way(facts):
    """Return what the verdict beside that on the file is about."""
    return "As a service" if facts["answers_only"] else "By the attacks that were asked for"


# More parts of an attack are only counted.
_MOST_SOURCES = 8


def describe_sources(facts):
    """Describe what each part of the attack on a file found, in a line each, the strongest."""
    lines, sources = [], facts["sources"]
    shown = sorted(sources, key=lambda source: -source["auc"])[:_MOST_SOURCES]
    for source in (one for one in sources if one in shown):
        name, found = source["name"].capitalize(), f"AUC {source['auc']:.3f}"
        name += f" in {source['path']}" if source["path"] else ""
        if source["n_equations"] is not None:
            name += f" ({source['n_equations']:,} for {facts['n_records']:,} candidates)"
        if source["expected_auc"] is not None:
            # The noise of trees that were grown on samples is taken for larger than it is.
            least = "at least " if source["name"] == "node equations" else ""
            found += f"; expected {least}{source['expected_auc']:.3f}"
        lines.append(f"{name}: {found}.{_describe_exposed(source)}")
    more = len(sources) - len(shown)
    return lines + ([f"{count_more(more, 'part')} found less."] if more else [])


def _describe_exposed(source):
    """Name the candidates that sums give away more than others."""
    if not source["n_exposed"]:
        return ""
    auc, found = source["exposed_auc"], ""
    if auc is not None:
        found = f"; among them the AUC is {auc:.3f}"
    have = inflect_word(source["n_exposed"], "has", "have")
    candidates = count_nouns(source["n_exposed"], "candidate")
    return f" {candidates} {have} a leverage above 0.1{found}."


def name_unread(ledger):
    """Name what no part of the attack reads, as a sentence.

    Return sentence: None if everything is read.
    """
    unread = [one for one in ledger if one["part"] is None]
    if not unread:
        return None
    named = [
        f"{one['place']} ({count_nouns(one['size'], 'number')})" if one["size"] else one["place"]
        for one in unread[:_MOST_UNREAD]
    ]
    if len(unread) > _MOST_UNREAD:
        named.append(f"{len(unread) - _MOST_UNREAD} more")
    return f"Not read: {', '.join(named)}."


def describe_reading(facts):
    """What of a file was read, how strong that should be, and what it means, as sentences."""
    if not facts["ledger"]:
        return []
    read = {}
    for one in facts["ledger"]:
        if one["part"] is not None:
            read[one["part"]] = read.get(one["part"], 0) + one["size"]
    lines = [f"Read by {part}: {count_nouns(size, 'number')}." for part, size in read.items()]
    unread = name_unread(facts["ledger"])
    if unread is not None:
        lines.append(unread)
    if facts["obstacle"] not in (None, unread):
        lines.append(facts["obstacle"])
    if facts["obstacle"] is None:
        lines.append(
            "Everything that depends on the data was read, and the same attack on a model that was "
            "trained on a random half of the records was as strong as expected."
        )
    return lines
