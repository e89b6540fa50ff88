"""Sides, rounds and verdicts of games, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from numpy import array, nan
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia.games import _mechanism, _membership, _unlearning_game, _unlearning_result
from skmia.games._unlearning_result import BOTH, FORGOTTEN, NEVER, RETAINED


def draw_sides(n, units, sizes, fills=False, seed=0):
    units = None if units is None else array(units)
    try:
        found = _membership._draw_sides(n, units, sizes, np.random.default_rng(seed), fills)
    except ValueError as error:
        return str(error)
    apart = len({*np.concatenate(found).tolist()}) == sum(map(len, found))
    ordered = all((np.diff(side) > 0).all() for side in found)
    whole = units is None or all(
        len({*units[side].tolist()} & {*units[other].tolist()}) == 0
        for k, side in enumerate(found)
        for other in found[:k]
    )
    return [len(side) for side in found], apart, ordered, whole


def fill_sides(sizes, fills):
    return _membership._fill_sides(array([1, 6, 2, 1, 2]), sizes, fills)


def score_game(estimator, predictions, y):
    game = NS(estimator=estimator, n_groups=2)
    inside = array([True, True, True, False, False])
    group = array([0, 0, 1, 0, 1])
    return _membership._scores(game, group, inside, array(predictions), array(y))


def read_sizes(*sizes, n=10):
    try:
        return _membership._read_sizes(*sizes, n)
    except ValueError as error:
        return str(error)[:24]


def number_units(fingerprint, groups=None):
    fields = {} if groups is None else {"group_by": array(groups)}
    records = type("R", (), {"__len__": lambda self: len(fingerprint)})()
    records.fingerprint, records.fields = array(fingerprint), fields
    return _membership._number_game_units(records)


def play_part(own):
    """Play two rounds, with one attack for all of them or one for each side."""
    before = _mechanism._draw_round, _mechanism._ask_attack
    asked = []

    def draw(game, seed):
        return (array([[seed]]), array([[seed + 10.0]])), (
            (seed, seed + 10) if own else (None, None)
        )

    def ask(attack, released):
        asked.append((attack, len(released)))
        return released.ravel() * 2, released.ravel() > 5

    _mechanism._draw_round, _mechanism._ask_attack = draw, ask
    try:
        return *_mechanism._play_part(NS(attack="shared"), [1.0, 2.0]), asked
    finally:
        _mechanism._draw_round, _mechanism._ask_attack = before


def read_target(target, X="table"):
    population = NS(X=np.arange(6.0).reshape(3, 2))
    try:
        return _mechanism._read_target(len if X == "function" else X, population, target)
    except ValueError as error:
        return str(error)[:38]


def draw_unlearned(units, forget, n_models=4, n_targets=2):
    units = array(units)
    try:
        sides = _unlearning_game.draw_sides(units, forget, n_models, n_targets, 0)
    except ValueError as error:
        return str(error)
    of_units = sides[:, np.unique(units, return_index=True)[1]]
    counts = {
        tuple((of_units[k] == side).sum() for side in (RETAINED, FORGOTTEN, NEVER))
        for k in range(len(sides))
    }
    members = of_units != NEVER
    pairs = [bool((members[k] != members[k + 1]).all()) for k in (0, 2, 4)]
    return sides.shape, [tuple(map(int, one)) for one in counts], pairs


def tabulate(pvalues, aucs, level=0.9):
    before = _unlearning_result.describe_separation
    _unlearning_result.describe_separation = lambda each, level, most: {
        "auc": each[1], "low": 0.0, "high": 1.0, "pvalue": each[0]
    }  # fmt: skip
    try:
        found = _unlearning_result.tabulate_separations(
            dict(zip(("a", "b", BOTH), zip(pvalues, aucs, strict=True), strict=True)), level, 0.1
        )
    finally:
        _unlearning_result.describe_separation = before
    return found["pvalue_adjusted"].tolist(), found["evidence"].tolist()


def control(pvalues, aucs):
    table = pd.DataFrame(
        {"auc": aucs, "pvalue": pvalues}, index=pd.Index(["a", "b", BOTH], name="attack")
    )
    return table.assign(pvalue_adjusted=0.0, evidence="none")


def check_controls(noop, retrain, level=0.5):
    found = _unlearning_result.check_controls(control(*noop), control(*retrain), level)
    return found["found"].tolist(), [*found.columns]


def choose_evidence(words, noop, retraining):
    attacks = pd.DataFrame({"evidence": words}, index=["a", BOTH])
    index = pd.MultiIndex.from_product(
        [["no-op", "retraining"], ["a", BOTH]], names=["control", "attack"]
    )
    controls = pd.DataFrame({"found": [*noop, *retraining]}, index=index)
    return _unlearning_result.choose_game_evidence(attacks, controls)


def check_attacks(attacks):
    try:
        return _unlearning_game.check_attacks(attacks)
    except ValueError as error:
        return str(error)[:32]


SIDES = array([[FORGOTTEN, RETAINED, NEVER, NEVER], [NEVER, FORGOTTEN, RETAINED, NEVER]])
BEFORE = array([[5.0, 9.0, 1.0, 2.0], [1.0, 6.0, 9.0, 3.0]])
AFTER = array([[0.0, 9.0, 1.0, 2.0], [1.0, 2.0, 9.0, 3.0]])


def measure(attacks=("population",), both=True):
    states = {"before": NS(values=BEFORE), "after": NS(values=AFTER), "retrained": NS(values=AFTER)}
    given = states, SIDES, np.arange(4), 0, list(attacks), both
    return _unlearning_game.measure_unlearning(*given)


def list_aucs(measured):
    return [
        {state: {name: each.aucs for name, each in found.items()} for state, found in part.items()}
        for part in (measured.forgotten, {"retained": measured.retained})
    ]


def judge():
    judged = _unlearning_result.judge_unlearning(measure(), 0.5, 0.9)
    assert judged["attacks"].index.tolist() == ["population", BOTH]
    aucs = judged["aucs"]
    return [*aucs.columns], aucs.to_numpy(), aucs.index.name, judged["n_unjudged"]


def measure_unjudged():
    """Measure U-LiRA, where three shadow models leave a record that none of them forgot."""
    sides = np.vstack([[[2, 2, 0, 1], [0, 0, 2, 0], [1, 1, 1, 0]], SIDES]).astype(np.int8)
    values = np.vstack([BEFORE * 2, BEFORE[:1], BEFORE])
    states = dict.fromkeys(("before", "after", "retrained"), NS(values=values))
    given = states, sides, np.arange(4), 3, ["population", "ulira"], False
    measured = _unlearning_game.measure_unlearning(*given)
    judged = [each.judged.tolist() for each in measured.forgotten["after"].values()]
    return judged, measured.n_unjudged


def find_sides(places=None):
    rounds = _membership.GameRounds(array([[1, 2, 0, 3, 1], [3, 3, 1, 2, 0]]), None, None)
    rounds = rounds if places is None else rounds.spread(array(places) > 0)
    return [
        [rounds.find(k, side).tolist() for side in ("train", "test", "reference")] for k in (0, 1)
    ]


def assemble(names=None, **further):
    outcomes = [
        {
            **dict.fromkeys(_membership._NUMBERS, 0.5),
            "tpr": 0.75 - k / 4,
            "fpr": 0.25 + k / 2,
            "group_tpr": array([1.0, 0.5]),
            "group_fpr": array([0.25, 0.5 * k]),
            "group_gap": array([0.0, k]),
            **{name: value + k for name, value in further.items()},
        }
        for k in (0, 1)
    ]
    return _membership._assemble(outcomes, names)


GUESSES = ("guesses", [3, 4])
STATES = "before", "after", "retrained"
NAMES = [*_unlearning_game.ATTACKS]
LEVEL = max(0.5, _unlearning_result.CONTROL_LEVEL)
EDGE = (1 - LEVEL) / 2

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _membership: [
        (lambda: draw_sides(10, None, [4, 3, 2]), ([4, 3, 2], True, True, True)),
        (
            lambda: draw_sides(9, [0, 0, 0, 1, 1, 1, 2, 2, 2], [4, 3, 3]),
            ([3, 3, 3], True, True, True),
        ),
        (
            lambda: draw_sides(9, [0, 0, 0, 1, 1, 1, 2, 2, 2], [2, 3, 3]),
            "train_size leaves no record on that side; there are 9 records in 3 indivisible "
            "groups, the largest of which has 3.",
        ),
        (
            # A person of 5 of 11 records fits into the first side alone, which all others fill.
            lambda: [
                draw_sides(11, [0] * 5 + [*range(1, 7)], [6, 3, 2], True, seed) for seed in range(9)
            ],
            [([6, 3, 2], True, True, True)] * 9,
        ),
        (
            lambda: draw_sides(11, [0] * 7 + [*range(1, 5)], [6, 3, 2], True),
            "test_size leaves no record on that side; there are 11 records in 5 indivisible "
            "groups, the largest of which has 7.",
        ),
        (
            lambda: fill_sides([4, 6], False),
            [0, 1, -1, -1, -1],
        ),
        (lambda: fill_sides([4, 6], True), [0, 1, 0, 0, -1]),
        (lambda: fill_sides([3, 5], True), [0, -1, 0, 1, 1]),
        (
            lambda: draw_sides(9, None, [3, 0, 3]),
            "test_size leaves no record on that side; there are 9 records.",
        ),
        (
            lambda: score_game(LogisticRegression(), [0, 1, 1, 0, 1], [0, 0, 1, 1, 1]),
            {
                "train_score": 2 / 3,
                "test_score": 0.5,
                "worst_case": 1 / 6,
                "group_gap": [0.5 - 0.0, 1.0 - 1.0],
            },
        ),
        (
            lambda: score_game(LogisticRegression(), [1, 1, 1, 0, 1], [0, 0, 1, 0, 1])[
                "worst_case"
            ],
            2 / 3,
        ),
        (
            lambda: score_game(LinearRegression(), [1.0, 2, 3, 0, 0], [1.0, 2, 4, 1, 3]),
            {
                "train_score": 1 - 1 / (14 / 3),
                "test_score": 1 - 10 / 2,
                "worst_case": nan,
                "group_gap": [nan, nan],
            },
        ),
        (lambda: read_sizes(3, 0.5, 2), [3, 5, 2]),
        (lambda: read_sizes(0.3, 0.3, 0.4), [3, 3, 4]),
        (lambda: read_sizes(0.29, 0.3, 0.4), [2, 3, 4]),
        (lambda: read_sizes(5, 5, 1), "The three sets are disjo"),
        (lambda: number_units([5, 7, 9]), None),
        (lambda: number_units([5, 7, 5]), [0, 1, 0]),
        (lambda: number_units([5, 7, 9], ["a", "b", "b"]), [0, 1, 1]),
        (lambda: _membership._read_groups(None, [1, 2]), ([None], [0, 0])),
        (find_sides, [[[0, 4], [1], [3]], [[2], [3], [0, 1]]]),
        (lambda: find_sides([0, 1, 1, 0, 1, 1, 0, 1]), [[[1, 7], [2], [5]], [[4], [5], [1, 2]]]),
        (
            lambda: _membership._scatter_values(array([1, 0]), array([3, 1]), NS(records=[0] * 5)),
            [-1, 0, -1, 1, -1],
        ),
        (lambda: assemble()["vulnerability"], [0.5, -0.25]),
        (lambda: [*assemble()], _membership._NUMBERS),
        (lambda: assemble(["a", "b"])["group_vulnerability"], {"a": [0.75, 0.75], "b": [0.5, 0.0]}),
        (lambda: assemble(["a", "b"])["group_gap"], {"a": [0.0, 0.0], "b": [0, 1]}),
        (lambda: assemble(["a", "b"])["group_tpr"].columns.name, "group"),
        (lambda: assemble(["a", "b"])["group_fpr"].index.name, "round"),
        (lambda: [*assemble(None, guesses=3, attack=5).items()][9:], [("attack", [5, 6]), GUESSES]),
    ],
    _mechanism: [
        (
            lambda: play_part(False),
            (
                [[2.0, 22.0], [4.0, 24.0]],
                [[False, True], [False, True]],
                [("shared", 4)],
            ),
        ),
        (
            lambda: play_part(True),
            (
                [[2.0, 22.0], [4.0, 24.0]],
                [[False, True], [False, True]],
                [(1.0, 1), (11.0, 1), (2.0, 1), (12.0, 1)],
            ),
        ),
        (lambda: read_target(2), [4.0, 5.0]),
        (lambda: read_target(0), [0.0, 1.0]),
        (lambda: read_target(3), "target must be the number of one of 3 "),
        (lambda: read_target(-1), "target must be the number of one of 3 "),
        (lambda: read_target(0, "function"), "target is the number of a row, but X i"),
        (lambda: read_target([7.0, 8.0]), [7.0, 8.0]),
        (lambda: read_target([7.0, 8.0, 9.0]), "target must be a row of 2 features, as"),
        (lambda: read_target([7.0, 8.0, 9.0], "function"), [7.0, 8.0, 9.0]),
        (lambda: read_target([[7.0, 8.0]]), "target must be one row; got an array o"),
    ],
    _unlearning_result: [
        (
            lambda: draw_unlearned(range(20), 0.3),
            ((6, 20), [(7, 3, 10)], [True, True, False]),
        ),
        (
            lambda: draw_unlearned([*range(19), 18], 0.3),
            ((6, 20), [(6, 3, 10)], [False, False, False]),
        ),
        (
            lambda: draw_unlearned(range(20), 0.1),
            "forget=0.1 of the 10 training records of a model is 1; at least 2 must be forgotten "
            "and 2 must stay.",
        ),
        (lambda: draw_unlearned(range(20), 0.2)[1], [(8, 2, 10)]),
        (lambda: draw_unlearned(range(20), 0.8)[1], [(2, 8, 10)]),
        (lambda: draw_unlearned(range(20), 0.9)[:14], "forget=0.9 of "),
        (
            lambda: draw_unlearned([0, 0, 1, 1, 2, 2], 0.5)[:62],
            "forget=0.5 of the 1 training records of a model in 3 indivisible groups"[:62],
        ),
        # Of two tests together, beside one that is of its own.
        (
            lambda: tabulate([0.045, 0.2, 0.09], [0.9, 0.4, 0.6]),
            ([0.09, 0.2, 0.09], ["leak", "none", "leak"]),
        ),
        (
            lambda: tabulate([0.04, 0.06, 0.11], [0.4, 0.5, 0.9]),
            ([0.08, 0.08, 0.11], ["reversed", "reversed", "none"]),
        ),
        (
            lambda: check_controls(
                ([EDGE, EDGE * 1.01, EDGE * 2], [0.9, 0.9, 0.9]), ([1.0, 1.0, 1.0], [0.9, 0.9, 0.9])
            ),
            ([True, False, True, False, False, False], ["auc", "pvalue", "found"]),
        ),
        (
            lambda: check_controls(
                ([EDGE, 0.0, EDGE * 2.01], [0.5, 0.4, 0.9]),
                ([EDGE, EDGE * 1.01, 0.0], [0.4, 0.4, 0.5]),
            )[0],
            [False, False, False, True, False, True],
        ),
        (lambda: choose_evidence(["leak", "none"], [True, True], [False, False]), "leak"),
        (lambda: choose_evidence(["reversed", "none"], [True, True], [False, False]), "reversed"),
        (lambda: choose_evidence(["none", "leak"], [True, True], [False, False]), "none"),
        (lambda: choose_evidence(["none", "leak"], [False, True], [False, False]), "unknown"),
        (lambda: choose_evidence(["leak", "none"], [True, True], [True, False]), "unknown"),
        (lambda: choose_evidence(["leak", "none"], [True, True], [False, True]), "leak"),
    ],
    _unlearning_game: [
        (
            lambda: list_aucs(measure()),
            [
                {
                    "before": {"population": [1.0, 1.0], BOTH: [0.5, 0.5]},
                    "after": {"population": [0.0, 0.5], BOTH: [1.0, 1.0]},
                    "retrained": {"population": [0.0, 0.5], BOTH: [1.0, 1.0]},
                },
                {"retained": {"before": [1.0, 1.0], "after": [1.0, 1.0]}},
            ],
        ),
        (lambda: [*measure(both=False).forgotten["after"]], ["population"]),
        (
            judge,
            (
                [
                    *((state, name) for state in STATES for name in ("population", BOTH)),
                    *((state, "retained") for state in STATES[:2]),
                ],
                [[1, 0.5, 0, 1, 0, 1, 1, 1], [1, 0.5, 0.5, 1, 0.5, 1, 1, 1]],
                "target",
                0,
            ),
        ),
        (measure_unjudged, ([[True] * 4, [True, True, True, False]], 1)),
        (lambda: check_attacks(NAMES[0]), NAMES[:1]),
        (lambda: check_attacks([NAMES[1], NAMES[0], NAMES[1]]), [NAMES[1], NAMES[0]]),
        (lambda: check_attacks([]), "attacks must name one or more of"),
        (lambda: check_attacks([NAMES[0], "x"]), "attacks must name one or more of"),
        (lambda: check_attacks([NAMES[0], 3]), "attacks must name one or more of"),
        (lambda: check_attacks(3), "attacks must name one or more of"),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
