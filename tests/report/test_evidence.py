"""What an audit may be taken for: no more than the numbers and the checks bear."""

import numpy as np
import pandas as pd
import pytest

from skmia.report._checks import NOT_RUN, PASSED, WARNING, Check
from skmia.report._evidence import find_evidence, find_verdict

NAMES = ("blind baseline", "difficulty", "negative control", "positive control", "duplicates")


def make_checks(**statuses):
    return {
        name: Check(name, statuses.get(name.replace(" ", "_"), PASSED), "text") for name in NAMES
    }


def make_frame(*rows):
    names = ["attack", "scope", "group", "estimate", "low", "high"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(metric="auc", status="ok", max_fpr=np.nan, fpr=np.nan)


def make_null(*rows):
    names = ["attack", "metric", "max_fpr", "pvalue_adjusted", "pvalue_below"]
    return pd.DataFrame(rows, columns=names)


NOTHING = make_frame(["a", "overall", "all", 0.51, 0.49, 0.53])
NULL = make_null(["a", "auc", np.nan, 0.2, 0.9])
MUCH = make_frame(["a", "overall", "all", 0.71, 0.69, 0.73])
FOUND = make_null(["a", "auc", np.nan, 0.001, 1.0])


def judge(frame, null, **statuses):
    checks = make_checks(**statuses)
    evidence = find_evidence(frame, null, checks, 0.95)
    return evidence, find_verdict(frame, null, checks, evidence, 0.95)


def test_nothing_found_claims_no_absence():
    evidence, verdict = judge(NOTHING, NULL)
    assert evidence == "none"
    assert "No attack found evidence of leakage" in verdict
    assert "no proof of its absence" in verdict


def test_leakage_is_named_with_its_interval_and_its_p_value():
    evidence, verdict = judge(MUCH, FOUND)
    assert evidence == "leak"
    assert "a finds leakage" in verdict and "0.710 [0.690, 0.730] (0.5 is chance, p = 0.002)" in (
        verdict
    )


def test_chance_is_judged_for_all_attacks_together():
    # One of many intervals lies above one half, which the corrected p-value takes into account.
    # Half of the 5% is for numbers below chance.
    frame = make_frame(*([str(k), "overall", "all", 0.53, 0.501, 0.56] for k in range(4)))
    assert judge(frame, make_null(*([str(k), "auc", np.nan, 0.03, 1.0] for k in range(4))))[0] == (
        "none"
    )


@pytest.mark.parametrize("name", ["blind_baseline", "difficulty", "negative_control"])
def test_records_that_differ_by_themselves_are_no_leakage(name):
    evidence, verdict = judge(MUCH, FOUND, **{name: WARNING})
    assert evidence == "shift"
    assert "differ by themselves" in verdict and "no evidence of leakage" in verdict
    assert judge(NOTHING, NULL, **{name: WARNING})[0] == "shift"


def test_nothing_is_said_where_nothing_could_be_found():
    evidence, verdict = judge(NOTHING, NULL, positive_control=WARNING)
    assert evidence == "unknown"
    assert "nothing can be said" in verdict
    assert judge(NOTHING, NULL, positive_control=NOT_RUN)[0] == "none"
    evidence, verdict = judge(NOTHING, NULL, duplicates=WARNING)
    assert evidence == "unknown" and "members and non-members at once" in verdict
    assert judge(MUCH, FOUND, duplicates=WARNING)[0] == "leak"
    assert judge(MUCH, FOUND, positive_control=WARNING)[0] == "leak"


def test_groups_that_stand_out_are_counted():
    frame = make_frame(
        ["a", "overall", "all", 0.51, 0.49, 0.53],
        ["a", "race", "x", 0.60, 0.55, 0.65],
        ["a", "race", "y", 0.50, 0.45, 0.55],
    )
    assert "1 of 2 intervals of single groups lie above 0.5" in judge(frame, NULL)[1]


def test_an_attack_that_is_turned_round_is_named_and_not_turned():
    frame = make_frame(["a", "overall", "all", 0.3, 0.2, 0.4])
    evidence, verdict = judge(frame, make_null(["a", "auc", np.nan, 1.0, 0.001]))
    assert evidence == "leak"
    assert "ranks them below: its AUC is 0.300" in verdict and "sign turned round" in verdict


def test_few_members_that_stand_out_are_leakage():
    rate = pd.DataFrame(
        {
            "attack": ["a"],
            "scope": "overall",
            "group": "all",
            "metric": "tpr",
            "status": "ok",
            "max_fpr": 0.01,
            "fpr": 0.0099,
            "estimate": 0.05,
            "low": 0.045,
            "high": 0.055,
        }
    )
    frame = pd.concat([NOTHING, rate])
    null = make_null(["a", "auc", np.nan, 0.2, 0.9], ["a", "tpr", 0.01, 0.001, np.nan])
    evidence, verdict = judge(frame, null)
    assert evidence == "leak"
    assert "5.00% [4.50, 5.50] of the members while it accuses 0.99% of the others" in verdict


def test_too_few_records_to_measure_anything():
    frame = NOTHING.assign(status="too few records", estimate=np.nan)
    evidence, verdict = judge(frame, NULL)
    assert evidence == "unknown" and "too few" in verdict
