"""The decision on a release: a page to fill in and sign, and what was decided as values."""

import math
import re
from datetime import date, datetime
from functools import partial

from .._core.decisions import REQUEST, ROLES
from .._core.escaping import visible
from .._core.metric_inputs import check_option
from .._core.numbers import show
from .._core.pages import render_page
from .._core.saving import write_text
from .._core.text import choose_base, drop_sign, fold_text, shorten, write_apart
from ..metrics import MIN_FALSE_POSITIVES
from ._recommend import (
    ALL_WITHIN,
    CONDITIONS,
    FAIL,
    LOWER_ENDS,
    MISSING,
    OPEN,
    PASS,
    REFUSE,
    RELEASE,
    TO_MEASURE,
    UNJUDGED,
    UNKNOWN,
)

DECISIONS = (RELEASE, CONDITIONS, "refuse")
# What decides as the policy recommends; if nothing can be said, only a refusal needs no reason.
_AGREES = {RELEASE: RELEASE, CONDITIONS: CONDITIONS, REFUSE: "refuse", UNKNOWN: "refuse"}
# Longer texts do not fit on one sheet, and shorter ones than this say nothing.
_LONGEST, _FEWEST_WORDS = 240, 3

# Groups beside all records; the sheet refers to the report for the others.
_MOST_GROUPS = 8
_CHARACTERS = {"name": 40, "text": 330, "settings": 560, "command": 700}

# By name: plain name, what it means, and what a good reason says.
CHECKS = {
    "k": (
        "Groups that stand alone",
        "Few people are treated alike by the model: such a group can point at a person.",
        "which columns an outsider knows, and that no group is small in those",
    ),
    "class_disclosure": (
        "Outcomes ruled out",
        "A group in which an outcome never occurs reveals that of everyone in it.",
        "why the outcome is not sensitive, or known anyway",
    ),
    "small_cells": (
        "Small counts",
        "Few people of a group share an outcome.",
        "why a count of these people harms none of them",
    ),
    "smallest_leaf": (
        "Small leaves",
        "A leaf that holds few training records describes these people.",
        "who can read the leaves, and which agreement binds them",
    ),
    "residual_dof": (
        "More parameters than records",
        "Such a model has room to memorize each record.",
        "which number above shows that it has not",
    ),
    "keeps_rows": (
        "Stored rows",
        "A file can keep rows of the training data as they are.",
        "that these rows are public, or whose consent there is",
    ),
    "rules": (
        "Flagged settings",
        "Settings with which models often memorize.",
        "why the setting is needed, and which number above shows that it does no harm",
    ),
    "rounded_answers": (
        "Unrounded answers",
        "Many digits of an answer identify the record that it is for.",
        "where the digits are cut, and who has seen it",
    ),
}
_LEVELS = {"block": "blocks", "review": "needs a reason", "note": "for information"}
# The same of a check that passed.
_PASSED_LEVELS = _LEVELS | {"block": "would block", "review": "would need a reason"}

# Numbers that are judged without groups: what each measures.
_NUMBERS = {
    "gap": "less confidence on records it was not trained on",
    "attribute_gain": "gain of inferring an attribute of a training record",
    "epsilon_lower": "epsilon that an attack demonstrates, at least",
    "epsilon": "epsilon that private training states",
    "singling_out": "of the attempts to single out a person succeed because of the table",
    "linkability": "of the attempts to link two parts of a record succeed because of the table",
    "inference": "of the guesses of an attribute succeed because of the table",
    "privacy_loss": "by which the table is nearer to its training data than to data never seen",
    "exact_rare_copies": "of the rare training data are copied, beyond rare data never seen",
    "copies_but_one_cell": "of the training data are in the table but for one value, beyond data "
    "never seen",
    "copied_identifiers": "of the training data have their identifiers in the table, beyond data "
    "never seen",
}
# What each measures, where it is named and no number stands before it.
_NAMES = {
    "singling_out": "how many attempts to single out a person succeed because of the table",
    "linkability": "how many attempts to link two parts of a record succeed because of the table",
    "inference": "how many guesses of an attribute succeed because of the table",
    "privacy_loss": "how much nearer the table is to its training data than to data never seen",
    "exact_rare_copies": "how many rare training data are copied, beyond rare data never seen",
}
_COLUMNS = {"auc": "member ranked above a non-member (AUC; 0.5 is guessing)"}
_WORDS = {
    FAIL: ("bad", "above the limit"),
    PASS: ("ok", "within the limit"),
    OPEN: ("info", "the limit lies within the interval"),
    MISSING: ("info", "not measured"),
    UNJUDGED: ("info", "not measured, or of too few records"),
}


