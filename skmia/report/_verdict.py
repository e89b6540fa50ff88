"""The verdicts on the answers of a model and on its file: no more than the numbers support."""

import numpy as np

from .._core.escaping import visible
from .._core.levels import LIMITS, write_conclusion
from .._core.pvalues import format_pvalue
from .._core.text import count_nouns
from ._evidence import (
    LEAK,
    NONE,
    REVERSED,
    SHIFT,
    UNKNOWN,
    choose_evidence,
    find_unit,
    get_blindness,
    get_cause,
    get_difference,
    get_excess,
    get_key,
    is_stopped,
    is_told,
    list_leaking_parts,
    list_leaks,
    list_reversals,
    list_shown,
    list_told,
    name_told_auc,
)
from ._measure import INTERVAL, OK, OVERALL, find_equal, find_overall, get_overall, list_rows
from ._words import format_auc, format_rate, join_names
from .checks import CHECKS, find_outcome, get_check
from .checks._base import (
    BEYOND,
    BEYOND_OF_FILE,
    DROPPED,
    KEPT,
    KNOWN,
    LEFT_OUT,
    NOT_RUN,
    PASSED,
    SIDES,
    Check,
)
from .checks._beyond_shift import BeyondShiftCheck
from .checks._sides import CAUSES

# Each verdict begins with its headline.
HEADLINES = {
    LEAK: "Leakage found",
    NONE: "No leakage detected",
    SHIFT: "Inconclusive: members and non-members differ",
    REVERSED: "Inconclusive: the scores are the wrong way round",
    UNKNOWN: "Inconclusive: leakage can be neither shown nor ruled out",
}

# In place of the headline, if the model does not know the table.
TABLE_DIFFERS = "Inconclusive: model and table do not agree"

_MOST_NAMES = 3

_UNREAD = (
    "The numbers that the file stores were not examined. Run the audit again, with the file of the "
    "model at hand."
)


def write_audit_verdict(grounds, evidence):
    describe = {
        LEAK: _tell_leak,
        NONE: _tell_nothing,
        SHIFT: _tell_shift,
        REVERSED: _tell_reversal,
        UNKNOWN: describe_blindness,
    }
    headlines = HEADLINES
    if is_stopped(grounds.checks):
        headlines = HEADLINES | {UNKNOWN: TABLE_DIFFERS}
    cause = find_cause(grounds, evidence)
    if cause is not None:
        headlines = headlines | {evidence: name_wrong_sides(cause)}
        describe = describe | {evidence: describe_sides}
    return write_conclusion(grounds, evidence, headlines, describe)


def find_cause(grounds, evidence):
    """Return what is wrong with the two sides, if the evidence is for this reason; or None."""
    if is_stopped(grounds.checks) or evidence not in (REVERSED, UNKNOWN):
        return None
    return get_cause(grounds) if find_overall(grounds.results, "auc").any() else None


def name_wrong_sides(cause):
    """Return the headline, by what is wrong with the two sides."""
    return f"Inconclusive: {CAUSES[cause].clause}"


def describe_sides(grounds):
    """Return what the check of the sides found, and what to do about it."""
    return f"{find_outcome(grounds.checks, SIDES).text} {CAUSES[get_cause(grounds)].cure}"


def name_part(scope, group):
    """Name a group as in the limits of the command line, ``race=Black``."""
    return visible(f"{scope}={group}")


def _get_best(grounds):
    """Return the AUC that is told over all records."""
    aucs = list_told(list_rows(get_overall(grounds.results, "auc")))
    return max(aucs, key=lambda row: row["estimate"])


def _tell_best(grounds):
    """Return the AUC that is told over all records, as a clause."""
    best = _get_best(grounds)
    word = name_told_auc(list_rows(grounds.results), best)
    return f"the {word} is {_format_auc_of(best)}, by {best['attack']}"


def _format_auc_of(row):
    return format_auc(*(row[name] for name in INTERVAL))


