"""What a terminal shows of results: at most twenty lines, whatever they hold."""

import dataclasses
import warnings

import numpy as np
import pytest
from quick_audits import shrink_models
from sklearn.ensemble import RandomForestClassifier

from skmia import audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.disclosure import load_policy, load_rules, structural_checks
from skmia.disparity import DisparityTest
from skmia.games import membership_game, unlearning_game
from skmia.games.unlearning import NoUnlearning
from skmia.inspection import inspect_model, reconstruct_values
from skmia.metrics import list_members, paired_difference
from skmia.report import compare_formats, drift_test, find_duplicates, recommend_release
from skmia.synthetic import audit_table
from skmia.victims import read_state

MOST = 20
RECORDS, MEMBERSHIP = make_membership_problem(120, random_state=0)
RECORDS = RECORDS.with_fields(site=np.arange(len(RECORDS)) % 2)
MODEL = RandomForestClassifier(8, random_state=0)
MEMBERS = RECORDS[MEMBERSHIP == 1]
VICTIM = MODEL.fit(MEMBERS.X, MEMBERS.y)


@pytest.fixture(scope="module")
def report():
    settings = {"shadows": 4, "group": "site", "fprs": [0.1], "random_state": 0}
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        return audit(VICTIM, RECORDS, MEMBERSHIP, **settings)


def iter_parts(thing, seen):
    """A result and what it holds of the package, each once."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    names = [field.name for field in dataclasses.fields(thing)] if _is_value(thing) else ()
    for name in getattr(thing, "_fields", names):
        held = getattr(thing, name)
        parts = held.values() if isinstance(held, dict) else held
        parts = parts if isinstance(held, dict | list | tuple) else [held]
        for part in [held, *parts]:
            if type(part).__module__.startswith("skmia"):
                yield from iter_parts(part, seen)


def _is_value(thing):
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def count_lines(thing):
    """Lines of a terminal of 80 columns."""
    return sum(1 + len(line) // 80 for line in repr(thing).splitlines())


def test_an_audit_and_all_that_it_holds(report):
    lines = {type(part).__name__: count_lines(part) for part in iter_parts(report, set())}
    assert {"AuditReport", "FileFindings", "Findings", "Grounds", "Check"} <= set(lines)
    assert max(lines.values()) <= MOST, lines


MADE = {
    "inspection": lambda: inspect_model(VICTIM, RECORDS),
    "reconstruction": lambda: reconstruct_values(VICTIM),
    "structure": lambda: structural_checks(VICTIM, MEMBERS),
    "policy": lambda: load_policy("cautious"),
    "rules": lambda: load_rules("sacro_ml"),
    "state": lambda: read_state(VICTIM),
    "table": lambda: audit_table(*np.random.default_rng(0).normal(size=(3, 40, 2))),
    "duplicates": lambda: find_duplicates(RECORDS, MEMBERSHIP),
    "drift": lambda: drift_test(VICTIM, RECORDS, MEMBERSHIP, random_state=0),
    "formats": lambda: compare_formats(RECORDS, MEMBERSHIP),
    "members": lambda: list_members(np.arange(200.0)[::-1], np.arange(300.0)),
    "difference": lambda: paired_difference(MEMBERSHIP, MEMBERS_FIRST, NOISE),
    "unlearning": lambda: unlearning_game(
        MODEL, NoUnlearning(), RECORDS, n_estimators=4, n_targets=2, random_state=0
    ),
    "lira": lambda: LiRA(VICTIM, shadows=4, target_fpr=0.1).fit(RECORDS),
}
NOISE = np.random.default_rng(0).normal(size=len(MEMBERSHIP))
MEMBERS_FIRST = NOISE + MEMBERSHIP


@pytest.mark.parametrize("name", MADE)
@pytest.mark.usefixtures("quick_tables")
def test_a_result(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = MADE[name]()
    lines = {type(part).__name__: count_lines(part) for part in iter_parts(result, set())}
    assert max(lines.values()) <= MOST, lines


def test_a_recommendation(report):
    parts = iter_parts(recommend_release(report, VICTIM, RECORDS), set())
    assert max(map(count_lines, parts)) <= MOST


def test_a_game_and_a_test_of_groups():
    game = membership_game(MODEL, ThresholdAttack(), RECORDS, n_rounds=2, return_guesses=True)
    assert count_lines(game["guesses"][0]) <= MOST
    assert count_lines(DisparityTest(MODEL, LiRA(), n_rounds=2)) <= MOST


def test_a_short_result_shows_its_fields():
    shown = repr(find_duplicates(RECORDS, MEMBERSHIP))
    assert shown.startswith("Duplicates(") and "=" in shown
