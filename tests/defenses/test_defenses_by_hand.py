"""Small functions of defenses at the limits of their branches, with answers by hand."""

import hashlib
import warnings
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skmia import Outputs
from skmia.defenses import (
    PrivateSearchCV,
    _cross_fit,
    _evaluation,
    _exact_noise,
    _ledger,
    _meta,
    _noisy_votes,
    _output,
    _released,
    mechanisms,
    schema,
    soft_targets,
)


def draw_by_hand():
    units = np.repeat(np.arange(14), 2)
    strata = (units >= 5).astype(int)
    left_out = _cross_fit.draw_left_out(units, strata, 5, 2, np.random.default_rng(0))
    counts = [left_out[:, ::2][:, one].sum(axis=1) for one in (slice(5), slice(5, None))]
    return (
        bool((left_out.sum(axis=0) == 2).all()),
        bool((left_out[:, ::2] == left_out[:, 1::2]).all()),
        all(np.ptp(one) <= 1 for one in counts),
    )


def count_left_out(n_left_out, n_estimators=5):
    given = NS(n_left_out=n_left_out, n_estimators=n_estimators, _usual_left_out=(10, 2))
    return _cross_fit.count_left_out(given)


def refuse_left_out(n_left_out, n_estimators):
    given = NS(n_left_out=n_left_out, n_estimators=n_estimators)
    return tell_refusal(lambda: _cross_fit.check_numbers_of_models(given))


EVALUATED = {"train_accuracy": 2 / 3, "test_accuracy": 1 / 3, "calibration_error": nan, "auc": nan}
EVALUATED |= {"advantage": nan, "tpr_at_fpr": nan, "label_advantage": 1 / 3}


def describe_evaluated(measured):
    """Describe guesses for three members and three others, of which some are measured."""
    membership = array([[0] * 6, [1, 0, 1, 0, 1, 0]], dtype=bool)
    given = NS(membership=membership, records=NS(y=array([0, 1, 1, 1, 1, 1])))
    given.measured = array(measured)
    guesses = array([0, 1, 0, 0, 1, 0])
    return _evaluation._EvaluationDesign.describe(given, 1, guesses, None)


def match_candidates(*undefended):
    figures = ["test_accuracy", "advantage", "tpr_at_fpr", "label_advantage"]
    rows = {
        "small": [(0.75, 0.25), (0.75, 0.5)],
        "large": [(0.25, 0.5), (0.25, 0.5)],
        "one": [(0.625, 0.625), (0.625, 0.625)],
        "two": [(0.875, 0.125), (0.875, 0.375)],
    }
    frame = pd.DataFrame(
        [(*one, 0.0, 0.0) for some in rows.values() for one in some],
        columns=figures,
        index=pd.MultiIndex.from_product([rows, [0, 1]], names=["candidate", "target"]),
    )
    exposure = pd.DataFrame({name: [0.1, 0.2] for name in rows})
    found = _evaluation.DefenseEvaluation(frame, exposure)
    return found.match(undefended or ("small", "large")).to_dict("list")


def choose_delta(target):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return mechanisms.choose_target_delta(target, 10), len(caught)


def declared(**more):
    """Fit a mechanism on two columns, the order of which is that of its schema."""
    columns = {"b": schema.NumberColumn(0, 1), "a": schema.NumberColumn(1, 4), **more}
    rows = pd.DataFrame({"a": [1.0], "b": [0.0], "c": [1]})[[*columns]]
    given = {"sensitivity": 1.0, "schema": schema.DeclaredSchema(columns), "random_state": 0}
    return mechanisms.LaplaceMechanism(1.0, **given).fit(rows)


