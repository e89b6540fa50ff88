import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refusal, parametrize_refusals

from skmia import Outputs
from skmia._core.outputs import add_predicted


def exact_scaled_logit(logits, label, temperature=1):
    """log p_y - log(1 - p_y) of one row in fifty digits, the others summed without it."""
    with localcontext() as context:
        context.prec = 50
        weights = [(Decimal(float(z)) / Decimal(temperature)).exp() for z in logits]
        own = weights.pop(label)
        return float((own / sum(weights)).ln())


def exact_log_proba(logits, temperature=1):
    with localcontext() as context:
        context.prec = 50
        weights = [(Decimal(float(z)) / Decimal(temperature)).exp() for z in logits]
        return [float((weight / sum(weights)).ln()) for weight in weights]


EXTREME = np.array(
    [
        [1000.0, -1000.0, 0.0],
        [-1000.0, 1000.0, 999.0],
        [1000.0, 1000.0, 1000.0],
        [-1000.0, -1000.0, -1000.0],
        [40.0, 0.0, -40.0],
        [1e-3, -1e-3, 0.0],
    ]
)


@pytest.mark.parametrize("temperature", [1, 2, 0.5])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_scaled_logit_of_extreme_logits_is_exact(temperature, label):
    outputs = Outputs(EXTREME, [0, 1, 2], "logits")
    got = outputs.scaled_logit(np.full(len(EXTREME), label), temperature)
    expected = [exact_scaled_logit(row, label, temperature) for row in EXTREME]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("temperature", [1, 2, 0.5])
def test_log_proba_of_extreme_logits_is_exact(temperature):
    got = Outputs(EXTREME, [0, 1, 2], "logits").log_proba(temperature)
    expected = [exact_log_proba(row, temperature) for row in EXTREME]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@given(
    st.lists(st.floats(-1000, 1000), min_size=2, max_size=5),
    st.sampled_from([0.5, 1, 2]),
)
def test_scaled_logit_agrees_with_many_digits(row, temperature):
    outputs = Outputs([row], range(len(row)), "logits")
    expected = exact_scaled_logit(row, 0, temperature)
    np.testing.assert_allclose(
        outputs.scaled_logit([0], temperature), expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 3, 100])
def test_zeros_alone_are_as_equal_probabilities(n_classes):
    """Rounding to one decimal leaves them, where no class has a probability of .05."""
    rows = np.stack([np.zeros(n_classes), np.full(n_classes, 1 / n_classes)])
    zeros, equal = Outputs(rows, range(n_classes), "proba").scaled_logit([1, 1], 2.0)
    assert zeros == pytest.approx(-np.log(n_classes - 1))
    assert n_classes > 2 or equal == zeros


def test_binary_scaled_logit_is_the_difference_of_the_logits():
    outputs = Outputs([[0.0, 3.5], [7.0, 2.0]], ["out", "in"], "logits")
    assert outputs.scaled_logit(["in", "in"]).tolist() == [3.5, -5.0]
    assert outputs.scaled_logit(["in", "in"], temperature=2).tolist() == [1.75, -2.5]


def test_float32_logits_are_read_in_double_precision():
    row = np.array([[60.0, 59.0, -60.0]], dtype=np.float32)
    got = Outputs(row, [0, 1, 2], "logits").scaled_logit([0])
    np.testing.assert_allclose(got, exact_scaled_logit(row[0], 0), rtol=1e-14)


def test_probability_that_rounds_to_one_keeps_what_the_other_classes_tell():
    outputs = Outputs([[1.0, 1e-20, 3e-20]], [0, 1, 2])
    np.testing.assert_allclose(outputs.scaled_logit([0]), -np.log(4e-20), rtol=1e-14)


def test_probability_of_zero_and_one_gives_infinite_logits_without_a_resolution():
    outputs = Outputs([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert outputs.scaled_logit([0, 0]).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("r", [1e-16, 0.01, 0.3])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.25, 0.5, 0.99, 1.0])
