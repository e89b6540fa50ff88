"""Odd values at the doors of the metrics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find

import skmia.metrics as metrics

from .budget import calls
from .oracle import finite, knock
from .strategies import odd_settings, parameters, tables, vectors

BITS, SCORES, GROUPS = vectors("bits"), vectors("floats"), vectors("classes")
LEVEL = parameters("confidence_level", 0.95, 0.95, 0.5)
RATE = parameters("max_fpr", 0.1, 0.5)
UNRESOLVED = parameters("on_unresolvable", "warn", "nan", "raise")
TRUE = {"y_true": BITS}
FUNCTIONS = {
    "advantage_interval": {**TRUE, "y_pred": BITS, "groups": st.none(), "confidence_level": LEVEL},
    "auc_interval": {
        **TRUE,
        "y_score": SCORES,
        "groups": st.one_of(st.none(), GROUPS),
        "confidence_level": LEVEL,
    },
    "best_advantage_score": {**TRUE, "y_score": SCORES},
    "clopper_pearson": {
        "successes": parameters("successes", 0, 3, 7),
        "trials": parameters("trials", 7, 9),
        "confidence_level": LEVEL,
    },
    "list_members": {
        "y_score": SCORES,
        "nonmember_score": SCORES,
        "false_share": parameters("false_share", 0.1, 0.5),
    },
    "membership_advantage_score": {**TRUE, "y_pred": BITS, "sample_weight": SCORES},
    "membership_roc_curve": {**TRUE, "y_score": SCORES},
    "precision_at_prior": {"tpr": RATE, "fpr": RATE, "prior": RATE},
    "resolvable_fpr": {"n_nonmembers": parameters("n_nonmembers", 10, 100)},
    "operating_point": {
        **TRUE,
        "y_score": SCORES,
        "max_fpr": RATE,
        "groups": st.one_of(st.none(), GROUPS),
        "confidence_level": LEVEL,
        "on_unresolvable": UNRESOLVED,
    },
    "score_people": {
        "y_score": SCORES,
        "groups": GROUPS,
        "combine": parameters("combine", "sum", "mean", "max"),
        "y_true": st.none(),
    },
    "tpr_at_fpr_score": {
        **TRUE,
        "y_score": SCORES,
        "max_fpr": RATE,
        "on_unresolvable": UNRESOLVED,
    },
}
# What is not finite by its documentation: the first threshold of a curve, a share of nothing, a
# rate of which there is none.
UNBOUNDED = {"membership_roc_curve", "precision_at_prior", "resolvable_fpr", "operating_point"}
UNBOUNDED |= {"tpr_at_fpr_score"}
CHECKS = {"score_people": lambda found: finite(found.scores)}  # names of people may be anything


@pytest.mark.parametrize("name", FUNCTIONS)
@calls(0.016)
@given(st.data())
def test_functions(name, data):
    given = {key: data.draw(one, label=key) for key, one in FUNCTIONS[name].items()}
    check = None if name in UNBOUNDED else CHECKS.get(name, finite)
    knock(f"metrics.{name}", find(name), **given, check=check)


@calls(0.016)
@given(parameters("first", None), parameters("second", None), parameters("correlation", 0.0, 0.5))
def test_differences(first, second, correlation):
    interval = metrics.Interval(0.6, 0.5, 0.7)
    first = interval if first is None else first
    second = interval if second is None else second
    knock(
        "metrics.difference_interval",
        metrics.difference_interval,
        first,
        second,
        correlation=correlation,
    )


RANKING = {"alpha": (0.05,), "correction": ("holm",), "higher_is_better": (True, False)}


@calls(0.02)
@given(tables(8, 4), odd_settings(RANKING))
def test_ranking(X, settings):
    def rank(X, **settings):
        return metrics.RankingTest(**settings).fit(X).pvalue_

    knock("metrics.RankingTest", rank, X, **settings)


@calls(0.016)
@given(BITS, SCORES, st.sampled_from(("MembershipRocDisplay", "ScoreDistributionDisplay")))
def test_displays(y_true, y_score, name):
    display = getattr(metrics, name)
    draw = getattr(display, "from_predictions", None)
    knock(f"metrics.{name}", lambda *given: draw(*given).frame(), y_true, y_score)
