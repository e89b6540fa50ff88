"""Promises about lists of members, also where nothing leaks, and about scores of people."""

from functools import partial

import numpy as np
from scipy.stats import norm

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA, shadow_nonmember_scores
from skmia.metrics import auc_interval, list_members, score_people

from ._registry import promise

FALSE_SHARE, N_SHADOWS = 0.1, 64


def draw_scores(rng, noise, strong, standardize, n_records=750, n_known=250):
    """Signals of a victim with records of their own scale and a shift common to all of a model."""
    n = n_records + n_known
    scale, level = np.exp(0.5 * rng.normal(size=n)), 2 * rng.normal(size=n)
    member = np.arange(n) < n_records // 2
    leak = 5.0 * (rng.random(n) < strong)
    signals = level + scale * noise(rng, (N_SHADOWS, n))
    signals += 0.4 * scale * rng.normal(size=(N_SHADOWS, 1))
    target = level + scale * (noise(rng, n) + 0.4 * rng.normal() + leak * member)
    if standardize:
        mean, variance = signals.mean(axis=0), signals.var(axis=0, ddof=1)
        # As LiRA(online=False, variance="shrunk") does, with the mean variance as the prior.
        variance = ((N_SHADOWS - 1) * variance + 8 * variance.mean()) / (N_SHADOWS + 7)
        target = (target - mean) / np.sqrt(variance * (1 + 1 / N_SHADOWS))
    return target[:n_records], target[n_records:], member[:n_records]


NOISES = {
    "normal signals": lambda rng, size: rng.normal(size=size),
    "t5 signals": lambda rng, size: rng.standard_t(5, size=size) / np.sqrt(5 / 3),
}
DESIGNS = {
    f"{title}, {scores} scores": partial(draw_scores, noise=noise, standardize=standardize)
    for title, noise in NOISES.items()
    for scores, standardize in (("standardized", True), ("raw", False))
}


@promise(
    "`list_members(false_share=0.1)` has false entries; half of the records are non-members",
    nominal=FALSE_SHARE / 2,
    side="at most",
    designs={f"{title}, 10% leak": {"draw": draw} for title, draw in DESIGNS.items()},
    n_trials=500,
)
def false_shares_of_lists(rng, n_trials, draw):
    shares = []
    for _ in range(n_trials):
        scores, known, member = draw(rng, strong=0.1)
        listed = list_members(scores, known, false_share=FALSE_SHARE).positions
        shares.append((~member[listed]).mean() if len(listed) else 0.0)
    return np.array(shares)


@promise(
    "`list_members(false_share=0.1)` has an entry where nothing leaks",
    nominal=FALSE_SHARE,
    side="at most",
    designs={
        f"{title}, {n_records} records": {
            "draw": partial(draw, n_records=n_records, n_known=1000 - n_records)
        }
        for title, draw in DESIGNS.items()
        for n_records in (20, 750)
    },
    n_trials=500,
)
def lists_without_leakage(rng, n_trials, draw):
    entries = 0
    for _ in range(n_trials):
        scores, known, _ = draw(rng, strong=0.0)
        entries += int(len(list_members(scores, known, false_share=FALSE_SHARE).positions) > 0)
    return entries, n_trials


def draw_pool(rng, noise, strong, n_records=750):
    """A pool of shadow models and a victim of the same law, with a shift common to all records."""
    scale, level = np.exp(0.5 * rng.normal(size=n_records)), 2 * rng.normal(size=n_records)
    inside = rng.random((N_SHADOWS + 1, n_records)) < 0.5
    moved = noise(rng, inside.shape) + 0.4 * rng.normal(size=(N_SHADOWS + 1, 1))
    moved += 5.0 * (rng.random(n_records) < strong) * inside
    values = level + scale * moved
    records = Records.from_ids(np.arange(n_records), np.zeros(n_records))
    pool = ShadowPool.from_scores(values[:-1], inside[:-1], records)
    answers = Outputs(values[-1], kind="log_odds")
    return pool, records.with_fields(outputs=answers), inside[-1]


def list_from_shadows(rng, noise, strong, online):
    """Membership of the records that are listed."""
    pool, records, member = draw_pool(rng, noise, strong)
    attack = LiRA(None, pool, online=online).fit(records)
    known, scores = shadow_nonmember_scores(attack, records), attack.score_samples(records)
    found = list_members(scores, known, false_share=FALSE_SHARE, from_shadows=True)
    return member[found.positions]


FROM_SHADOWS = {
    f"LiRA {'on' if online else 'off'}line, {title}": {"noise": noise, "online": online}
    for online in (True, False)
    for title, noise in NOISES.items()
}


@promise(
    "A list from shadow models (`false_share=0.1`) has false entries; half are non-members, 10% "
    "leak",
    nominal=FALSE_SHARE / 2,
    side="at most",
    designs=FROM_SHADOWS,
    n_trials=300,
)
def false_shares_from_shadows(rng, n_trials, **design):
    found = [list_from_shadows(rng, strong=0.1, **design) for _ in range(n_trials)]
    return np.array([(~member).mean() if len(member) else 0.0 for member in found])


@promise(
    "A list from shadow models (`false_share=0.1`) has an entry where nothing leaks",
    nominal=FALSE_SHARE,
    side="at most",
    designs=FROM_SHADOWS,
    n_trials=300,
)
def lists_from_shadows_without_leakage(rng, n_trials, **design):
    found = [list_from_shadows(rng, strong=0.0, **design) for _ in range(n_trials)]
    return sum(len(member) > 0 for member in found), n_trials


@promise(
    "`auc_interval` of `score_people` covers the AUC of people",
    nominal=0.95,
    designs={
        f"{n_people} people on either side, {k} records each, correlation {r}": {
            "n_people": n_people,
            "k": k,
            "correlation": r,
        }
        for n_people, k, r in ((30, 10, 0.5), (100, 10, 0.2), (100, 10, 0.5))
    },
)
def intervals_of_people(rng, n_trials, n_people, k, correlation):
    person = np.repeat(np.arange(2 * n_people), k)
    inside, covered = person < n_people, 0
    truth = norm.cdf((k / (1 + (k - 1) * correlation)) ** 0.5 / 2**0.5)
    for _ in range(n_trials):
        shared = rng.normal(size=2 * n_people)[person]
        own = rng.normal(size=len(person))
        scores = inside + correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
        found = score_people(scores, person, y_true=inside)
        interval = auc_interval(found.membership, found.scores)
        covered += int(interval.low <= truth <= interval.high)
    return covered, n_trials
