"""Promises of recommendations by a policy: how often chance alone decides."""

from dataclasses import replace

from skmia.disclosure import Condition, Measurement, load_policy, recommend
from skmia.metrics import clopper_pearson

from ._registry import promise

NUMBER = "tpr_at_fpr_01"
POLICY = replace(
    load_policy("cautious"),
    structure={},
    required={"service": (NUMBER,)},
    requires_attacks={"service": ()},
    undecided="conditions",
)
LIMIT = POLICY.limits["service"][NUMBER]
DESIGNS = {
    "200 records at the limit": {"rates": (LIMIT,), "n_records": 200},
    "2000 records at the limit": {"rates": (LIMIT,), "n_records": 2000},
    "20 groups of 500 records at the limit": {"rates": (LIMIT,) * 20, "n_records": 500},
    "20 groups of 500 records, 1 at the limit": {
        "rates": (LIMIT, *(LIMIT / 5,) * 19),
        "n_records": 500,
    },
}


def count_results(rng, n_trials, rates, n_records, result):
    """How often a result is recommended, where rates of records are found as chance has it."""
    n_found = 0
    for counts in rng.binomial(n_records, rates, size=(n_trials, len(rates))).tolist():
        numbers = [
            Measurement(
                NUMBER,
                lambda level, k=k: (
                    k / n_records,
                    *clopper_pearson(k, n_records, confidence_level=level),
                ),
                f"g={g}" if g else "all",
            )
            for g, k in enumerate(counts)
        ]
        n_found += recommend(POLICY, "service", numbers).result == result
    return n_found, n_trials


@promise(
    "`recommend` releases a model of which a number is at its limit",
    nominal=0.025,
    side="at most",
    designs=DESIGNS,
    n_trials=2000,
)
def releases_at_the_limit(rng, n_trials, rates, n_records):
    """Share of releases."""
    return count_results(rng, n_trials, rates, n_records, "release")


@promise(
    "`recommend` says not to release a model of which no number is above its limit",
    nominal=0.025,
    side="at most",
    designs=DESIGNS,
    n_trials=2000,
)
def refuses_at_the_limit(rng, n_trials, rates, n_records):
    """Share of refusals."""
    return count_results(rng, n_trials, rates, n_records, "do not release")


@promise(
    "`recommend` finds a condition although a number is at its limit under each",
    nominal=0.025,
    side="at most",
    designs={
        "1 condition, 500 records": {"n_conditions": 1},
        "4 conditions, 500 records": {"n_conditions": 4},
        "8 conditions, 500 records": {"n_conditions": 8},
    },
    n_trials=2000,
)
def finds_a_condition_at_the_limit(rng, n_trials, n_conditions, n_records=500):
    """Share of releases with conditions."""
    n_found, high = 0, make_rate(n_records - n_records // 5, n_records)
    policy = replace(POLICY, undecided="cannot be said")
    for counts in rng.binomial(n_records, LIMIT, size=(n_trials, n_conditions)).tolist():
        conditions = [
            Condition(str(c), [make_rate(k, n_records)], cost=c, same_records=True, adapted=True)
            for c, k in enumerate(counts)
        ]
        found = recommend(policy, "service", [high], conditions=conditions)
        n_found += found.result == "release with conditions"
    return n_found, n_trials


def make_rate(n_found, n_records):
    return Measurement(
        NUMBER,
        lambda level: (
            n_found / n_records,
            *clopper_pearson(n_found, n_records, confidence_level=level),
        ),
    )