def name_check(name):
    """Return the plain name of a structural check."""
    return CHECKS.get(name, (name.replace("_", " "),))[0]


def name_rate(max_fpr):
    """Return the name of a true positive rate in policies, by the digits of the false one."""
    return f"tpr_at_fpr_{max_fpr:.10f}".rstrip("0").replace("0.", "", 1)


def read_rate(name):
    """Return the false positive rate in a name such as ``tpr_at_fpr_01``, or None."""
    found = re.fullmatch(r"tpr_at_fpr_(\d+)", name)
    return None if found is None else float(f"0.{found[1]}")


def _head(name, limit):
    """Return the heading of a column of numbers, and its limit as it is written there."""
    rate = read_rate(name)
    if rate is None:
        what = _COLUMNS.get(name, _NUMBERS.get(name, name))
        return f"{what[0].upper()}{what[1:]}", _write_limit(limit)
    base = choose_base(rate)
    most = _write_limit(rate * base)
    told = f"Members recognized of {base:,}, when at most {most} of {base:,} others"
    verb = "is" if rate * base == 1 else "are"
    return f"{told} {verb} mistaken for one", _write_limit(limit * base)


def _write_limit(limit):
    """Return a limit in three digits, without an exponent."""
    return f"{float(f'{limit:.3g}'):,.9g}"


def _label(name):
    """Return short heading of a column, beside each number where there is no room for columns."""
    rate = read_rate(name)
    if rate is None:
        return "AUC" if name == "auc" else name.replace("_", " ")
    return f"of {choose_base(rate):,}"


def _write(name, value, more=0):
    rate = read_rate(name)
    if rate is None:
        return drop_sign(f"{value:.{3 + more}f}")
    shown = value * choose_base(rate)
    digits = 0 if abs(shown) >= 9.95 or not round(shown, 1) else 1
    return drop_sign(f"{shown:.{digits + more}f}")


def _make_cell(row):
    name, status = row["name"], row["status"]
    kind, words = _WORDS[status]
    if row["interval"] is None:
        return {"kind": kind, "number": "", "span": words, "words": ""}
    if status == PASS and name in LOWER_ENDS:  # whose estimate may be above
        words = "not shown to be above the limit"
    rate = read_rate(name)
    base = 1 if rate is None else choose_base(rate)
    write = partial(_write, name)
    number, low, high = write_apart(write, row["interval"], row["limit"], base)
    # Colors say that a number is above its limit, or within it, and words to those who see none.
    is_seen = words not in ("above the limit", "within the limit")
    span = f"{low} to {high}" + (f", {words}" if is_seen else "")
    return {"kind": kind, "number": number, "span": span, "words": "" if is_seen else words}


def _rank_group(rows):
    """Return how bad a group is: numbers above their limits first, then the nearest to theirs."""
    known = [row for row in rows if row["interval"] is not None]
    fails = sum(row["status"] == FAIL for row in known)
    return -fails, -max((row["interval"][1] - row["limit"] for row in known), default=-9.0)