def _get_result(grounds, row):
    """Return the result that belongs to a row of the null."""
    frame = grounds.results
    names = ["attack", "scope", "group", "metric", *(["max_fpr"] if row["metric"] == "tpr" else [])]
    # One mask: a verdict asks for dozens of results, and each selection of rows copies a frame.
    is_it = np.all([frame[name].to_numpy() == row[name] for name in names], axis=0)
    return frame.iloc[np.flatnonzero(is_it)[0]]


def _rank_significant(grounds, rows):
    """Return rows of the null with their results: the most significant first, then the largest."""
    results = [(row, _get_result(grounds, row)) for _, row in rows.iterrows()]
    return sorted(results, key=lambda pair: (pair[0]["pvalue_adjusted"], -pair[1]["estimate"]))


def _format_corrected(grounds, pvalue):
    n_tested = len(grounds.null)
    p = format_pvalue(2 * pvalue, 2 / (1 + grounds.n_permutations))
    return f"{p} after correction for {n_tested} results" if n_tested > 1 else p


def _tell_leak(grounds):
    if get_excess(grounds) is not None:
        return f"{find_outcome(grounds.checks, BEYOND).text} {_STILL}"
    leaks = list_leaks(grounds)
    overall = leaks[find_equal(leaks, scope=OVERALL)]
    by_auc = overall[find_equal(overall, metric="auc")]
    if len(by_auc):
        ranked = sorted(_rank_significant(grounds, by_auc), key=_put_told_first)
        return _describe_auc(grounds, *ranked[0]) + _name_exposed_group(
            grounds, leaks, ranked[0][1]
        )
    if len(overall):
        return _describe_low_rate(grounds, *_rank_significant(grounds, overall)[0])
    return _describe_group_leak(grounds, leaks)


def _put_told_first(pair):
    row = pair[1]
    return not is_told(row), -row["estimate"]


_STILL = (
    "The other numbers also count in what the sides differ without the model; use members and "
    "non-members from one population to measure the leak alone."
)


def _describe_auc(grounds, null, row):
    n_attacks = grounds.results["attack"].nunique()
    aucs = grounds.results["estimate"].to_numpy()[find_overall(grounds.results, "auc")]
    strongest = f"{row['attack']}, one of {n_attacks} attacks,"
    if row["estimate"] >= aucs.max():
        strongest = f"The strongest of {n_attacks} attacks, {row['attack']},"
    level = f"{100 * grounds.level:g}%"
    return (
        f"{strongest if n_attacks > 1 else row['attack']} ranks a random member above a random "
        f"non-member with probability {row['estimate']:.3f} ({level} interval of this attack "
        f"alone: [{row['low']:.3f}, {row['high']:.3f}]; chance is 0.5; "
        f"{_format_corrected(grounds, null['pvalue_adjusted'])})."
        f"{_name_strongest_at_rate(grounds, row['attack'])}"
    )


def _name_exposed_group(grounds, leaks, overall):
    """Name the group of the highest AUC, if its interval is above that of all records."""
    aucs = leaks[(leaks["scope"] != OVERALL) & (leaks["metric"] == "auc")]
    rows = [row for _, row in _rank_significant(grounds, aucs) if row["low"] > overall["high"]]
    if not rows:
        return ""
    row = max(rows, key=lambda row: row["estimate"])
    return (
        f" In {name_part(row['scope'], row['group'])} ({row['n_members']:,} members, "
        f"{row['n_nonmembers']:,} non-members) the AUC of {row['attack']} is "
        f"{format_auc(*row[INTERVAL])}."
    )


def _name_strongest_at_rate(grounds, by_auc):
    """Name the attack that is told of the lowest rate, if it is not that of the AUC.

    Only rates that are beyond chance after correction for all results count.
    """
    frame, shown = grounds.results, list_shown(grounds)
    kept = [row["metric"] != "tpr" or get_key(row) in shown for row in list_rows(frame)]
    row = get_best_at_lowest_rate(frame[kept])
    if row is None or row["attack"] == by_auc:
        return ""
    return (
        f" At a false positive rate of at most {100 * row['max_fpr']:g}% {row['attack']} "
        f"identifies {format_rate(*(row[name] for name in INTERVAL))} of the members."
    )


