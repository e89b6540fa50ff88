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
from numpy import array, inf, nan
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skmia.defenses import (
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
    _evaluation: [
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
