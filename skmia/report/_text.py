"""An audit in words and as a table for a terminal."""

import textwrap

from ._measure import FEWEST, NOT_RESOLVABLE, OK, OVERALL, TOO_FEW

WIDTH = 100
_GAP = "  "
_LONGEST_NAME = 32
_LONGEST_VICTIM = 240
_INTERVAL = ["estimate", "low", "high"]


def format_rate(estimate, low, high):
    """A rate with its interval in percent, ``56.1% [49.2, 61.0]``; small rates get a digit more."""
    digits = 1 if abs(estimate) >= 0.0995 else 2

    def percent(value):
        text = f"{100 * value:.{digits}f}"
        return {"100.0": "100", "-100.0": "-100", "-0.00": "0.00"}.get(text, text)

    return f"{percent(estimate)}% [{percent(low)}, {percent(high)}]"


def format_auc(estimate, low, high):
    """An AUC with its interval, ``0.973 [0.968, 0.977]``."""
    return f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


LEAK, NONE, SHIFT, UNKNOWN = "leak", "none", "shift", "unknown"


def find_evidence(frame, baseline):
    """What an audit may be taken for.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.
    baseline : Interval or None
        AUC without the victim.

    Returns
    -------
    evidence : {"leak", "none", "shift", "unknown"}
        Attacks tell members from others; do not; do, and so does a model of the records alone; or
        could not be measured.
    """
    aucs = frame[(frame["metric"] == "auc") & (frame["scope"] == OVERALL)]
    aucs = aucs[aucs["status"] == OK]
    if aucs.empty:
        return UNKNOWN
    if not ((aucs["low"] > 0.5) | (aucs["high"] < 0.5)).any():
        return NONE
    return LEAK if baseline is None or baseline[1] <= 0.5 else SHIFT


def find_verdict(frame, confidence_level, baseline):
    """One sentence on what the audit found, which says no more than the numbers do.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.
    confidence_level : float
        Of their intervals.
    baseline : Interval or None
        AUC without the victim.

    Returns
    -------
    verdict : str
    """
    aucs = frame[frame["metric"] == "auc"]
    overall = aucs[(aucs["scope"] == OVERALL) & (aucs["status"] == OK)]
    evidence = find_evidence(frame, baseline)
    if evidence == UNKNOWN:
        return "There are too few members or non-members to measure anything."
    best = overall.loc[overall["estimate"].idxmax()]
    if evidence == SHIFT:
        return (
            "Members and non-members differ by themselves: without the victim a model of the "
            f"records tells them apart with AUC {format_auc(*baseline)}. So the AUC of "
            f"{best['attack']}, {format_auc(*best[_INTERVAL])}, is no evidence of leakage; draw "
            "both from one population."
        )
    if best["low"] > 0.5:
        strongest = f", the strongest of {len(overall)} attacks," if len(overall) > 1 else ""
        return (
            f"{best['attack']}{strongest} finds leakage: a randomly chosen member is told from a "
            "randomly chosen non-member with probability "
            f"{format_auc(*best[_INTERVAL])} (0.5 is chance)."
        )
    worst = overall.loc[overall["estimate"].idxmin()]
    if worst["high"] < 0.5:
        return (
            f"No attack ranks members above non-members, but {worst['attack']} ranks them below: "
            f"its AUC is {format_auc(*worst[_INTERVAL])}, so that an attack with its sign turned "
            "round finds leakage."
        )
    level = f"{100 * confidence_level:g}%"
    return (
        f"No attack found evidence of leakage (the {level} interval of every overall AUC includes "
        f"0.5){_describe_groups(aucs, confidence_level)}; that is no proof of its absence."
    )


def _describe_groups(aucs, confidence_level):
    groups = aucs[(aucs["scope"] != OVERALL) & (aucs["status"] == OK)]
    above = int((groups["low"] > 0.5).sum())
    if not above:
        return ""
    expected = len(groups) * (1 - confidence_level) / 2
    return (
        f"; {above} of {len(groups)} intervals of single groups lie above 0.5, where about "
        f"{expected:.1f} would by chance"
    )


def describe_performance(performance):
    """One line on how well the victim fits members and non-members."""
    members, others, gap = (performance[key] for key in ("members", "nonmembers", "gap"))
    if performance["metric"] == "accuracy":
        numbers = (
            f"Accuracy {members:.1%} on members, {others:.1%} on non-members, "
            f"generalisation gap {100 * gap:.1f} points"
        )
    else:
        numbers = (
            f"R2 {members:.3f} on members, {others:.3f} on non-members, "
            f"generalisation gap {gap:.3f}"
        )
    return f"{numbers}."