def get_best_at_lowest_rate(results):
    """Return the row of the highest TPR over all records, at the lowest FPR that has one."""
    rates = [row for row in list_rows(get_overall(results, "tpr")) if row["estimate"] > 0]
    lowest = min((row["max_fpr"] for row in rates), default=None)
    aucs = get_overall(results, "auc")
    aucs = dict(zip(aucs["attack"], aucs["estimate"]))
    return max(
        list_told([row for row in rates if row["max_fpr"] == lowest]),
        key=lambda row: (row["estimate"], aucs.get(row["attack"], 0)),
        default=None,
    )


def _describe_low_rate(grounds, null, row):
    """Describe a leak of a few members, which an AUC hardly shows."""
    where = f"At a false positive rate of at most {100 * null['max_fpr']:g}% "
    return (
        f"{where if row['status'] == OK else ''}{row['attack']} identifies "
        f"{_describe_tpr(null, row)} ({_format_corrected(grounds, null['pvalue_adjusted'])}). On "
        f"average no attack is significantly better than chance: {_tell_best(grounds)}."
    )


def _describe_tpr(null, row):
    """Return a rate with its interval, or without one if few people hold many of the records."""
    if row["status"] == OK:
        return (
            f"{format_rate(*row[INTERVAL])} of the members, with {100 * row['fpr']:.3g}% of the "
            "non-members flagged"
        )
    return (
        f"more members than chance explains at a false positive rate of at most "
        f"{100 * null['max_fpr']:g}%, which too few independent non-members resolve for a number"
    )


def _describe_group_leak(grounds, leaks):
    """Describe a leak in a group, which the numbers over all records do not show."""
    ranked = _rank_significant(grounds, leaks)
    null, row = ranked[0]
    names = dict.fromkeys(name_part(part["scope"], part["group"]) for _, part in ranked)
    first, *others = names
    also = f" The same holds for {join_names(others, _MOST_NAMES)}." if others else ""
    level = f"{100 * grounds.level:g}%"
    if row["metric"] == "auc":
        what = (
            f"{row['attack']} ranks a random member above a random non-member with probability "
            f"{row['estimate']:.3f} ({level} interval of this number alone: [{row['low']:.3f}, "
            f"{row['high']:.3f}]; chance is 0.5; "
        )
    else:
        what = f"{row['attack']} identifies {_describe_tpr(null, row)} ("
        if row["status"] == OK:
            what += f"{level} interval of this number alone; "
    return (
        f"In {first} ({row['n_members']:,} members, {row['n_nonmembers']:,} non-members) {what}"
        f"{_format_corrected(grounds, null['pvalue_adjusted'])}).{also} Over all records no "
        f"result is significant: {_tell_best(grounds)}."
    )


def _tell_nothing(grounds):
    best, ran = _tell_best(grounds), list(dict.fromkeys(grounds.results["attack"]))
    missing = [name for name in grounds.asked if name not in ran]
    left = ""
    if missing:
        left = f"Only {len(ran)} of {len(grounds.asked)} attacks could run: {join_names(ran)}. "
    n_tested = len(grounds.null)
    corrected = f" after correction for {n_tested} results" if n_tested != 1 else ""
    return (
        f"{left}No result is significant at the {100 * (1 - grounds.level):g}% level{corrected}. "
        f"{best[0].upper()}{best[1:]} (chance is 0.5)."
        f"{_count_intervals(grounds)} A stronger attack may still succeed."
    )


def _count_intervals(grounds):
    """Count pointwise intervals above chance, because a few are expected without leakage."""
    frame = grounds.results
    aucs = frame[(frame["metric"] == "auc") & (frame["status"] == OK)]
    above = int((aucs["low"] > 0.5).sum())
    if not above:
        return ""
    expected = len(aucs) * (1 - grounds.level) / 2
    return (
        f" Of {len(aucs)} pointwise intervals of the AUC, over all records and by group, {above} "
        f"{'lies' if above == 1 else 'lie'} above 0.5, where about {expected:.1f} would by chance."
    )


