"""Small functions of inspection at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import pandas as pd
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array, nan
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skmia.inspection import _families, _inspect, _reconstruct


def make_places(*rows):
    names = ["place", "view", "n_rows", "expected_rows", "n_values", "expected_values"]
    return pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows], columns=names)


# Three standard deviations beyond 4 are 10, and beyond 1 they are 4.
NEAR, FAR = ("near", "whole", 10, 4.0, 4, 1.0), ("far", "after a", 11, 4.0, 4, 1.0)
VALUES, MANY = ("values", "whole", 0, 4.0, 5, 1.0), ("many", "whole", 1234, 0.0, 0, 1.0)
HEAD = ["", "Places with more hits of candidates than chance explains"]
COLUMNS = "      rows  by chance   values  by chance  place"


def list_hits(*rows):
    return _inspect._list_hits(make_places(*rows))["place"].tolist()


def write_hits(*rows):
    return _inspect._write_hits(NS(places=make_places(*rows)))


def write_stored(n_places):
    frame = pd.DataFrame(
        {
            "kind": "values",
            "shape": [None, (), (3, 4), *[(5,)] * 20],
            "n_arrays": range(1, 24),
            "bytes": range(1000, 24_000, 1000),
            "path": [f"p{k}" for k in range(23)],
        }
    )
    return _inspect._write_stored(frame.iloc[:n_places])


def expect(n_rows=100, n_candidates=None, repeats=False, **numbers):
    """Return level, heading and ground that the numbers of a file let expect."""
    structure = dict.fromkeys(["n_numbers", "n_nodes", "n_alone", "n_edges"], 0) | numbers
    found = None if n_candidates is None else {"n_candidates": n_candidates}
    document = {"structure": structure, "n_rows": n_rows, "candidates": found}
    level, *texts = _inspect._expect_by_structure(document | {"n_rows_may_repeat": repeats})
    return level.name, *texts


def grade(**numbers):
    level, _, ground = expect(**numbers)
    return level, " ".join(ground.split()[:4])


def write_sentence(level, is_stored, ground="", **found):
    found = dict.fromkeys(_inspect._STRENGTHS) | found if found else None
    return _inspect._write_sentence({"candidates": found, "level": level}, is_stored, ground)


def advise(is_severe, found):
    return [step.imperative for step in _inspect._advise(is_severe, found)]


def list_inner(model):
    return [
        (type(part).__name__, None if chosen is None else list(chosen))
        for part, chosen in _reconstruct._list_inner_estimators(model)
    ]


def choose_columns(chosen):
    columns = _reconstruct.name_columns(NS(feature_names_in_=["a", "b", "c"]))
    found = _reconstruct._choose_part_columns(columns, chosen)
    return None if found is None else [one.name for one in found]


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _families: [
        (lambda: _families._find_name(Ridge(), {"Ridge": 1}), "Ridge"),
        (lambda: _families._find_name(Ridge(), {"BaseEstimator": 1}), "BaseEstimator"),
        (lambda: _families._find_name(Ridge(), {"SVC": 1}), None),
        (lambda: _families._keeps_means(SimpleImputer()), True),
        (lambda: _families._keeps_means(SimpleImputer(strategy="median")), False),
        (lambda: _families._keeps_means(Ridge()), False),
        (lambda: _families.keeps_targets(DecisionTreeRegressor()), True),
        (lambda: _families.keeps_targets(LogisticRegression()), False),
        (lambda: _families.has_learned(Ridge()), False),
        (lambda: _families.has_learned(3), True),
        (lambda: _families.name_place("a", ["b"]), "b"),
        (lambda: _families.name_place("a", ["b", "c"]), "a"),
    ],
    _inspect: [
        (lambda: _inspect._list_noted({"a": array([1, 5, 3]), "b": 2}, ["a", "b", "c"]), [5, 2]),
        (lambda: _inspect._as_count(3.0), 3),
        (lambda: _inspect._as_count(3.5), 0),
        (lambda: _inspect._as_count(0), 0),
        (lambda: _inspect._as_count(nan), 0),
        (lambda: _inspect._as_count("3"), 0),
        (lambda: _inspect._is_noted(3), True),
        (lambda: _inspect._is_noted(True), False),
        (lambda: bool(_inspect._is_noted(array([1]))), True),
        (lambda: bool(_inspect._is_noted(array([1.5]))), False),
        (
            lambda: _inspect._describe_pipeline(make_pipeline(SimpleImputer(), Ridge())),
            "Pipeline(SimpleImputer, Ridge)",
        ),
        (lambda: _inspect._describe_pipeline(Ridge()), "Ridge"),
        # From one node for each row on, or a tenth; of leaves of one row a fifth, or a fiftieth.
        (lambda: grade(n_nodes=100), ("severe", "Its trees have 100")),
        (lambda: grade(n_nodes=99), ("clear", "Its trees have 99")),
        (lambda: grade(n_nodes=10), ("clear", "Its trees have 10")),
        (lambda: grade(n_nodes=9), ("slight", "Its trees have 9")),
        (lambda: grade(n_nodes=50, n_alone=20), ("severe", "20 leaves hold a")),
        (lambda: grade(n_nodes=50, n_alone=19), ("clear", "19 leaves hold a")),
        (lambda: grade(n_nodes=9, n_alone=2), ("clear", "2 leaves hold a")),
        (lambda: grade(n_nodes=9, n_alone=1), ("slight", "Its trees have 9")),
        (lambda: grade(n_nodes=50, n_alone=20, n_edges=80), ("severe", "Its bins have 80")),
        (lambda: grade(n_nodes=50, n_alone=20, n_edges=79), ("severe", "20 leaves hold a")),
        (lambda: grade(n_nodes=9, n_edges=10), ("clear", "Its bins have 10")),
        (lambda: grade(n_nodes=9, n_edges=9), ("slight", "Its trees have 9")),
        (lambda: grade(n_nodes=9, n_numbers=100), ("slight", "Its trees have 9")),
        (lambda: grade(n_numbers=9), ("slight", "It holds 9 numbers")),
        (lambda: grade(n_numbers=1), ("slight", "It holds 1 number")),
        (lambda: grade(n_nodes=9, n_alone=1, n_rows=20), ("clear", "1 leaf holds a")),
        (
            lambda: expect(None, n_numbers=1)[2],
            "It holds 1 number, which reveals little about more than 10 rows.",
        ),
        # A part of the nodes is not all of them, and a million rows are written as such.
        (
            lambda: _inspect._tell_counts(
                {"n_equations": 2, "n_rows": 1234567.0, "known": 0.999, "expected_auc": 0.75}
            ),
            "The nodes hold 2 counts. They settle more than 99% of the question which candidates "
            "are training rows: expected AUC 0.750 (0.5 is guessing), if all 1,234,567 training "
            "rows are among the candidates.",
        ),
        (
            lambda: _inspect._tell_counts({"n_equations": 1, "known": 0.5, "expected_auc": 0.5}),
            "The nodes hold 1 count. It settles 50% of the question which candidates are training "
            "rows: expected AUC 0.500 (0.5 is guessing), if all training rows are among the "
            "candidates.",
        ),
        (
            lambda: _inspect._tell_thresholds(
                {"n_thresholds": 1, "explained": 1.0, "expected_auc": 0.5}
            ),
            "100% of 1 threshold lies where values of the candidates would put them: expected AUC "
            "0.500 from them alone.",
        ),
        (
            lambda: _inspect._tell_thresholds(
                {"n_thresholds": 1147, "explained": 0.997, "expected_auc": 0.5}
            )[:43],
            "More than 99% of 1,147 thresholds lie where",
        ),
        (lambda: grade(n_numbers=10), ("clear", "It holds 10 numbers")),
        (lambda: grade(n_numbers=99), ("clear", "It holds 99 numbers")),
        (
            lambda: expect(n_numbers=100),
            (
                "unknown",
                "Leakage unknown without data",
                "It holds 100 numbers of 100 training rows.",
            ),
        ),
        (lambda: expect(n_numbers=100, n_candidates=9)[1], "Leakage unknown"),
        (
            lambda: expect(n_nodes=2000, n_rows=1500, repeats=True),
            (
                "severe",
                "Severe leakage is likely",
                "Its trees have 2,000 nodes for 1,500 training rows, if none was weighted or "
                "repeated.",
            ),
        ),
        (
            lambda: expect(None, n_numbers=100),
            (
                "slight",
                "Little leakage is likely with more than 1,000 rows",
                "It holds 100 numbers, which reveal little about more than 1,000 rows.",
            ),
        ),
        (
            lambda: expect(None, n_numbers=101),
            (
                "unknown",
                "Leakage unknown without data",
                "It does not state how many training rows there were.",
            ),
        ),
        (
            lambda: expect(None, n_numbers=100, n_candidates=1000)[:2],
            ("unknown", "Leakage unknown"),
        ),
        (lambda: expect(None, n_numbers=100, n_candidates=1001)[0], "slight"),
        (lambda: expect(None, n_numbers=50, n_nodes=1)[0], "unknown"),
        (lambda: expect(n_numbers=0)[0], "unknown"),
        (
            lambda: write_sentence("counts", False),
            "The file holds counts or sums of the training rows in each node or group. This file "
            "was not attacked, only read.",
        ),
        (
            lambda: write_sentence("rows", True, "Why.", n_rows=1234, n_candidates=5000),
            "The file holds training rows. **1,234** of 5,000 candidates are stored in it. Why. "
            "This file was not attacked, only read.",
        ),
        (
            lambda: write_sentence(
                None,
                False,
                n_rows=0,
                n_candidates=5000,
                equations={"expected_auc": 0.7},
                optimum={"expected_auc": 0.81},
            ),
            "No array that is known to come from training rows was found in the file. By the "
            "strongest part alone, an attacker with these candidates is expected to rank a member "
            "above a non-member **81** of 100 times. This file was not attacked, only read.",
        ),
        (
            lambda: "81" in write_sentence(None, True, n_rows=0, optimum={"expected_auc": 0.81}),
            False,
        ),
        (
            lambda: advise(True, None),
            ["Do not release the file.", "Look for candidates.", "Store less."],
        ),
        (lambda: advise(False, None), ["Look for candidates.", "Store less.", "Then audit."]),
        (lambda: advise(True, {}), ["Do not release the file.", "Store less.", "Then audit."]),
        (lambda: advise(False, {}), ["Store less.", "Then audit."]),
        (
            lambda: _inspect._tell_candidates(None, ()),
            [("Not given", "No candidate records were given, so none was looked for.")],
        ),
        (
            lambda: _inspect._tell_candidates(None, ["a.b", "c"])[1:],
            [("Not read", "2 objects, such as a.b.")],
        ),
        (lambda: write_stored(0), []),
        (
            lambda: write_stored(3),
            [
                "stored               shape  arrays       bytes  place",
                "values             various       1       1,000  p0",
                "values                   1       2       2,000  p1",
                "values               3 x 4       3       3,000  p2",
            ],
        ),
        (lambda: len(write_stored(12)), 13),
        # The thirteenth and the fourteenth.
        (
            lambda: write_stored(14)[13:],
            ["more                            27      27,000  2 places"],
        ),
        (lambda: _inspect._write_rebuilt(pd.DataFrame()), []),
        (lambda: list_hits(NEAR, FAR, VALUES, MANY), ["many", "far", "values"]),
        (lambda: list_hits(NEAR), []),
        (
            lambda: write_hits(NEAR),
            [*HEAD, "  in one more place, about as many as expected by chance"],
        ),
        (
            lambda: write_hits(NEAR, MANY, NEAR),
            [
                *HEAD,
                COLUMNS,
                "     1,234        0.0        0        1.0  many (whole)",
                "  in 2 more places, about as many as expected by chance",
            ],
        ),
        (
            lambda: write_hits(FAR)[2:],
            [
                COLUMNS,
                "        11        4.0        4        1.0  far (after a)",
            ],
        ),
    ],
    _reconstruct: [
        (
            lambda: [_reconstruct._is_part(*paths) for paths in (("a.b", "a"), ("a", "a"))],
            [True, False],
        ),
        (lambda: _reconstruct._is_part("b", "a"), False),
        (
            lambda: [
                (one.name, one.is_made)
                for one in _reconstruct._name_inner_columns(NS(n_features_in_=1), "steps")
            ],
            [("steps: x0", True)],
        ),
        (
            lambda: [one.name for one in _reconstruct.name_columns(NS(n_features_in_=2))],
            ["x0", "x1"],
        ),
        (
            lambda: [
                one.name for one in _reconstruct.name_columns(NS(feature_names_in_=["b", "a"]))
            ],
            ["b", "a"],
        ),
        (lambda: [one.name for one in _reconstruct.name_columns(NS())], []),
        (
            lambda: list_inner(FeatureUnion([("a", Ridge()), ("b", SimpleImputer())])),
            [("Ridge", None), ("SimpleImputer", None)],
        ),
        (lambda: choose_columns(["c", "a"]), ["c", "a"]),
        (lambda: choose_columns(["c", "d"]), None),
        (lambda: choose_columns(slice("a", "b")), ["a", "b"]),
        (lambda: choose_columns(slice("b", "d")), None),
        (lambda: choose_columns(len), None),
        (lambda: _reconstruct._choose_part_columns(None, [0]), None),
        (lambda: _reconstruct._pass("passthrough", ["column"]), ["column"]),
        (lambda: _reconstruct._pass(None, ["column"]), ["column"]),
        (lambda: _reconstruct.rebuild_values(array([0.5])), None),
        (lambda: _reconstruct.snap(array([1.2500001, 3.0]), 1e-4), [1.25, 3.0]),
        (lambda: _reconstruct.snap(array([1 / 3]), 1e-12), [0.333333333]),
        (lambda: _reconstruct._count_rounded_decimals(array([1.25, 3.0])), 2),
        (lambda: _reconstruct._count_rounded_decimals(array([1 / 3])), None),
        (
            lambda: _reconstruct.write_counts(
                pd.DataFrame(
                    {"exact": [1234, 1], "derived": [0, 2], "edge": [5, 3]}, index=["a", "b"]
                ),
                1,
            ),
            ["    exact  derived     edge  column", "    1,234        0        5  a", "1 more"],
        ),
        (
            lambda: _reconstruct.write_counts(
                pd.DataFrame({"exact": [1234], "derived": [0], "edge": [5]}, index=["a"]), 1
            ),
            ["    exact  derived     edge  column", "    1,234        0        5  a"],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import inspection

    found, n_compared = compare_defaults_of(inspection)
    assert not found
    assert n_compared >= 1
