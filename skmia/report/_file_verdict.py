"""What may be said of the file of a model, in one or two sentences."""

from .._core.pages import LIMITS
from .._core.visible import visible
from ._evidence import LEAK, NONE, REVERSED, SHIFT, UNKNOWN, choose_evidence, list_leaks
from ._measure import OK, OVERALL
from ._text import format_auc, format_rate
from ._verdict import (
    LABELS_DIFFER,
    describe_blindness,
    describe_difference,
    differ_in_labels,
    name_part,
)
from .checks._base import NOT_RUN, Check

# What the verdict on a file begins with.
RELEASE_NOT = "Do not release this file"
FILE_HEADLINES = {
    LEAK: "The file leaks weakly",
    NONE: "No leakage detected in the file",
    SHIFT: "Inconclusive: members and non-members differ",
    REVERSED: "Inconclusive: the scores are the wrong way round",
    UNKNOWN: "Inconclusive: the file could not be judged",
}

# Checks of the attacks on the answers, which say nothing of the file.
_OF_ANSWERS = ("positive control", "shadow models")

# Why a file tells of its training rows, by the part of the attack that finds most.
_REASONS = {
    "node equations": "Its trees store {n_equations:,} sums over the training rows, which are "
    "equations for {n_records:,} unknown memberships.",
    "split thresholds": "Its thresholds or edges of bins lie at values of training rows or "
    "halfway between two.",
    "conditions at the optimum": "Its weights depend on each training row by {n_equations:,} "
    "equations.",
    "moments": "It stores {n_equations:,} independent sums over the training rows, which are "
    "equations for {n_records:,} unknown memberships.",
    "stored values": "It stores values or rows of the training data as they were.",
}

# The obstacle of a file in which so much is found that no control is needed.
NO_CONTROL = (
    "The attack was not tried on a model of the same recipe, because it finds a severe leak."
)

_INTERVAL = ["estimate", "low", "high"]


# Checks of the answers that are asked only of some records.
_OF_GROUPS = ("small groups", "person level")


def keep_shared_checks(checks):
    """The checks of an audit that are about its records, with the others as not run."""
    kept = {name: one for name, one in checks.items() if name not in _OF_GROUPS}
    return kept | {name: Check(name, NOT_RUN, "") for name in _OF_ANSWERS}


def choose_file_evidence(grounds, facts):
    """Draw the conclusion about a file."""
    if facts["reason"] is not None:
        return UNKNOWN
    evidence = choose_evidence(grounds)
    return UNKNOWN if evidence == NONE and facts["obstacle"] is not None else evidence


def list_severe(grounds):
    """The numbers that are high, over all records or of a group in which it leaks."""
    frame, leaks = grounds.results, list_leaks(grounds)
    parts = {(OVERALL, "all"), *zip(leaks["scope"], leaks["group"], strict=True)}
    keys = list(zip(frame["scope"], frame["group"], strict=True))
    # Those of a clear level, beyond which a file is not to be released.
    return _list_high(frame[[key in parts for key in keys]], "clear")


def is_severe(results):
    """Whether the AUC over all records is severe."""
    return "auc" in set(_list_high(results[results["scope"] == OVERALL], "severe")["metric"])


def _list_high(frame, level):
    frame = frame[frame["status"] == OK]
    auc, ratio = (LIMITS[name][level] for name in ("auc", "ratio"))
    is_high = (frame["metric"] == "auc") & (frame["low"] >= auc)
    is_rate = (frame["metric"] == "tpr") & (frame["low"] >= ratio * frame["max_fpr"])
    return frame[is_high | is_rate]


def write_file_verdict(grounds, facts):
    """Describe what was concluded about a file."""
    evidence = choose_file_evidence(grounds, facts)
    headline = LABELS_DIFFER if differ_in_labels(grounds) else FILE_HEADLINES[evidence]
    if evidence == LEAK:
        headline = headline if list_severe(grounds).empty else RELEASE_NOT
        text = f"{_describe_leak(grounds)} {_describe_reason(facts)} {describe_candidates(facts)}"
        if facts["obstacle"] in (None, NO_CONTROL):
            text += f" {_describe_reading(facts)}; {facts['expected_auc']:.3f} was to be expected."
        return visible(f"{headline}. {text}")
    text = {
        NONE: lambda: f"{_describe_whole(grounds, facts)} {describe_candidates(facts)}",
        SHIFT: lambda: describe_difference(
            grounds, "from what it stores", _get_overall(grounds, "auc").iloc[0]
        ),
        REVERSED: lambda: "Was membership coded the other way round?",
        UNKNOWN: lambda: _describe_unknown(grounds, facts),
    }[evidence]()
    return visible(f"{headline}. {text}")