def _tell_shift(grounds):
    best = _get_best(grounds)
    return describe_difference(grounds, f"of {best['attack']}", best)


def describe_difference(grounds, of_what, best):
    """Name the check by which members and non-members differ without the model."""
    name = get_difference(grounds.checks)
    check = get_check(name)
    if check.remedy:
        return f"{grounds.checks[name].text} {check.remedy}"
    return (
        f"They come from different populations: {check.difference}. An attack may only see this "
        f"difference, so the AUC {of_what}, {_format_auc_of(best)}, neither shows leakage "
        "nor rules it out. Use members and non-members from one population."
    )


def _tell_reversal(grounds):
    turned = list_reversals(grounds)
    overall = turned[turned["scope"] == OVERALL]
    ranked = _rank_significant(grounds, overall if len(overall) else turned)
    null, row = min(ranked, key=lambda pair: (pair[0]["pvalue_below"], pair[1]["estimate"]))
    where = "" if len(overall) else f"In {name_part(row['scope'], row['group'])} "
    return (
        f"{where}{row['attack']} ranks members significantly below non-members: its AUC is "
        f"{format_auc(*row[INTERVAL])} ({_format_corrected(grounds, null['pvalue_below'])}), and "
        "no result is significantly above chance. Were members and non-members swapped?"
        f"{_tell_fit_of_sides(grounds.checks)} Check the coding of membership."
    )


def _tell_fit_of_sides(checks):
    """Return how well the model fits both sides.

    Members are fitted worse if the sides are swapped.
    """
    fit = find_outcome(checks, KNOWN)
    return f" {fit.text}" if fit is not None and fit.status == PASSED else ""


def describe_blindness(grounds):
    if not is_stopped(grounds.checks) and not find_overall(grounds.results, "auc").any():
        return "There are too few members or non-members to measure anything."
    name = get_blindness(grounds.checks)
    check = grounds.checks[name]
    if check.is_error:
        return f'The verdict depends on the check "{name}". {check.text}'
    return get_check(name).meaning or check.text


# What the verdict on a file begins with.
RELEASE_NOT = "Do not release this file"
FILE_HEADLINES = HEADLINES | {
    LEAK: "The file leaks weakly",
    NONE: "No leakage detected in the file",
    UNKNOWN: "Inconclusive: the file could not be judged",
}

# Why a file tells of its training rows, by the part of the attack that finds most.
_REASONS = {
    "node equations": "Its trees store {sums} over the training rows, from which an "
    "attacker works out which of {n_records:,} candidates were among these rows.",
    "split thresholds": "Its thresholds or edges of bins lie at values of training rows or "
    "halfway between two.",
    "conditions at the optimum": "Its weights are those that fit the training rows best, which is "
    "{conditions} on which rows these were.",
    "moments": "It stores {independent} over the training rows, from which an "
    "attacker works out which of {n_records:,} candidates were among these rows.",
    "stored values": "It stores values or rows of the training data as they were.",
}

# The obstacle of a file in which so much is found that no control is needed.
NO_CONTROL = (
    "The attack was not tried on a model of the same recipe, because it finds a severe leak."
)


def keep_shared_checks(checks):
    """Return the checks of an audit that are about its records, with the others as not run."""
    kept = {
        name: one if get_check(name).of_file == KEPT else Check(name, NOT_RUN, "")
        for name, one in checks.items()
        if get_check(name).of_file != DROPPED
    }
    kept |= {one.name: Check(one.name, NOT_RUN, "") for one in CHECKS if one.of_file == LEFT_OUT}
    beyond = find_outcome(kept, BEYOND_OF_FILE)
    return kept | ({} if beyond is None else {BeyondShiftCheck.name: beyond})


