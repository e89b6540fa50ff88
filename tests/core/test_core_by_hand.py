"""Small functions of the ground at the limits of their branches, with answers by hand."""

from collections import UserList
from pathlib import Path
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers
from numpy import array, inf, nan
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from skmia._core import (
    accountant,
    brief,
    caches,
    callers,
    containers,
    copies,
    decisions,
    error_hints,
    features,
    filed_array,
    files,
    groups,
    guesses,
    hashing,
    label_maps,
    levels,
    linear_influence,
    metric_inputs,
    moments,
    needs,
    normal_law,
    numbers,
    optional,
    out_of_core,
    outputs,
    probabilities,
    progress,
    query,
    records,
    saving,
    screens,
    splits,
    targets,
    text,
    tokens,
    tradeoff,
    types,
    writers,
)
from skmia._core.pages import curves

COLUMNS = [
    [[True, False]],
    [[True, False], np.float32([0.5, 2.0])],
    [[True, False], [0.5, 2.0]],
    [[True, False], pd.array([1, 2], "Int64")],
    [[True, False], pd.array([1, None], "Int64")],
    [[True, False], [0.5, nan]],
    [[True, False], ["a", "b"]],
]


def list_places(chosen):
    return features.list_chosen_places(chosen, ["a", "b", "c"], 3)


