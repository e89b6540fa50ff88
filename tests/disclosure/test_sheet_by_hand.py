"""Words and cells of the decision sheet, with answers by hand; each branch decides once."""

import pytest
from by_hand import expect_answers

from skmia.disclosure import _sheet


def limit(name, status, group="all", interval=(0.5, 0.4, 0.7), at=0.6, n_needed=None):
    return {
        "name": name,
        "status": status,
        "group": group,
        "interval": interval,
        "limit": at,
        "n_needed": n_needed,
    }


def check(name, level, status="fail", text="First. Second, and more."):
    return {"name": name, "level": level, "status": status, "text": text}


def tell(row, *more, reason=None):
    reasons = [reason or f"{row['name']} ({row['group']}) is undecided"]
    return _sheet.tell_what_decides({"reasons": reasons, "limits": [*more, row]})


def name_subject(command, victim=None):
    document = {"settings": {"command": command}}
    return _sheet.name_subject(document | ({"victim_name": victim} if victim else {}), "a table")


def count(*statuses):
    limits = [limit("auc", status) for status in statuses]
    return _sheet._count_statuses({"limits": limits})[0]


def summarize(*reasons, remarks=None):
    found = {"limits": [limit("auc", "pass")], "checks": [check("k", "block")]}
    given = {} if remarks is None else {"remarks": remarks}
    return _sheet.summarize_policy(found | {"reasons": reasons} | given)


COUNTED = ["Of 1 number, 1 is within its limit.", "1 check blocks the release."]
groups = [limit("auc", "pass", f"sex={k}", (0.5, 0.4 + k / 100, 0.8)) for k in range(9)]
crowded = _sheet.make_matrix(
    [*groups, limit("gap", "undecided", interval=(0.125, 0.0, 0.25), at=0.2)]
)
both = _sheet.make_matrix(
    [
        limit("auc", "pass", "all"),
        limit("tpr_at_fpr_01", "fail", "all", (0.25, 0.125, 0.5), 0.2),
        limit("auc", "not judged", "sex=f", None),
        limit("epsilon", "missing", "all", None, 3.0),
    ]
)

ABOVE, WITHIN = "above the limit", "within the limit"
RATES = [0.5, 0.1, 0.05, 0.01, 0.001, 1e-6]

# Calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    "rates": [
        (lambda: _sheet.read_rate("tpr_at_fpr_01"), 0.01),
        (lambda: _sheet.read_rate("tpr_at_fpr_005"), 0.005),
        (lambda: _sheet.read_rate("tpr_at_fpr_1"), 0.1),
        (lambda: _sheet.name_rate(0.1), "tpr_at_fpr_1"),
        (lambda: _sheet.name_rate(0.01), "tpr_at_fpr_01"),
        (lambda: [_sheet.read_rate(_sheet.name_rate(r)) for r in RATES], RATES),
        (lambda: _sheet.read_rate("auc"), None),
        (lambda: _sheet.read_rate("tpr_at_fpr_01_x"), None),
        (
            lambda: _sheet._head("auc", 0.625),
            ("Member ranked above a non-member (AUC; 0.5 is guessing)", "0.625"),
        ),
        (
            lambda: _sheet._head("tpr_at_fpr_01", 0.05),
            (
                "Members recognized of 100, when at most 1 of 100 others is mistaken for one",
                "5",
            ),
        ),
        (lambda: _sheet._head("tpr_at_fpr_02", 0.05)[0][-27:], "others are mistaken for one"),
        (
            lambda: _sheet._head("tpr_at_fpr_1", 0.3),
            (
                "Members recognized of 100, when at most 10 of 100 others are mistaken for one",
                "30",
            ),
        ),
        (
            lambda: _sheet._head("gap", 0.05),
            ("Less confidence on records it was not trained on", "0.05"),
        ),
        (lambda: _sheet._head("lifted_odds", 2.0), ("Lifted_odds", "2")),
        (lambda: _sheet._head("lifted_odds", 1234.5), ("Lifted_odds", "1,230")),
        (lambda: _sheet._head("tpr_at_fpr_0001", 0.1)[1], "1,000"),
        (lambda: _sheet._label("attribute_gain"), "attribute gain"),
        (lambda: _sheet._label("auc"), "AUC"),
        (lambda: _sheet._label("tpr_at_fpr_001"), "of 1,000"),
        (lambda: _sheet._write("auc", 0.12345), "0.123"),
        (lambda: _sheet._write("tpr_at_fpr_01", 0.0512), "5.1"),
        (lambda: _sheet._write("tpr_at_fpr_01", 0.0996), "10"),
        (lambda: _sheet._write("tpr_at_fpr_01", 0.0994), "9.9"),
        (lambda: _sheet._write("tpr_at_fpr_01", 0.0004), "0"),
    ],
    "cells": [
        (
            lambda: _sheet._make_cell(limit("auc", "undecided")),
            {
                "kind": "info",
                "number": "0.500",
                "span": "0.400 to 0.700, the limit lies within the interval",
                "words": "",
            },
        ),
        # Numbers at a limit are told from it, and a zero has no sign.
        *(
            (
                lambda name=name, ends=ends, at=at, status=status: [
                    _sheet._make_cell(limit(name, status, interval=ends, at=at))[part]
                    for part in ("number", "span", "words")
                ],
                [number, span, words],
            )
            for name, ends, at, status, number, span, words in (
                (
                    "tpr_at_fpr_01",
                    (0.03, 0.0, 0.05004),
                    0.05,
                    "undecided",
                    "3.0",
                    "0 to 5.004, the limit lies within the interval",
                    "",
                ),
                ("tpr_at_fpr_01", (0.03, 0.0, 0.05), 0.05, "pass", "3.0", "0 to 5.0", WITHIN),
                ("tpr_at_fpr_01", (0.2, 0.104, 0.3), 0.102, "fail", "20", "10.4 to 30", ABOVE),
                ("auc", (0.65, 0.60002, 0.7), 0.6, "fail", "0.650", "0.60002 to 0.700", ABOVE),
                ("gap", (0.1, -0.0004, 0.2), 0.5, "pass", "0.100", "0.000 to 0.200", WITHIN),
            )
        ),
        # Of a bound only the lower end is compared, so that its number may be above the limit.
        (
            lambda: _sheet._make_cell(
                limit("exact_rare_copies", "pass", interval=(0.01, -0.001, 0.025), at=0.0)
            ),
            {
                "kind": "ok",
                "number": "0.010",
                "span": "-0.001 to 0.025, not shown to be above the limit",
                "words": "",
            },
        ),
        (
            lambda: _sheet._make_cell(limit("auc", "fail")),
            {
                "kind": "bad",
                "number": "0.500",
                "span": "0.400 to 0.700",
                "words": "above the limit",
            },
        ),
        (
            lambda: _sheet._make_cell(limit("auc", "missing", interval=None)),
            {"kind": "info", "number": "", "span": "not measured", "words": ""},
        ),
        # Failures first, then the number that is nearest to its limit.
        (lambda: _sheet._rank_group([limit("a", "fail"), limit("b", "fail")]), (-2, 0.2)),
        (
            lambda: _sheet._rank_group(
                [limit("a", "pass"), limit("b", "pass", interval=(0.15, 0.1, 0.2), at=0.05)]
            ),
            (0, -0.05),
        ),
        (lambda: _sheet._rank_group([limit("a", "fail", interval=None)]), (0, 9.0)),
        # Of nine groups, the one whose number is furthest from its limit is left out.
        (
            lambda: [row["group"] for row in crowded["rows"]],
            ["All records", *(f"sex: {k}" for k in (8, 7, 6, 5, 4, 3, 2, 1))],
        ),
        (lambda: (crowded["n_more"], crowded["n_judged"]), (1, 10)),
        # Eight have room, and stay as they were.
        (
            lambda: [row["group"] for row in _sheet.make_matrix(groups[:8])["rows"]],
            [f"sex: {k}" for k in range(8)],
        ),
        (lambda: _sheet.make_matrix(groups[:8])["n_more"], 0),
        (
            lambda: [(one["what"], one["limit"], one["number"]) for one in crowded["single"]],
            [("less confidence on records it was not trained on", "0.2", "0.125")],
        ),
        (lambda: [row["group"] for row in both["rows"]], ["All records", "sex: f"]),
        (lambda: [name for name, _ in both["rows"][0]["cells"]], ["of 100", "AUC"]),
        (lambda: both["rows"][1]["cells"][0], ("of 100", None)),
        (lambda: both["rows"][1]["cells"][1][1]["span"], "not measured, or of too few records"),
        (lambda: [limit for _, limit in both["heads"]], ["20", "0.6"]),
        (
            lambda: [one["what"] for one in both["single"]],
            ["epsilon that private training states"],
        ),
        (lambda: (both["n_more"], both["n_judged"]), (0, 2)),
        (lambda: _sheet.make_matrix([limit("gap", "pass")])["rows"], []),
    ],
    "checks": [
        (lambda: _sheet.name_check("keeps_rows"), "Stored rows"),
        (lambda: _sheet.name_check("my_check"), "my check"),
        (lambda: _sheet._make_check(check("keeps_rows", "block"), {})["kind"], "bad"),
        (lambda: _sheet._make_check(check("keeps_rows", "review"), {})["kind"], "ask"),
        (lambda: _sheet._make_check(check("keeps_rows", "note"), {})["kind"], "info"),
        (lambda: _sheet._make_check(check("keeps_rows", "block", "pass"), {})["kind"], "ok"),
        (lambda: _sheet._make_check(check("keeps_rows", "note"), {})["text"], "First."),
        # Nothing is asked because of a check that passed.
        (
            lambda: [
                _sheet._make_check(check("k", level, status), {})["level"]
                for level in ("block", "review", "note")
                for status in ("fail", "missing", "pass")
            ],
            [
                *("blocks", "blocks", "would block"),
                *("needs a reason", "needs a reason", "would need a reason"),
                *["for information"] * 3,
            ],
        ),
        (
            lambda: _sheet._make_check(check("keeps_rows", "note", "missing"), {})["text"],
            "First. Second, and more.",
        ),
        (
            lambda: _sheet._make_check(check("rules", "note"), {})["text"],
            "Second, and more.",
        ),
        (lambda: _sheet._make_check(check("rules", "note", text="One"), {})["text"], "One."),
        (
            lambda: [
                _sheet._make_check(check("rules", level, status), {"rules": "why"})["reason"]
                for level, status in (("review", "fail"), ("review", "pass"), ("block", "fail"))
            ],
            ["why", None, None],
        ),
        (lambda: _sheet._make_check(check("rules", "review"), {})["reason"], None),
    ],
    "sentences": [
        (
            lambda: count("fail", "pass", "pass", "undecided", "not judged"),
            "Of 4 numbers, 1 is above its limit, 2 are within their limits and 1 is undecided.",
        ),
        (lambda: count("pass"), "Of 1 number, 1 is within its limit."),
        (lambda: _sheet._count_statuses({"limits": [limit("auc", "not judged")]}), []),
        (
            lambda: _sheet._count_for_and_against(
                {
                    "limits": [],
                    "checks": [
                        check("a", "block"),
                        check("b", "review"),
                        check("c", "review"),
                        check("d", "review", "pass"),
                        check("e", "note"),
                    ],
                }
            ),
            ["1 check blocks the release.", "Before a release, 2 checks need a reason."],
        ),
        # Sentences on single numbers and checks stand in the tables.
        (
            lambda: summarize("auc (all): 0.7 is high.", "k: few.", "To be measured: gap. Odd."),
            [*COUNTED, "To be measured: gap. Odd."],
        ),
        (lambda: summarize("All numbers are within their limits."), COUNTED),
        (lambda: summarize("To be measured: auc (all).", remarks=["a"]), [*COUNTED, "a"]),
        (lambda: summarize("Odd.", remarks=["a", "b"]), [*COUNTED, "Odd.", "a", "b"]),
        (
            lambda: _sheet._list_missing(["tpr_at_fpr_001"]),
            [
                "Not measured: members recognized when 0.1% of others are mistaken. Audit with "
                "10,000 non-members or more, and with 0.001 among the rates (--fpr)."
            ],
        ),
        # What one step measures is told with it once.
        (
            lambda: _sheet._list_missing(["linkability", "other", "inference"]),
            [
                "Not measured: how many attempts to link two parts of a record succeed because of "
                "the table; how many guesses of an attribute succeed because of the table. Audit "
                "the table with a holdout (--held-out) of 100 rows or more.",
                "Not measured: other. Pass it to recommend.",
            ],
        ),
        (
            lambda: tell(limit("inference", "undecided", n_needed=1300)),
            "Undecided: how many guesses of an attribute succeed because of the table. Audit with "
            "1,300 records or more.",
        ),
        (
            lambda: tell(limit("auc", "missing")),
            "Not measured: how often a member ranks higher (AUC). Audit with more members and "
            "non-members.",
        ),
        # The number of the reason is told, and not the first of its name.
        (
            lambda: tell(
                limit("auc", "undecided", "sex=f", n_needed=1200), limit("auc", "missing")
            ),
            "Undecided: how often a member ranks higher (AUC), for sex: f. Audit with 1,200 "
            "records or more of this group.",
        ),
        (
            lambda: tell(limit("tpr_at_fpr_01", "undecided")),
            "Undecided: members recognized when 1% of others are mistaken. Audit with more "
            "records.",
        ),
        (
            lambda: tell(
                limit("auc", "undecided"), reason="One of all. Give more rows. Then audit again."
            ),
            "Give more rows.",
        ),
    ],
    "days": [
        (lambda: _sheet.write_day("2026-11-03T10:00:00"), "3 November 2026"),
        (lambda: _sheet.write_day("soon"), "soon"),
        (lambda: name_subject({"answers": "a.csv", "synthetic": "b.csv"}, victim="SVC"), "a.csv"),
        (lambda: name_subject({"model": "m.skops", "answers": "a.csv"}), "m.skops"),
        (lambda: _sheet.name_subject({"settings": {}, "victim_name": "SVC"}, "a table"), "SVC"),
        (lambda: name_subject(None), "a table"),
        (lambda: _sheet._get_decision({"decision": None})["because"], ""),
        (lambda: _sheet._get_decision({"decision": {"because": "so"}}), {"because": "so"}),
    ],
}


@pytest.mark.parametrize("part", ANSWERS)
def test_answers_by_hand(part):
    expect_answers(ANSWERS[part])
