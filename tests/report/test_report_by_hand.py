"""Small functions of the report at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from numpy import array, nan
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skmia.report import (
    _audit,
    _authority_sheet,
    _beyond_shift,
    _comparison,
    _comparison_words,
    _cost,
    _document,
    _evidence,
    _file,
    _json_schema,
    _measure,
    _pace,
    _page,
    _pool_size,
    _run,
    _screen,
    _shared_rows,
    _surrogate,
    _text,
    _unknown_labels,
    _validation_rows,
    _words,
)
from skmia.report.agreement import (
    _assignment,
    _file_questions,
    _repairs,
    _row_question,
    _skill,
    _skill_questions,
)
from skmia.report.checks import (
    _control,
    _drift,
    _duplicates,
    _formats,
    _permutation,
    _results,
    _sides,
    _training_rows,
    _units,
)

row = dict(
    attack="LiRA",
    scope="overall",
    group="all",
    metric="tpr",
    max_fpr=0.01,
    estimate=0.25,
    low=0.125,
    high=0.5,
    fpr=0.02,
    fpr_low=0.01,
    fpr_high=0.03,
    status="ok",
)

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
NOTHING = {"group": None, "confidence_level": None}
ANSWERS = {
    _audit: [
        (lambda: _audit._name_victim(make_pipeline(Ridge())), "Ridge in a Pipeline"),
        (
            lambda: _audit._name_victim(NS(best_estimator_=make_pipeline(Ridge()))),
            "Ridge in a Pipeline in a search",
        ),
    ],
    _authority_sheet: [
        (lambda: _authority_sheet._has_own_recipe({"reference": None}), False),
        (lambda: _authority_sheet._has_own_recipe({"reference": {"recipe": "own"}}), True),
        (lambda: _authority_sheet._has_own_recipe({"reference": {"recipe": "given"}}), False),
    ],
    _beyond_shift: [
        (lambda: _beyond_shift._mean_variance(array([1.0, 2.0, 6.0]), array([0, 0, 1])), 2.0),
        (
            lambda: _beyond_shift._mean_variance(array([1.0, 2.0, 6.0]), array([0, 1, 2])),
            1.55555556,
        ),
    ],
    _comparison_words: [
        (lambda: _comparison_words._short(0.25, 0.125, 1.0), ".250 [.125, 1.00]"),
        (lambda: _comparison_words._short(-0.25, 0.125, 0.5, "+"), "-.250 [+.125, +.500]"),
        (lambda: _comparison_words._count_numbers(NS(n_compared=1)), "this number"),
        (lambda: _comparison_words._count_numbers(NS(n_compared=2)), "all 2 numbers"),
        (
            lambda: _comparison_words._describe_model(
                dict(
                    data=dict(n_members=1234, n_nonmembers=5),
                    settings=dict(n_shadows=16),
                    victim_name="SVC",
                )
            ),
            "SVC; 1,234 members, 5 others; 16 shadow models",
        ),
        (
            lambda: _comparison_words._describe_model(
                dict(
                    data=dict(n_members=4, n_nonmembers=5),
                    settings=dict(n_shadows=0),
                    victim_name="SVC",
                )
            ),
            "SVC; 4 members, 5 others; no shadow models",
        ),
        (
            lambda: _comparison_words._tell_not_compared(
                NS(left_out=[("a", "x"), ("b", "y"), ("c", "x")], unshared=())
            ),
            ["a and c (x)", "b (y)"],
        ),
        (
            lambda: _comparison_words._tell_scope(NS(attacks=["a", "b"], left_out=[], unshared=())),
            "Attacks that both audits ran alike: a and b.",
        ),
        (
            lambda: _comparison_words._tell_scope(
                NS(attacks=[], left_out=[("c", "x")], unshared=())
            ),
            "Attacks that both audits ran alike: none. Not compared: c (x).",
        ),
    ],
    _comparison: [
        (lambda: _comparison._tell_difference(None, 1), "B alone"),
        (lambda: _comparison._tell_difference(1, None), "A alone"),
        (
            lambda: _comparison._tell_difference(
                NS(n_models=4, recipe="a"), NS(n_models=0, recipe="a")
            ),
            "numbers of shadow models: 4 in A, no in B",
        ),
        (
            lambda: _comparison._tell_difference(
                NS(n_models=4, recipe="a"), NS(n_models=4, recipe="b")
            ),
            "shadow models of another recipe",
        ),
        (
            lambda: _comparison._tell_difference(
                NS(n_models=4, recipe="a"), NS(n_models=4, recipe="a")
            ),
            "other parameters",
        ),
        (
            lambda: _comparison._choose_common(
                [
                    [dict(row, attack="a"), dict(row, attack="b")],
                    [dict(row, attack="b", estimate=0.3)],
                ]
            ),
            ({"b": (0.25, 0.125, 0.5)}, {"b": (0.3, 0.125, 0.5)}),
        ),
        (
            lambda: _comparison._choose_common([[dict(row, attack="a")], [dict(row, attack="b")]]),
            None,
        ),
    ],
    _cost: [
        (lambda: _cost._as_seed(3), 3),
        (lambda: _cost._as_seed(None), 0),
    ],
    _document: [
        (lambda: _document._as_limits((0.5, 0.25, 0.75)), {"auc": 0.5, "low": 0.25, "high": 0.75}),
        (lambda: _document._as_limits(None), None),
    ],
    _evidence: [
        (lambda: _evidence.get_fpr({"max_fpr": 0.01}), 0.01),
        (lambda: _evidence.get_fpr({"max_fpr": 0.01, "fpr": nan}), 0.01),
        (lambda: _evidence.get_fpr({"max_fpr": 0.01, "fpr": 0.02}), 0.02),
        (lambda: _evidence.get_key(row), ("LiRA", "overall", "all", "tpr", 0.01)),
        (
            lambda: _evidence.get_key(dict(row, metric="auc")),
            ("LiRA", "overall", "all", "auc", None),
        ),
        (lambda: _evidence._get_number(row), ("overall", "all", "tpr", 0.01)),
    ],
    _file: [
        (
            lambda: list(
                _file._list_unread_parts(
                    {"tree 1 in forest": "x", "tree 2 in forest": "x", "svm": "y"}
                )
            ),
            [
                "The tree 1 in forest were not read: x",
                "The tree 2 in forest were not read: x",
                "The svm were not read: y",
            ],
        ),
        (
            lambda: list(
                _file._list_unread_parts(
                    {"tree in forest": "x", "tree in bag": "x", "tree in trees": "x"}
                )
            ),
            ["The tree in forest and 2 more were not read: x"],
        ),
    ],
    _json_schema: [
        (
            lambda: [_json_schema._lies(one, int, 0, 2) for one in (0, 2, 3, -1, True, 1.0)],
            [True, True, False, False, False, False],
        ),
    ],
    _measure: [
        (lambda: _measure._thin_rates(array([0.0, 0.25, 0.5, 1.0]), 4), [1, 2, 3]),
        (lambda: _measure.list_judged(None, "a", array([True, False])) == slice(None), True),
        (
            lambda: (
                _measure.list_judged({"a": array([True, True])}, "a", array([True, False]))
                == slice(None)
            ),
            True,
        ),
        (
            lambda: _measure.list_judged(
                {"a": array([True, False, True])}, "a", array([True, False, False])
            ),
            [True, False, True],
        ),
        (
            lambda: _measure.list_judged({"a": array([True, False])}, "a", array([True, False])),
            slice(None, 0, None),
        ),
        (
            lambda: _measure.list_judged({"a": array([False, True])}, "a", array([True, False])),
            slice(None, 0, None),
        ),
    ],
    _pace: [
        (lambda: _pace._has_trees(GradientBoostingClassifier()), True),
        (lambda: _pace._has_trees(NS(tree_=1)), True),
        (lambda: _pace._has_trees(Ridge()), False),
        (lambda: _pace._has_trees(type("MyBoost", (), {})()), True),
        (lambda: _pace._is_one_by_one(MLPClassifier()), False),
        (lambda: _pace._is_one_by_one(LogisticRegression()), False),
        (lambda: _pace._is_one_by_one(GradientBoostingClassifier()), True),
    ],
    _page: [
        (lambda: _page.cut_name("abcdefgh i", 9), "abcdefgh…"),
        (lambda: _page.cut_name("ab defghijk", 8), "ab defgh…"),
        (lambda: _page._count_dots(0.0001, 100), "< 1"),
        (lambda: _page._count_dots(0.05, 100), "5"),
        (lambda: _page._count_dots(0.9999, 100), "> 99"),
        (lambda: _page._write_low(99.94), "99.9"),
        (lambda: _page._write_low(100), "100"),
        (lambda: _page._write_low(1234.5), "1,234"),
        (
            lambda: _page._write_cell(row, None),
            {"share": 0.25, "low": 0.125, "high": 0.5, "number": "0.250", "ends": "0.125 to 0.500"},
        ),
        (
            lambda: _page._write_cell(row, 10),
            {"share": 0.25, "low": 0.125, "high": 0.5, "number": "2", "ends": "1 to 5"},
        ),
        (
            lambda: _page._write_cell({"estimate": 0.999, "low": 0.996, "high": 1.0}, 100)["ends"],
            ">99 to 100",
        ),
        (
            lambda: _page._write_cell(row, 8),
            {"share": 0.25, "low": 0.125, "high": 0.5, "number": "2.0", "ends": "1.0 to 4.0"},
        ),
        (
            lambda: _page._describe_group_test(
                dict(scope="sex", pvalue=0.02, reject=True, n_permutations=99)
            ),
            "As a service, the groups of sex differ more than chance explains (p = 0.02).",
        ),
        (
            lambda: _page._describe_group_test(
                dict(scope="sex", pvalue=0.01, reject=False, n_permutations=99)
            ),
            "As a service, the groups of sex do not differ more than chance explains (p ≤ 0.01).",
        ),
        # No p-value of nine permutations is below a tenth.
        (
            lambda: _page._describe_group_test(
                dict(scope="sex", pvalue=0.1, reject=False, n_permutations=9)
            )[-10:],
            "(p \u2264 0.1).",
        ),
        (
            lambda: _page._write_repeating_call(
                dict(n_shadows=16, group=None, fprs=(0.01,), confidence_level=0.95),
                dict(random_state=3),
            ),
            (
                "audit(model, records, membership, shadows=16, fprs=(0.01,), "
                "confidence_level=0.95, random_state=3)"
            ),
        ),
        # Where no shadow models were trained, no number of them is asked for, which is refused.
        (
            lambda: _page._write_repeating_call({"n_shadows": 0, "fprs": [0.1]} | NOTHING, {}),
            "audit(model, records, membership, fprs=[0.1])",
        ),
        (
            lambda: _page._write_repeating_call(dict(command={"repeat": "skmia audit"}), {}),
            "skmia audit",
        ),
    ],
    _pool_size: [
        (lambda: _pool_size._format_growth({"metric": "auc"}, -0.25), "0.250"),
        (lambda: _pool_size._format_growth({"metric": "tpr"}, -0.25), "25.0"),
        (lambda: _pool_size._describe_time(dict(seconds_per_model=None)), "as long as these"),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=720)),
            "about 2 hours",
        ),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=719)),
            "about 120 minutes",
        ),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=12)),
            "about 2 minutes",
        ),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=11.9)),
            "about 119 seconds",
        ),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=0.2)),
            "about 2 seconds",
        ),
        (
            lambda: _pool_size._describe_time(dict(n_shadows=10, seconds_per_model=0.19)),
            "2 seconds at most",
        ),
    ],
    _run: [
        (
            lambda: _run._compare_growth(array([1.0, 2.0, 5.0, 8.0, 100.0]), None),
            {"gain": None, "gain_standard_error": None},
        ),
        (
            lambda: _run._compare_growth(
                array([1.0, 2.0, 5.0, 8.0, 100.0]), array([0.0, 0.0, 0.0, 0.0])
            ),
            {"gain": 4.0, "gain_standard_error": 2.5},
        ),
        (lambda: _run._count_unjudged("LiRA", array([True, True])), []),
        (
            lambda: _run._count_unjudged("LiRA", array([True, False])),
            [
                (
                    "1 record cannot be judged by LiRA, for lack of IN or OUT shadow "
                    "models, and is left out of its numbers."
                )
            ],
        ),
        (
            lambda: _run._count_unjudged("LiRA", array([True, False, False])),
            [
                (
                    "2 records cannot be judged by LiRA, for lack of IN or OUT shadow "
                    "models, and are left out of its numbers."
                )
            ],
        ),
    ],
    _screen: [
        (lambda: _screen._tell_most({}, 100), ""),
        (lambda: _screen._tell_most({"fpr_high": nan}, 100), ""),
        (lambda: _screen._tell_most({"fpr_high": 0.021}, 100), "; at most 3"),
        (lambda: _screen._tell_most({"fpr_high": 0.02}, 100), "; at most 2"),
        (
            lambda: _screen._count_both(row, 100),
            "25 of 100 members, and 2 of 100 others are taken for one",
        ),
        (
            lambda: _screen._tell_recognized_members(row, 100),
            "25 of 100 training records, and mistakes 2 of 100 others for one.",
        ),
        (
            lambda: _screen._tell_recognized_members(dict(row, fpr=0.0), 100),
            (
                "**25 of 100** training records **without mistaking anyone else for "
                "one** (0 of 100 others; at most 3)."
            ),
        ),
        (lambda: _screen._exceeds(row, 100), True),
        (lambda: _screen._exceeds(dict(row, estimate=0.02), 100), False),
        (lambda: _screen._exceeds(dict(row, estimate=0.01), 100), False),
        (lambda: _screen._name_files({"settings": {}}), None),
        (
            lambda: _screen._name_files(
                {"settings": {"command": {"train": "a/b.csv", "held_out": "c.csv"}}}
            ),
            ["b.csv", "c.csv"],
        ),
        (
            lambda: _screen._name_files(
                {"settings": {"command": {"train": "a/b.csv", "held_out": 3}}}
            ),
            None,
        ),
        (
            lambda: _screen._write_ranks(NS(way="file"), row),
            (
                "With the **model file**, a random member ranks above a random "
                "non-member 25 of 100 times."
            ),
        ),
        (
            lambda: _screen.is_open_file(
                [NS(way="file", level="unknown"), NS(way="service", level="clear")]
            ),
            True,
        ),
        (
            lambda: _screen.is_open_file(
                [NS(way="file", level="unknown"), NS(way="service", level="unknown")]
            ),
            False,
        ),
        (lambda: _screen.is_open_file([NS(way="service", level="clear")]), False),
        (
            lambda: _screen._look_harder({"settings": {"n_shadows": 8}}),
            (
                "Run a stronger audit before a release.",
                "8 shadow models were trained; more of them may find more leakage.",
                None,
                "",
            ),
        ),
        (
            lambda: _screen._look_harder({"settings": {"n_shadows": 0}}),
            ("Run a stronger audit before a release.", "Use shadow models.", None, ""),
        ),
    ],
    _shared_rows: [
        (
            lambda: _shared_rows._pair_counts(
                [(array([1, 3]), array([10, 30])), (array([2, 3]), array([200, 300]))]
            ),
            [[10.0, 0.0, 30.0], [0.0, 200.0, 300.0]],
        ),
    ],
    _surrogate: [
        (
            lambda: _surrogate.name_model(make_pipeline(Ridge(), LogisticRegression(C=2.0))),
            "LogisticRegression(C=2.0)",
        ),
        (lambda: _surrogate._is_stated({"recipe": "given"}, {"recipe": " "}), False),
    ],
    _text: [
        (lambda: _text.column_name("tpr", 0.001), "TPR @ 0.1% FPR"),
        (lambda: _text.column_name("auc", None), "AUC"),
        (lambda: _text.count_nouns(1, "number"), "1 number"),
        (lambda: _text.count_nouns(1234, "number"), "1,234 numbers"),
        (lambda: _text.name_way({"answers_only": True}), "As a service"),
        (lambda: _text.name_way({"answers_only": False}), "By the attacks that were asked for"),
        (lambda: _text._describe_exposed({"n_exposed": 0, "exposed_auc": None}), ""),
        (
            lambda: _text._describe_exposed({"n_exposed": 1234, "exposed_auc": None}),
            " 1,234 candidates have a leverage above 0.1.",
        ),
        (
            lambda: _text._describe_exposed({"n_exposed": 1, "exposed_auc": None}),
            " 1 candidate has a leverage above 0.1.",
        ),
        (
            lambda: _text._describe_exposed({"n_exposed": 2, "exposed_auc": 0.75}),
            " 2 candidates have a leverage above 0.1; among them the AUC is 0.750.",
        ),
        (
            lambda: _text._describe_sizes(
                NS(data=dict(n_members=1234, n_nonmembers=5), settings=dict(n_shadows=0))
            ),
            "1,234 members, 5 non-members; no shadow models.",
        ),
        (
            lambda: _text._describe_sizes(
                NS(data=dict(n_members=4, n_nonmembers=5, n_queries=6), settings=dict(n_shadows=16))
            ),
            "4 members, 5 non-members; 16 shadow models; 6 queries.",
        ),
        (lambda: _text.format_cell(row), "25.0% [12.5, 50.0]"),
        (lambda: _text.format_cell(dict(row, metric="auc")), "0.250 [0.125, 0.500]"),
        (lambda: _text.format_cell(dict(row, status="not resolvable")), "not resolvable"),
        (lambda: _text.format_cell(dict(row, status="too few")), "-"),
        (
            lambda: _text._group_title(pd.DataFrame([dict(row, n_members=1234, n_nonmembers=5)])),
            "all records (1,234 members, 5 non-members)",
        ),
        (
            lambda: _text._group_title(
                pd.DataFrame([dict(row, scope="sex", group="f", n_members=4, n_nonmembers=5)])
            ),
            "sex = f (4 members, 5 non-members)",
        ),
    ],
    _unknown_labels: [
        (lambda: _unknown_labels._allow(array([0, 0, 1]), array([True, False, True])), 2.91257816),
        (
            lambda: _unknown_labels._name_first(array(["a", "b", "b"]), array([False, True, True])),
            "first 'b' at position 1",
        ),
    ],
    _validation_rows: [
        (
            lambda: list(
                _validation_rows._flatten_values(
                    {"a": [1, {"b": [2.5]}], "c": True, "d": 4, "e": {"f": 5}}
                )
            ),
            [4.0, 5.0],
        ),
        (
            lambda: _validation_rows._list_validation_pairs(
                {"X_val": 1, "y_val": 2, "eval_set": (3, 4)}
            ),
            [(1, 2), (3, 4)],
        ),
        (
            lambda: _validation_rows._list_validation_pairs(
                {"X_val": 1, "validation_data": [(3, 4), (5,), 6]}
            ),
            [(3, 4)],
        ),
        (lambda: _validation_rows._list_validation_pairs({"y_val": 1, "valid_sets": 7}), []),
    ],
    _words: [
        (lambda: _words.describe_with_class(ValueError("two\n lines.")), "two lines."),
        (lambda: _words.describe_with_class(KeyError("a")), "KeyError: 'a'."),
    ],
    _assignment: [
        (lambda: _assignment.is_reversed(-np.arange(40.0), np.arange(40.0), np.arange(40)), True),
        (lambda: _assignment.is_reversed(np.arange(40.0), np.arange(40.0), np.arange(40)), False),
        (
            lambda: _assignment.is_reversed(-np.arange(40.0), np.arange(40.0), np.arange(40) // 20),
            False,
        ),
    ],
    _repairs: [
        (
            lambda: _repairs._take_number_columns(
                pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [True, False], "d": [0.5, 1.5]})
            ),
            [[1.0, 0.5], [2.0, 1.5]],
        ),
        (lambda: _repairs._take_number_columns(pd.DataFrame({"b": ["x", "y"]})), None),
        (lambda: _repairs._take_number_columns(array([[1, 2]])), [[1.0, 2.0]]),
        (lambda: _repairs._take_number_columns(array([["a"]])), None),
        (lambda: _repairs._take_number_columns(np.zeros((2, 0))), None),
        (
            lambda: _repairs._put_numbers(
                pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "d": [0.5, 1.5]}),
                array([[3.0, 4.0], [5.0, 6.0]]),
            ),
            {"a": [3.0, 5.0], "b": ["x", "y"], "d": [4.0, 6.0]},
        ),
        (lambda: _repairs._put_numbers(array([[1, 2]]), array([[3.5, 4.0]])), [[3.5, 4.0]]),
        (
            lambda: (
                _repairs._put_numbers(
                    array([[1.0, 2.0]], dtype=np.float32), array([[3.5, 4.0]])
                ).dtype.str
            ),
            "<f4",
        ),
    ],
    _row_question: [
        (lambda: _row_question._rank_columns(array([3.0, nan, 1.0, 2.0])), [4.0, 2.5, 1.0, 2.5]),
    ],
    _skill: [
        (lambda: _skill._sum_influence(array([1.0, 2.0, -3.0]), array([0, 0, 1]), 0.5), 4.24264069),
        (lambda: _skill._sum_influence(array([1.0, 2.0, -3.0]), array([0, 0, 1]), 5.0), 5.0),
        (lambda: _skill.is_surely_below(NS(high=0.4), NS(low=0.5)), True),
        (lambda: _skill.is_surely_below(NS(high=0.5), NS(low=0.5)), False),
        (lambda: _skill.is_surely_below(NS(high=0.3), NS(low=0.5), 0.5), False),
        (lambda: _skill.is_surely_below(NS(high=0.2), NS(low=0.5), 0.5), True),
    ],
    _skill_questions: [
        (lambda: _skill_questions._list_chosen(NS(n_features_in_=3), slice(1, None)), [1, 2]),
        (lambda: _skill_questions._list_chosen(NS(n_features_in_=3), [0, 2]), [0, 2]),
        (lambda: _skill_questions._list_chosen(NS(n_features_in_=3), [True, False, True]), [0, 2]),
        (lambda: _skill_questions._list_chosen(NS(n_features_in_=3), 1), [1]),
        (lambda: _skill_questions._list_chosen(NS(feature_names_in_=["a", "b"]), "b"), ["b"]),
        (lambda: _skill_questions._list_chosen(NS(feature_names_in_=["a", "b"]), [1]), ["b"]),
        (lambda: _skill_questions._list_chosen(NS(feature_names_in_=["a", "b"]), []), []),
        (
            lambda: _skill_questions._list_chosen(NS(feature_names_in_=["a", "b"]), ["b", "a"]),
            ["b", "a"],
        ),
    ],
    _file_questions: [
        (lambda: _file_questions._is_of_texts(NS(part="TfidfVectorizer")), True),
        (lambda: _file_questions._is_of_texts(NS(part="OneHotEncoder")), False),
        (lambda: _file_questions._show_value(np.int64(3)), "3"),
        (lambda: _file_questions._show_value("a" * 50), "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."),
    ],
    _control: [
        (lambda: _control._has_too_few(NS(membership=array([True, False]))), True),
    ],
    _drift: [
        (lambda: _drift._largest_split_error(1), 1.0),
        (
            lambda: _drift._get_auc(array([1.0, 2.0, 3.0, 4.0]), array([False, True, False, True])),
            0.75,
        ),
        (
            lambda: _drift._get_auc(
                array([1.0, 2.0, 3.0, 4.0]), array([False, False, False, True])
            ),
            1.0,
        ),
        (lambda: _drift._check_splits("auto", MLPClassifier()), 1),
        (lambda: _drift._check_splits(3, Ridge()), 3),
    ],
    _duplicates: [
        (
            lambda: _duplicates._one_hot(array([1, 0]), 3).toarray(),
            [[0.0, 0.707106781, 0.0], [0.707106781, 0.0, 0.0]],
        ),
        (lambda: _duplicates._square(array([[1.0, 2.0], [3.0, 0.0]]), None), [5.0, 9.0]),
        (
            lambda: _duplicates._square(
                array([[1.0, 2.0], [3.0, 0.0]]), sparse.csr_array([[2.0], [1.0]])
            ),
            [9.0, 10.0],
        ),
        (
            lambda: _duplicates._list_copied_pairs(
                array([7, 8, 9]), array([1, 2, 3]), array([3.0, 1.0, 2.0]), 2.0
            ),
            {
                "nonmember": [8, 9, 7],
                "member": [2, 3, 1],
                "distance": [1.0, 2.0, 3.0],
                "relative": [0.5, 1.0, 1.5],
            },
        ),
        (
            lambda: _duplicates._list_copied_pairs(
                array([7, 8]), array([1, 2]), array([3.0, 1.0]), 0.0
            ),
            {"nonmember": [8, 7], "member": [2, 1], "distance": [1.0, 3.0], "relative": [nan, nan]},
        ),
    ],
    _formats: [
        (
            lambda: _formats._standardize(array([1.0, 2.0, 6.0])),
            [-0.9258201, -0.46291005, 1.38873015],
        ),
        (lambda: _formats._standardize(array([2.0, 2.0])), [0.0, 0.0]),
        (
            lambda: _formats._log_value_counts(array([3, 3, 1]), None),
            [0.693147182, 0.693147182, 0.0],
        ),
        (lambda: _formats._log_value_counts(array([3, 3, 1]), array([0, 0, 1])), [0.0, 0.0, 0.0]),
        (lambda: _formats._is_missing_cell(None), True),
        (lambda: _formats._is_missing_cell(nan), True),
        (lambda: _formats._is_missing_cell(pd.NaT), True),
        (lambda: _formats._is_missing_cell(""), False),
        (
            lambda: _formats._count_characters(["Ab1!", "", "A B"]),
            [[0.25, 0.0, 0.666666687], [0.25, 0.0, 0.0], [0.25, 0.0, 0.0]],
        ),
        (
            lambda: _formats._rank_numbers(["a10", "a9", "x"], array([0, 1, 0])),
            [0.666666687, 0.166666672, 0.666666687],
        ),
        (lambda: _formats._rank_numbers(["a10", "x", "y"], array([0, 1, 2])), None),
        (lambda: _formats._rank_numbers(["a10", "a9", "x"], array([0, 1, 2])), [0.75, 0.25, 0.5]),
    ],
    _permutation: [
        (
            lambda: _permutation._count_reached(array([3.0, 1.0, 2.0]), array([0.5, 2.0, 3.5])),
            [0.0, 0.666666667, 1.0],
        ),
    ],
    _results: [
        (
            lambda: _results._lies_apart(
                dict(estimate=0.7, low=0.69, high=0.71), dict(auc=0.6, sd=0.01)
            ),
            True,
        ),
        (
            lambda: _results._lies_apart(
                dict(estimate=0.5, low=0.49, high=0.51), dict(auc=0.6, sd=0.01)
            ),
            True,
        ),
        (
            lambda: _results._lies_apart(
                dict(estimate=0.63, low=0.62, high=0.64), dict(auc=0.6, sd=0.01)
            ),
            False,
        ),
        (
            lambda: _results._lies_apart(
                dict(estimate=0.621, low=0.62, high=0.622), dict(auc=0.6, sd=0.0)
            ),
            True,
        ),
        (
            lambda: _results._lies_apart(
                dict(estimate=0.619, low=0.618, high=0.62), dict(auc=0.6, sd=0.0)
            ),
            False,
        ),
    ],
    _sides: [
        (lambda: _sides._is_turned(None), False),
        (
            lambda: _sides._is_turned(
                ("share", array([0.0, 0.0, 1.0, 0.0]), array([1.0, 1.0, 1.0, 1.0, 0.0] * 5))
            ),
            False,
        ),
        (
            lambda: _sides._is_turned(
                ("share", array([1.0, 1.0, 1.0, 1.0, 0.0] * 5), array([0.0, 0.0, 1.0, 0.0]))
            ),
            False,
        ),
        (
            lambda: _sides._is_turned(
                ("error", array([1.0, 1.0, 1.0, 1.0, 0.0] * 5), array([0.0, 0.0, 1.0, 0.0]))
            ),
            False,
        ),
        (
            lambda: _sides._covers_held_out(
                NS(membership=array([True, False, False])), NS(n_rows=3, n_alike=0), False
            ),
            True,
        ),
        (
            lambda: _sides._covers_held_out(
                NS(membership=array([True, False, False])), NS(n_rows=3, n_alike=0), True
            ),
            False,
        ),
        (
            lambda: _sides._covers_held_out(
                NS(membership=array([True, False, False])), NS(n_rows=2, n_alike=2), True
            ),
            True,
        ),
        (
            lambda: _sides._covers_held_out(
                NS(membership=array([True, False, False])), NS(n_rows=2, n_alike=0), False
            ),
            False,
        ),
    ],
    _training_rows: [
        (
            lambda: _training_rows._count_alike(
                NS(membership=array([True] + [False] * 6)), NS(file_scores=np.full(7, 20.0)), 7
            ),
            6,
        ),
        (
            lambda: _training_rows._count_alike(
                NS(membership=array([True] + [False] * 6)), NS(file_scores=np.full(7, 20.0)), 8
            ),
            0,
        ),
        (
            lambda: _training_rows._count_alike(
                NS(membership=array([True] + [False] * 5)), NS(file_scores=np.full(6, 20.0)), 6
            ),
            0,
        ),
        (
            lambda: _training_rows._count_alike(
                NS(membership=array([True, False])), NS(file_scores=None), 1
            ),
            0,
        ),
    ],
    _units: [
        (
            lambda: _units.are_mixed(
                array([0, 0, 1, 1, 2]), array([True, False, True, True, False])
            ),
            [True, False, False],
        ),
        (lambda: _units.name_mixed(array([True, False, True]), array(["b", "b", "a"])), (["b"], 2)),
        (
            lambda: _units._are_records(NS(places=array([4, 5]), is_member=array([True, False]))),
            True,
        ),
        (
            lambda: _units._are_records(NS(places=array([4, 6]), is_member=array([True, False]))),
            False,
        ),
        (
            lambda: _units._are_records(
                NS(places=array([4, 5, 6]), is_member=array([True, False]))
            ),
            False,
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