def describe_baseline(baseline):
    """One line on what can be told without the victim."""
    if baseline is None:
        return "Too few records for a baseline without the victim."
    text = f"Without the victim, a model of the records alone reaches AUC {format_auc(*baseline)}"
    if baseline[1] <= 0.5:
        return f"{text}."
    return (
        f"{text}: members and non-members seem to differ by themselves, and part of what the "
        "attacks find may be that difference."
    )


def format_cell(row):
    if row["status"] != OK:
        return NOT_RESOLVABLE if row["status"] == NOT_RESOLVABLE else "-"
    numbers = row[_INTERVAL]
    return format_auc(*numbers) if row["metric"] == "auc" else format_rate(*numbers)


def column_name(metric, max_fpr):
    if metric == "tpr":
        return f"TPR @ {100 * max_fpr:g}% FPR"
    return {"auc": "AUC", "advantage": "advantage"}[metric]


def _shorten(name, longest=_LONGEST_NAME):
    return name if len(name) <= longest else name[: longest - 3] + "..."


def _tabulate(part):
    """Attacks down, metrics across: a heading of each column and its cells."""
    names = list(dict.fromkeys(part["attack"]))
    columns = {"attack": [_shorten(name) for name in names]}
    for (metric, max_fpr), rows in part.groupby(["metric", "max_fpr"], sort=False, dropna=False):
        cells = {row["attack"]: format_cell(row) for _, row in rows.iterrows()}
        columns[column_name(metric, max_fpr)] = [cells[name] for name in names]
    return columns


def _group_title(part):
    first = part.iloc[0]
    counts = f"{first['n_members']:,} members, {first['n_nonmembers']:,} non-members"
    name = "all records" if first["scope"] == OVERALL else f"{first['scope']} = {first['group']}"
    return f"{_shorten(name, WIDTH - len(counts) - 3)} ({counts})"


def _layout(headings, widths):
    """Split the columns into blocks that fit into a line; each begins with the attack."""
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
    """The numbers as lines of at most 100 characters.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.

    Returns
    -------
    lines : list of str
    """
    parts = [part for _, part in frame.groupby(["scope", "group"], sort=False)]
    tables = [_tabulate(part) for part in parts]
    widths = {
        heading: max(len(text) for table in tables for text in (heading, *table[heading]))
        for heading in tables[0]
    }
    lines = []
    for part, table in zip(parts, tables):
        lines += ["", _group_title(part)]
        if part.iloc[0]["status"] == TOO_FEW:
            lines.append(
                f"  {TOO_FEW}: at least {FEWEST} members and {FEWEST} non-members are needed"
            )
            continue
        for block in _layout(list(table), widths):
            heading = _GAP.join(name.ljust(widths[name]) for name in block)
            lines.append(heading.rstrip())
            for cells in zip(*(table[name] for name in block)):
                line = _GAP.join(text.ljust(widths[name]) for name, text in zip(block, cells))
                lines.append(line.rstrip())
    return lines


def format_summary(result):
    """The whole audit as text.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    text : str
        Lines of at most 100 characters.
    """
    n_shadows = result.settings["n_shadows"]
    pool = f"{n_shadows} shadow models" if n_shadows else "no shadow models"
    head = [
        f"Membership-inference audit of {_shorten(result.victim_name, _LONGEST_VICTIM)}",
        f"{result.data['n_records']:,} records: {result.data['n_members']:,} members, "
        f"{result.data['n_nonmembers']:,} non-members; {pool}.",
        describe_performance(result.performance),
        describe_baseline(result.baseline),
    ]
    level = f"{100 * result.settings['confidence_level']:g}%"
    foot = [f"[low, high]: {level} confidence interval of each number by itself."]
    if (result.results["status"] == NOT_RESOLVABLE).any():
        foot.append(
            f"{NOT_RESOLVABLE}: the non-members allow fewer than 10 false positives at this rate."
        )
    foot += [f"Note: {note}" for note in result.notes]
    lines = [
        *_wrap(head),
        *format_table(result.results),
        "",
        *_wrap(foot),
        "",
        *_wrap([result.verdict]),
    ]
    return "\n".join(lines)


def _wrap(paragraphs):
    lines = []
    for text in paragraphs:
        lines += textwrap.wrap(" ".join(text.split()), WIDTH, subsequent_indent="  ")
    return lines