def make_matrix(limits):
    """Return a row for each group and a column for each number.

    Above eight groups the eight worst.
    """
    by_group = {}
    for row in limits:
        by_group.setdefault(row["group"], []).append(row)
    names = dict.fromkeys(row["name"] for row in limits)
    of_groups = {row["name"] for row in limits if row["group"] != "all"}
    columns = [name for name in names if name == "auc" or read_rate(name) is not None]
    columns.sort(key=lambda name: name == "auc")
    columns += [name for name in names if name in of_groups and name not in columns]
    others = [group for group in by_group if group != "all"]
    if len(others) > _MOST_GROUPS:
        others = sorted(others, key=lambda group: _rank_group(by_group[group]))
    shown = [*(["all"] if "all" in by_group else []), *others[:_MOST_GROUPS]]
    rows = []
    for group in shown if columns else ():
        cells = {row["name"]: _make_cell(row) for row in by_group[group]}
        cells = [(_label(name), cells.get(name)) for name in columns]
        name = "All records" if group == "all" else group.replace("=", ": ", 1)
        rows.append({"group": name, "cells": cells})
    limit_of = {row["name"]: row["limit"] for row in limits}
    single = [row for row in by_group.get("all", []) if row["name"] not in columns]
    return {
        "heads": [_head(name, limit_of[name]) for name in columns],
        "rows": rows,
        "single": [
            _make_cell(row)
            | {"what": _NUMBERS.get(row["name"], row["name"]), "limit": _write_limit(row["limit"])}
            for row in single
        ],
        "n_more": len(others) - len(others[:_MOST_GROUPS]),
        "n_judged": sum(row["status"] in (FAIL, PASS, OPEN) for row in limits),
    }


def _get_good(name):
    """Return what a good reason for a flagged check says."""
    return CHECKS.get(name, ("", "", "why it does no harm"))[2]


def _make_check(row, reasons):
    failed, level = row["status"] != PASS, row["level"]
    kind = {"block": "bad", "review": "ask", "note": "info"}[level] if failed else "ok"
    means = CHECKS.get(row["name"], ("", ""))[1]
    # The report has more than the first sentence, and of settings the rules that they break.
    first, _, rest = row["text"].partition(". ")
    text = row["text"] if row["status"] == MISSING else f"{first.rstrip('.')}."
    text = rest if row["name"] == "rules" and rest else text
    return {
        "name": name_check(row["name"]),
        "kind": kind,
        "level": (_LEVELS if failed else _PASSED_LEVELS)[level],
        "means": means,
        "text": shorten(text, _CHARACTERS["settings" if row["name"] == "rules" else "text"]),
        "reason": reasons.get(row["name"]) if failed and level == "review" else None,
        "good": _get_good(row["name"]),
    }


def _count_for_and_against(found):
    """Return how many numbers and checks speak for and against, in sentences."""
    levels = [row["level"] for row in found["checks"] if row["status"] != PASS]
    n_block, n_review = levels.count("block"), levels.count("review")
    blocks = "check blocks" if n_block == 1 else "checks block"
    needs = "check needs" if n_review == 1 else "checks need"
    told = {
        f"{n_block} {blocks} the release.": n_block,
        f"Before a release, {n_review} {needs} a reason.": n_review,
    }
    return _count_statuses(found) + [text for text, number in told.items() if number]


_COUNTED = {
    FAIL: ("is above its limit", "are above their limits"),
    PASS: ("is within its limit", "are within their limits"),
    OPEN: ("is undecided", "are undecided"),
    MISSING: ("was not measured", "were not measured"),
}


def _count_statuses(found):
    """Return how many numbers there are of each status, and what would measure the missing ones."""
    statuses = [row["status"] for row in found["limits"] if row["status"] != UNJUDGED]
    if not statuses:
        return []
    counts = {status: statuses.count(status) for status in _COUNTED}
    told = [f"{n} {_COUNTED[status][n > 1]}" for status, n in counts.items() if n]
    text = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    numbers = "1 number" if len(statuses) == 1 else f"{len(statuses)} numbers"
    missing = dict.fromkeys(row["name"] for row in found["limits"] if row["status"] == MISSING)
    return [f"Of {numbers}, {text}.", *_list_missing(missing)]