def choose_file_evidence(grounds, facts):
    if facts["reason"] is not None:
        return UNKNOWN
    evidence = choose_evidence(grounds)
    return UNKNOWN if evidence == NONE and get_obstacle(facts) is not None else evidence


def get_obstacle(facts):
    """Return why a file may leak more than was found, which audits of the past did not ask."""
    return facts.get("obstacle", _UNREAD)


def list_clear(grounds):
    """Return the numbers of a clear level, beyond which no file is to be released."""
    frame, parts = grounds.results, {(OVERALL, "all"), *list_leaking_parts(grounds)}
    keys = list(zip(frame["scope"], frame["group"], strict=True))
    return frame[_find_high(frame, "clear") & np.array([key in parts for key in keys], dtype=bool)]


def is_severe(results):
    """Return whether the AUC over all records is severe."""
    return bool((_find_high(results, "severe") & find_overall(results, "auc")).any())


def _find_high(frame, level):
    """Return which numbers are beyond doubt of a level, as a mask."""
    auc, ratio = (LIMITS[name][level] for name in ("auc", "ratio"))
    units = np.array([find_unit(row) for row in list_rows(frame)], dtype=float)
    low, metric = frame["low"].to_numpy(), frame["metric"].to_numpy()
    is_high = ((metric == "auc") & (low >= auc)) | ((metric == "tpr") & (low >= ratio * units))
    return is_high & find_equal(frame, status=OK)


def write_file_verdict(grounds, facts):
    evidence = choose_file_evidence(grounds, facts)
    headline = TABLE_DIFFERS if is_stopped(grounds.checks) else FILE_HEADLINES[evidence]
    cause = None if facts["reason"] is not None else find_cause(grounds, evidence)
    if cause is not None:
        return visible(f"{name_wrong_sides(cause)}. {describe_sides(grounds)}")
    if evidence == LEAK:
        headline = headline if list_clear(grounds).empty else RELEASE_NOT
        if get_excess(grounds) is not None:
            return visible(f"{headline}. {find_outcome(grounds.checks, BEYOND).text} {_STILL}")
        text = f"{_describe_leak_of_file(grounds)} {_describe_reason(facts)} "
        text += describe_candidates(facts)
        if facts["obstacle"] in (None, NO_CONTROL):
            text += f" {_describe_reading(facts)}; expected {facts['expected_auc']:.3f}."
        return visible(f"{headline}. {text}")
    text = {
        NONE: lambda: f"{_describe_whole(grounds, facts)} {describe_candidates(facts)}",
        SHIFT: lambda: describe_difference(
            grounds, "from what it stores", get_overall(grounds.results, "auc").iloc[0]
        ),
        REVERSED: lambda: "Was membership coded the other way round?",
        UNKNOWN: lambda: _tell_unknown(grounds, facts),
    }[evidence]()
    return visible(f"{headline}. {text}")


def _describe_auc_of_file(grounds):
    row, level = get_overall(grounds.results, "auc").iloc[0], f"{100 * grounds.level:g}%"
    return (
        "From what it stores, a random member ranks above a random non-member with probability "
        f"{row['estimate']:.3f} ({level} interval [{row['low']:.3f}, {row['high']:.3f}]; chance is "
        "0.5)."
    )


def _describe_leak_of_file(grounds):
    rates = get_overall(grounds.results, "tpr")
    rates = rates[rates["estimate"] > 0].sort_values("max_fpr")
    sentence = _describe_auc_of_file(grounds)
    if len(rates):
        row = rates.iloc[0]
        sentence += (
            f" It identifies {format_rate(*row[INTERVAL])} of the members at a false positive "
            f"rate of {100 * row['fpr']:.3g}%."
        )
    return sentence + _describe_group_of_file(grounds)