def test_smoothing_moves_p_to_p_plus_half_a_step_over_one_plus_a_step(p, r):
    outputs = Outputs([[p, (1 - p) / 4, 3 * (1 - p) / 4]], [0, 1, 2])
    q = (p + r / 2) / (1 + r)
    rest = (1 - p + r / 2) / (1 + r)
    got = outputs.scaled_logit([0], resolution=r)
    np.testing.assert_allclose(got, np.log(q / rest), rtol=1e-13, atol=1e-13)


def test_smoothing_comes_before_the_temperature():
    # r = 0.1: (0.05, 1.05) / 1.1, whose square roots are the probabilities at temperature 2.
    outputs = Outputs([[0.0, 1.0]], [0, 1])
    got = outputs.scaled_logit([1], temperature=2, resolution=0.1)
    np.testing.assert_allclose(got, 0.5 * np.log(1.05 / 0.05), rtol=1e-14)


def test_smoothed_classes_share_the_addition_at_other_temperatures():
    outputs = Outputs([[1.0, 0.0, 0.0]], [0, 1, 2])
    got = outputs.scaled_logit([0], temperature=2, resolution=0.1)
    np.testing.assert_allclose(got, np.log(np.sqrt(1.05) / (2 * np.sqrt(0.025))), rtol=1e-14)


def test_tempered_probabilities_equal_tempered_logits():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, size=(20, 4))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = rng.integers(4, size=20)
    for temperature in (0.5, 1, 2, 7):
        given_logits = Outputs(logits, range(4), "logits")
        given_proba = Outputs(proba, range(4), "proba")
        np.testing.assert_allclose(
            given_logits.scaled_logit(y, temperature), given_proba.scaled_logit(y, temperature)
        )
        np.testing.assert_allclose(
            given_logits.log_proba(temperature), given_proba.log_proba(temperature)
        )


@pytest.mark.parametrize("temperature", [1e-4, 1e6])
def test_extreme_temperatures_of_probabilities_are_those_of_logits(temperature):
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    got = Outputs(proba, [0, 1]).scaled_logit([0, 0], temperature)
    expected = np.log([0.9 / 0.1, 0.2 / 0.8]) / temperature
    np.testing.assert_allclose(got, expected)


def test_log_proba_cuts_probabilities_at_1e_minus_12():
    log_proba = Outputs([[0.0, 1.0]], [0, 1]).log_proba()
    np.testing.assert_allclose(log_proba, [[np.log(1e-12), 0.0]])


def test_rounded_probabilities_are_not_renormalized():
    np.testing.assert_allclose(Outputs([[0.3, 0.3]], [0, 1]).log_proba(), np.log([[0.3, 0.3]]))


@pytest.mark.parametrize(
    "values, expected",
    [
        ([[0.0, 1.0], [0.25, 0.75]], 0.25),
        ([[1.0, 0.0], [0.9, 0.1]], 0.1),
        ([[0.5, 0.5], [0.25, 0.75]], 0.0),  # nothing is 0 or 1
        ([[0.0, 1.0], [1e-30, 1.0]], np.finfo(float).eps),
        (np.array([[0.0, 1.0], [1e-30, 1.0]], dtype=np.float32), np.finfo(np.float32).eps),
    ],
)
def test_resolution_is_the_smallest_positive_distance_from_zero_or_one(values, expected):
    np.testing.assert_allclose(Outputs(values, [0, 1]).compute_resolution(), expected)


def test_logits_have_no_resolution():
    assert Outputs([[0.0, 1.0]], [0, 1], "logits").compute_resolution() == 0


def test_margin_is_the_label_minus_the_best_other_class():
    z = [[3.0, 1.0, 2.5], [3.0, 1.0, 2.5]]
    for kind in ("logits", "decision"):
        assert Outputs(z, [0, 1, 2], kind).margin([0, 1]).tolist() == [0.5, -2.0]
    proba = Outputs([[0.5, 0.3, 0.2]], [0, 1, 2])
    np.testing.assert_allclose(proba.margin([2]), np.log(0.2 / 0.5))


def test_first_class_wins_a_tie():
    assert Outputs([[0.5, 0.5]] * 2, ["a", "b"]).is_correct(["a", "b"]).tolist() == [True, False]


