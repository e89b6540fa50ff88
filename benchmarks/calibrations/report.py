"""Promises of the verdict of an audit, and of its checks."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia.attacks import MomentsAttack, ThresholdAttack
from skmia.base import assign_folds, compute_auc_of_sorted, compute_tpr, cross_fit
from skmia.metrics import auc_interval, operating_point
from skmia.report import (
    blind_baseline,
    compare_formats,
    drift_test,
    find_duplicates,
    permutation_test,
)
from skmia.report._choice import mark_told
from skmia.report._gaps import measure_gaps
from skmia.report._run import ControlRounds
from skmia.report._surrogate import why_gap_too_large
from skmia.report.agreement._assignment import find_assignment
from skmia.report.checks._baseline import measure_difficulty
from skmia.report.checks._duplicates import _USUAL, ComparedParts
from skmia.report.checks._record_rates import flag_by_model, measure_repeated_alarms
from skmia.report.checks._results import _judge_rounds
from skmia.signals import Correctness, Signals

from ._registry import promise

PEOPLE = {
    "1,000 records": {"n_people": 1000, "n_rows": 1},
    "60 people x 10 rows": {"n_people": 60, "n_rows": 10},
    "120 people x 5 rows": {"n_people": 120, "n_rows": 5},
}


def deal(rng, n_people, n_rows, n_mixed=0):
    """People, and a membership that was assigned to them; some are on both sides."""
    people = np.repeat(np.arange(n_people), n_rows)
    membership = (rng.permutation(n_people) % 2)[people]
    for one in range(n_mixed):
        rows = people == one
        membership[rows] = rng.permutation(np.arange(n_rows) < 1 + one % (n_rows - 1))
    return people, membership


def draw(rng, people):
    """Features and labels; those of one person have a part in common."""
    n_people = people.max() + 1
    X = rng.normal(size=(len(people), 4)) + 1.5 * rng.normal(size=(n_people, 4))[people]
    margin = X[:, 0] + rng.normal(size=len(people)) + 1.5 * rng.normal(size=n_people)[people]
    return X, (margin > 0).astype(int)


def make_records(rng, n_people, n_rows):
    people, membership = deal(rng, n_people, n_rows)
    X, y = draw(rng, people)
    return Records(X, y, **({"group_by": people} if n_rows > 1 else {})), membership


@promise(
    "permutation_test finds a leak where there is none (two attacks, groups, a rate)",
    nominal=0.05,
    side="at most",
    designs={
        "200 records": {"n_people": 200, "n_rows": 1},
        "40 people x 5 rows": {"n_people": 40, "n_rows": 5},
        "40 people x 5 rows, one on both sides": {"n_people": 40, "n_rows": 5, "n_mixed": 1},
        "40 people x 5 rows, all on both sides": {"n_people": 40, "n_rows": 5, "n_mixed": 40},
    },
)
def permutations_find_nothing(rng, n_trials, n_people, n_rows, n_mixed=0):
    found = 0
    for _ in range(n_trials):
        people, membership = deal(rng, n_people, n_rows, n_mixed)
        n = len(people)
        common = rng.normal(size=n_people)[people]
        scores = {name: common + 0.5 * rng.normal(size=n) for name in "ab"}
        group = np.minimum(rng.integers(0, 8, n_people), 3)[people]
        subsets = [("group", str(one), group == one) for one in range(4)]
        settings = {"subsets": subsets, "max_fprs": [0.1], "group_by": people}
        seed = int(rng.integers(2**31))
        result = permutation_test(
            membership, scores, n_permutations=199, random_state=seed, **settings
        )
        found += result.pvalue <= 0.05
    return found, n_trials


@promise(
    "the verdict is below chance where there is no leak (half of 1 - confidence_level)",
    nominal=0.025,
    side="at most",
    designs={"200 records": {}},
)
def reversals_are_rare(rng, n_trials):
    found = 0
    for _ in range(n_trials):
        scores = {name: rng.normal(size=200) for name in "abcd"}
        seed = int(rng.integers(2**31))
        frame = permutation_test(
            rng.permutation(200) % 2, scores, n_permutations=199, random_state=seed
        ).frame
        found += frame["pvalue_below"].min() <= 0.025
    return found, n_trials


@promise(
    "attacks that learn from known members are found where there is no leak",
    nominal=0.05,
    side="at most",
    designs={"200 records": {}},
    n_trials=500,
)
def learned_attacks_find_nothing(rng, n_trials):
    found = 0
    for _ in range(n_trials):
        X, y = draw(rng, np.arange(200))
        records, membership = Records(X, y), rng.permutation(200) % 2 == 1
        victim = LogisticRegression().fit(*draw(rng, np.arange(100)))
        queried, seed = records.with_outputs(victim), int(rng.integers(2**31))
        attack = make_pipeline(Signals(signals=["loss", "entropy"]), LogisticRegression())
        scores = cross_fit(attack, queried, membership, seed).scores
        tested = {"a": assign_folds(records, membership, seed) == 0}
        result = permutation_test(
            membership, {"a": scores}, judged=tested, n_permutations=199, random_state=seed
        )
        found += result.pvalue <= 0.05
    return found, n_trials


@promise(
    "blind_baseline warns where the two sides were drawn alike",
    nominal=0.025,
    side="at most",
    designs=PEOPLE,
    n_trials=400,
)
def baselines_warn(rng, n_trials, n_people, n_rows):
    warned = 0
    for _ in range(n_trials):
        problem = make_records(rng, n_people, n_rows)
        warned += blind_baseline(*problem, random_state=int(rng.integers(2**31))).low > 0.5
    return warned, n_trials


def write_texts(rng, n_records, n_topics=20, n_words=400, length=40):
    """Texts of one topic each, whose words are mostly those of the topic."""
    words = np.array([f"word{k}" for k in range(n_words)])
    weights = np.exp(2 * rng.normal(size=(n_topics, n_words)))
    weights /= weights.sum(axis=1, keepdims=True)
    topics = rng.integers(n_topics, size=n_records)
    texts = [" ".join(rng.choice(words, length, p=weights[topic])) for topic in topics]
    return np.array(texts, dtype=object)[:, None]


@promise(
    "blind_baseline warns where the texts of two sides were drawn alike",
    nominal=0.025,
    side="at most",
    designs={
        "200 texts": {"n_records": 200},
        "600 texts, sides 1:10": {"n_records": 600, "share": 1 / 11},
        "60 people x 10 texts": {"n_records": 600, "n_people": 60},
    },
    n_trials=200,
)
def baselines_of_texts_warn(rng, n_trials, n_records, share=0.5, n_people=None):
    warned = 0
    for _ in range(n_trials):
        X, fields = write_texts(rng, n_records), {}
        membership = rng.permutation(np.arange(n_records) < round(share * n_records))
        if n_people is not None:
            people = np.repeat(np.arange(n_people), n_records // n_people)
            membership = (rng.permutation(n_people) % 2 == 1)[people]
            X, fields = X + " by" + people.astype(str).astype(object)[:, None], {"group_by": people}
        records = Records(X, rng.integers(2, size=n_records), **fields)
        seed = int(rng.integers(2**31))
        warned += blind_baseline(records, membership, random_state=seed).low > 0.5
    return warned, n_trials


def write_table(rng, kind, n_records):
    """A table whose values are written alike on all rows."""
    if kind == "coarse":
        return np.minimum(rng.geometric(0.45, size=(n_records, 5)), 5).astype(float)
    if kind == "cauchy":
        return rng.standard_cauchy(size=(n_records, 6)).round(2)
    table = pd.DataFrame(rng.lognormal(size=(n_records, 3)).round(2), columns=list("abc"))
    table["b"] = table["b"].where(rng.random(n_records) < 0.95)
    table["city"] = rng.choice(["Rome", "bonn", "New York", "n/a"], n_records)
    table["id"] = [f"P-{k:05d}" for k in rng.permutation(n_records)]
    table["age"] = rng.integers(18, 90, n_records)
    table["day"] = pd.Timestamp("2020") + pd.to_timedelta(rng.integers(10_000, size=n_records), "h")
    return table


@promise(
    "compare_formats warns where two sides were written alike",
    nominal=0.005,
    side="at most",
    designs={
        "mixed table, 300 records": {"kind": "mixed", "n_records": 300},
        "mixed table, 1,100 records, sides 1:10": {
            "kind": "mixed",
            "n_records": 1100,
            "share": 1 / 11,
        },
        "coarse table, 300 records": {"kind": "coarse", "n_records": 300},
        "coarse table, 1,100 records, sides 1:10": {
            "kind": "coarse",
            "n_records": 1100,
            "share": 1 / 11,
        },
        "rounded Cauchy, 80 records": {"kind": "cauchy", "n_records": 80},
        "mixed table, 60 people x 10 rows": {"kind": "mixed", "n_records": 600, "n_people": 60},
        "mixed table, members copied five times": {"kind": "mixed", "n_records": 200, "copies": 5},
    },
    n_trials=1000,
)
def formats_warn(rng, n_trials, kind, n_records, share=0.5, n_people=None, copies=1):
    warned = 0
    for _ in range(n_trials):
        table, fields = write_table(rng, kind, n_records), {}
        membership = rng.permutation(np.arange(n_records) < round(share * n_records))
        if n_people is not None:
            people = np.repeat(np.arange(n_people), n_records // n_people)
            table = table.iloc[rng.permutation(n_people)[people]].reset_index(drop=True)
            table["a"] = rng.lognormal(size=n_records).round(3)
            membership = (rng.permutation(n_people) % 2 == 1)[people]
            fields = {"group_by": people}
        if copies > 1:
            rows = np.repeat(np.arange(n_records), np.where(membership, copies, 1))
            table, membership = table.iloc[rows].reset_index(drop=True), membership[rows]
        seed = int(rng.integers(2**31))
        warned += compare_formats(
            Records(table, **fields), membership, random_state=seed
        ).is_warning
    return warned, n_trials


@promise(
    "the check of labels warns of a model that was trained on these labels",
    nominal=0.001,
    side="at most",
    designs={
        "balanced logistic regression, 2% positives": {
            "victim": LogisticRegression(class_weight="balanced"),
            "share": 0.02,
        },
        "weight of 100 on a class of 10%": {
            "victim": LogisticRegression(class_weight={0: 1, 1: 100}),
            "share": 0.1,
        },
        "balanced stump, 2% positives": {
            "victim": DecisionTreeClassifier(max_depth=1, class_weight="balanced"),
            "share": 0.02,
        },
        "balanced logistic regression, labels at random": {
            "victim": LogisticRegression(class_weight="balanced"),
            "signal": 0.0,
        },
        "stump, 5 classes": {"victim": DecisionTreeClassifier(max_depth=1), "n_classes": 5},
        "neighbors, 3 classes at random": {
            "victim": KNeighborsClassifier(15),
            "n_classes": 3,
            "signal": 0.0,
        },
    },
    n_trials=500,
)
def labels_warn(rng, n_trials, victim, share=None, n_classes=2, signal=0.5, n_records=1000):
    warned = 0
    for _ in range(n_trials):
        X = rng.normal(size=(n_records, 5))
        score = signal * X[:, 0] + rng.normal(size=n_records)
        edges = np.linspace(0, 1, n_classes + 1)[1:-1] if share is None else [1 - share]
        y = np.searchsorted(np.quantile(score, edges), score)
        answers = clone(victim).fit(X, y).predict(X)
        found = find_assignment(y, answers, n_classes, np.arange(n_records), rng)
        warned += bool(found)
    return warned, n_trials


@promise(
    "the difficulty check warns where the two sides were drawn alike",
    nominal=0.01,
    side="at most",
    designs=PEOPLE,
)
def difficulties_warn(rng, n_trials, n_people, n_rows):
    warned = 0
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    for _ in range(n_trials):
        records, membership = make_records(rng, n_people, n_rows)
        pool = ShadowPool(tree, 4, random_state=int(rng.integers(2**31))).fit(records)
        _, low, high = measure_difficulty(pool, records, membership == 1)
        warned += not low <= 0.5 <= high
    return warned, n_trials


# Models of the simulations of the drift; trials take them in turn.
DRIFTED = (
    Ridge(),
    LogisticRegression(),
    KNeighborsClassifier(),
    DecisionTreeClassifier(min_samples_leaf=2),
    HistGradientBoostingClassifier(max_iter=20),
    RandomForestClassifier(20),
)


def draw_table(rng, n, n_people=None):
    """Lognormal and normal features in 5 to 60 columns, three unequal classes, heavy noise."""
    d = int(rng.choice([5, 20, 60]))
    people = np.arange(n) if n_people is None else np.arange(n) % n_people
    X = rng.normal(size=(n, d))
    if n_people is not None:
        X += 1.5 * rng.normal(size=(n_people, d))[people]
    margin = X[:, 0] + X[:, 1] + rng.standard_t(3, size=n)
    if n_people is not None:
        margin += 1.5 * rng.normal(size=n_people)[people]
    X[:, ::2] = np.exp(X[:, ::2])
    return X, margin, people


@promise(
    "drift_test warns where the two sides follow one rule (six kinds of models in turn)",
    nominal=0.005,
    side="at most",
    designs={
        "400 to 1,600 records": {},
        "1:10": {"share": 1 / 11},
        "sides of 40": {"size": 80},
        "people x 10 rows": {"n_rows": 10},
        "five copies of each record, no ids": {"copies": (5, 5)},
        "five copies of each member, no ids": {"copies": (5, 1)},
        "coarse table": {"is_coarse": True},
    },
    n_trials=160,
)
def drifts_warn(rng, n_trials, share=0.5, size=None, n_rows=1, copies=(1, 1), is_coarse=False):
    warned = n_run = trial = 0
    while trial < n_trials or n_run == 0:
        n = size or int(rng.choice([400, 800, 1600]))
        X, margin, people = draw_table(rng, n, None if n_rows == 1 else n // n_rows)
        model = DRIFTED[trial % len(DRIFTED)]
        trial += 1
        y = margin if isinstance(model, Ridge) else np.digitize(margin, [-2, 1])
        if is_coarse:
            X, y = np.round(X[:, :3]).clip(-2, 2), np.round(y).clip(-3, 3)
        side = rng.permutation(people.max() + 1) < share * (people.max() + 1)
        rows = np.repeat(np.arange(n), np.where(side[people], *copies))
        fields = {} if n_rows == 1 else {"group_by": people[rows]}
        records, membership = Records(X[rows], y[rows], **fields), side[people[rows]]
        seed = int(rng.integers(2**31))
        try:
            warned += drift_test(model, records, membership, random_state=seed).is_warning
        except ValueError:  # too few records of a side or of a class: it is not run
            continue
        n_run += 1
    return warned, n_run


@promise(
    "drift_test finds a drift",
    nominal=0.8,
    designs={
        "rule turned 40 degrees, 1,200 x 60, logistic": {"model": DRIFTED[1], "degrees": 40},
        "rule turned 40 degrees, 1,200 x 60, forest": {
            **{"model": RandomForestClassifier(50), "degrees": 40}
        },
        "rule turned 40 degrees, 1,200 x 60, boosting": {"model": DRIFTED[4], "degrees": 40},
        "rule turned 20 degrees, 4,000 x 20, logistic": {
            **{"model": DRIFTED[1], "degrees": 20, "n": 4000, "d": 20}
        },
        "target risen by 1.2 SD, 1,200 x 60, ridge": {"model": Ridge(), "rise": 1.2},
        "target risen by .4 SD, 1,200 x 60, ridge": {"model": Ridge(), "rise": 0.4},
        "target risen by 1.2 SD, 1,200 x 60, boosting": {
            **{"model": HistGradientBoostingRegressor(max_iter=20), "rise": 1.2}
        },
        "15% of the labels of one side turned, 4,000 x 20, logistic": {
            **{"model": DRIFTED[1], "wrong": 0.15, "n": 4000, "d": 20}
        },
    },
    n_trials=30,
)
def drifts_are_found(rng, n_trials, model, n=1200, d=60, degrees=0, rise=0, wrong=0):
    found = 0
    for _ in range(n_trials):
        X, membership = rng.normal(size=(n, d)), rng.permutation(n) % 2
        angle = np.deg2rad(degrees) * membership
        margin = 2 * (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]) + rng.logistic(size=n)
        y = (margin > 0) ^ ((membership == 1) & (rng.random(n) < wrong))
        if rise:
            y = margin + rise * margin.std() * membership
        seed = int(rng.integers(2**31))
        found += drift_test(model, Records(X, y), membership, random_state=seed).is_warning
    return found, n_trials


@promise(
    "find_duplicates covers the share of near copies",
    nominal=0.95,
    designs={
        "300 non-members": {"n_people": 300, "n_rows": 1},
        "60 people x 5 rows": {"n_people": 60, "n_rows": 5},
    },
)
def shares_of_copies(rng, n_trials, n_people, n_rows, share=0.1):
    covered = 0
    people = np.repeat(np.arange(n_people), n_rows)
    for _ in range(n_trials):
        members = rng.normal(size=(len(people), 5))
        copied = (rng.random(n_people) < share)[people]
        others = np.where(copied[:, None], members + 1e-3, rng.normal(size=members.shape))
        ids = np.concatenate([people, n_people + people])
        records = Records(np.vstack([members, others]), group_by=ids)
        found = find_duplicates(records, np.repeat([1, 0], len(people)))
        covered += found.share_near.low <= share <= found.share_near.high
    return covered, n_trials


@promise(
    "a leak among records without a copy, which copies hide, stays open or is found",
    nominal=0.95,
    designs={"AUC .56": {"auc": 0.56}, "AUC .6": {"auc": 0.6}},
    n_trials=100,
)
def hidden_leaks_stay_open(rng, n_trials, auc, n=600, n_copied=120, n_attacks=4):
    """Of the audits that find it among the records without a copy alone."""
    # The attacks share most of their noise; four of ten non-members are copies of members.
    membership, every = np.arange(n) < n // 2, np.ones(n, dtype=bool)
    rest = np.arange(n) % (n // 2) >= n_copied
    successes = trials = 0
    while trials < n_trials:
        common, scores = rng.normal(size=n) + np.sqrt(2) * norm.ppf(auc) * membership, {}
        for name in "abcd"[:n_attacks]:
            values = common + 0.5 * rng.normal(size=n)
            values[n // 2 : n // 2 + n_copied] = values[:n_copied]
            scores[name] = values
        of_all = permutation_test(
            membership, scores, n_permutations=399, random_state=int(rng.integers(2**31))
        )
        left = {name: values[rest] for name, values in scores.items()}
        of_rest = permutation_test(
            membership[rest], left, n_permutations=399, random_state=int(rng.integers(2**31))
        )
        if of_all.pvalue <= 0.025 or of_rest.pvalue > 0.025:
            continue
        found, parts = of_rest.frame, ComparedParts(rest, membership, int(rng.integers(2**31)))
        found = found[found["pvalue_adjusted"] <= 0.025]
        shares = [parts.compare(scores[one], every, "auc", np.nan) for one in found["attack"]]
        successes, trials = successes + (min(shares) <= _USUAL), trials + 1
    return successes, trials


@promise(
    "a group that is too small to be judged is said to leak where it does not",
    nominal=0.025,
    side="at most",
    designs={"8 records, 8 rounds": {"n": 8}, "4 records, 4 rounds": {"n": 4}},
    n_trials=10_000,
)
def small_groups_leak(rng, n_trials, n):
    found = 0
    everyone = np.ones(n, dtype=bool)
    for _ in range(n_trials):
        inside = np.array([rng.permutation(n) < n // 2 for _ in range(n)]).astype(int)
        rounds = ControlRounds(rng.random((n, n)) < 0.5, inside)
        found += _judge_rounds(rounds, everyone, None)[1] <= 0.025
    return found, n_trials


@promise(
    "the verdict on a file is a leak where the model knows none of the records",
    nominal=0.025,
    side="at most",
    designs={
        "decision tree": {"victim": DecisionTreeClassifier(min_samples_leaf=5)},
        "random forest": {"victim": RandomForestClassifier(5)},
        "histogram boosting": {"victim": HistGradientBoostingClassifier(max_iter=5)},
        "nearest neighbors": {"victim": KNeighborsClassifier()},
    },
    n_trials=200,
)
def files_leak(rng, n_trials, victim):
    found = 0
    for _ in range(n_trials):
        X, y = draw(rng, np.arange(200))
        model = clone(victim).fit(*draw(rng, np.arange(100)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rows of the model are not among the records
            report = audit(
                model,
                Records(X, y),
                rng.permutation(200) % 2,
                attacks={"loss": ThresholdAttack()},
                fprs=(0.1,),
                random_state=int(rng.integers(2**31)),
            )
        found += report.file.evidence == "leak"
    return found, n_trials


@promise(
    "the verdict is a leak where the model knows none of the records and the pool grows",
    nominal=0.025,
    side="at most",
    designs={
        "decision tree": {"victim": DecisionTreeClassifier(min_samples_leaf=2)},
        "random forest": {"victim": RandomForestClassifier(10)},
        "logistic regression": {"victim": LogisticRegression()},
    },
    n_trials=200,
)
def grown_pools_find_nothing(rng, n_trials, victim):
    found = 0
    for _ in range(n_trials):
        X, y = draw(rng, np.arange(200))
        report = audit(
            clone(victim).fit(*draw(rng, np.arange(100))),
            Records(X, y),
            rng.permutation(200) % 2,
            fprs=(0.1,),
            file=False,
            random_state=int(rng.integers(2**31)),
        )
        found += report.evidence == "leak"
    return found, n_trials


FILES_OF_SUMS = {"naive Bayes": GaussianNB(), "QDA": QuadraticDiscriminantAnalysis()}


@promise(
    "The expected AUC of a file of sums lies outside the 99% interval of the measured one, which "
    "is an obstacle to the verdict on the file",
    nominal=0.01,
    side="at most",
    designs={
        f"{name}, {n:,} candidates": {"model": name, "n_records": n}
        for name in FILES_OF_SUMS
        for n in (200, 2000)
    },
    n_trials=500,
)
def positive_control_of_a_file_fails(rng, n_trials, model, n_records):
    missed = []
    for _ in range(n_trials):
        y = rng.integers(2, size=n_records)
        X = rng.normal(size=(n_records, 10)) * (1 + 0.5 * y[:, None]) + 0.5 * y[:, None]
        records, inside = Records(X, y), rng.permutation(n_records) < n_records // 2
        victim = clone(FILES_OF_SUMS[model]).fit(X[inside], y[inside])
        attack = MomentsAttack(victim).fit(records)
        scores = attack.score_samples(records)
        interval = auc_interval(inside.astype(int), scores, confidence_level=0.99)
        missed.append(not interval.low <= attack.expected_auc_ <= interval.high)
    return np.array(missed)


_N_ATTACKS, _N_PSEUDO_VICTIMS = 5, 8


def draw_scores(rng, n, means):
    """Scores of non-members and members, (2, n_attacks, n), of attacks that are much alike."""
    common = rng.normal(size=(2, 1, n))
    scores = np.sqrt(0.5) * (common + rng.normal(size=(2, _N_ATTACKS, n)))
    scores[1] += means[:, None]
    return scores


@promise(
    "the interval of the attack that is told covers its number (five attacks)",
    nominal=0.95,
    designs={
        f"{kind}, {2 * n} records, {'AUC' if rate is None else f'TPR at {rate:g}'}": {
            "n": n,
            "means": means,
            "rate": rate,
        }
        for kind, means in (("no leak", (0.0, 0.0)), ("leak", (0.5, 0.5)), ("leaks", (0.3, 0.7)))
        for n, rates in ((25, (None, 0.4)), (50, (None, 0.2)), (150, (0.1,)), (1000, (None, 0.01)))
        for rate in rates
    },
    n_trials=400,
)
def told_numbers_are_covered(rng, n_trials, n, means, rate):
    truth, means = np.arange(2 * n) < n, np.linspace(*means, _N_ATTACKS)
    covered = 0
    for _ in range(n_trials):
        power = np.zeros(_N_ATTACKS)
        for _ in range(_N_PSEUDO_VICTIMS):
            others, members = np.sort(draw_scores(rng, n, means))
            pairs = list(zip(members, others, strict=True))
            power += [
                compute_auc_of_sorted(*pair) if rate is None else compute_tpr(*pair, rate)
                for pair in pairs
            ]
        others, members = draw_scores(rng, n, means)
        order = list(np.argsort(-power, kind="stable"))
        rows = [
            measure_number(truth, np.concatenate(pair), k, rate)
            for k, pair in enumerate(zip(members, others, strict=True))
        ]
        key = ("auc", None) if rate is None else ("tpr", rate)
        (row,) = (row for row in mark_told(rows, {key: order}) if row["told"])
        mean = means[row["attack"]]
        wanted = norm.cdf(mean / np.sqrt(2)) if rate is None else norm.sf(norm.isf(rate) - mean)
        covered += row["low"] <= wanted <= row["high"]
    return covered, n_trials


def measure_number(truth, scores, attack, rate):
    if rate is None:
        found = auc_interval(truth, scores)
    else:
        point = operating_point(truth, scores, rate, on_unresolvable="ignore")
        found = point.tpr, point.tpr_low, point.tpr_high
    numbers = dict(zip(("estimate", "low", "high"), found, strict=True))
    where = {"attack": attack, "scope": "overall", "group": "all", "status": "ok"}
    return {**where, "metric": "auc" if rate is None else "tpr", "max_fpr": rate, **numbers}


@promise(
    "the audit tells of unequal rates of single records where all are alike",
    nominal=0.025,
    side="at most",
    designs={
        f"{n_models} shadow models, {n} records, rate {rate:g}": {
            "n_models": n_models,
            "n": n,
            "rate": rate,
        }
        for n_models, n, rate in ((8, 300, 0.1), (8, 4000, 0.01), (16, 400, 0.05), (64, 400, 0.1))
    },
    n_trials=400,
)
def unequal_rates_are_told(rng, n_trials, n_models, n, rate):
    told = 0
    for _ in range(n_trials):
        half = rng.random((n_models // 2, n)) < 0.5
        is_out = np.stack([half, ~half], axis=1).reshape(n_models, n)
        alarms = flag_by_model(rng.normal(size=is_out.shape), is_out, rate)
        told += measure_repeated_alarms(alarms, is_out, 0.95, rng) is not None
    return told, n_trials


# Rates of records by name of their law, all of mean 0.05 or nearly so.
RATE_LAWS = {
    "a beta law": lambda rng, n: rng.beta(0.5, 9.5, n),
    "a twentieth of the records at 0.5": lambda rng, n: np.where(
        rng.random(n) < 0.05, 0.5, 0.025 / 0.95
    ),
    "a log-normal law": lambda rng, n: np.minimum(np.exp(rng.normal(-4.6, 1.8, n)), 1),
}


@promise(
    "the rate at which a record that is mistaken once is mistaken again is covered, whatever law "
    "the rates follow",
    nominal=0.95,
    designs={
        f"{n_models} shadow models, {n} records, {law}": {"n_models": n_models, "n": n, "law": law}
        for n_models, n in ((8, 400), (16, 1000), (64, 1000))
        for law in RATE_LAWS
    },
    n_trials=300,
)
def repeated_alarms_are_covered(rng, n_trials, n_models, n, law):
    covered = 0
    for _ in range(n_trials):
        found, rates = draw_repeated_alarms(rng, n_models, n, law)
        truth = (rates**2).sum() / rates.sum()
        # Where nothing is said, nothing wrong is.
        covered += found is None or found.low <= truth <= found.high
    return covered, n_trials


def draw_repeated_alarms(rng, n_models, n, law):
    half = rng.random((n_models // 2, n)) < 0.5
    is_out = np.stack([half, ~half], axis=1).reshape(n_models, n)
    rates = RATE_LAWS[law](rng, n)
    alarms = rng.random(is_out.shape) < rates
    return measure_repeated_alarms(alarms, is_out, 0.95, rng), rates


@promise(
    "the audit tells that records are mistaken again and again where a record that is mistaken "
    "once has more than five times the rate of all",
    nominal=0.8,
    designs={
        f"{n_models} shadow models, {n} records, {law}": {"n_models": n_models, "n": n, "law": law}
        for n_models, n in ((8, 400), (16, 400), (16, 1000))
        for law in list(RATE_LAWS)[1:]
    },
    n_trials=100,
)
def repeated_alarms_are_told(rng, n_trials, n_models, n, law):
    found = [draw_repeated_alarms(rng, n_models, n, law)[0] for _ in range(n_trials)]
    return sum(one is not None and one.low >= 1.5 * 0.05 for one in found), n_trials


@promise(
    "a model is said to fit its members better than models of its own recipe fit theirs",
    nominal=0.01,
    side="at most",
    designs={
        f"{name}, {n} records, {n_models} shadow models": {
            "model": model,
            "n": n,
            "n_models": n_models,
        }
        for name, model in (
            ("tree", DecisionTreeClassifier(min_samples_leaf=3)),
            ("logistic regression", LogisticRegression()),
            ("ridge regression", Ridge()),
            ("neighbors", KNeighborsClassifier()),
            ("net", MLPClassifier((8,), max_iter=30, learning_rate_init=0.02)),
        )
        for n, n_models in ((200, 8), (200, 16))
    },
    n_trials=300,
)
def own_recipes_differ(rng, n_trials, model, n, n_models):
    is_value, found = isinstance(model, Ridge), 0
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the net
    for _ in range(n_trials):
        X = rng.normal(size=(n, 6))
        y = X[:, 0] + rng.normal(size=n)
        y = y if is_value else (y > 0).astype(int)
        records, inside = Records(X, y), rng.permutation(n) % 2 == 1
        victim = clone(model)
        if "random_state" in victim.get_params() and not is_value:
            victim.set_params(random_state=int(rng.integers(2**31)))
        outputs = records.with_outputs(victim.fit(X[inside], y[inside]))["outputs"]
        signals = ("auto",) if is_value else ("auto", Correctness())
        seed = int(rng.integers(2**31))
        pool = ShadowPool(model, n_models, signals=signals, random_state=seed).fit(records)
        case = SimpleNamespace(
            records=records, membership=inside, request=SimpleNamespace(outputs=outputs)
        )
        found += why_gap_too_large({"gap": measure_gaps(case, pool), **_OWN}) is not None
    return found, n_trials


_OWN = {"recipe": "own", "estimator": "the model"}