def _list_missing(names):
    """Return what is missing, in words, with what would measure it, which several may share."""
    cures = {}
    for what, how in map(_name_missing, names):
        cures.setdefault(how, []).append(what)
    return [f"Not measured: {'; '.join(missing)}. {how}." for how, missing in cures.items()]


def _name_missing(name):
    """Return the words for a number, and what would measure it."""
    rate = read_rate(name)
    if rate is None:
        return _MISSING.get(name, (_NUMBERS.get(name, name), "Pass it to recommend"))
    least = math.ceil(MIN_FALSE_POSITIVES / rate * (1 - 1e-9))
    what = f"members recognized when {100 * rate:.3g}% of others are mistaken"
    how = f"Audit with {least:,} non-members or more, and with {rate:g} among the rates (--fpr)"
    return what, how


_MISSING = {
    "auc": ("how often a member ranks higher (AUC)", "Audit with more members and non-members"),
    "gap": (_NUMBERS["gap"], "Audit a model that knows the table, and its probabilities"),
    **{
        name: (text, "Audit the table with a holdout (--held-out) of 100 rows or more")
        for name, text in _NAMES.items()
    },
}


def summarize_policy(found):
    """Return what a policy says, without the names that only programs need, in sentences.

    Reasons about single numbers and checks stand in the tables.
    """
    known = tuple(
        f"{row['name']}{end}" for row in (*found["limits"], *found["checks"]) for end in " :."
    )
    general = (ALL_WITHIN,)
    others = [
        reason
        for reason in found["reasons"]
        if not reason.removeprefix("To be measured: ").startswith(known) and reason not in general
    ]
    return [*_count_for_and_against(found), *others, *found.get("remarks", [])]


_AGAIN = " Then audit again."
# Where a sentence ends and the next one begins.
_BETWEEN = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


def tell_what_decides(found):
    """Return what would end that a policy cannot say, in a sentence or two.

    A reason that is not about a number ends in the sentence that says it.
    """
    reason = found["reasons"][0].removeprefix(TO_MEASURE)
    for row in found["limits"]:
        if not reason.startswith(f"{row['name']} ({row['group']})"):
            continue
        if row["status"] == MISSING:
            return _list_missing([row["name"]])[0]
        return _tell_undecided(row)
    return _BETWEEN.split(reason.removesuffix(_AGAIN))[-1]


def _tell_undecided(row):
    """Return which number is undecided, and how many records would decide."""
    whole, (what, _) = row["group"] == "all", _name_missing(row["name"])
    group = "" if whole else f", for {row['group'].replace('=', ': ', 1)}"
    more = (
        "Audit with more records"
        if row["n_needed"] is None
        else (f"Audit with {row['n_needed']:,} records or more")
    )
    return f"Undecided: {what}{group}. {more}{'' if whole else ' of this group'}."


