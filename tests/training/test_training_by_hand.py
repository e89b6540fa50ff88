"""Small functions of training at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array, inf, nan
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia._training import checkpoint, digests, frozen, groups
from skmia._training.backends.linear import design, logistic, ridge
from skmia._training.backends.perceptron import train
from skmia._training.job import JobProgress

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    checkpoint: [
        (lambda: checkpoint._reason(OSError(2, "No such file")), "No such file"),
    ],
    groups: [
        (lambda: groups.describe_training_error(ValueError("two\nlines")), "ValueError: two"),
        (lambda: groups.describe_training_error(ValueError("")), "ValueError"),
        (
            lambda: (
                groups.describe_training_error(ValueError("x" * 201)) == "ValueError: " + "x" * 200
            ),
            True,
        ),
    ],
    digests: [
        (lambda: digests.digest_text("a", "bc") == digests.digest_text("ab", "c"), False),
    ],
    frozen: [
        (lambda: frozen._is_inner_estimator(Ridge()), True),
        (lambda: frozen._is_inner_estimator(Ridge), False),
        (lambda: frozen._is_inner_estimator(3), False),
        (
            lambda: [
                name for name, _ in frozen._direct_parts(make_pipeline(StandardScaler(), Ridge()))
            ],
            ["standardscaler", "ridge"],
        ),
    ],
    logistic: [
        (lambda: logistic.inverse_strength(NS(penalty=None, C=2.0)), inf),
        (lambda: logistic.inverse_strength(NS(penalty="l2", C=2)), 2.0),
        (lambda: logistic._weigh_sigmoid(array([0.0, np.log(3.0)]), array([2.0, 4.0])), [1.0, 3.0]),
    ],
    design: [
        (lambda: design.are_too_large(array([1e200, 1.0])), True),
        (lambda: design.are_too_large(array([1e150, 1.0])), False),
        (lambda: design.are_too_large(array([1, 2])), False),
        (lambda: design.as_linear_features([[1, 2]]).dtype.str, "<f8"),
        (lambda: design.as_linear_features(array([[1, 2]], dtype=np.float32)).dtype.str, "<f4"),
        (
            lambda: [
                type(one).__name__
                for one in design.split_estimator(make_pipeline(StandardScaler(), Ridge()))
            ],
            ["StandardScaler", "Ridge"],
        ),
        (
            lambda: [
                type(one).__name__
                for one in design.split_estimator(make_pipeline("passthrough", Ridge()))
            ],
            ["NoneType", "Ridge"],
        ),
        (
            lambda: [type(one).__name__ for one in design.split_estimator(Ridge())],
            ["NoneType", "Ridge"],
        ),
    ],
    ridge: [
        (
            lambda: ridge._has_few_records(
                NS(membership=array([[1, 1, 1], [1, 1, 0]]), X=np.zeros((3, 2)))
            ),
            True,
        ),
        (
            lambda: ridge._has_few_records(
                NS(membership=array([[1, 1, 1], [1, 1, 1]]), X=np.zeros((3, 2)))
            ),
            False,
        ),
        (lambda: ridge._wrong_target(NS(y=np.zeros((2, 2)))), "there are several targets"),
        (
            lambda: ridge._wrong_target(NS(y=array(["a"]))),
            "y holds values that are not finite numbers",
        ),
        (
            lambda: ridge._wrong_target(NS(y=array([1.0, nan]))),
            "y holds values that are not finite numbers",
        ),
        (
            lambda: ridge._wrong_target(NS(y=array([1e200]))),
            "y holds values whose squares overflow",
        ),
        (lambda: ridge._wrong_target(NS(y=array([1.0]))), None),
        (lambda: ridge._too_large(10), None),
    ],
    train: [
        (lambda: train.batch_size_of(NS(batch_size="auto"), 100), 100),
        (lambda: train.batch_size_of(NS(batch_size="auto"), 300), 200),
        (lambda: train.batch_size_of(NS(batch_size=7), 300), 7),
        (
            lambda: train.plan_perceptron_batches([2, 3, 5], 2),
            [
                (slice(0, 3, None), slice(0, 2, None)),
                (slice(1, 2, None), slice(2, 3, None)),
                (slice(2, 3, None), slice(2, 4, None)),
                (slice(2, 3, None), slice(4, 5, None)),
            ],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_a_bar_counts_each_model_once():
    bar = NS(n=0, total=3, mininterval=0, set_postfix_str=lambda *_, **__: 0, refresh=lambda: 0)
    progress = JobProgress(bar)
    counts = []
    for k in (2, 2, 0):
        progress.finish(k)
        counts.append(bar.n)
    assert counts == [1, 1, 2]