def _describe_group_of_file(grounds):
    """Name the group in which a file leaks more than over all records, if the verdict needs it."""
    clear, leaks = list_clear(grounds), list_leaks(grounds)
    if len(clear) and not find_equal(clear, scope=OVERALL).any():
        row = clear.sort_values("low").iloc[-1]
        size = f" ({row['n_members']:,} members, {row['n_nonmembers']:,} non-members)"
        found = f"the probability is {format_auc(*row[INTERVAL])}"
        if row["metric"] != "auc":
            rate = format_rate(*row[INTERVAL])
            found = f"{rate} are identified at a false positive rate of {100 * row['fpr']:.3g}%"
        return f" In {name_part(row['scope'], row['group'])}{size}, {found}."
    if find_equal(leaks, scope=OVERALL).any():
        return ""
    row = leaks.iloc[0]
    return f" Only {name_part(row['scope'], row['group'])} is beyond chance."


def _describe_reason(facts):
    """Return what in the file tells most, and what an attacker needs."""
    needed = "The attacker needs the file and candidate records, and makes no query."
    sources = [source for source in facts["sources"] if source["name"] in _REASONS]
    if not sources:
        return needed
    strongest = max(sources, key=lambda source: source["auc"])
    n_equations = strongest["n_equations"] or 0
    reason = _REASONS[strongest["name"]].format(
        sums=count_nouns(n_equations, "sum"),
        independent=count_nouns(n_equations, "independent sum"),
        conditions=count_nouns(n_equations, "condition"),
        n_records=facts["n_records"],
    )
    if strongest["path"]:
        reason = f"Most is found in {strongest['path']}. {reason}"
    return f"{reason} {needed}"


def describe_candidates(facts):
    """Return how many candidates there were, and how complete they were."""
    n_records, n_members = facts["n_records"], facts["n_members"]
    text = f"Of {n_records:,} candidates, {n_members:,} were members"
    if facts["outsiders"] is None:
        return f"{text}."
    outside = facts["outsiders"]
    if outside > 0:  # a sum of weights, as of naive Bayes, is stated like a number of rows
        stated = f"the file states {facts['n_rows']:,} training rows"
        return f"{text}; {stated}, {100 * outside:.3g}% of which are not among them."
    # Members of classes that no other record has are listed and left out.
    among = "listed" if facts["n_rows"] > n_members else "among them"
    return f"{text}; the model was trained on {facts['n_rows']:,} rows, all of which are {among}."


def _describe_whole(grounds, facts):
    """Return what all of a file tells, if everything in it was read."""
    row, expected = get_overall(grounds.results, "auc").iloc[0], facts["expected_auc"]
    return (
        f"{_describe_reading(facts)} over {facts['n_records']:,} candidates. They rank a random "
        f"member above a random non-member with probability {row['estimate']:.3f} (expected "
        f"{expected:.3f}; chance is 0.5)."
    )


def _describe_reading(facts):
    """Count what was read, where everything was: independent sums, and the numbers of the rest."""
    sizes = {}
    for one in facts["ledger"]:
        sizes[one["part"]] = sizes.get(one["part"], 0) + one["size"]
    sums = {
        source["name"]: source["n_equations"]
        for source in facts["sources"]
        if source["name"] in sizes and source["n_equations"] is not None
    }
    n_sums, n_others = sum(sums.values()), sum(n for part, n in sizes.items() if part not in sums)
    parts = [
        text
        for n, text in (
            (n_sums, count_nouns(n_sums, "sum")),
            (n_others, count_nouns(n_others, "other number")),
        )
        if n
    ]
    return f"Everything in the file that depends on the data was read: {' and '.join(parts)}"


def _tell_unknown(grounds, facts):
    if facts["reason"] is not None:
        return facts["reason"]
    if choose_evidence(grounds) == UNKNOWN:
        return describe_blindness(grounds)
    hits = next((one["hits"] for one in facts["sources"] if one["hits"]), None)
    found = "Nothing was found in the rest of the file."
    if hits is not None and hits["members"] > hits["nonmembers"]:
        found = (
            f"Values of {hits['members']:.1%} of the members and {hits['nonmembers']:.1%} of the "
            "non-members are in the file, too few to tell members from non-members."
        )
    return f"{get_obstacle(facts)} {found}"