def describe_sheet(document, report="report.html"):
    """Return what the sheet of a document shows, as plain values.

    Its hashes are that of the policy, which ``_make_policy`` of ``_policy.py`` computes from its
    text, and those of the files that a command named, as ``describe_command_origin`` of
    ``cli/_policy.py`` put them into the provenance.
    """
    found = document["recommendation"]
    provenance = found["provenance"]
    reasons = {row["check"]: row["reason"] for row in found["reviews"]}
    checks = [_make_check(row, reasons) for row in found["checks"]]
    order = {"bad": 0, "ask": 1, "ok": 2, "info": 3}
    hidden = {*REQUEST, "command", "created", "versions"}
    shown = [(name, text) for name, text in provenance.items() if name not in hidden]
    hashes = [pair for pair in shown if pair[0].startswith("sha256 of ")]
    rest = [pair for pair in shown if pair not in hashes]
    policy = found["policy"]
    others = f"A release as {' or '.join(f'a {w}' for w in found['not_asked'])} was not examined."
    hashes.append(("sha256 of the policy", policy["sha256"] or "none: the policy was changed"))
    signatures = {row["role"]: row for row in found["signatures"]}
    decision = _get_decision(found)
    return {
        "what": shorten(name_subject(document, "synthetic table"), _CHARACTERS["name"]),
        "way": found["release"],
        "day": write_day(document["created"]),
        "report": report,
        "result": found["result"],
        "policy": policy["name"],
        "told": [shorten(text, _CHARACTERS["text"]) for text in (*summarize_policy(found), others)],
        "decisions": [(name, name == decision["decision"]) for name in DECISIONS],
        "conditions": decision["conditions"] or "; ".join(found["conditions"]),
        "because": decision["because"],
        "request": {name: provenance.get(name, "") for name in REQUEST},
        "matrix": make_matrix(found["limits"]),
        "level": f"{100 * (1 - policy['alpha']):g}%",
        "checks": sorted(checks, key=lambda check: order[check["kind"]]),
        "signatures": [
            {"role": role, "says": says, **{key: "" for key in ("name", "date")}}
            | {key: value for key, value in signatures.get(role, {}).items() if key != "role"}
            for role, says in ROLES.items()
        ],
        "command": shorten(provenance.get("command", ""), _CHARACTERS["command"]),
        "hashes": hashes,
        "versions": provenance.get("versions", ""),
        "rest": [(name, shorten(text, _CHARACTERS["text"])) for name, text in rest],
    }


def _get_decision(found):
    # Documents written before a decision could be recorded have none.
    return found.get("decision") or dict.fromkeys(("decision", "conditions", "because"), "")


def name_subject(document, table):
    """Return the file that was audited, or the model, or in a document without one a name."""
    command = document["settings"].get("command") or {}
    named = (command.get(name) for name in ("model", "answers", "synthetic"))
    return next(filter(None, named), document.get("victim_name", table))


def write_day(moment):
    """Return a date in words, ``23 November 2026``; a text that is none is kept."""
    try:
        day = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{day.day} {day:%B %Y}"


def render_sheet(document, report="report.html"):
    """Return the decision sheet of an audit: one page of A4, to be filled in without a script."""
    content = describe_sheet(document, report)
    return render_page("sheet.html.j2", __package__, own_style="sheet.css", sheet=content)


def write_sheet(document, path, report="report.html"):
    write_text(render_sheet(document, report), path)


def record_decision(document, *, decision, name, role, day, given):
    """Return the document with a decision, or with a further signature under the one that it has.

    given: "conditions", "because", "reasons" (by check) and "provenance" as typed, and whether to
    "replace".
    """
    found = document["recommendation"]
    before, signatures = _get_decision(found), found["signatures"]
    if decision is not None:
        check_option(decision, "decision", DECISIONS)
    chosen = decision or before["decision"]
    if not chosen:
        raise ValueError(
            "No decision is recorded yet; name it with --decision, as release, conditions or "
            "refuse."
        )
    if before["decision"] not in ("", chosen):
        if not given["replace"]:
            raise ValueError(
                f"{before['decision']!r} is recorded already; to replace it, and the signatures "
                "under it, say so with --replace."
            )
        before = dict.fromkeys(before, "")
        signatures = [row | {"name": "", "date": ""} for row in signatures]
    signatures = _keep_signatures(found, before, given, role, signatures)
    texts = {key: given[key] or before[key] for key in ("conditions", "because")}
    _check_texts(found, chosen, texts)
    signed = {"name": _check_name(name, role, signatures), "date": _check_day(day, document)}
    _check_unsigned(signed["name"], role, signatures, given["replace"])
    return document | {
        "recommendation": found
        | {
            "decision": {"decision": chosen, **texts},
            "reviews": _give_reasons(found, chosen, given["reasons"]),
            "provenance": found["provenance"] | given["provenance"],
            "signatures": [row | (signed if row["role"] == role else {}) for row in signatures],
        }
    }


