"""Promises of the intervals of skmia.metrics.

Exact methods (Clopper and Pearson, the TPR at a FPR and differences of it) promise 95%. The AUC
and the advantage have approximate methods, which are asked for 93%: two points less.
"""

import numpy as np
from scipy import stats

from skmia.metrics import (
    advantage_interval,
    auc_interval,
    clopper_pearson,
    difference_interval,
    operating_point,
    paired_difference,
)

from ._registry import promise

MEMORIZED = 10.0  # where memorized members score, far above all others


def covers(interval, truth):
    _, low, high = interval
    return low <= truth <= high


def tpr_interval(membership, scores, max_fpr, groups=None):
    point = operating_point(membership, scores, max_fpr, groups=groups, on_unresolvable="ignore")
    return point.tpr, point.tpr_low, point.tpr_high


def noise(rng, people, correlation):
    """Standard normal scores; those of one person are correlated."""
    shared = rng.normal(size=people.max() + 1)[people]
    return correlation**0.5 * shared + (1 - correlation) ** 0.5 * rng.normal(size=len(people))


class Normal:
    """Members score higher by a shift, and spread by a factor."""

    def __init__(self, shift=0.0, scale=1.0):
        self.shift, self.scale = shift, scale

    def draw(self, rng, membership, people, correlation=0.0):
        scores = noise(rng, people, correlation)
        return np.where(membership, self.shift + self.scale * scores, scores)

    def tpr(self, fpr):
        return stats.norm.sf((stats.norm.isf(fpr) - self.shift) / self.scale)

    def auc(self):
        return stats.norm.cdf(self.shift / np.hypot(1, self.scale))


class Memorized:
    """A share of the members scores far above all others, and the rest like non-members."""

    def __init__(self, share):
        self.share = share

    def draw(self, rng, membership, people, correlation=0.0):
        found = membership & (rng.random(len(people)) < self.share)
        return noise(rng, people, correlation) + MEMORIZED * found

    def tpr(self, fpr):
        return self.share + (1 - self.share) * fpr

    def auc(self):
        return 0.5 + self.share / 2


class Counts:
    """Poisson counts, of which many are equal."""

    def __init__(self, nonmembers=3.0, members=4.5):
        self.means = nonmembers, members

    def draw(self, rng, membership, people, correlation=0.0):
        return rng.poisson(np.where(membership, self.means[1], self.means[0])).astype(float)

    def tpr(self, fpr):
        cut = stats.poisson.isf(fpr, self.means[0])
        return stats.poisson.sf(cut, self.means[1])

    def auc(self):
        k = np.arange(100)
        below = stats.poisson.cdf(k, self.means[0]) - 0.5 * stats.poisson.pmf(k, self.means[0])
        return float(stats.poisson.pmf(k, self.means[1]) @ below)


LAWS = {
    "no leak": Normal(),
    "shift 1": Normal(1.0),
    "shift 2.5": Normal(2.5),
    "members twice as wide": Normal(scale=2.0),
    "5% memorized": Memorized(0.05),
    "Poisson (ties)": Counts(),
}


def of_auc(auc, scale=1.0):
    return Normal(stats.norm.ppf(auc) * np.hypot(1, scale), scale)