def _get_overall(grounds, metric):
    frame = grounds.results
    frame = frame[(frame["scope"] == OVERALL) & (frame["metric"] == metric)]
    return frame[frame["status"] == OK]


def _describe_auc(grounds):
    row, level = _get_overall(grounds, "auc").iloc[0], f"{100 * grounds.level:g}%"
    return (
        "From what it stores, a random member ranks above a random non-member with probability "
        f"{row['estimate']:.3f} ({level} interval [{row['low']:.3f}, {row['high']:.3f}]; chance is "
        "0.5)."
    )


def _describe_leak(grounds):
    rates = _get_overall(grounds, "tpr")
    rates = rates[rates["estimate"] > 0].sort_values("max_fpr")
    sentence = _describe_auc(grounds)
    if len(rates):
        row = rates.iloc[0]
        sentence += (
            f" It identifies {format_rate(*row[_INTERVAL])} of the members at a false positive "
            f"rate of {100 * row['fpr']:.3g}%."
        )
    return sentence + _describe_group(grounds)


def _describe_group(grounds):
    """Name the group in which a file leaks more than over all records, if the verdict needs it."""
    severe, leaks = list_severe(grounds), list_leaks(grounds)
    if len(severe) and not (severe["scope"] == OVERALL).any():
        row = severe.sort_values("low").iloc[-1]
        size = f" ({row['n_members']:,} members, {row['n_nonmembers']:,} non-members)"
        found = f"the probability is {format_auc(*row[_INTERVAL])}"
        if row["metric"] != "auc":
            rate = format_rate(*row[_INTERVAL])
            found = f"{rate} are identified at a false positive rate of {100 * row['fpr']:.3g}%"
        return f" In {name_part(row['scope'], row['group'])}{size}, {found}."
    if (leaks["scope"] == OVERALL).any():
        return ""
    row = leaks.iloc[0]
    return f" Only {name_part(row['scope'], row['group'])} is beyond chance."


def _describe_reason(facts):
    """What in the file tells most, and what an attacker needs."""
    needed = "The attacker needs the file and candidate records, and makes no query."
    sources = [source for source in facts["sources"] if source["name"] in _REASONS]
    if not sources:
        return needed
    strongest = max(sources, key=lambda source: source["auc"])
    reason = _REASONS[strongest["name"]].format(
        n_equations=strongest["n_equations"] or 0, n_records=facts["n_records"]
    )
    if strongest["path"]:
        reason = f"Most is found in {strongest['path']}. {reason}"
    return f"{reason} {needed}"


def describe_candidates(facts):
    """How many candidates there were, and how complete they were."""
    n_records, n_members = facts["n_records"], facts["n_members"]
    text = f"Of {n_records:,} candidates, {n_members:,} were members"
    if facts["outsiders"] is None:
        return f"{text}."
    outside = facts["outsiders"]
    share = f"{100 * outside:.3g}% of which are not" if outside > 0 else "all of which are"
    return f"{text}; the model was trained on {facts['n_rows']:,} rows, {share} among them."


def _describe_whole(grounds, facts):
    """What all of a file tells, if everything in it was read."""
    row, expected = _get_overall(grounds, "auc").iloc[0], facts["expected_auc"]
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
            (n_sums, "1 sum" if n_sums == 1 else f"{n_sums:,} sums"),
            (n_others, "1 other number" if n_others == 1 else f"{n_others:,} other numbers"),
        )
        if n
    ]
    return f"Everything in the file that depends on the data was read: {' and '.join(parts)}"


def _describe_unknown(grounds, facts):
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
    return f"{facts['obstacle']} {found}"
