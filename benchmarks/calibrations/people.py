"""Promises about people with several records, and what happens if rows are taken as units."""

import numpy as np
from scipy.stats import norm

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, LiRA, attack_people
from skmia.metrics import auc_interval

from ._registry import promise


@promise(
    "`auc_interval` without `groups` misses the AUC of rows of people (a counterexample)",
    nominal=0.05,
    side="at least",
    designs={
        f"{n_people} people on either side, 10 rows each, correlation {r}, AUC {auc}": {
            "n_people": n_people,
            "correlation": r,
            "auc": auc,
        }
        for n_people, r, auc in ((30, 0.5, 0.5), (100, 0.5, 0.5), (100, 0.2, 0.5), (30, 0.5, 0.92))
    },
)
def intervals_of_rows_as_units(rng, n_trials, n_people, correlation, auc):
    person = np.repeat(np.arange(2 * n_people), 10)
    inside, missed = person < n_people, 0
    shift = 2**0.5 * norm.ppf(auc)
    for _ in range(n_trials):
        scores = shift * inside + draw_noise(rng, person, correlation)
        interval = auc_interval(inside, scores)
        missed += int(not interval.low <= auc <= interval.high)
    return missed, n_trials


def draw_noise(rng, person, correlation, n_models=None):
    shape = () if n_models is None else (n_models,)
    shared = rng.normal(size=(*shape, person.max() + 1))[..., person]
    own = rng.normal(size=(*shape, len(person)))
    return correlation**0.5 * shared + (1 - correlation) ** 0.5 * own


def draw_people(rng, leak, correlation, most, n_people=200, n_models=16):
    """Log odds of shadow models and a victim, trained on random halves of the people."""
    person = np.repeat(np.arange(n_people), rng.integers(1, most + 1, size=n_people))
    inside = rng.random((n_models + 1, n_people)) < 0.5
    noise = draw_noise(rng, person, correlation, n_models + 1)
    log_odds = 2 * rng.normal(size=len(person)) + leak * inside[:, person] + noise
    records = Records.from_ids(np.arange(len(person)), np.zeros(len(person)))
    pool = ShadowPool.from_scores(log_odds[:-1], inside[:-1, person], records)
    answers = Outputs(log_odds[-1], kind="log_odds")
    return pool, records.with_fields(outputs=answers, group_by=person), inside[-1]


@promise(
    "A p-value of `attack_people` is at most 0.05 for people who are not members",
    nominal=0.05,
    side="at most",
    designs={
        f"{kind.__name__}, {combine}, leak {leak}": {
            "kind": kind,
            "combine": combine,
            "leak": leak,
        }
        for kind, combine in (
            (LiRA, "sum"),
            (RMIA, "sum"),
            (RMIA, "standardized"),
            (LiRA, "likelihood"),
            (RMIA, "max"),
        )
        for leak in (0.0, 1.0)
    },
    n_trials=200,
)
def pvalues_of_people(rng, n_trials, kind, combine, leak):
    shares = []
    for _ in range(n_trials):
        pool, records, inside = draw_people(rng, leak, correlation=0.3, most=10)
        found = attack_people(kind(None, pool).fit(records), records, combine=combine)
        shares.append((found.pvalues[~inside] <= 0.05).mean())
    return np.array(shares)


@promise(
    "`auc_interval` of `attack_people` is above that of records with 10 records per person "
    "(99% intervals)",
    nominal=0.95,
    designs={
        f"{kind.__name__}, {combine}": {"kind": kind, "combine": combine}
        for kind, combine in ((LiRA, "sum"), (RMIA, "sum"), (LiRA, "likelihood"))
    },
    n_trials=100,
)
def people_found_more_surely(rng, n_trials, kind, combine):
    surer = 0
    for _ in range(n_trials):
        person = np.repeat(np.arange(400), 10)
        inside = rng.random((17, 400)) < 0.5
        log_odds = inside[:, person] + draw_noise(rng, person, 0.1, 17)
        records = Records.from_ids(np.arange(4000), np.zeros(4000))
        pool = ShadowPool.from_scores(log_odds[:-1], inside[:-1, person], records)
        answers = Outputs(log_odds[-1], kind="log_odds")
        records = records.with_fields(outputs=answers, group_by=person)
        attack, member = kind(None, pool).fit(records), inside[-1]
        scores, settings = attack.score_samples(records), {"confidence_level": 0.99}
        alone = auc_interval(member[person], scores, groups=person, **settings)
        found = attack_people(attack, records, combine=combine)
        surer += int(auc_interval(member, found.scores, **settings).low > alone.high)
    return surer, n_trials