def name_types(*columns):
    """Return the type of the values of a table with these columns."""
    table = pd.DataFrame({str(k): column for k, column in enumerate(columns)})
    return containers.frame_to_numpy(table).dtype.name


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    text: [
        (lambda: text.show_share(0), "0"),
        (lambda: text.show_share(1e-4), "0.0001"),
        (lambda: text.show_share(0.99e-4), "0.0001"),
        (lambda: text.show_share(-0.25), "-0.25"),
        (lambda: text.show_share(-0.25e-4), "0.0000"),
        (lambda: text.count_briefly(0.998, 100), ">99"),
        (lambda: text.count_briefly(0.002, 100), "<1"),
        (lambda: text.drop_sign("-0.00"), "0.00"),
        (lambda: text.drop_sign("+0"), "0"),
        (lambda: [text.count_more(n, "row") for n in (1, 2000)], ["1 more row", "2,000 more rows"]),
        (lambda: text.drop_sign("-0.10"), "-0.10"),
        (lambda: text.drop_sign("-inf"), "-inf"),
        (
            lambda: text.write_apart(text.show_share, (0.07, 0.0700004, 0.0699999), 0.07),
            ["0.07", "0.0700004", "0.0699999"],
        ),
        # What no number of an audit means is not written.
        (lambda: text.write_apart(text.show_share, [0.07 + 1e-16], 0.07), ["0.07"]),
        (lambda: text.shorten("abcdef", 6), "abcdef"),
        (lambda: text.shorten("abcdefg", 6), "abc..."),
        (lambda: text.shorten("abcdefg", 6, "~"), "abcde~"),
        (lambda: text.choose_base(0.01), 100),
        (lambda: text.choose_base(0.0099), 1000),
        (lambda: text.choose_base(0.001), 1000),
        (lambda: text.count_words(0), "no"),
        (lambda: text.count_words(3), "three"),
        (lambda: text.count_words(12), "twelve"),
        (lambda: text.count_words(13), "13"),
        (lambda: text.count_words(1234), "1,234"),
        (lambda: text.tell_condition(0, 1000), "when none of 1,000 others is mistaken for one"),
        (lambda: text.tell_condition(0.001, 1000), "when 1 of 1,000 others is mistaken for one"),
        (lambda: text.tell_condition(0.003, 1000), "when 3 of 1,000 others are mistaken for one"),
        (
            lambda: text.wrap_lines(["one two", "x" * 50 + " " + "y" * 60]),
            [
                "one two",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "  yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
            ],
        ),
        (
            lambda: text.format_rows_of_table(["a", "b"], [["1", "x|y"], ["2", "z"]]),
            ["| a | b |", "| --- | --- |", "| 1 | x\\|y |", "| 2 | z |"],
        ),
    ],
    tokens: [
        (lambda: tokens.name_rows(array([False, True, False])), "Record 1"),
        (lambda: tokens.name_rows(array([True, True, False])), "Records 0 and 1"),
        (lambda: tokens.name_rows(np.ones(4, dtype=bool)), "Records 0, 1, 2 and 3"),
        (lambda: tokens.name_rows(np.ones(5, dtype=bool), "Row"), "Rows 0, 1, 2 and 2 more"),
        (lambda: tokens.name_rows(np.ones(7, dtype=bool)), "Records 0, 1, 2 and 4 more"),
        (
            lambda: tokens.count_row_lengths(
                array([[1, np.nan, 3, np.nan], [np.nan] * 4, [1, 2, 3, 4]])
            ),
            [3, 0, 4],
        ),
        (lambda: tokens.count_row_lengths(np.zeros((2, 0))), [0, 0]),
        (
            lambda: tokens._move_left(
                array([[1, 2, 3], [4, 5, 6]]), array([[False, True, True], [False, False, True]])
            ),
            [[2, 3, 0], [6, 0, 0]],
        ),
        (
            lambda: tokens._stack_token_arrays([array([[1.0]]), array([[2.0, 3.0], [4.0, 5.0]])]),
            [[1.0, nan], [2.0, 3.0], [4.0, 5.0]],
        ),
        (lambda: tokens._stack_token_arrays([array([[1.0]]), None]), None),
        (lambda: tokens.check_given(2, 3).tolist(), [2, 2, 2]),
        (lambda: tokens.check_given([0, 1, 2], 3).tolist(), [0, 1, 2]),
    ],
    groups: [
        (
            lambda: groups.mean_by_group(array([1.0, 2.0, 6.0]), array([0, 2, 2]), 4),
            [1.0, nan, 4.0, nan],
        ),
        (lambda: groups.mean_by_group(array([True, False]), array([0, 0]), 2), [0.5, nan]),
        (lambda: groups.sum_by_group(array([2**53, 1, 1]), array([1, 1, 0]), 3), [1, 2**53, 0]),
        (lambda: groups._as_names(array([1.5, 2.5], dtype=np.float16)).dtype.str, "<f8"),
        (lambda: groups._as_names(array([1.5, 2.5], dtype=np.float32)).dtype.str, "<f4"),
        (lambda: groups._as_names(array([1.5, 2.5], dtype=np.longdouble)).dtype.str, "<f8"),
        (
            lambda: [
                type(one).__name__
                for one in groups._as_names(array([np.float16(1.5), 2, "a"], dtype=object))
            ],
            ["float", "int", "str"],
        ),
    ],
    guesses: [
        (
            lambda: guesses.find_alike(
                "shadow_models", ["n_shadows", "shadow_model", "model_name", "rate"]
            ),
            ["shadow_model"],
        ),
        (lambda: guesses.find_alike("Models", ["a_model", "models"]), []),
        (lambda: guesses.find_alike("rate", ["n_shadows"]), []),
        (lambda: guesses.find_alike("tableRows", ["table_a", "table_b", "table_c"]), []),
        (lambda: guesses.find_alike("tableRows", ["table_a", "table_b"]), ["table_a", "table_b"]),
        (lambda: guesses._is_submodule("skmia", "attacks"), True),
        (lambda: guesses._is_submodule("skmia", "exceptions"), True),
        (lambda: guesses._is_submodule("skmia.attacks", "nothing"), False),
    ],
    hashing: [
        (lambda: hashing._describe_float(float("nan")), b"missing"),
        (lambda: hashing._describe_float(3.0), b"number 3"),
        (lambda: hashing._describe_float(-31.0), b"number -1f"),
        (lambda: hashing._describe_float(2.5), b"number 0x1.4000000000000p+1"),
        (lambda: hashing._count_non_zero(array([[0, 1, 2], [0, 0, 3]])), [2, 1]),
        (lambda: hashing._count_non_zero(sparse.csr_array(array([[0, 1, 2], [0, 0, 3]]))), [2, 1]),
        (lambda: hashing._count_cell_columns(np.zeros(3)), 1),
        (lambda: hashing._count_cell_columns(np.zeros((3, 2))), 2),
        (
            lambda: hashing.find_copies(array([5, 1, 5, 2, 1, 5], dtype=np.uint64)),
            [[2, 4, 5], [0, 1, 0]],
        ),
        (lambda: hashing.find_copies(array([5, 1, 2], dtype=np.uint64)), [[], []]),
        (
            lambda: hashing.find_repeated_prints(
                array([5, 1, 5, 2, 1], dtype=np.uint64), array([True, False, False, True, False])
            ),
            ([1, 5], [False, True]),
        ),
        (
            lambda: hashing.mark_shared_prints(
                array([5, 1, 5, 2, 1], dtype=np.uint64), array([True, False, False, True, False])
            ),
            [True, False, True, False, False],
        ),
        (
            lambda: hashing.draw_by_content(array([50, 10, 40, 20, 30], dtype=np.uint64), 3),
            [1, 3, 4],
        ),
        (lambda: hashing.number_equal(array([3, 1, 3, 2, 1])), [2, 0, 2, 1, 0]),
        (lambda: hashing.describe_types(np.zeros((2, 2)), None), "float64 x 2"),
        (
            lambda: hashing.describe_types(np.zeros((2, 2)), np.zeros((2, 3), dtype=int)),
            "float64 x 2, labels int64 x 3",
        ),
        (
            lambda: hashing.describe_types(np.zeros((2, 2)), np.zeros(2, dtype=int)),
            "float64 x 2, labels int64",
        ),
    ],
    label_maps: [
        (lambda: label_maps.as_value(True), 1.0),
        (lambda: label_maps.as_value(" 2 "), 2.0),
        (lambda: label_maps.as_value("yes"), "yes"),
        (lambda: label_maps.as_value("No"), "No"),
        (lambda: label_maps.as_value("inf"), "inf"),
        (lambda: label_maps.as_value(2**53 + 1), "9007199254740993"),
        (lambda: label_maps.as_value("cat "), "cat"),
        (lambda: label_maps._find_name_places(array(["b", "z", "a"]), ["a", "b"]), [1, -1, 0]),
        (lambda: label_maps._is_above(array([1, 1, 1, 1, 1, 0], bool), np.zeros(6, bool)), True),
        (lambda: label_maps._is_above(array([1, 1, 1, 1, 0, 0], bool), np.zeros(6, bool)), False),
        (lambda: label_maps._is_above(np.zeros(6, bool), array([1, 1, 1, 1, 1, 0], bool)), False),
        (
            lambda: label_maps._is_above(array([1] * 9 + [0], bool), array([0] * 9 + [1], bool)),
            True,
        ),
    ],
    levels: [
        (lambda: round(levels.scale_interval(0.95, 0.9), 6), 1.191573),
    ],
    linear_influence: [
        (lambda: linear_influence.is_dual(3, array([1.0, 1.0, 1.0, 0.0]), 1), True),
        (lambda: linear_influence.is_dual(4, array([1.0, 1.0, 1.0, 0.0]), 1), False),
        (lambda: linear_influence.is_dual(2, array([1.0, 1.0, 0.0, 0.0]), 1), False),
        (lambda: linear_influence.is_dual(3, array([1.0, 1.0, 1.0, 0.0]), 2), False),
        (
            lambda: linear_influence.expect_influence(10, 40, np.ones(4), 1, 2),
            (96000384.0, 5.504e-08, "a matrix of 4 x 4 coefficients", 0),
        ),
        (
            lambda: linear_influence.expect_influence(10, 40, np.ones(4), 3, 2),
            (96003456.0, 5.4528e-07, "a matrix of 12 x 12 coefficients", 0),
        ),
        (
            lambda: linear_influence.expect_influence(3, 40, np.ones(4), 1, 2, is_sparse=True),
            (96000288.0, 2.1432e-07, "a matrix of 3 x 3 records", 0),
        ),
        (
            lambda: linear_influence._multiply_rows(
                array([[1.0, 2.0], [3.0, 4.0]]), array([[5.0, 6.0], [7.0, 8.0]])
            ),
            [17.0, 53.0],
        ),
        (
            lambda: linear_influence._multiply_rows(
                sparse.csr_array([[1.0, 2.0], [3.0, 4.0]]), array([[5.0, 6.0], [7.0, 8.0]])
            ),
            [17.0, 53.0],
        ),
        (
            lambda: linear_influence._sum_weighted(
                array([[1.0, 2.0], [3.0, 4.0]]), array([1.0, 10.0])
            ),
            [[91.0, 122.0], [122.0, 164.0]],
        ),
        (
            lambda: linear_influence._sum_weighted(
                sparse.csr_array([[1.0, 2.0], [3.0, 4.0]]), array([1.0, 10.0])
            ),
            [[91.0, 122.0], [122.0, 164.0]],
        ),
        (lambda: linear_influence._count_block_rows(10**12), 1),
    ],
    moments: [
        (lambda: moments._are_all(array([True, False]), array([False, True])), True),
        (lambda: moments._are_all(array([True, False]), array([False, False])), False),
        (
            lambda: moments._shift_to_center(
                array([2, 0]), array([10.0, 20.0]), array([1.0, 0.0]), array([2.5, 0.0])
            ),
            ([10.5, 20.0], [2.0, 0.0]),
        ),
    ],
    needs: [
        (lambda: needs._join_words(["a"], "or"), "a"),
        (lambda: needs._join_words(["a", "b", "a", "c"], "and"), "a, b and c"),
        (lambda: needs._is_auto("auto"), True),
        (lambda: needs._is_auto("loss"), False),
        (lambda: needs._is_auto(("a", 1)), True),
    ],
    normal_law: [
        (
            lambda: normal_law.log_normal(array([1.0, 3.0]), 1.0, array([1.0, 4.0])),
            [-0.918938533, -2.11208571],
        ),
        (lambda: normal_law._shorten_counts(array([3, 3, 3])), [3]),
        (lambda: normal_law._shorten_counts(array([3, 4, 3])), [3, 4, 3]),
    ],
    numbers: [
        (lambda: numbers.are_consecutive(array([3, 4, 5])), True),
        (lambda: numbers.are_consecutive(array([3, 5, 5])), False),
        (lambda: numbers.are_consecutive(array([3, 4, 6])), False),
        (lambda: numbers.are_consecutive(array([5, 4, 3])), False),
        (lambda: numbers.are_consecutive(array([], dtype=int)), True),
        (lambda: numbers.are_allowed_numbers(array([0, 1, 1]), [0, 1]), True),
        (lambda: numbers.are_allowed_numbers(array([0, 2, 1]), [0, 1]), False),
        (lambda: numbers.are_allowed_numbers(array(["0"]), [0, 1]), False),
        (lambda: numbers.denullify(array([1, None], dtype=object)), [1.0, nan]),
        (
            lambda: [
                numbers.show(one)
                for one in (np.str_("a"), np.float32(0.1), np.int8(3), np.bool_(True), "b", 0.5)
            ],
            ["'a'", "0.1", "3", "True", "'b'", "0.5"],
        ),
        (lambda: numbers.show(np.datetime64("2020-01-01")), "np.datetime64('2020-01-01')"),
    ],
    optional: [
        (lambda: optional.is_of_package(LogisticRegression(), "sklearn"), True),
        (lambda: optional.is_of_package(LogisticRegression(), "sklear"), False),
        (lambda: optional.is_of_package(3, "sklearn"), False),
    ],
    outputs: [
        (lambda: outputs.is_integer_slice(slice(1, None, 2)), True),
        (lambda: outputs.is_integer_slice(slice(1, None, 0)), False),
        (lambda: outputs.is_integer_slice(slice("a", None)), False),
        (lambda: outputs.show_classes(np.arange(10)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
        (lambda: outputs.show_classes(np.arange(11)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]"),
    ],
    curves: [
        (lambda: curves._place_point(1.0, 1.0), (376.0, 24.0)),
        (lambda: curves._place_point(0.01, 0.1), (154.7, 93.3)),
        (lambda: curves._place_point(0.0, 1e-9), (44.0, 232.0)),
        (lambda: curves._place_label("LiRA", (0.01,), (0.1,), None), [145.7, 97.3, "end"]),
        (lambda: curves._place_label("LiRA", (1e-5,), (0.1,), (0.1, 0.5)), [273.3, 62.9, "start"]),
        (lambda: curves._place_label("LiRA", (1e-5,), (1e-9,), None), [52.0, 228, "start"]),
        (lambda: curves._place_guessing([]), [274.1, 104.1]),
        (
            lambda: curves._separate([{"label": [0, 10]}, {"label": [0, 20]}, {"label": [0, 40]}]),
            [{"label": [0, 10]}, {"label": [0, 25]}, {"label": [0, 40]}],
        ),
        (
            lambda: curves._separate([{"label": [0, 10]}, {"label": [0, 25]}, {"label": [0, 26]}]),
            [{"label": [0, 10]}, {"label": [0, 25]}, {"label": [0, 40]}],
        ),
    ],
    probabilities: [
        (lambda: probabilities.as_columns(array([0.25, 1.0])), [[0.75, 0.25], [0.0, 1.0]]),
        (
            lambda: probabilities.log_sum_exp(
                array([[0.0, np.log(3)], [-np.inf, -np.inf], [1000.0, 1000.0]])
            ),
            [1.38629436, -inf, 1000.69315],
        ),
        (lambda: probabilities._sum_known(array([[1.0, 2.0], [np.nan, 5.0]])), [3.0, 5.0]),
        (lambda: probabilities._sum_known(array([[1.0, 2.0], [4.0, 5.0]])), [3.0, 9.0]),
        (lambda: probabilities.posterior_of(np.log([3.0, 1.0])), [0.75, 0.5]),
        (lambda: probabilities.posterior_of(np.log([3.0, 1.0]), 0.25), [0.5, 0.25]),
        (
            lambda: probabilities.fisher_rao_of_probabilities(array([1.0, 0.0]), array([0.0, 1.0])),
            3.14159265,
        ),
        (
            lambda: probabilities.fisher_rao_of_probabilities(array([0.5, 0.5]), array([1.0, 0.0])),
            1.57079633,
        ),
        (
            lambda: probabilities.fisher_rao_of_normals(
                array([[0.0], [0.0]]), array([[1.0], [np.e]])
            ),
            1.41421356,
        ),
        (
            lambda: probabilities.fisher_rao_of_normals(
                array([[3.0], [1.0]]), array([[1.0], [2.0]])
            ),
            1.63880533,
        ),
        (
            lambda: probabilities.round_into_bounds(array([0.5, 1.0 + 1e-16, -1e-17])),
            [0.5, 1.0, 0.0],
        ),
    ],
    progress: [
        (lambda: progress._outlast(10, 4), 6),
        (lambda: progress._outlast(10, 14), 7.33333333),
        (lambda: progress._outlast(10, 9.9), 3.3),
        (lambda: progress._describe_work(NS(name="a", n_parts="3 of 4")), "a, 3 of 4"),
        (lambda: progress._describe_work(NS(name="a", n_parts="")), "a"),
        (lambda: progress.can_write(NS(encoding="ascii"), "é"), False),
        (lambda: progress.can_write(NS(encoding="utf-8"), "é"), True),
        (lambda: progress.can_write(NS(), "e"), True),
    ],
    query: [
        (lambda: query._add_to_one(array([[0.25, 0.75], [0.5, 0.5]]), "logits"), True),
        (lambda: query._add_to_one(array([[0.25, 0.75], [0.25, 0.75]]), "logits"), False),
        (lambda: query._add_to_one(array([[-0.25, 1.25], [0.5, 0.5]]), "logits"), False),
        (lambda: query._add_to_one(array([[0.25, 0.76], [0.5, 0.5]]), "logits"), False),
        (lambda: query._add_to_one(array([[0.25, 0.75], [0.5, 0.5]]), "proba"), False),
        (lambda: query._add_to_one(array([[1.0], [0.5]]), "logits"), False),
    ],
    records: [
        (lambda: records._are_targets(np.zeros((3, 2)), array([[1, 2], [2, 3], [3, 3]])), False),
        (lambda: records._are_targets(np.zeros((3, 4)), array([[1, 2], [2, 3], [3, 3]])), True),
        (lambda: records._are_targets(np.zeros((3, 4)), array([[1, 0], [0, 1], [1, 0]])), False),
        (lambda: records._are_targets(np.zeros((3, 4)), array([[1, 0], [1, 1], [1, 0]])), True),
        (lambda: records._are_targets(np.zeros((2, 4)), array([[1, 2], [2, 3], [3, 3]])), False),
        (lambda: records._are_targets(np.zeros((3, 4)), array([1, 2, 3])), False),
        (lambda: records._count_axes(np.zeros((3, 1))), 1),
        (lambda: records._count_axes(np.zeros((3, 2))), 2),
        (lambda: records._count_axes(np.zeros((3, 2, 1))), 3),
        (lambda: records._count_axes([1, 2]), 1),
        (lambda: records._count_axes("ab"), 0),
        (lambda: records._describe_labels(np.zeros((3, 2))), "float64, 2 columns"),
        (lambda: records._describe_labels(None), "none"),
    ],
    saving: [
        (
            lambda: saving.describe_failure("a.png", OSError(2, "No such file")),
            "The file a.png could not be made: No such file.",
        ),
        (
            lambda: saving.describe_failure("a.png", ImportError("needs x.")),
            "The file a.png could not be made: needs x.",
        ),
        (
            lambda: saving.describe_failure("a.png", ValueError("two\n lines.")),
            "The file a.png could not be made: ValueError: two lines.",
        ),
    ],
    screens: [
        (lambda: screens._escape_but_code("a_b `c_d` e_f"), "a\\_b `c_d` e\\_f"),
    ],
    splits: [
        (lambda: splits._find_cut(array([3.0, 1.0, 2.0]), 3), inf),
        (lambda: splits._find_cut(array([3.0, 1.0, 2.0]), 2), 2.0),
        (lambda: splits._find_cut(array([3.0, 1.0, 2.0]), 0), -inf),
    ],
    targets: [
        (lambda: targets._pick_different_labels(array([0, 0, 1, 2, 1])), [0, 2, 3, 1]),
        (lambda: targets._first((1, 2)), 1),
        (lambda: targets._first(3), 3),
        (lambda: targets._take_single((np.arange(3), 5), 1), ([1], 5)),
        (
            lambda: [tuple(one) for one in targets._list_forms(array([1.0, 2.0]), False)],
            [
                (False, None),
                (True, None),
                (False, "float32"),
                (True, "float32"),
                (False, "int64"),
                (True, "int64"),
            ],
        ),
        (
            lambda: [tuple(one) for one in targets._list_forms(array([1.5, 2.0]), True)],
            [(True, None), (False, None), (True, "float32"), (False, "float32")],
        ),
        (
            lambda: [tuple(one) for one in targets._list_forms(array([1, 2]), False)],
            [(False, None), (True, None), (False, "float32"), (True, "float32")],
        ),
        (
            lambda: [
                tuple(one) for one in targets._list_forms(array([1, 2], dtype=np.float32), False)
            ],
            [(False, None), (True, None), (False, "int64"), (True, "int64")],
        ),
        (
            lambda: [tuple(one) for one in targets._list_forms(array(["a"]), False)],
            [(False, None), (True, None)],
        ),
    ],
    tradeoff: [
        (lambda: tradeoff.make_subsampling(0.25), (0.25, 4.0)),
        (lambda: tradeoff.make_subsampling(0.25, "poisson"), (1.0, 0.25)),
        (lambda: tradeoff.advantage_of_shift(-2.0, 0.5), 0.341344746),
        (
            lambda: tradeoff._gaussian_profile(0.5, array([0.0, 1.0, np.inf])),
            [0.0, 0.238421708, 1.0],
        ),
        (
            lambda: tradeoff._profile_with(array([0.0, 1.0]), 1.0, 0.25),
            [0.0957312306, 0.00454394553],
        ),
        (lambda: tradeoff._profile_without(array([0.0, 1.0]), 1.0, 0.25), [0.0957312306, 0.0]),
    ],
    types: [
        (lambda: types._name_type(None), "None"),
        (lambda: types._name_type("a"), "a"),
        (lambda: types._name_type(int), "int"),
    ],
    writers: [
        (lambda: writers._change_verbosity({"verbose": 2}), {"verbose": 0}),
        (lambda: writers._change_verbosity({"verbose": True}), {"verbose": False}),
        (lambda: writers._change_verbosity({"verbose": 0}), {"verbose": 0}),
        (lambda: writers._change_verbosity({"verbose": "2"}), {"verbose": "2"}),
        (lambda: writers._get_callback(("a", 3)), 3),
        (lambda: writers._get_callback(3), 3),
        (lambda: writers._get_name(("a", 3)), "a"),
        (lambda: writers._get_name(int), "int"),
        (lambda: writers._get_name(3), "int"),
        (lambda: writers._name_written_file("x/y.pt", "f_params"), "y.pt"),
        (lambda: writers._name_written_file(None, "f_params"), "params.pt"),
        (lambda: writers._is_path("dirname", "a"), True),
        (lambda: writers._is_path("n", "a"), False),
        (lambda: writers._is_path("n", "a/b.txt"), True),
        (lambda: writers._is_path("dirname", 3), False),
        (lambda: writers._is_self(NS(argval="self")), True),
        (lambda: writers._is_self(NS(argval=("a", "self"))), True),
        (lambda: writers._is_self(NS(argval=("self", "a"))), False),
        (lambda: writers._is_self(None), False),
    ],
    files: [
        (lambda: writers._is_path("n", files.Path("a")), True),
        (lambda: files.split_place("a/b.html"), (Path("a"), "b.html")),
        (lambda: files.split_place("a/b.HTM"), (Path("a"), "b.HTM")),
        (lambda: files.split_place("a/b"), (Path("a/b"), "report.html")),
        (lambda: files.name_beside("report.html", "audit.json"), "audit.json"),
        (lambda: files.name_beside("other.html", "audit.json"), "other.json"),
        (lambda: files.name_beside("other.html", "report.html"), "other.html"),
        (lambda: files.name_beside("other.html", "index.html"), "other.html"),
    ],
    copies: [
        (lambda: copies.is_estimator(Ridge()), True),
        (lambda: copies.is_estimator(Ridge), False),
        (lambda: copies.is_estimator(NS(fit=1)), False),
        (lambda: copies.is_estimator(NS(get_params=1)), False),  # as a kernel is
        (lambda: copies.is_estimator(3), False),
        (lambda: copies._is_same_parameter(array([1, 2]), array([1, 2])), True),
        (lambda: copies._is_same_parameter(array([1, 2]), array([1.0, 2.0])), False),
        (lambda: copies._is_same_parameter(array([1, 2]), array([1, 3])), False),
        (lambda: copies._is_same_parameter(1, 1.0), False),
        (lambda: copies._is_same_parameter("a", "ab"[:1]), True),
        (lambda: copies._is_same_parameter([1], [2]), False),
    ],
    caches: [
        (
            lambda: caches._list_cached_candidates(
                {
                    "memory": [None, "a"],
                    "a__memory": ["b"],
                    "b__memory": [None],
                    "memory_": ["c"],
                    3: ["a"],
                }
            ),
            ["memory", "a__memory"],
        ),
        (lambda: caches._is_cache("a"), True),
        (lambda: caches._is_cache(NS(cache=1)), True),
        (lambda: caches._is_cache(None), False),
    ],
    out_of_core: [
        (lambda: out_of_core._differ(array([1, 1, 2, 2, 3]), slice(0, 3)), [True, False, True]),
        (lambda: out_of_core._differ(array([1, 1, 2, 2, 3]), slice(2, 5)), [True, False, True]),
        (
            lambda: out_of_core._look_up(array([3.0, 1.0, 2.0]), lambda values: values * 10),
            [30.0, 10.0, 20.0],
        ),
    ],
    accountant: [
        (
            lambda: accountant._add_up_steps(
                [(1.0, 0.5, 3), (2.0, 0.5, 1), (1.0, 0.5, 4), (1.0, 0.25, 0)]
            ),
            ((1.0, 0.5, 7), (2.0, 0.5, 1)),
        ),
        (lambda: accountant._step_curve(2.0, 1)[:3], (0.1375, 0.15, 0.1625)),
        (lambda: accountant._error_at(0.001), 0.0001),
        (lambda: accountant._error_at(0.5), 0.005),
        (lambda: accountant._error_at(5.0), 0.01),
        (lambda: accountant._error_at(50.0), 0.05),
    ],
    brief: [
        (lambda: brief._is_large_value([1, "a" * 60]), False),
        (lambda: brief._is_large_value([1, "a" * 61]), True),
        (lambda: brief._is_large_value([[1]]), True),
        (lambda: brief._is_large_value({"a": [1]}), True),
        (lambda: brief._is_large_value({"a": None}), False),
    ],
    containers: [
        (lambda: containers.describe_container(np.zeros((2, 3))), "ndarray(2, 3), float64"),
        (lambda: containers.describe_container(pd.DataFrame({"a": [1]})), "DataFrame(1, 1)"),
        (
            lambda: [name_types(*columns) for columns in COLUMNS],
            ["bool", "float32", "float64", "float64", "object", "object", "object"],
        ),
        (
            lambda: containers.align_columns(
                pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [3], "a": [4]})
            ).to_numpy(),
            [[2, 1]],
        ),
        (
            lambda: containers.align_columns(
                pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [3], "c": [4]})
            ).to_numpy(),
            [[1, 2]],
        ),
        (
            lambda: containers._list_column_kinds(
                pd.DataFrame({"a": [1], "b": ["x"], "c": [True], "d": [0.5]})
            ),
            ["numbers", "text", "truth values", "numbers"],
        ),
    ],
    decisions: [
        (lambda: decisions.format_measured({"interval": None}), "-"),
        (
            lambda: decisions.format_measured({"interval": [0.5, 0.25, 0.60002], "limit": 0.6}),
            "0.5 [0.25, 0.60002]",
        ),
        (lambda: decisions._tell_requirements({"release": "table"}), ""),
        (
            lambda: decisions._tell_requirements({"release": "file", "requirements": []}),
            "nothing: the policy waives the rule",
        ),
        (
            lambda: decisions._tell_requirements(
                {
                    "release": "file",
                    "requirements": [{"name": "a", "is_met": True}, {"name": "b", "is_met": False}],
                }
            ),
            "a: able to find something; b: not able to find anything",
        ),
        (lambda: decisions._list_requirements({"release": "table"}), []),
        (lambda: decisions.note_numbers([{"name": "auc"}]), ""),
        (
            lambda: decisions.note_numbers([{"name": "auc"}, {"name": "gap"}]),
            (
                "gap: the mean of 1 - the probability of the label, over non-members "
                "minus over members; not the difference in accuracy."
            ),
        ),
        (lambda: decisions._describe_hash("ab"), "SHA-256 `ab`"),
        (lambda: decisions._describe_hash(""), "it was changed and has no hash"),
        (
            lambda: decisions._format_captioned_table("c", ["a"], [["1"]]),
            ["c", "", "| a |", "| --- |", "| 1 |", ""],
        ),
        (lambda: decisions._format_captioned_table("c", ["a"], []), []),
    ],
    error_hints: [
        (lambda: error_hints._is_low(RuntimeError("out of memory")), False),
        (lambda: error_hints._is_low(RuntimeError("shapes")), True),
        (lambda: error_hints._holds(pd.Series(["a", 3]), "a"), True),
        (lambda: error_hints._holds(pd.Series(["a", 3]), "b"), False),
    ],
    features: [
        (lambda: list_places(["c", "a"]), [2, 0]),
        (lambda: list_places("b"), [1]),
        (lambda: list_places([2, -3]), [2, 0]),
        (lambda: list_places([True, False, True]), [0, 2]),
        (lambda: list_places(slice(1, None)), [1, 2]),
        (lambda: list_places(slice("a", "b")), [0, 1]),
        (lambda: list_places(slice("b", None)), [1, 2]),
        (lambda: list_places(slice(None, "b")), [0, 1]),
        (lambda: list_places([]), []),
        (lambda: list_places(UserList(["b"])), [1]),
        (lambda: features._sort_categories(pd.Series([3, 1, 2, 1])), [1, 2, 3]),
        (lambda: features._sort_categories(pd.Series([3, "a", 2])), [2, 3, "a"]),
        (lambda: features.split_columns(np.zeros((2, 2))), None),
        (
            lambda: [
                part.tolist()
                for part in features.split_columns(array([["a", 1], ["b", 2]], dtype=object))
            ],
            [["a", "b"], [1, 2]],
        ),
    ],
    filed_array: [
        (
            lambda: [
                (one.start, one.stop)
                for one in filed_array._split_columns(array([0, 1, 2, 10**6, 10**6 + 1]))
            ],
            [(0, 3), (3, 5)],
        ),
    ],
    metric_inputs: [
        (lambda: metric_inputs.get_judged(NS(), range(2)), [True, True]),
        (lambda: metric_inputs.get_judged(NS(can_judge=lambda records: [False]), [1]), [False]),
        (lambda: metric_inputs.check_option("a", "x", ("a", "b")), "a"),
    ],
    callers: [
        (lambda: callers.is_import_of_names(0), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
