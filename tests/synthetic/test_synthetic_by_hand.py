"""Small functions of audits of tables at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array, inf, nan

from skmia.synthetic import (
    _adversarial_accuracy,
    _collapse,
    _copy_test,
    _dp_wgan,
    _generator_attack,
    _generators,
    _kinds,
    _neighbors,
    _risks,
    _singling_out,
    critic_bounds,
)
from skmia.synthetic._table import (
    _audit,
    _columns,
    _evidence,
    _measure,
    _people,
    _person_table,
    _report,
)

frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
row = dict(
    estimate=0.25,
    low=0.125,
    high=0.5,
    attack=0.5,
    control=0.25,
    pvalue_holm=0.02,
    name="linkability",
    leak=True,
)


PERSON = np.repeat(np.arange(40), 4)


def trust(*checks, evidence="leak"):
    checks = [{"name": name, "status": status, "text": "t"} for name, status in checks]
    found = _report.list_table_trust({"checks": checks, "evidence": evidence})
    rows = [(one["status"], one["words"]) for one in found["rows"]]
    return found["line"], rows, found["bad"], found["not_run"]


def choose_metric(values):
    return _audit._choose_metric(pd.Series(values), np.asarray(values))[0]


def score_by(held, answers, column):
    _, score = _audit._choose_metric(pd.Series(column), array(column))
    return score(array(held), array(answers))


def draw_persons():
    """Draw persons of one, two and three rows: all rows of a person as often, in their order."""
    persons, rng, whole = array([7, 5, 5, 6, 6, 6]), np.random.RandomState(0), True
    n_drawn, seen = [], set()
    for _ in range(50):
        times = np.bincount(_audit._draw_bootstrap(6, persons, rng), minlength=6)
        whole &= times[1] == times[2] and times[3] == times[4] == times[5]
        n_drawn.append(times[0] + times[1] + times[3])
        seen |= {*times}
    return [bool(whole), set(n_drawn) == {3}, max(seen) == 3]


def answer_target(y, metric):
    """Answer for rows of a and b of a model of rows that alternate, by a number and a word."""
    n = len(y)
    table = pd.DataFrame({"x": [0.0, 1.0] * (n // 2), "w": ["u", "v"] * (n // 2), "t": y})
    held = pd.DataFrame({"x": ["0.0", "1.0"], "w": ["u", "v"], "t": ["a", "b"]})
    given = table, array(y), held, array(["a", "b"]), "t", metric, 0
    return _audit._fit_target_model(*given)


def list_conflicts(schema="a schema", **settings):
    settings = {"privacy": None, "target_epsilon": None, "noise_multiplier": None} | settings
    made = _dp_wgan.DPWassersteinGAN(schema=schema, **settings)
    return [*made._list_conflicting_parameters()]


MINUTES = pd.date_range("2020-01-01", periods=99, freq="7min")
DAYS = pd.date_range("2020-01-01", periods=99, freq="D")
TURNED = MINUTES[[*range(50, 99), *range(50)]]


def codes(n):
    return [f"ab-{k:04d}" for k in range(n)]


def texts(n):
    return [f"{'abcdefghij'[k % 10]} and {'klmnopqrst'[k // 10]}" for k in range(n)]


def recognize(values, *more, name="a"):
    return _columns._recognize_texts(pd.Series([*values, *more]), name)


def recognize_times(values, name="a"):
    return _columns._recognize_times(pd.Series(values), name)


def measure_membership(people):
    """Return the estimate of an attack by distances, and how many members and others it has."""
    rng = np.random.default_rng(0)
    real, held = (pd.DataFrame({"a": rng.normal(size=n)}) for n in (6, 8))
    settings = {"random_state": 0, "confidence_level": 0.95}
    with mock.patch.object(_measure, "ATTACKS", {"d": "distance_difference"}):
        found = _measure.measure_row_membership([real, held, real], settings, 9, people)["d"]
    return found["estimate"], found["n_attacks"], found["n_controls"]


def spell_names(*parts):
    found = _columns.spell_identifiers(dict(enumerate(map(pd.Series, parts))))
    return tuple(names.tolist() for names in found.values())


def judge_split(name="p", is_real=PERSON < 20, **others):
    return _people._judge_split({name: PERSON, **others}, is_real, [name])


def split_persons(*sizes):
    """Number persons by groups of so many."""
    return np.repeat(np.arange(len(sizes)), sizes)[PERSON]


def change_persons(n):
    """Number persons by fifths, of which n have another number in one of their rows."""
    fifth = PERSON % 5
    fifth[np.arange(n) * 4] += 1
    return fifth


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
def list_risk_sizes(*shapes):
    tables = [pd.DataFrame(np.zeros(shape)) for shape in shapes]
    return [(name, risk.n_attacks) for name, risk in _measure._list_risks({}, tables, None)]


ANSWERS = {
    _adversarial_accuracy: [
        (
            lambda: _adversarial_accuracy.take_first(
                array([[1.0, 2.0, 3.0, 4.0]]), array([[[0, 1, 0, 1], [1, 1, 0, 0]]], dtype=bool), 2
            ),
            [[[2.0, 4.0], [1.0, 2.0]]],
        ),
        (lambda: _adversarial_accuracy.check_sizes([range(5), range(3), range(4)], "abc"), 3),
    ],
    _collapse: [
        (lambda: _collapse._is_single("ab"), True),
        (lambda: _collapse._is_single(b"ab"), True),
        (lambda: _collapse._is_single(3), True),
        (lambda: _collapse._is_single([3]), False),
        (lambda: _collapse._equals(array([1, 2, 1]), np.int64(1)), [True, False, True]),
        (lambda: _collapse._equals(array(["a", "b"], dtype=object), "b"), [False, True]),
    ],
    _copy_test: [
        (
            lambda: _copy_test._count_occurrences(
                array([1.0, nan, 3.0]), array([1.0, 1.0, nan, nan, nan, 4.0])
            ),
            [2, 3, 0],
        ),
        (lambda: _copy_test._count_occurrences(array([1, 9, 3]), array([1, 3, 3, 4])), [1, 0, 2]),
        (
            lambda: (
                _copy_test._hash_column(array([0.0, nan]), 1)
                == _copy_test._hash_column(array([-0.0, nan]), 1)
            ),
            [True, True],
        ),
        (
            lambda: (
                _copy_test._hash_column(array([1.0]), 1) == _copy_test._hash_column(array([1.0]), 2)
            ),
            [False],
        ),
    ],
    _dp_wgan: [
        (
            lambda: _dp_wgan._codes(
                pd.Series(["b", None, "a"], dtype=object), pd.Index(["a", "b", None]), "c"
            ),
            [1.0, 2.0, 0.0],
        ),
        (lambda: _dp_wgan._is_set([1], 1), True),
        # What a schema says is not given as well, not even as arrays.
        (lambda: list_conflicts(), []),
        (
            lambda: list_conflicts(lower=np.zeros(2)),
            ["The schema has what lower says; leave it out."],
        ),
        (lambda: list_conflicts(upper=2.0), ["The schema has what upper says; leave it out."]),
        (
            lambda: list_conflicts(columns=["a"]),
            ["The schema has what columns says; leave it out."],
        ),
        (lambda: list_conflicts(schema=None, lower=np.zeros(2), upper=2.0), []),
        (
            lambda: list_conflicts(noise_multiplier=1.0),
            ["privacy=None takes neither target_epsilon nor noise_multiplier."],
        ),
        (
            lambda: list_conflicts(target_epsilon=1.0),
            ["privacy=None takes neither target_epsilon nor noise_multiplier."],
        ),
        (
            lambda: list_conflicts(critic_layers=()),
            ["critic_layers must be widths of at least one hidden layer; got ()."],
        ),
        (
            lambda: list_conflicts(generator_layers=[]),
            ["generator_layers must be widths of at least one hidden layer; got []."],
        ),
        (lambda: _dp_wgan._is_set(1, 1), False),
        (lambda: _dp_wgan._is_set(2, 1), True),
    ],
    _generator_attack: [
        (lambda: _generator_attack._choose_width(array([1.0, 2.0, 3.0, 10.0])), 1.52702788),
        (lambda: _generator_attack._choose_width(array([1.0, 1.0, 1.0, 1.0, 10.0])), 2.34828611),
        (lambda: _generator_attack._choose_width(array([1.0, 1.0])), 1.0),
    ],
    _generators: [
        (lambda: _generators._name_sdv_type(np.dtype(bool)), "boolean"),
        (lambda: _generators._name_sdv_type(np.dtype(float)), "numerical"),
        (lambda: _generators._name_sdv_type(pd.CategoricalDtype([True, False])), "categorical"),
        (lambda: _generators._name_sdv_type(np.dtype(object)), "categorical"),
    ],
    _neighbors: [
        (lambda: _neighbors.is_number_dtype(np.dtype(bool)), False),
        (lambda: _neighbors.is_number_dtype(np.dtype(int)), True),
        (lambda: _neighbors.draw_places(3, 3, None), [0, 1, 2]),
        (lambda: _neighbors._as_floats(np.zeros(1, dtype=np.float32)).dtype.str, "<f8"),
        (lambda: _neighbors._as_floats(np.zeros(1, dtype=np.uint64)).dtype.str, "<f8"),
        (lambda: _neighbors._as_floats(np.zeros(1, dtype=np.int64)).dtype.str, "<i8"),
        (
            lambda: _neighbors.is_farther(array([1.0, 2.0, 3.0]), array([2.0, 2.0, 2.0]), 0.5),
            [0.0, 0.5, 1.0],
        ),
    ],
    _risks: [
        (lambda: _risks.wilson(0, 0, 0.95), (0.0, 1.0)),
        (lambda: _risks.wilson(5, 5, 0.95), (0.565517535, 1.0)),
        (lambda: _risks.wilson(0, 4, 0.95), (0.0, 0.489890836)),
        (lambda: _risks.wilson(3, 10, 0.9), (0.126876584, 0.558300204)),
        (
            lambda: _risks._ratio_limits(0.5, 0.8, (0.4, 0.6), (0.7, 0.9)),
            (0.486018547, 0.783822723),
        ),
        (lambda: _risks._ratio_limits(0.5, 0.4, (0.4, 0.6), (0.0, 0.9)), (0.0, inf)),
        (lambda: _risks.permute_rows(array([1.0, 2.0]), array([0.0]), 0, None), nan),
        (
            lambda: _risks.permute_rows(
                array([1.0, 1.0]), array([1.0]), 9, np.random.RandomState(0)
            ),
            1.0,
        ),
        (
            lambda: _risks._log_choose(array([4, 2, 3, 4]), array([2, 3, -1, 4])),
            [1.79175947, -inf, -inf, 0.0],
        ),
        (
            lambda: _risks.draw_targets((array([1, 2]),), array([3, 4]), 2, None),
            (([1, 2],), [3, 4]),
        ),
        (lambda: _risks.excess_risk(300, 500, 100, 400), (0.466666667, 0.398437409, 0.528068225)),
        (lambda: _risks.excess_risk(0, 0, 1, 2), (nan, nan, nan)),
        (lambda: _risks.excess_risk(1, 2, 0, 0), (nan, nan, nan)),
        (lambda: _risks.excess_risk(1, 2, 2, 2), (nan, nan, nan)),
        (lambda: _risks.excess_risk(1, 2, 1, 2), (0.0, -4.66493427, 0.823475445)),
    ],
    _singling_out: [
        (lambda: _singling_out._is_one(array([3, 3])), True),
        (lambda: _singling_out._is_one(array([3, 4])), False),
        (lambda: _singling_out._is_one(array([])), False),
        (
            lambda: _singling_out._pvalue(
                array([[1, 0], [1, 0], [0, 1]]),
                array([[1, 3], [0, 0], [5, 5]]),
                array([True, True, False]),
            ),
            0.666666667,
        ),
        (lambda: _singling_out._pvalue(array([[1, 0]]), np.zeros((1, 0)), array([True])), nan),
        (lambda: _singling_out._pvalue(array([[1, 0]]), np.zeros((1, 2)), array([False])), nan),
    ],
    _audit: [
        # Numbers of more than so many values are a regression, words classes.
        (lambda: choose_metric(np.arange(_audit._MOST_CLASSES + 1.0)), "R2"),
        (lambda: choose_metric(np.arange(_audit._MOST_CLASSES * 1.0)), "accuracy"),
        (lambda: choose_metric([1.0, 2.0, 1.0]), "AUC"),
        (lambda: choose_metric(["a", "b", "c"]), "accuracy"),
        (lambda: choose_metric([f"{k}" for k in range(99)]), "accuracy"),
        (lambda: score_by([0.0, 2.0, 4.0], [0.0, 2.0, 5.0], range(99)), 1 - (1 / 3) / (8 / 3)),
        (lambda: score_by([2.0, 2.0], [2.0, 2.0], range(99)), 1.0),
        (lambda: score_by(["a", "b", "c"], ["a", "c", "c"], list("abc")), 2 / 3),
        # The class that is last has the higher scores in two of three pairs.
        (lambda: score_by(["a", "b", "a", "a"], [0.1, 0.4, 0.2, 0.5], ["a", "b"]), 2 / 3),
        (lambda: score_by(["a", "a"], [0.1, 0.4], ["a", "b"]), nan),
        (lambda: score_by(["b", "b"], [0.1, 0.4], ["a", "b"]), nan),
        # As many rows as there are, or the rows of as many persons.
        (lambda: len(_audit._draw_bootstrap(5, None, np.random.RandomState(0))), 5),
        (lambda: draw_persons(), [True, True, True]),
        # A model of constant classes says the same of all; columns that are numbers in one table
        # alone are words.
        (lambda: answer_target(["a", "a"], "AUC"), [0.0, 0.0]),
        (lambda: answer_target(["a", "a"], "accuracy"), ["a", "a"]),
        (lambda: answer_target(["a", "c"] * 20, "AUC"), [0.0, 0.0]),
        (lambda: answer_target(["a", "b"] * 20, "accuracy"), ["a", "b"]),
        (lambda: [one > 0.5 for one in answer_target(["a", "b"] * 20, "AUC")], [False, True]),
        (lambda: answer_target([1.0, 3.0] * 20, "R2"), [1.0, 3.0]),
        (
            lambda: _audit._tell_sample([range(3000), range(7)]),
            "Similarity is of at most 10,000 rows of each table, drawn at random.",
        ),
        (
            lambda: _audit._tell_sample([range(10**6), range(7), range(8)]),
            "Linkability, inference and near copies are of "
            "2,000 of 1,000,000 training rows and 8 of 8 held-out rows, drawn "
            "at random, and search all synthetic rows; privacy loss and membership compare as "
            "many with 7 of 7 synthetic rows; exact copies are looked for in all rows.",
        ),
        (lambda: _audit._join_names(["a", "b", "c", "d"]), "'a', 'b', 'c', 'd'"),
        (
            lambda: _audit._join_names(["a", "b", "c", "d", "e", "f"]),
            "'a', 'b', 'c', 'd' and 2 more columns",
        ),
        (
            lambda: _measure.check_shift(None, _evidence.ROWS),
            {"status": "not run", "text": "There are too few rows.", "interval": None},
        ),
        (
            lambda: _measure.check_shift((0.55, 0.5, 0.6), _evidence.PERSONS),
            {
                "status": "passed",
                "text": (
                    "A model without the synthetic rows distinguishes training persons "
                    "from the holdout with AUC 0.550 [0.500, 0.600]; a warning is given if "
                    "the interval lies above 0.5."
                ),
                "interval": [0.55, 0.5, 0.6],
            },
        ),
        (
            lambda: _measure.check_shift((0.56, 0.51, 0.6), _evidence.ROWS),
            {
                "status": "warning",
                "text": (
                    "A model without the synthetic rows distinguishes training rows from "
                    "the holdout with AUC 0.560 [0.510, 0.600]."
                ),
                "interval": [0.56, 0.51, 0.6],
            },
        ),
        (
            lambda: [
                (found["status"], found["text"][:35])
                for found in (
                    _audit._check_people(one, _evidence.ROWS)
                    for one in (
                        NS(n_shared=2, n_left_out=(3, 4)),
                        NS(n_shared=0, columns=("a",)),
                        NS(n_shared=0, columns=(), repeated=("a", "b"), share_repeated=0.5),
                        NS(n_shared=0, columns=(), repeated=(), groups=None),
                        NS(n_shared=0, columns=(), repeated=(), groups={}),
                    )
                )
            ],
            [
                ("warning", "2 persons have rows in both tables;"),
                ("warning", "Rows that agree in 'a' are in one t"),
                ("warning", "50% of the real rows agree with oth"),
                ("passed", "No combination of values repeats as"),
                ("passed", "All rows of a person are in one tab"),
            ],
        ),
        (
            lambda: _audit._divide_gain(1.0, 0.0, None, 0.95),
            {"estimate": nan, "low": nan, "high": nan},
        ),
        (
            lambda: _audit._divide_gain(
                1.0, 2.0, array([[1.0, 2.0], [2.0, 2.0], [0.0, 2.0]]), 0.95
            ),
            {"estimate": 0.5, "low": -0.479981992, "high": 1.47998199},
        ),
    ],
    _columns: [
        # Of a hundred texts one may repeat, if nine of ten are codes.
        (lambda: recognize(codes(100)), "codes"),
        (lambda: recognize(codes(99), "x1234567"), "codes"),
        (lambda: recognize(codes(97), "x", "x", "x"), None),
        (lambda: recognize(codes(99), codes(99)[0]), "codes"),
        (lambda: recognize(codes(98), *codes(98)[:2]), None),
        (lambda: recognize(texts(99), texts(99)[0]), None),
        (lambda: recognize(texts(100)), "texts that never repeat"),
        (lambda: recognize(texts(100), name="patient_id"), "codes"),
        (lambda: recognize(codes(90), *texts(10)), "texts that never repeat"),
        (lambda: recognize(codes(91), *texts(9)), "codes"),
        # Long numbers are codes, and short ones if they are counted.
        (lambda: recognize([f"{10**6 + 7919 * k}" for k in range(100)]), "codes"),
        (lambda: recognize([f"{10**5 + 7919 * k}" for k in range(100)]), None),
        (lambda: recognize([f"{10**5 + k}" for k in range(100)]), "numbers that count rows"),
        (
            lambda: recognize([f"{10**6 + 7919 * k}" for k in range(98)], "1000000", "1000000"),
            None,
        ),
        # Times of creation have times of the day, and an order or a name.
        (lambda: recognize_times(MINUTES), "times of creation"),
        (lambda: recognize_times(MINUTES[::-1]), "times of creation"),
        (lambda: recognize_times(TURNED), None),
        (lambda: recognize_times(TURNED, "created_at"), "times of creation"),
        (lambda: recognize_times(MINUTES.normalize(), "created_at"), None),
        (lambda: recognize_times(DAYS, "created_at"), None),
        (lambda: recognize_times(MINUTES.append(MINUTES[:1]), "created"), "times of creation"),
        (lambda: recognize_times(MINUTES.append(MINUTES[:2]), "created"), None),
        (lambda: _columns._recognize_numbers(array([1.0, 2.5]), "a"), None),
        (lambda: _columns._recognize_numbers(array([1.0, 1.0]), "id"), None),
        (lambda: _columns._recognize_numbers(array([1.0, 9.0]), "id"), "numbers that count rows"),
        (lambda: _columns._recognize_numbers(array([1.0, 9.0]), "age"), None),
        (lambda: _columns._recognize_numbers(array([1.0, inf]), "id"), None),
        # Twenty numbers of 23 would repeat eight times, which those of 24 do not quite.
        (
            lambda: [
                _columns._recognize_numbers(np.append(np.arange(19.0), last), "age")
                for last in (22.0, 23.0)
            ],
            ["numbers that count rows", None],
        ),
        (lambda: _columns._recognize_numbers(np.arange(100.0), "age"), "numbers that count rows"),
        (lambda: _columns.is_named("patientId"), True),
        (lambda: _columns.is_named("paid"), False),
        (
            lambda: _columns._list_names(["real", "holdout"]),
            "the training table and the holdout table",
        ),
        (lambda: _columns._is_text_part(pd.Series(["a", None])), True),
        (lambda: _columns._is_text_part(pd.Series([None, None], dtype=object)), False),
        (lambda: _columns._is_text_part(pd.Series([1, 2])), False),
        (lambda: _columns._is_text_part(pd.Series(["a"], dtype="category")), False),
        (lambda: _columns._is_text_part(pd.Series(["a", 1])), False),
        (lambda: _columns._read_number(pd.Series(["1,234.5", "2"])), [1234.5, 2.0]),
        (lambda: _columns._read_number(pd.Series([" true", "False"])), [1.0, 0.0]),
        (lambda: _columns._read_number(pd.Series(["1,2", "2"])), None),
        (lambda: _columns._read_number(pd.Series(["a"])), None),
        (lambda: _columns._spell_number(" 1,234.50 "), "1234.5"),
        (lambda: _columns._spell_number("007"), "7"),
        (lambda: _columns._spell_number("1234567890123456"), "1234567890123456"),
        (lambda: _columns._spell_number("+001234567890123457.0"), "1234567890123457"),
        (lambda: _columns._spell_number("0000000000000000"), "0"),
        (lambda: _columns._spell_number("1234567890123456.5"), "1234567890123456.5"),
        (lambda: spell_names([1.0, nan, 3.5], ["03.5"]), (["1", None, "3.5"], ["3.5"])),
        # Where nothing agrees, or two of a table became equal, nothing is changed.
        (lambda: spell_names([7, 8], ["09"]), (["7", "8"], ["09"])),
        (lambda: spell_names([7, 8], ["07", "7 ", "007"]), (["7", "8"], ["07", "7", "007"])),
        # Nor are numbers rounded to the multiples of ten of the others.
        (lambda: spell_names([10 * k for k in range(12)], range(5, 17))[1][:2], ["5", "6"]),
        (lambda: spell_names([2**60 + 1], [f"0{2**60 + 1}"])[1], [f"{2**60 + 1}"]),
        # A column of whole numbers with a gap holds floats, of fewer digits.
        (
            lambda: spell_names([2**60 + 1, 2**61], [float(2**60 + 1), nan]),
            ([f"{2**60}", f"{2**61}"], [f"{2**60}", None]),
        ),
        (
            lambda: spell_names([2**60 + 1, 2**60], [float(2**60 + 3), nan])[0],
            [f"{2**60 + 1}", f"{2**60}"],
        ),
        (lambda: spell_names(["Ab", "c"], ["aB", None]), (["ab", "c"], ["ab", None])),
        (lambda: _columns._spell_number("123456789012345"), "123456789012345"),
        (lambda: _columns._spell_number("a1"), "a1"),
        (lambda: _columns._spell_number("1,23"), "1,23"),
        (lambda: _columns._count_table_decimals(array([1.25, 3.0])), 2),
        (lambda: _columns._count_table_decimals(array([100.0, 300.0])), -2),
        (lambda: _columns._count_table_decimals(array([2e9])), 0),
        (lambda: _columns._count_table_decimals(array([])), 9),
        (lambda: _columns._is_number(pd.Series([True])), False),
        (lambda: _columns._is_number(pd.Series([1j])), False),
        (lambda: _columns._is_number(pd.Series([1])), True),
        (
            lambda: _columns._count_known(
                {"real": pd.Series([1, 2]), "made": pd.Series([2, 2, 3])}
            ),
            4,
        ),
        (
            lambda: _columns._show_change(
                {"real": pd.Series(["A", "b"]), "made": pd.Series(["a ", "b"])},
                {"real": pd.Series(["a", "b"]), "made": pd.Series(["a", "b"])},
            ),
            "'a ' for 'A'",
        ),
        (
            lambda: _columns._show_change({"real": pd.Series(["A"])}, {"real": pd.Series(["a"])}),
            "in a column of other spellings",
        ),
        (lambda: _columns.list_briefly(["one", "two"]), "One; two"),
        (lambda: _columns.list_briefly(["c"] * 9), "C; c; c; 6 more columns"),
        (lambda: _columns._propose_names(" Age", ["age ", "b"]), "; it has 'age ': rename it"),
        (
            lambda: _columns._propose_names("c", ["age ", "b"]),
            "; rename it, or leave it out of all tables: 'c'",
        ),
    ],
    _kinds: [
        (
            lambda: _kinds._find_least_long(
                [pd.Series([2**60, 2**60 + 1]), pd.Series([2**60 + 3])]
            ),
            2**60,
        ),
        (lambda: _kinds._find_least_long([pd.Series([1, 2**53])]), 0),
        (lambda: _kinds._find_least_long([pd.Series([7, 2**53 + 1])]), 7),
        (lambda: _kinds._find_least_long([pd.Series([2**60]), pd.Series([0.5])]), 0),
        (lambda: str(_kinds.HeldValues("numbers", 2**60).show(3.0)), str(2**60 + 3)),
        (lambda: _kinds.HeldValues("numbers").show(0.5), 0.5),
        (lambda: _kinds.HeldValues("dates").show(1.5), "1970-01-02T12:00:00"),
        (lambda: _kinds._scale([array([1.0, nan]), array([-3.0])])[1], [-3.0]),
    ],
    _evidence: [
        (
            lambda: _evidence.count_units(
                {
                    "n_real": 5,
                    "n_synthetic": 6,
                    "n_holdout": 7,
                    "n_persons_real": 2,
                    "n_persons_shared": 1,
                }
            ),
            {"real": 2, "synthetic": 6, "holdout": 7, "shared": 1},
        ),
        # Without a holdout and without persons of one table there is no number; of few rows there
        # are numbers.
        (lambda: _evidence.has_numbers(dict(real=20, synthetic=20, holdout=0)), False),
        (lambda: _evidence.has_numbers(dict(real=20, synthetic=20, holdout=0, shared=9)), False),
        (lambda: _evidence.has_numbers(dict(real=19, synthetic=20, holdout=20, shared=9)), False),
        (lambda: _evidence.has_numbers(dict(real=19, synthetic=20, holdout=20)), True),
        (lambda: _evidence.has_numbers(dict(real=20, synthetic=20, holdout=20, shared=9)), True),
        (
            lambda: _evidence.count_units({"n_real": 5}),
            {"real": 5, "synthetic": 0, "holdout": 0, "shared": 0},
        ),
        (lambda: _evidence.share_significance(["a", "b"]), [0.5, 0.5]),
        (
            lambda: _evidence.share_significance(["rare copies", "copied identifiers", "a"]),
            [0.315, 0.315, 0.37],
        ),
        (lambda: _evidence.list_table_reversals(pd.DataFrame()), []),
        (
            lambda: _evidence.list_table_reversals(
                pd.DataFrame({"pvalue_below": [1e-9, 0.5, nan]}, index=["a", "b", "c"])
            ),
            ["a"],
        ),
        (
            lambda: _evidence._count_smallest(
                {"real": 3, "synthetic": 2, "holdout": 4, "shared": 1}
            ),
            2,
        ),
        (
            lambda: _evidence._tell_table_number("linkability", row, "persons"),
            "linkability, right for 50% of the training and 25% of the held-out persons (p = 0.02)",
        ),
        (
            lambda: _evidence._tell_table_number("exact copies", row, "rows"),
            "exact copies, 50% of the training and 25% of the held-out rows (p = 0.02)",
        ),
        (
            lambda: _evidence._tell_table_number("loss", dict(row, attack=nan), "rows"),
            "loss 0.250 (p = 0.02)",
        ),
        (lambda: _evidence.format_share(0.00123), "0.12%"),
        (lambda: _evidence.format_share(inf), "no share"),
    ],
    _measure: [
        # Of six rows that are copied, and half of eight others; or of people with two rows each.
        (lambda: measure_membership(None), (1.0, 6, 4)),
        (
            lambda: measure_membership(
                {"real": np.repeat([0, 1, 2], 2), "holdout": np.repeat([1, 2, 3, 4], 2)}
            ),
            (1.0, 3, 2),
        ),
        (lambda: _measure._combine((array([0, 1]),), (array([2, 0]),)), ([7, 9],)),
        (
            lambda: _measure._fill_numbers([array([1.0, nan, 4.0, 2.0]), array([nan] * 4)]),
            [[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [2.0, 0.0]],
        ),
        (
            lambda: _measure._correlate(
                array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [2.0, 3.0, 5.0]]), array([1.0, 1.0, 2.0])
            ),
            [[1.0, 0.754336509, nan], [0.754336509, 1.0, nan], [nan, nan, nan]],
        ),
        (
            lambda: _measure._average_similarity(array([0.5, 1.0]), array([nan, 0.25])),
            [0.75, 0.25, 0.5, 0.5, 1.0, nan, 0.25],
        ),
        (
            lambda: _measure._average_similarity(array([0.5, 1.0]), array([nan])),
            [0.75, nan, 0.75, 0.5, 1.0, nan],
        ),
        (lambda: _measure._draw_one_each([1, 2], None, None), [1, 2]),
        # As many predicates as the smallest table has rows, and all rows of a real table.
        (
            lambda: list_risk_sizes((3000, 1), (2500, 1), (2200, 1)),
            [("singling out", 2000), ("singling out, one column", 2000)],
        ),
        (
            lambda: list_risk_sizes((40, 2), (30, 2), (20, 2)),
            [
                ("singling out", 20),
                ("singling out, one column", 20),
                ("linkability", 2000),
                ("inference", 2000),
            ],
        ),
        (
            lambda: _measure._read_copies(
                dict(
                    share=0.1,
                    low=0.0,
                    high=0.2,
                    train=3,
                    n_train=4,
                    test=2,
                    n_test=8,
                    pvalue=0.5,
                    pvalue_below=0.25,
                )
            ),
            {
                "estimate": 0.1,
                "low": 0.0,
                "high": 0.2,
                "attack": 0.75,
                "control": 0.25,
                "n_attacks": 4,
                "n_controls": 8,
                "pvalue": 0.5,
                "pvalue_below": 0.25,
            },
        ),
    ],
    _people: [
        # 40 persons of four rows, in one table each: 240 pairs of 12,720. Another column of theirs
        # makes them rarer by chance, five times in all.
        # Where the other column has a fifth of the pairs, five times what is expected are there.
        (lambda: judge_split(g=split_persons(9, 9, 8, 8, 6)), ("p", "g")),
        (lambda: judge_split(g=split_persons(10, 10, 8, 6, 6)), None),
        (lambda: judge_split(fifth=PERSON % 5, free=np.arange(160) % 7), ("p", "fifth")),
        (lambda: judge_split(fourth=PERSON % 4), None),
        (lambda: judge_split(half=PERSON % 2, fifth=PERSON % 5), ("p", "half", "fifth")),
        (lambda: judge_split(constant=PERSON * 0, fifth=PERSON % 5), ("p", "fifth")),
        (lambda: judge_split(fifth=change_persons(2)), ("p", "fifth")),
        (lambda: judge_split(fifth=change_persons(3)), None),
        # A single column is that of persons by its name.
        (lambda: judge_split(), None),
        (lambda: judge_split("person_id"), ("person_id",)),
        (lambda: judge_split("person_id", half=PERSON % 2), None),
        (lambda: judge_split("person_id", is_real=np.arange(160) % 2 == 0), None),
        (lambda: _people._share_constant(array([0, 0, 1, 1, 2]), array([5, 5, 6, 7, 8])), 0.5),
        (lambda: _people._share_repeated(array([0, 0, 1, 2])), 0.5),
        (lambda: _people._share_across(array([True, True, False])), 0.666666667),
        (
            lambda: _people._count_pairs(
                array([0, 0, 0, 1, 0]), array([True, True, False, False, False])
            ),
            (2.0, 4.0),
        ),
        (
            lambda: _people._score_key(
                array([0, 0, 0, 1, 0]), array([True, True, False, False, False])
            ),
            -0.272165527,
        ),
        (lambda: _people._score_key(array([0, 1, 2]), array([True, True, False])), 0.0),
        (lambda: _people._join_codes([array([0, 0, 1]), array([1, 1, 0])]), [0, 0, 1]),
        (lambda: _people._join_codes([array([0, 0, 1]), array([1, 0, 0])]), [0, 1, 2]),
        (lambda: _people._share_equal_pairs(array([0, 0, 0, 1])), 0.5),
        (lambda: _people._is_split(np.repeat(np.arange(40), 2), np.arange(80) < 40, 40, 0), False),
        (lambda: _people._is_split(np.repeat(np.arange(50), 2), np.arange(100) < 50, 50, 0), True),
        (lambda: _people._is_split(np.repeat(np.arange(50), 2), np.arange(100) < 50, 49, 0), False),
        (lambda: _people._is_split(np.repeat(np.arange(50), 2), np.arange(100) < 50, 50, 9), False),
        (lambda: _people._is_split(np.repeat(np.arange(50), 2), np.arange(100) < 50, 50, 5), True),
        (lambda: _people._is_split(np.repeat(np.arange(19), 4), np.arange(76) < 30, 90, 0), False),
        (lambda: _people._is_split(np.repeat(np.arange(20), 4), np.arange(80) < 30, 90, 0), True),
        (
            lambda: _people._is_split(np.repeat(np.arange(20), 51), np.arange(1020) < 300, 90, 0),
            False,
        ),
        (
            lambda: _people._is_split(
                np.append(np.repeat(np.arange(20), 3), 20 + np.arange(141)),
                np.arange(201) < 99,
                60,
                0,
            ),
            False,
        ),
        (
            lambda: _people._is_split(
                np.append(np.repeat(np.arange(20), 3), 20 + np.arange(140)),
                np.arange(200) < 99,
                60,
                0,
            ),
            True,
        ),
    ],
    _person_table: [
        (
            lambda: _person_table._spell_keys(
                {"real": {"t": pd.DataFrame({"k": [1.0, 2.0]}, index=[5, 6])}}, {"t": "k"}
            ),
            {"real": {"t": {"k": ["1", "2"]}}},
        ),
        (
            lambda: _person_table._spell_keys(
                {
                    name: {"t": pd.DataFrame({"k": [*own]}), "u": pd.DataFrame({"k": [*other]})}
                    for name, own, other in (("real", [" a", "b"], ["A"]), ("synthetic", "B", "C"))
                },
                dict.fromkeys("tu", "k"),
            ),
            {
                "real": {"t": {"k": ["a", "b"]}, "u": {"k": ["a"]}},
                "synthetic": {"t": {"k": ["B"]}, "u": {"k": ["C"]}},
            },
        ),
        (
            lambda: _person_table._find_kinds(
                {
                    side: {"t": pd.DataFrame({"k": [1], "a": [one], "b": [pd.Timestamp(0)]})}
                    for side, one in {"real": pd.Timestamp(0), "synthetic": 3}.items()
                },
                "t",
                "k",
            ),
            {"a": "values", "b": "times"},
        ),
    ],
    _report: [
        (
            lambda: _report._describe_excess({"estimate": 0.25, "low": -0.1, "high": 1.2}, "clear"),
            {
                "share": 0.25,
                "low": 0.0,
                "high": 1.0,
                "level": "clear",
                "number": "25%",
                "ends": "0 to 100",
            },
        ),
        (
            lambda: _report._describe_excess(
                {"estimate": 1.5, "low": 0.126, "high": 0.5}, None, ""
            )["number"],
            "100",
        ),
        # Neither nobody nor all.
        (
            lambda: [
                _report._describe_excess({"estimate": one, "low": one, "high": one}, None)[cell]
                for one in (0.004, 0.996)
                for cell in ("number", "ends")
            ],
            ["<1%", "0 to <1", ">99%", ">99 to >99"],
        ),
        (
            lambda: trust(("one population", "warning"), ("duplicates", "passed")),
            (
                "With care: 1 check passed, 1 failed.",
                [
                    ("warning", "Training data and holdout differ"),
                    ("passed", "Few rows are on both sides"),
                ],
                ["Training data and holdout differ"],
                [],
            ),
        ),
        (
            lambda: trust(("duplicates", "passed"), ("new", "passed"), ("resolution", "not run")),
            (
                "Yes: 2 checks passed, none failed.",
                [("passed", "Few rows are on both sides"), ("passed", "new")],
                [],
                ["resolution"],
            ),
        ),
        (lambda: trust(("new", "warning"))[0], "With care: no checks passed, 1 failed."),
        (lambda: trust(("new", "passed"), evidence="shift")[0], "No: 1 check passed, none failed."),
        (
            lambda: trust(("new", "warning"), evidence="unknown")[0],
            "No: no checks passed, 1 failed.",
        ),
        (lambda: trust(("new", "passed"), evidence="none")[0], "Yes: 1 check passed, none failed."),
        (lambda: trust(("new", "not run")), ("No: no check could be run.", [], [], ["new"])),
        (
            lambda: _report.describe_table_rows(dict(n_synthetic=1234, n_real=5, n_columns=6)),
            "1,234 synthetic rows, 5 training rows, no holdout; 6 columns.",
        ),
        (
            lambda: _report.describe_table_rows(
                dict(n_synthetic=4, n_real=5, n_persons_real=3, n_holdout=7, n_columns=6)
            ),
            "4 synthetic rows, 5 training rows of 3 persons, 7 held-out rows; 6 columns.",
        ),
        (lambda: _report.format_interval(dict(estimate=None)), "cannot be said"),
        (lambda: _report.format_interval(dict(estimate=0.25, low=None)), "0.250"),
        (lambda: _report.format_interval(row), "0.250 [0.125, 0.500]"),
        (lambda: _report.format_number(-0.0001), "0.000"),
        (lambda: _report.format_number(None), "-"),
        (lambda: _report.format_table_share(0.125), "12.5%"),
        (lambda: _report.format_table_share(None), "-"),
        (
            lambda: _report.tabulate_results(
                {
                    "data": {},
                    "settings": {"confidence_level": 0.95},
                    "results": [row, dict(row, leak=False, pvalue_holm=1.0)],
                }
            )[1:],
            [
                ["linkability", "50.0%", "25.0%", "0.250 [0.125, 0.500]", "0.02 *"],
                ["linkability", "50.0%", "25.0%", "0.250 [0.125, 0.500]", "1"],
            ],
        ),
        (
            lambda: [
                one["estimate"]
                for one in _report.list_worst(
                    [dict(estimate=k) for k in (0.5, None, 0.1, 0.9, 0.3, 0.8, 0.7, 0.6)]
                )
            ],
            [0.1, 0.3, 0.5, 0.6, 0.7],
        ),
        (lambda: _report._list_frame_rows(None), None),
        (
            lambda: _report._list_frame_rows(frame),
            [{"name": 0, "a": 1, "b": "x"}, {"name": 1, "a": 2, "b": "y"}],
        ),
        (
            lambda: _report._align_cells([["a", "bb", "c"], ["ddd", "e", ""]]),
            ["a    bb  c", "ddd  e"],
        ),
        (lambda: _report._percent(None), "-"),
        (lambda: _report._percent(0.0), "0%"),
        (lambda: _report._percent(0.0094), "0.9%"),
        (lambda: _report._percent(0.0095), "1%"),
        (lambda: _report._percent(0.99), "99%"),
        (lambda: _report._percent(0.9906), "99.1%"),
        (lambda: _report._percent(0.9996), ">99.9%"),
        (lambda: _report._percent(0.0004), "<0.1%"),
        (lambda: _report._percent(1.0), "100%"),
        (
            lambda: _report._format_table_number(None, dict(row, naive=None)),
            {
                "name": "linkability",
                "rates": ["50.0%", "25.0%", "-"],
                "excess": "0.250 [0.125, 0.500]",
                "pvalue": "0.02",
            },
        ),
        (
            lambda: _report._format_table_number(None, dict(row, naive=0.125, pvalue_holm=0.001))[
                "pvalue"
            ],
            "0.001",
        ),
        (
            lambda: _report._format_table_number(None, dict(row, naive=0.125, pvalue_holm=0.0009)),
            {
                "name": "linkability",
                "rates": ["50.0%", "25.0%", "12.5%"],
                "excess": "0.250 [0.125, 0.500]",
                "pvalue": "< 0.001",
            },
        ),
        (
            lambda: _report._describe_utility(dict(name="model of a", estimate=0.25, real=None)),
            {
                "name": "model of a",
                "meaning": (
                    "gain over guessing of a model fitted on synthetic data, as a share of "
                    "the gain of a model fitted on real data"
                ),
                "value": "25.0",
                "real": None,
            },
        ),
    ],
    critic_bounds: [
        (
            lambda: critic_bounds._multiply_interval(
                array([[2.0, -1.0]]), (array([1.0, 3.0]), array([2.0, 5.0]))
            ),
            ([-3.0], [1.0]),
        ),
        (
            lambda: critic_bounds._multiply(
                (array([-1.0, 2.0]), array([3.0, 4.0])), (array([-2.0, 1.0]), array([5.0, 6.0]))
            ),
            ([-6.0, 2.0], [15.0, 24.0]),
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import synthetic
    from skmia.synthetic import cost, critic_bounds

    found, n_compared = compare_defaults_of(synthetic, critic_bounds, cost)
    assert not found
    assert n_compared >= 110