def make_rows(n_members, n_nonmembers, rows=1, straddling=0):
    """Membership and people; some of the people have half of their rows on the other side."""
    people = np.arange((n_members + n_nonmembers) * rows) // rows
    membership = people < n_members
    for person in range(straddling):
        membership[person * rows : person * rows + rows // 2] = False
    return membership, people


def uneven(n_members, n_nonmembers, rng):
    """People with 1 to 40 rows, most of them with few."""
    sizes = np.minimum(rng.geometric(0.2, size=n_members + n_nonmembers), 40)
    people = np.repeat(np.arange(len(sizes)), sizes)
    return people < n_members, people


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


TPR_DESIGNS = [
    *((law, 1000, 1000, 0.01) for law in LAWS),
    ("shift 1", 1000, 1000, 0.05),
    ("shift 2.5", 1000, 1000, 0.001),
    ("no leak", 10_000, 10_000, 0.001),
    ("shift 2.5", 10_000, 10_000, 0.001),
    ("Poisson (ties)", 10_000, 10_000, 0.001),
    ("shift 1", 50, 10_000, 0.01),
    ("shift 2.5", 200, 2000, 0.01),
    ("shift 2.5", 5000, 1000, 0.01),
    ("shift 1", 10, 10, 0.1),
]


@promise(
    "operating_point covers the TPR at the requested FPR",
    nominal=0.95,
    designs={
        f"{law}, {n1} + {n0} records, FPR {fpr:g}": {"law": law, "n1": n1, "n0": n0, "fpr": fpr}
        for law, n1, n0, fpr in TPR_DESIGNS
    },
)
def tpr_at_fpr_covers(rng, n_trials, law, n1, n0, fpr):
    membership, people = make_rows(n1, n0)
    truth = LAWS[law].tpr(fpr)
    return [
        covers(tpr_interval(membership, LAWS[law].draw(rng, membership, people), fpr), truth)
        for _ in range(n_trials)
    ]


@promise(
    "operating_point, by people, covers the TPR at the requested FPR",
    nominal=0.95,
    designs={
        f"{n} + {n} people, {rows} rows each, correlation {correlation:g}, shift {shift:g}, "
        f"FPR {fpr:g}{', 1 in 5 members on both sides' if both else ''}": {
            "n": n,
            "rows": rows,
            "correlation": correlation,
            "shift": shift,
            "fpr": fpr,
            "straddling": both,
        }
        for n, rows, correlation, shift, fpr, both in [
            (10, 10, 0.5, 1.0, 0.1, 0),
            (50, 10, 0.5, 1.0, 0.05, 0),
            (100, 10, 0.0, 1.0, 0.05, 0),
            (100, 10, 0.5, 1.0, 0.05, 0),
            (100, 10, 0.5, 1.0, 0.05, 20),
            (100, 10, 0.9, 2.0, 0.05, 0),
            (200, 10, 0.5, 1.0, 0.01, 0),
            (400, 5, 1.0, 0.0, 0.01, 0),
            (1000, 10, 0.5, 1.0, 0.01, 0),
        ]
    },
)
def tpr_at_fpr_of_people_covers(rng, n_trials, n, rows, correlation, shift, fpr, straddling):
    membership, people = make_rows(n, n, rows, straddling)
    law = Normal(shift)
    return [
        covers(
            tpr_interval(membership, law.draw(rng, membership, people, correlation), fpr, people),
            law.tpr(fpr),
        )
        for _ in range(n_trials)
    ]


AUC_LAWS = {
    "AUC .5": Normal(),
    "AUC .8": of_auc(0.8),
    "AUC .98": of_auc(0.98),
    "AUC .995": of_auc(0.995),
    "AUC .9, members twice as wide": of_auc(0.9, 2.0),
    "AUC .98, members twice as wide": of_auc(0.98, 2.0),
    "half of the members memorized": Memorized(0.5),
    "9 of 10 members memorized": Memorized(0.9),
    "Poisson (ties)": Counts(),
}


@promise(
    "auc_interval covers the AUC",
    nominal=0.93,
    designs={
        f"{law}, {n1} + {n0} records": {"law": law, "n1": n1, "n0": n0}
        for law, n1, n0 in [
            ("AUC .5", 5, 200),
            ("AUC .8", 5, 200),
            ("AUC .98", 10, 1000),
            ("AUC .98", 1000, 10),
            ("AUC .98", 30, 1000),
            ("AUC .995", 100, 1000),
            ("AUC .9, members twice as wide", 20, 1000),
            ("AUC .98, members twice as wide", 50, 1000),
            ("half of the members memorized", 10, 1000),
            ("9 of 10 members memorized", 20, 1000),
            ("Poisson (ties)", 10, 100),
            ("AUC .5", 50, 50),
            ("AUC .98", 50, 50),
            ("AUC .8", 500, 500),
        ]
    },
)
def auc_interval_covers(rng, n_trials, law, n1, n0):
    membership, people = make_rows(n1, n0)
    law = AUC_LAWS[law]
    return [
        covers(auc_interval(membership, law.draw(rng, membership, people)), law.auc())
        for _ in range(n_trials)
    ]


@promise(
    "auc_interval, by people, covers the AUC",
    nominal=0.93,
    designs={
        f"{n1} + {n0} people, {rows or '1 to 40'} rows each, correlation {correlation:g}, "
        f"AUC {auc:g}{', 1 in 5 members on both sides' if both else ''}": {
            "n1": n1,
            "n0": n0,
            "rows": rows,
            "correlation": correlation,
            "auc": auc,
            "straddling": both,
        }
        for n1, n0, rows, correlation, auc, both in [
            (5, 5, 10, 0.5, 0.5, 0),
            (5, 50, 10, 0.5, 0.8, 0),
            (10, 10, 10, 0.2, 0.7, 0),
            (10, 10, 10, 0.95, 0.9, 0),
            (15, 15, 10, 0.5, 0.95, 0),
            (30, 30, 10, 0.5, 0.5, 0),
            (30, 30, 10, 0.5, 0.92, 0),
            (30, 30, None, 0.5, 0.8, 0),
            (100, 100, 10, 0.2, 0.5, 0),
            (100, 100, 10, 0.5, 0.5, 20),
            (100, 100, 10, 0.0, 0.98, 0),
        ]
    },
)
def auc_interval_of_people_covers(rng, n_trials, n1, n0, rows, correlation, auc, straddling):
    law, outcomes = of_auc(auc), []
    for _ in range(n_trials):
        membership, people = make_rows(n1, n0, rows, straddling) if rows else uneven(n1, n0, rng)
        scores = law.draw(rng, membership, people, correlation)
        outcomes.append(covers(auc_interval(membership, scores, groups=people), auc))
    return outcomes


@promise(
    "paired_difference, by people, excludes 0 for two attacks of one strength",
    nominal=0.07,
    side="at most",
    designs={
        f"{n1} + {n0} people, {rows or '1 to 40'} rows each, correlation {correlation:g}, "
        f"AUC {auc:g}{', 1 in 5 members on both sides' if both else ''}": {
            "n1": n1,
            "n0": n0,
            "rows": rows,
            "correlation": correlation,
            "auc": auc,
            "straddling": both,
        }
        for n1, n0, rows, correlation, auc, both in [
            (5, 5, 10, 0.5, 0.5, 0),
            (5, 50, 10, 0.5, 0.8, 0),
            (30, 30, 10, 0.5, 0.5, 0),
            (30, 30, 10, 0.9, 0.5, 0),
            (30, 30, None, 0.5, 0.8, 0),
            (30, 30, 1, 0.0, 0.9, 0),
            (100, 100, 10, 0.5, 0.8, 20),
        ]
    },
    n_trials=2000,
)
def paired_difference_of_people_excludes_0(
    rng, n_trials, n1, n0, rows, correlation, auc, straddling
):
    law, outcomes = of_auc(auc), []
    for _ in range(n_trials):
        membership, people = make_rows(n1, n0, rows, straddling) if rows else uneven(n1, n0, rng)
        first, second = (law.draw(rng, membership, people, correlation) for _ in range(2))
        found = paired_difference(membership, first, second, groups=people)
        outcomes.append(not found.low <= 0 <= found.high)
    return outcomes


@promise(
    "advantage_interval covers the advantage",
    nominal=0.93,
    designs={
        f"TPR {tpr:g}, FPR {fpr:g}, {n1} + {n0} records": {
            "tpr": tpr,
            "fpr": fpr,
            "n1": n1,
            "n0": n0,
        }
        for tpr, fpr, n1, n0 in [
            (0.5, 0.5, 10, 10),
            (0.9, 0.1, 10, 200),
            (0.3, 0.1, 60, 90),
            (0.02, 0.02, 200, 200),
            (0.02, 0.01, 1000, 1000),
        ]
    },
    n_trials=4000,
)
def advantage_interval_covers(rng, n_trials, tpr, fpr, n1, n0):
    membership, _ = make_rows(n1, n0)
    rates = np.where(membership, tpr, fpr)
    return [
        covers(advantage_interval(membership, rng.random(len(rates)) < rates), tpr - fpr)
        for _ in range(n_trials)
    ]


@promise(
    "advantage_interval, by people, covers the advantage",
    nominal=0.93,
    designs={
        f"TPR {tpr:g}, FPR {fpr:g}, {n1} + {n0} people, {rows or '1 to 40'} rows each, "
        f"correlation {correlation:g}{', 1 in 5 members on both sides' if both else ''}": {
            "tpr": tpr,
            "fpr": fpr,
            "n1": n1,
            "n0": n0,
            "rows": rows,
            "correlation": correlation,
            "straddling": both,
        }
        for tpr, fpr, n1, n0, rows, correlation, both in [
            (0.5, 0.5, 5, 5, 10, 0.5, 0),
            (0.6, 0.2, 10, 10, 10, 0.5, 0),
            (0.9, 0.1, 10, 200, 10, 0.95, 0),
            (0.2, 0.05, 15, 15, 10, 0.5, 0),
            (0.6, 0.2, 30, 30, None, 0.5, 0),
            (0.5, 0.5, 60, 60, 10, 0.5, 0),
            (0.5, 0.5, 60, 60, 10, 0.5, 12),
            (0.2, 0.05, 100, 100, 10, 0.0, 0),
        ]
    },
    n_trials=2000,
)
def advantage_interval_of_people_covers(
    rng, n_trials, tpr, fpr, n1, n0, rows, correlation, straddling
):
    outcomes = []
    for _ in range(n_trials):
        membership, people = make_rows(n1, n0, rows, straddling) if rows else uneven(n1, n0, rng)
        cuts = stats.norm.isf(np.where(membership, tpr, fpr))
        guesses = noise(rng, people, correlation) > cuts
        interval = advantage_interval(membership, guesses, groups=people)
        outcomes.append(covers(interval, tpr - fpr))
    return outcomes


def compare(rng, law, n1, n0, measure):
    """Whether two audits of one law on different records differ by an interval without 0."""
    membership, people = make_rows(n1, n0)
    both = [measure(membership, law.draw(rng, membership, people)) for _ in range(2)]
    return not covers(difference_interval(*both), 0.0)


@promise(
    "the difference of two audits' TPRs at a FPR excludes 0 where there is none",
    nominal=0.05,
    side="at most",
    designs={
        f"{law}, {n} + {n} records, FPR {fpr:g}": {"law": law, "n": n, "fpr": fpr}
        for law, n, fpr in [
            ("shift 1", 1000, 0.01),
            ("shift 2.5", 1000, 0.01),
            ("5% memorized", 1000, 0.01),
            ("no leak", 1000, 0.1),
            ("shift 1", 10_000, 0.001),
        ]
    },
)
def tpr_difference_excludes_0(rng, n_trials, law, n, fpr):
    def measure(membership, scores):
        return tpr_interval(membership, scores, fpr)

    return [compare(rng, LAWS[law], n, n, measure) for _ in range(n_trials)]


@promise(
    "the difference of two audits' AUCs excludes 0 where there is none",
    nominal=0.05,
    side="at most",
    designs={
        f"{law}, {n1} + {n0} records": {"law": law, "n1": n1, "n0": n0}
        for law, n1, n0 in [
            ("AUC .5", 50, 50),
            ("AUC .98", 10, 1000),
            ("AUC .8", 500, 500),
            ("half of the members memorized", 10, 1000),
        ]
    },
    n_trials=2000,
)
def auc_difference_excludes_0(rng, n_trials, law, n1, n0):
    return [compare(rng, AUC_LAWS[law], n1, n0, auc_interval) for _ in range(n_trials)]


@promise(
    "the difference of two audits' advantages excludes 0 where there is none",
    nominal=0.05,
    side="at most",
    designs={
        f"{law}, {n} + {n} records, threshold {cut:g}": {"law": law, "n": n, "cut": cut}
        for law, n, cut in [("no leak", 100, 0.0), ("shift 1", 1000, 0.5), ("shift 1", 1000, 2.3)]
    },
    n_trials=4000,
)
def advantage_difference_excludes_0(rng, n_trials, law, n, cut):
    def measure(membership, scores):
        return advantage_interval(membership, scores > cut)

    return [compare(rng, LAWS[law], n, n, measure) for _ in range(n_trials)]