def _keep_signatures(found, before, given, role, signatures):
    """Return the signatures, without names if a text changes that others have signed.

    It changes only if the command says ``--replace``.
    """
    others = [row["name"] for row in signatures if row["name"] and row["role"] != role]
    reasons = {row["check"]: row["reason"] for row in found["reviews"]}
    typed = {key: given[key] for key in ("conditions", "because")}
    changed = [
        name
        for texts, recorded in (
            (typed, before),
            (given["reasons"], reasons),
            (given["provenance"], found["provenance"]),
        )
        for name, text in texts.items()
        if text and recorded.get(name) not in (None, "", text)
    ]
    if not others or not changed:
        return signatures
    if not given["replace"]:
        raise ValueError(
            f"{others[0]} has signed another text for {show(changed[0])}; to replace the text, and "
            "the signatures under it, say so with --replace."
        )
    return [row | {"name": "", "date": ""} for row in signatures]


def _check_texts(found, chosen, texts):
    if chosen != CONDITIONS and texts["conditions"]:
        raise ValueError(f"Conditions go with 'release with conditions', not with {chosen!r}.")
    if chosen == CONDITIONS:
        _check_text(texts["conditions"], "A release with conditions needs them (--conditions)", 1)
    if texts["because"] or chosen != _AGREES[found["result"]]:
        result = found["result"]
        why = f"The policy says {result!r}, so {chosen!r} needs a reason (--because)"
        _check_text(texts["because"], why)


def _check_text(text, what, n_words=_FEWEST_WORDS):
    if len(text.split()) < n_words:
        wanted = f"{n_words} or more words" if n_words > 1 else "a text"
        raise ValueError(f"{what}: {wanted}; got {show(text)}.")
    if len(text) > _LONGEST:
        raise ValueError(f"{what}: at most {_LONGEST} characters; got {len(text)}.")


def _give_reasons(found, chosen, reasons):
    """Return the checks that need a reason, with those that were typed."""
    known = [row["check"] for row in found["reviews"]]
    for name, text in reasons.items():
        if name not in known:
            needed = ", ".join(known) or "none"
            raise ValueError(
                f"No reason is needed for {show(name)}; checks that need one: {needed}."
            )
        _check_text(text, f"A good reason for {name} says {_get_good(name)}")
    reviews = [
        row | {"reason": reasons.get(row["check"], row["reason"])} for row in found["reviews"]
    ]
    lacking = [row["check"] for row in reviews if not row["reason"]]
    if lacking and chosen != "refuse":
        raise ValueError(
            f"Before a release, these checks need a reason: {', '.join(lacking)} (--reason "
            f"{lacking[0]}=...)."
        )
    return reviews


def _check_name(name, role, signatures):
    name = " ".join(visible(name).split())
    if sum(letter.isalpha() for letter in name) < 2 or len(name) > 80:
        raise ValueError(f"The name of the {role} must have 2 to 80 characters; got {show(name)}.")
    others = [row for row in signatures if row["role"] != role]
    others = [row["role"] for row in others if _is_same_name(row["name"], name)]
    if others:
        raise ValueError(f"{name} is the {others[0]}; the {role} must be another person.")
    return name


def _check_unsigned(name, role, signatures, may_replace):
    """Refuse to sign in place of somebody else who has signed, unless that is said."""
    signed = next(row["name"] for row in signatures if row["role"] == role)
    if signed and not may_replace and not _is_same_name(signed, name):
        raise ValueError(
            f"{signed} has signed as the {role}; to replace the signature, say so with --replace."
        )


def _is_same_name(first, second):
    return fold_text(first) == fold_text(second)


def _check_day(day, document):
    try:
        found = date.fromisoformat(day)
    except ValueError:
        raise ValueError(f"The date must be written as 2026-11-23; got {show(day)}.") from None
    try:
        # In the time zone of whoever decides, where it may have been another day.
        audited = datetime.fromisoformat(document["created"]).astimezone().date()
    except ValueError:
        return day
    if found < audited:
        raise ValueError(f"The date {day} is before the audit, which is of {audited}.")
    return found.isoformat()