proba = array([[[0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7]]])

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _cross_fit: [
        # Each unit is left out by two of five models; in a stratum they differ by at most one.
        (draw_by_hand, (True, True, True)),
        # The first and second model that leave a row out.
        (
            lambda: _cross_fit.stack_left_out(
                array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], dtype=bool),
                [array([[1.0], [2.0]]), array([[3.0], [4.0]]), array([[5.0], [6.0]])],
            ),
            [[[1.0], [3.0], [2.0]], [[5.0], [6.0], [4.0]]],
        ),
        (
            lambda: _cross_fit._as_proba(Outputs(np.log([[1.0, 3.0]]), [0, 1], "logits")),
            [[0.25, 0.75]],
        ),
        (lambda: _cross_fit._as_proba(Outputs(array([[0.5, 0.5]]), [0, 1])), [[0.5, 0.5]]),
        (lambda: count_left_out(3), 3),
        (lambda: [count_left_out("auto", n) for n in (11, 10, 8, 3, 2)], [10, 5, 4, 2, 2]),
        (lambda: refuse_left_out(4, 5), None),
        (
            lambda: refuse_left_out(5, 5),
            "n_left_out must be below n_estimators=5, so that models are left that are trained on "
            "a row; got 5.",
        ),
    ],
    _evaluation: [
        # Of bins of equal confidence: .9 and .95, one right, .6 right, and a full one.
        (
            lambda: _evaluation._compute_calibration_error(
                array([[0.97, 0.03], [0.04, 0.96], [0.6, 0.4], [1.0, 0.0]]),
                array([True, False, True, True]),
            ),
            (abs(0.97 + 0.96 + 1.0 - 2) + 0.4) / 4,
        ),
        (lambda: describe_evaluated([True] * 6), EVALUATED),
        (
            lambda: describe_evaluated([True, True, True, True, False, False]),
            EVALUATED | {"train_accuracy": 1.0, "test_accuracy": 0.0, "label_advantage": 0.0},
        ),
        (lambda: match_candidates()["match"], ["small", "small"]),
        (lambda: match_candidates()["advantage"], [0.25, -0.125]),
        (lambda: match_candidates()["advantage_se"], [0.125, 0.0]),
        (lambda: match_candidates()["test_accuracy_of_match"], [0.75, 0.75]),
        (lambda: match_candidates("large")["match"], ["large"] * 3),
        # In the order in which they were given.
        (lambda: match_candidates("large")["test_accuracy"], [0.75, 0.625, 0.875]),
        (
            lambda: tell_refusal(lambda: match_candidates("other")),
            "undefended must name candidates (small, large, one, two); got ('other',).",
        ),
        (lambda: _evaluation._as_mask(None, [1, 2]), [True, True]),
        (lambda: _evaluation._as_mask([True, False], [1, 2]), [True, False]),
    ],
    _exact_noise: [
        (lambda: _exact_noise.count_grid_steps(1.0, -2), 5),
        (lambda: _exact_noise.count_grid_steps(1.1, -2), 5),
        (
            lambda: (
                _exact_noise.choose_exponents([1.0, 3.0], "a")
                - _exact_noise.choose_exponents([0.5, 0.5], "a")
            ),
            [1, 2],
        ),
        (lambda: _exact_noise._round_to_double(10**400), inf),
        (lambda: _exact_noise._round_to_double(-(10**400)), -inf),
        (lambda: _exact_noise.round_to(array([1.26, -0.26]), array([0.5, 0.25])), [3.0, -1.0]),
    ],
    _ledger: [
        # Half of a digest of SHA-256, of lines.
        (lambda: _ledger._digest("a", "b"), hashlib.sha256(b"a\nb").hexdigest()[:32]),
        (lambda: len(_ledger._digest("a")), 32),
        (lambda: _ledger._as_plain_float(np.float64(0.5)), 0.5),
        (lambda: _ledger._as_plain_float(3), 3),
        (lambda: _ledger._decode_line(b"a\nb"), "a"),
    ],
    _meta: [
        (lambda: _meta._weights_of_head(LogisticRegression(), None), {}),
        (lambda: _meta._weights_of_head(LogisticRegression(), [1]), {}),
        (lambda: _meta._describe_learner(LogisticRegression()), "LogisticRegression"),
        (
            lambda: _meta._describe_learner(make_pipeline(LogisticRegression())),
            "LogisticRegression at the end of the Pipeline",
        ),
        (lambda: _meta._criterion_name(NS(criterion=int)), "int"),
        (lambda: _meta._criterion_name(NS(criterion=3)), "int"),
    ],
    _noisy_votes: [
        (lambda: _noisy_votes._add_noise(array([1, 2]), 0, None), [1, 2]),
    ],
    _output: [
        (lambda: _output.renormalized(array([[1.0, 3.0], [0.0, 0.0]])), [[0.25, 0.75], [0.5, 0.5]]),
    ],
    _released: [
        (
            lambda: _released._round_shares(array([[1 / 3, 1 / 3, 1 / 3], [0.15, 0.25, 0.6]]), 1),
            [[0.4, 0.3, 0.3], [0.2, 0.2, 0.6]],
        ),
        (lambda: _released._strip_line("leaf_count=3 4", 2), "leaf_count=0 0"),
        (lambda: _released._strip_line("feature_infos=[1:2] [3:4]", 2), "feature_infos=none none"),
        (lambda: _released._strip_line("leaf_value=0.126 1.5", 2), "leaf_value=0.13 1.5"),
        (lambda: _released._strip_line("leaf_value=0.126 1.5", None), "leaf_value=0.126 1.5"),
        (lambda: _released._strip_line("tree_sizes=3", None), ""),
        (lambda: _released._strip_line("a=3", 2), "a=3"),
        (lambda: _released._list_booster_trees({"gbtree": {"model": {"trees": [1]}}}), [1]),
        (lambda: _released._list_booster_trees({"model": {"trees": [2]}}), [2]),
        (lambda: _released._list_booster_trees({"name": "gblinear"}), ()),
        (lambda: _released._says_anything(array([True])), False),
        (lambda: _released._says_anything(array([0, 0])), False),
        (lambda: _released._says_anything(array([0, 1])), True),
        (lambda: _released._says_anything(array(["a"])), True),
    ],
    mechanisms: [
        (lambda: mechanisms.count_scale(array([1.5, 2.0])), [2, 2]),
        (lambda: mechanisms.refuse_crossed(array([0, 1]), array([0, 2])), None),
        # A delta of one over the number of rows allows that a row is given away.
        (lambda: choose_delta(None), (0.01, 0)),
        (lambda: choose_delta(0.0999), (0.0999, 0)),
        (lambda: choose_delta(0.1), (0.1, 1)),
        # The names of columns are those of the schema, which is not changed.
        (lambda: (declared().n_features_in_, [*declared().feature_names_in_]), (2, ["b", "a"])),
        (lambda: hasattr(declared().schema, "n_features_in_"), False),
        (
            lambda: tell_refusal(lambda: declared(c=schema.ValuesColumn([1]))),
            "A mechanism adds noise to numbers; the schema declares 'c' as a ValuesColumn. "
            "Declare a NumberColumn, or leave it out.",
        ),
        # Values are brought to their ranges, and what is missing to the lower end of one.
        (
            lambda: declared()._read(pd.DataFrame({"b": [-3.0, nan], "a": [9.0, 2.0]}), False),
            [[0.0, 4.0], [0.0, 2.0]],
        ),
    ],
    schema: [
        (lambda: schema.find_range_ends(NS(whole=True, lower=0.5, upper=2.5)), (1.0, 2.0)),
        (lambda: schema.find_range_ends(NS(whole=False, lower=0.5, upper=2.5)), (0.5, 2.5)),
        (lambda: schema._is_gap(None), True),
        (lambda: schema._is_gap(nan), True),
        (lambda: schema._is_gap(pd.NaT), True),
        (lambda: schema._is_gap("nan"), False),
        (lambda: schema._read_cell(" 2.5 "), 2.5),
        (lambda: schema._read_cell(np.bool_(True)), 1.0),
        (lambda: schema._read_cell(Decimal("0.5")), 0.5),
        (lambda: schema._read_cell(Decimal("sNaN")), None),
        (lambda: schema._read_cell(Decimal("NaN")), None),
        (lambda: [schema._read_cell(k * 10**400) for k in (1, -1)], [inf, -inf]),
        (lambda: schema._read_cell(1j) is schema._FOREIGN, True),
        (lambda: schema._read_cell(date(2020, 1, 2)), "2020-01-02"),
        (lambda: schema._read_cell(datetime(2020, 1, 2)), "2020-01-02"),
        (lambda: schema._read_cell(datetime(2020, 1, 2, 3)), "2020-01-02 03:00:00"),
        (lambda: schema._read_cell(np.datetime64("2020-01-02T03:00:00")), "2020-01-02 03:00:00"),
        (lambda: schema._parse_text_cell("TRUE"), 1.0),
        (lambda: schema._parse_text_cell("false"), 0.0),
        (lambda: schema._parse_text_cell("2.5"), 2.5),
        (lambda: schema._parse_text_cell("nan"), None),
        (lambda: schema._parse_text_cell(""), None),
        (lambda: schema._parse_text_cell("a"), "a"),
        (lambda: schema._find_cell_places(pd.Series(["b", "a", "z"]), ["a", "b"]), [1, 0, -1]),
        (lambda: schema._read_column_numbers(pd.Series(["1", "x", None])), [1.0, nan, nan]),
        (lambda: schema._are_missing(pd.Series(["1", "nan", None, ""])), [False, True, True, True]),
        (lambda: schema._read_typed_numbers(pd.Series([1, None], dtype="Int64")), [1.0, nan]),
        (lambda: schema._read_typed_numbers(pd.Series([1j])), None),
    ],
    soft_targets: [
        (
            lambda: soft_targets._part_of_way(array([1.0, 3.0, 2.0]), array([2.0, 2.0, 2.0])),
            [0.5, 1.0, 1.0],
        ),
        (
            lambda: soft_targets.move_to_labels(proba, array([0, 1]), 0.0, "label"),
            [[0.7, 0.3], [0.25, 0.75]],
        ),
        (
            lambda: soft_targets.move_to_labels(proba, array([0, 1]), array([1.0, inf]), "label"),
            [[0.8, 0.2], [0.0, 1.0]],
        ),
        (
            lambda: soft_targets.move_to_labels(proba, array([0, 1]), 1.0, "direction"),
            [[0.8, 0.2], [0.2, 0.8]],
        ),
        (
            lambda: soft_targets.move_to_labels(proba, array([1, 0]), 2.0, "coordinate"),
            [[0.5, 0.5], [0.35, 0.65]],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "score"])
def test_a_private_search_answers_by_its_best_estimator_once_it_is_fitted(method):
    search = PrivateSearchCV(LogisticRegression(), {"C": [1.0]})
    given = [np.eye(4), array([0, 1, 0, 1])][: 2 if method == "score" else 1]
    with pytest.raises(NotFittedError):
        getattr(search, method)(*given)
    search.best_estimator_ = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    answer = getattr(search.best_estimator_, method)(*given)
    np.testing.assert_array_equal(getattr(search, method)(*given), answer)


def test_defaults_are_those_of_the_docstrings():
    from skmia import defenses
    from skmia.defenses import mechanisms, schema, soft_targets

    found, n_compared = compare_defaults_of(defenses, mechanisms, schema, soft_targets)
    assert not found
    assert n_compared >= 120