def test_labels_that_the_model_predicts_otherwise_go_with_its_outputs():
    values = [[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]]
    outputs = add_predicted(Outputs(values, classes=[1, 3]), [3, 1, 3])
    np.testing.assert_array_equal(outputs.is_correct([3, 3, 3]), [True, False, True])
    joined = Outputs.concat([outputs[:1], outputs[[2, 1]]])
    aligned = pickle.loads(pickle.dumps(joined.aligned_to(np.array([1, 2, 3]))))
    for one in (joined, aligned):
        assert one.as_labels().values.tolist() == [3, 3, 1]
        assert one[1:].is_correct([1, 1]).tolist() == [False, True]
    np.testing.assert_array_equal(aligned.values[:, [0, 2]], np.array(values)[[0, 2, 1]])
    # Without the labels of all parts, those of the whole are those with the highest values.
    mixed = Outputs.concat([outputs[:1], Outputs(values, classes=[1, 3])])
    assert mixed.as_labels().values.tolist() == [1, 1, 1, 3]


def test_predicted_labels_are_compared_with_the_label():
    outputs = Outputs(["b", "b"], ["a", "b"], "label")
    assert outputs.is_correct(["a", "b"]).tolist() == [False, True]


@pytest.mark.parametrize(
    "classes, y, expected",
    [
        (["cat", "dog"], ["dog", "cat"], [1, 0]),
        (["dog", "cat"], ["dog", "cat"], [0, 1]),  # unsorted columns
        ([7, -3, 100], [100, 7, -3], [2, 0, 1]),
        ([False, True], [True, False], [1, 0]),
        ([0.0, 1.0], np.array([1, 0], dtype=np.float32), [1, 0]),
        ([1, 2], np.array([2.0, 1.0]), [1, 0]),
        (np.array(["x", "y"], dtype=object), np.array(["y", "x"], dtype=object), [1, 0]),
    ],
)
def test_label_index_finds_the_column(classes, y, expected):
    outputs = Outputs(np.full((len(y), len(classes)), 1 / len(classes)), classes)
    assert outputs.label_index(y).tolist() == expected


@pytest.mark.parametrize("unknown", [-5, 2, 99])
def test_unknown_label_is_named_with_its_position(unknown):
    outputs = Outputs(np.full((3, 3), 1 / 3), [0, 1, 3])
    with pytest.raises(ValueError, match=rf"1 of 3 .* position 2: {unknown} is none of \[0, 1, 3"):
        outputs.label_index([3, 0, unknown])


