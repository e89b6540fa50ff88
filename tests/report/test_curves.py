"""Curves and exposed records: those that an attack can judge."""

import numpy as np

from skmia.report._measure import compute_thin_curves, list_exposed, rank_attacks


def test_records_that_an_attack_cannot_judge_are_in_no_curve():
    rng = np.random.default_rng(0)
    membership = rng.permutation(200) % 2 == 1
    scores = rng.normal(size=200) + membership
    judged = rng.random(200) < 0.4
    spoiled = np.where(judged, scores, np.where(membership, -99.0, 99.0))
    part = {"a": spoiled}, membership, 0.95, None, {"a": judged}
    alone = {"a": scores[judged]}, membership[judged], 0.95
    assert compute_thin_curves(*part) == compute_thin_curves(*alone)
    ids = np.arange(200)
    exposed = list_exposed({"a": spoiled}, membership, ids, ids + 7, {"a": judged})
    again = list_exposed({"a": scores[judged]}, membership[judged], ids[judged], ids[judged] + 7)
    assert [row["record"] for row in exposed] == [row["record"] for row in again]
    assert all(row["position"] == row["record"] + 7 for row in exposed)
    assert [row["n_above"] for row in exposed] == [row["n_above"] for row in again]
    both = {"blind": np.zeros(200), "a": spoiled}
    everyone = np.ones(200, dtype=bool)
    assert list(rank_attacks(both, membership, {"a": judged, "blind": everyone})) == ["a", "blind"]
    assert list(rank_attacks(both, membership)) == ["blind", "a"]


def test_an_attack_that_can_judge_one_side_only_has_no_curve():
    membership = np.arange(20) % 2 == 1
    scores = {"a": np.arange(20.0), "b": np.arange(20.0)}
    judged = {"a": membership, "b": np.ones(20, dtype=bool)}
    assert list(rank_attacks(scores, membership, judged)) == ["b", "a"]
    assert [
        curve["attack"] for curve in compute_thin_curves(scores, membership, 0.95, None, judged)
    ] == ["b"]
