"""Promises of the intervals of skmia.metrics."""

from skmia.metrics import clopper_pearson

from ._registry import promise


@promise(
    "clopper_pearson covers the rate",
    nominal=0.95,
    designs={
        f"n = {n}, rate {rate:g}": {"n": n, "rate": rate}
        for n, rate in [(20, 0.5), (50, 0.02), (1000, 0.01)]
    },
    n_trials=20_000,
)
def clopper_pearson_covers(rng, n_trials, n, rate):
    low, high = clopper_pearson(rng.binomial(n, rate, size=n_trials), n)
    return int(((low <= rate) & (rate <= high)).sum()), n_trials