@parametrize_refusals(
    (lambda: Outputs([[0.5, 0.5]], ["0", "1"]).label_index([0]), r"0 is none of \['0', '1'\]"),
    (
        lambda: Outputs([[0.5, 0.5]] * 2, [0, 1]).scaled_logit([0]),
        r"one label for each of 2 answers; got .* shape \(1,\)",
    ),
    (
        lambda: Outputs([[0.2, 0.8]], ["a", "b"]).aligned_to(np.array(["a", "c"])),
        r"knows the class 'b', which is none of \['a', 'c'\]",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_aligned_answers_keep_each_number_with_its_class():
    outputs = Outputs([[0.2, 0.8]], ["b", "a"]).aligned_to(np.array(["a", "b", "c"]))
    assert outputs.values.tolist() == [[0.8, 0.2, 0.0]]
    assert outputs.classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["logits", "decision"])
def test_class_that_a_model_never_saw_has_a_value_of_minus_infinity(kind):
    outputs = Outputs([[1.5, 2.5]], [1, 5], kind).aligned_to(np.array([1, 3, 5]))
    assert outputs.values.tolist() == [[1.5, -np.inf, 2.5]]
    assert outputs.margin([1]).tolist() == [-1.0]
    assert outputs.margin([3]).tolist() == [-np.inf]


@pytest.mark.parametrize(
    "outputs",
    [
        Outputs([[1.0, 2.0]], [0, 1], "decision"),
        Outputs([0], [0, 1], "label"),
        Outputs([0.5], kind="value"),
    ],
)
def test_answers_without_probabilities_have_no_logarithm_of_them(outputs):
    for ask in (lambda: outputs.log_proba(), lambda: outputs.scaled_logit([0])):
        with pytest.raises(ValueError, match=f"{outputs.kind!r} hold no class probabilities"):
            ask()


def test_aligning_keeps_single_precision():
    narrow = Outputs(np.array([[0.25, 0.75]], dtype=np.float32), [0, 2])
    assert narrow.aligned_to(np.array([0, 1, 2])).values.dtype == np.float32


def test_selected_answers_are_those_of_the_selected_records():
    outputs = Outputs([[0.1, 0.9], [0.4, 0.6], [0.7, 0.3]], [0, 1])
    assert outputs[[2, 0]].values.tolist() == [[0.7, 0.3], [0.1, 0.9]]
    assert outputs[np.array([False, True, False])].values.tolist() == [[0.4, 0.6]]
    assert len(outputs[1:]) == 2


def test_parts_are_joined_in_order():
    parts = [Outputs([[0.1, 0.9]], [0, 1]), Outputs([[0.4, 0.6]], [0, 1])]
    assert Outputs.concat(parts).values.tolist() == [[0.1, 0.9], [0.4, 0.6]]


def test_answers_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        Outputs([[0.5, 0.5]], [0, 1]).values[0] = 1


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0], [2.0]]])
def test_regressor_answers_one_value_a_record(values):
    assert Outputs(values, kind="value").values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "values, classes, kind, message",
    [
        ([[0.5, 0.5]], [0, 1], "odds", "kind must be one of proba, .*; got 'odds'"),
        ([[0.5, 0.5]], None, "proba", "'proba' need the classes"),
        ([[0.5, 0.5]], [0, 1, 2], "proba", r"its 3 classes; got an array of shape \(1, 2\)"),
        ([0.5, 0.5], [0, 1], "decision", r"shape \(2,\)"),
        ([[0.5, 0.5]], [1, 1], "proba", "different labels"),
        (np.empty((2, 0)), [], "proba", "one or more different labels"),
        ([[0.1, 0.9], [np.nan, 1]], [0, 1], "proba", "NaN for 1 of 2 records, .* position 1"),
        ([[-0.5, 1.5]], [0, 1], "proba", r"in \[0, 1\]; got values from -0.5 to 1.5"),
        ([["a", "b"]], [0, 1], "proba", "must return numbers"),
        ([1.0, np.nan], None, "value", "NaN for 1 of 2 records, .* position 1"),
        ([[1.0, 2.0]], None, "value", r"one value per record; got .* shape \(1, 2\)"),
        ([["a", "b"]], ["a", "b"], "label", r"one label per record; got .* shape \(1, 2\)"),
    ],
)
def test_unusable_answers_are_refused_with_the_reason(values, classes, kind, message):
    with pytest.raises(ValueError, match=message):
        Outputs(values, classes, kind)


@pytest.mark.parametrize(
    "dtype, excess",
    [(np.float64, 1.2e-7), (np.float32, 1.2e-7), (np.float16, 0.002)],
    ids=["double", "single", "half"],
)
def test_what_rounding_puts_outside_the_bounds_is_moved_to_them(dtype, excess):
    given = np.array([[-excess, 1 + excess], [0.25, 0.75]], dtype)
    values = Outputs(given, [0, 1]).values
    assert values.tolist() == [[0.0, 1.0], [0.25, 0.75]]
    assert values.dtype == dtype
    assert given[0, 0] < 0  # the user's array stays as it was


@pytest.mark.parametrize("row", [[-2e-6, 1.0], [0.0, 1 + 2e-6]])
def test_what_more_than_rounding_puts_outside_the_bounds_is_refused(row):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        Outputs([row], [0, 1])


def test_probabilities_within_the_bounds_are_not_copied():
    given = np.array([[0.5, 0.5]])
    assert np.shares_memory(Outputs(given, [0, 1]).values, given)


@pytest.mark.parametrize("kind, classes", [("label", [0, 1]), ("value", None)])
def test_answers_without_columns_have_no_margin(kind, classes):
    with pytest.raises(ValueError, match="hold no margins"):
        Outputs([1, 0], classes, kind).margin([1, 0])
