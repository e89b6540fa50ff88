"""Promises of the attacks on a pool: rates of their thresholds, power without a leak."""

import warnings
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, StackedAttack, _stack_models
from skmia.attacks._vulnerable_records import smooth_pvalues
from skmia.attacks.equal_rates import EqualRateAttack
from skmia.model_selection import leave_one_model_out

from ._registry import promise

ATTACKS = {
    "LiRA": LiRA(),
    "LiRA, offline": LiRA(online=False),
    "RMIA": RMIA(temperature=1.0),
    "RMIA, offline": RMIA(temperature=1.0, online=False),
    "RMIA, offline, a chosen": RMIA(temperature=1.0, online=False, a="auto"),
    "CalibratedAttack": CalibratedAttack(),
    "CalibratedAttack, midpoint": CalibratedAttack(reference="midpoint"),
    "CalibratedAttack, rank": CalibratedAttack(reference="rank"),
}
RATES = (0.01, 0.05, 0.1)


def draw_pairs(n_models, n_records, rng):
    first = rng.random((n_models // 2, n_records)) < 0.5
    return np.stack([first, ~first], axis=1).reshape(n_models, n_records)


def draw_balanced(n_models, n_records, rng):
    return np.argsort(rng.random((n_models, n_records)), axis=0) < n_models // 2


def draw_singly(n_models, n_records, rng):
    return rng.random((n_models, n_records)) < 0.5


LAYOUTS = {"pairs": draw_pairs, "balanced": draw_balanced, "independent": draw_singly}


def draw_normal_evidence(rng, layout, n_records=2000, n_models=16, shift=1.5):
    """Records with the answers of a victim, their membership, and a pool made as the victim was."""
    truth = rng.random(n_records) < 0.5
    inside = LAYOUTS[layout](n_models, n_records, rng)
    center, spread = rng.normal(0, 2, n_records), rng.uniform(0.5, 1.5, n_records)
    target, *shadows = (
        center + shift * members + spread * rng.normal(size=n_records)
        for members in (truth, *inside)
    )
    answers = Outputs(np.column_stack([np.zeros(n_records), target]), [0, 1], "logits")
    records = Records(np.arange(n_records)[:, None], np.ones(n_records, int), outputs=answers)
    return records, truth, ShadowPool.from_scores(shadows, inside, records)


def train_models(rng, n_records=400, n_models=16):
    """The same with logistic regressions on noise and one feature."""
    X = rng.normal(size=(n_records, 20))
    y = (X[:, 0] + rng.normal(size=n_records) > 0).astype(int)
    records, truth = Records(X, y), rng.permutation(n_records) < n_records // 2
    model = LogisticRegression(C=10)
    seed = int(rng.integers(2**31 - 1))
    pool = ShadowPool(model, n_models, random_state=seed).fit(records)
    return records.with_outputs(model.fit(X[truth], y[truth])), truth, pool


def draw_problem(rng, layout, n_models=16):
    if layout is None:
        return train_models(rng, n_models=n_models)
    return draw_normal_evidence(rng, layout, n_models=n_models)


def measure_fpr(attack, rng, n_trials, rate, layout, n_models=16):
    rates = []
    for _ in range(n_trials):
        records, truth, pool = draw_problem(rng, layout, n_models)
        attack.set_params(shadows=pool, target_fpr=rate)
        others = ~truth & attack.fit(records).can_judge(records)
        rates.append(attack.predict(records)[others].mean())
    return np.array(rates)


def promise_rate(rate):
    def simulate(rng, n_trials, attack, layout):
        return measure_fpr(ATTACKS[attack], rng, n_trials, rate, layout)

    simulate.__name__ = f"target_fpr_{rate:g}_is_kept"
    designs = {f"{name}, {layout}": (name, layout) for name in ATTACKS for layout in LAYOUTS}
    designs |= {f"{name}, logistic regression": (name, None) for name in ATTACKS}
    designs = {text: {"attack": name, "layout": layout} for text, (name, layout) in designs.items()}
    text = f"target_fpr={rate:g} of attacks on a pool"
    return promise(text, nominal=rate, side="at most", designs=designs, n_trials=200)(simulate)


@promise(
    "target_fpr=0.05 of EqualRateAttack",
    nominal=0.05,
    side="at most",
    designs={f"LiRA, {n} models": {"n_models": n} for n in (8, 16, 64)},
    n_trials=200,
)
def target_fpr_is_kept_at_equal_rates(rng, n_trials, n_models):
    attack = EqualRateAttack(attack=LiRA())
    return measure_fpr(attack, rng, n_trials, 0.05, None, n_models)


# Designs of the stack, which takes a hundred times as long as the others.
STACKED = {
    f"{layout or 'logistic regression'}, {n_models} models": {
        "layout": layout,
        "n_models": n_models,
    }
    for layout in (*LAYOUTS, None)
    for n_models in (8, 16)
}


def promise_rate_of_stack(rate):
    def simulate(rng, n_trials, layout, n_models):
        attack = StackedAttack(random_state=0)
        return measure_fpr(attack, rng, n_trials, rate, layout, n_models)

    simulate.__name__ = f"target_fpr_{rate:g}_is_kept_by_stack"
    text = f"target_fpr={rate:g} of StackedAttack"
    return promise(text, nominal=rate, side="at most", designs=STACKED, n_trials=50)(simulate)


def draw_copies(rng, together, leaks, n_models=8, n_groups=150, size=4):
    """Groups of near copies, which raise each other's scores if a model learned any of them."""
    group = np.repeat(np.arange(n_groups), size)
    X = rng.normal(size=(n_groups, 10))[group] + 0.01 * rng.normal(size=(len(group), 10))
    inside = draw_pairs(n_models, len(group), rng)
    truth = rng.random(len(group)) < 0.5
    if together:
        truth, inside = truth[size * group], inside[:, size * group]
    center, spread = rng.normal(0, 2, len(group)), rng.uniform(0.5, 1.5, len(group))
    shares = (np.bincount(group, members)[group] / size for members in (truth, *inside))
    target, *shadows = (
        center + leaks * (members + share) + spread * rng.normal(size=len(group))
        for members, share in zip((truth, *inside), shares, strict=True)
    )
    answers = Outputs(np.column_stack([np.zeros(len(group)), target]), [0, 1], "logits")
    records = Records(X, np.ones(len(group), int), outputs=answers)
    return records, truth, group, ShadowPool.from_scores(shadows, inside, records)


@contextmanager
def fit_jointly(pool, records, rate=None):
    """A stack that judges similar records together, whether or not that is the strongest."""
    with patch.object(_stack_models, "_MARGIN_OF_JOINT", -np.inf):
        attack = StackedAttack(None, pool, boosted=False, target_fpr=rate)
        yield attack.fit(records)
    assert attack.chosen_ == "joint"


COPIES = {
    f"copies {'together' if together else 'apart'}{'' if leaks else ', no leak'}": {
        "together": together,
        "leaks": leaks,
    }
    for leaks in (True, False)
    for together in (True, False)
}
NULL_COPIES = {text: design for text, design in COPIES.items() if not design["leaks"]}


def promise_rate_of_joint_evidence(rate):
    def simulate(rng, n_trials, together, leaks):
        rates = []
        for _ in range(n_trials):
            records, truth, _, pool = draw_copies(rng, together, leaks)
            with fit_jointly(pool, records, rate) as attack:
                rates.append(attack.predict(records)[~truth].mean())
        return np.array(rates)

    simulate.__name__ = f"target_fpr_{rate:g}_is_kept_by_joint_evidence"
    text = f"target_fpr={rate:g} of StackedAttack, joint evidence"
    return promise(text, nominal=rate, side="at most", designs=COPIES, n_trials=50)(simulate)


def draw_labels(rng, n_models, n_records=2000):
    """Records with the labels of a victim, their membership, and a pool of labels."""
    truth, inside = rng.random(n_records) < 0.5, draw_pairs(n_models, n_records, rng)
    p_out = rng.beta(2, 1, n_records)
    p_in = p_out + (1 - p_out) * rng.beta(4, 1, n_records)
    target, *shadows = (
        (rng.random(n_records) < np.where(members, p_in, p_out)).astype(int)
        for members in (truth, *inside)
    )
    answers = Outputs(target, [0, 1], "label")
    records = Records(np.arange(n_records)[:, None], np.ones(n_records, int), outputs=answers)
    return records, truth, ShadowPool.from_outputs(shadows, inside, records, kind="label")


def promise_rate_of_labels(rate):
    def simulate(rng, n_trials, n_models):
        rates = []
        for _ in range(n_trials):
            records, truth, pool = draw_labels(rng, n_models)
            attack = LiRA(None, pool, target_fpr=rate).fit(records)
            rates.append(attack.predict(records)[~truth].mean())
        return np.array(rates)

    simulate.__name__ = f"target_fpr_{rate:g}_is_kept_on_labels"
    designs = {f"{n_models} models": {"n_models": n_models} for n_models in (8, 16, 64)}
    text = f"target_fpr={rate:g} of LiRA on labels alone"
    return promise(text, nominal=rate, side="at most", designs=designs, n_trials=200)(simulate)


for _rate in RATES:
    promise_rate(_rate)
for _rate in RATES:
    promise_rate_of_labels(_rate)
for _rate in RATES[:2]:
    promise_rate_of_stack(_rate)
    promise_rate_of_joint_evidence(_rate)


@promise(
    "target_fpr warns of a victim that is like the shadow models",
    nominal=0.02,
    side="at most",
    designs={
        f"{name}, {n_models} models": {"layout": layout, "n_models": n_models}
        for name, layout in (("logistic regression", None), ("normal evidence", "pairs"))
        for n_models in (4, 16)
    },
    n_trials=300,
)
def victim_like_the_models_is_unlike(rng, n_trials, layout, n_models):
    n_warned, draw = 0, train_models if layout is None else draw_normal_evidence
    settings = {"n_models": n_models} | ({} if layout is None else {"layout": layout})
    for _ in range(n_trials):
        records, _, pool = draw(rng, **settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            LiRA(shadows=pool, target_fpr=0.1).fit(records)
        n_warned += any("may be missed" in str(one.message) for one in caught)
    return n_warned, n_trials


@promise(
    "leave_one_model_out has an AUC of 1/2 without a leak",
    nominal=0.5,
    side="equal",
    designs={
        f"{name}, {layout}, {n_models} models": {
            "attack": name,
            "layout": layout,
            "n_models": n_models,
        }
        for name in ("LiRA", "RMIA", "CalibratedAttack")
        for layout in LAYOUTS
        for n_models in (8, 16)
    },
    n_trials=300,
)
def power_without_a_leak_is_chance(rng, n_trials, attack, layout, n_models):
    attack, areas = ATTACKS[attack], []
    for _ in range(n_trials):
        records, _, pool = draw_normal_evidence(rng, layout, n_models=n_models, shift=0)
        attack.set_params(shadows=pool, target_fpr=None)
        areas.append(leave_one_model_out(attack, records, max_fprs=())["auc"].mean())
    return np.array(areas)


@promise(
    "leave_one_model_out of StackedAttack has an AUC of 1/2 without a leak",
    nominal=0.5,
    side="equal",
    designs={text: design for text, design in STACKED.items() if design["layout"]},
    n_trials=50,
)
def power_of_stack_without_a_leak_is_chance(rng, n_trials, layout, n_models):
    areas = []
    for _ in range(n_trials):
        records, _, pool = draw_normal_evidence(rng, layout, n_models=n_models, shift=0)
        attack = StackedAttack(None, pool, random_state=0)
        areas.append(leave_one_model_out(attack, records, max_fprs=())["auc"].mean())
    return np.array(areas)


def measure_power_of_joint_evidence(rng, n_trials, together, leaks):
    areas = []
    for _ in range(n_trials):
        records, _, _, pool = draw_copies(rng, together, leaks)
        with fit_jointly(pool, records) as attack:
            areas.append(leave_one_model_out(attack, records, max_fprs=())["auc"].mean())
    return np.array(areas)


@promise(
    "leave_one_model_out of StackedAttack, joint evidence, has an AUC of 1/2 without a leak",
    nominal=0.5,
    side="equal",
    designs={text: design for text, design in NULL_COPIES.items() if not design["together"]},
    n_trials=100,
)
def power_of_joint_evidence_without_a_leak_is_chance(rng, n_trials, together, leaks):
    return measure_power_of_joint_evidence(rng, n_trials, together, leaks)


@promise(
    "leave_one_model_out of StackedAttack, joint evidence, is a little too high where near copies "
    "are members together, as folds are of records (a counterexample)",
    nominal=0.5,
    side="at least",
    designs={text: design for text, design in NULL_COPIES.items() if design["together"]},
    n_trials=100,
)
def power_of_joint_evidence_of_copies_is_too_high(rng, n_trials, together, leaks):
    return measure_power_of_joint_evidence(rng, n_trials, together, leaks)


@promise(
    "AUC of StackedAttack, joint evidence, has p < 0.05 without a leak",
    nominal=0.05,
    side="at most",
    designs=NULL_COPIES,
    n_trials=200,
)
def level_of_joint_evidence_is_kept(rng, n_trials, together, leaks):
    n_below = 0
    for _ in range(n_trials):
        records, truth, group, pool = draw_copies(rng, together, leaks)
        with fit_jointly(pool, records) as attack:
            scores = attack.score_samples(records)
        if together:  # a group is one draw
            scores, truth = (
                np.bincount(group, scores),
                truth[np.unique(group, return_index=True)[1]],
            )
        n_below += stats.mannwhitneyu(scores[truth], scores[~truth]).pvalue < 0.05
    return n_below, n_trials


DISTRIBUTIONS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "squared exponential": lambda rng, size: rng.exponential(size=size) ** 2,
    "three values": lambda rng, size: rng.integers(0, 3, size).astype(float),
}


def promise_level(level, kinds, n_models):
    """Records of n OUT models, and one more of them in the victim's place."""

    def simulate(rng, n_trials, kind, n_out):
        values = DISTRIBUTIONS[kind](rng, (n_out + 1, n_trials))
        outside = np.ones((n_out, n_trials), dtype=bool)
        pooled = values[1:].var(axis=0, ddof=1).mean(keepdims=True)
        log_p = smooth_pvalues(values[:1], values[None, 1:], outside, pooled)[0]
        return int((log_p <= np.log(level) + 1e-9).sum()), n_trials

    simulate.__name__ = f"level_{level:g}_of_vulnerable_records_is_kept"
    designs = {
        f"{kind}, {n_out} OUT models": {"kind": kind, "n_out": n_out}
        for kind in kinds
        for n_out in n_models
    }
    text = f"VulnerableRecordsAttack(level={level:g}) flags a non-member"
    return promise(text, nominal=level, side="at most", designs=designs, n_trials=50_000)(simulate)


promise_level(0.2, DISTRIBUTIONS, (4, 9, 19))
promise_level(0.05, DISTRIBUTIONS, (19, 39))
# Beyond what ranks resolve, the tail is that of the normal law.
promise_level(0.01, ("normal",), (4, 9, 32))
