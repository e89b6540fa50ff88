"""Audits with a known answer: which verdicts, headlines and exit codes they end in.

    python benchmarks/null_audits.py [--quick] [--jobs N] [--only NAME ...] [--seeds N]

Sixty audits of each condition (five with --quick). In the first conditions the victim was trained
on other draws from the population of the records, and membership was assigned at random, so that
there is nothing to find: "leak" and "reversed" may each come out in 2.5% of the audits, "shift" in
4.5% (2.5% by the baseline, one-sided, 1% by the difficulty, .5% by the drift, .5% for formats). In
the others there is something to find. The conditions that begin with "sound:" are victims of all
kinds that know nothing of the records, and those with "own rows:" victims that were trained on the
members, whatever they leak: of each kind, the check that model and table agree may stop 1%. A
contradiction is a headline without leakage above a table that shows some: a group that is
significant by Bonferroni's correction of normal p-values of its AUCs, or a group whose members are
found with a mean advantage above .5 in shadow models treated as victims. The gate is that of
``--fail-above auc=0.6 advantage=0.2``.

Every audit is a line of build/null_audits.jsonl, and is not run again while its line is there;
delete the file after a change of code.
"""

import argparse
import json
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.cli._gate import judge, list_findings
from skmia.cli._options import parse_limit
from skmia.defenses import LabelOnlyDefense, RoundingDefense, SoftLabelDefense
from skmia.victims import CallableVictim

FILE = Path("build") / "null_audits.jsonl"
LIMITS = [parse_limit("auc=0.6"), parse_limit("advantage=0.2")]
SMALL = DecisionTreeClassifier(max_depth=2, random_state=0)
LARGE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


def draw(rng, n, people=None):
    """Features and labels; those of one person have a part in common."""
    X = rng.normal(size=(n, 4))
    margin = X[:, 0] + rng.normal(size=n)
    if people is not None:
        n_people = people.max() + 1
        X += 1.5 * rng.normal(size=(n_people, 4))[people]
        margin = X[:, 0] + 0.5 * rng.normal(size=n) + 1.5 * rng.normal(size=n_people)[people]
    return X, (margin > 0).astype(int)


def make_strangers(rng, n, people=None, **fields):
    """Records of which the victim knows none, and the victim."""
    X, y = draw(rng, n, people)
    half = np.flatnonzero(np.arange(n) < n // 2)
    others = draw(rng, n, people)
    victim = SMALL.fit(others[0][half], others[1][half])
    if people is not None:
        fields["group_by"] = people
        membership = (rng.permutation(people.max() + 1) % 2)[people]
    else:
        membership = rng.permutation(n) % 2
    return victim, Records(X, y, **fields), membership


def independent(rng):
    return make_strangers(rng, 1000), {}


def tiny_group(rng):
    group = np.where(rng.permutation(2000) < 4, "few", "many")
    return make_strangers(rng, 2000, group=group), {"group": "group"}


def people(rng):
    return make_strangers(rng, 600, np.repeat(np.arange(60), 10)), {}


def straddler(rng):
    """One record of one person is on the wrong side."""
    victim, records, membership = make_strangers(rng, 600, np.repeat(np.arange(60), 10))
    membership[rng.integers(600)] ^= 1
    return (victim, records, membership), {}


def fives(rng):
    return make_strangers(rng, 600, np.repeat(np.arange(120), 5)), {}


def noise(rng):
    victim, records, membership = make_strangers(rng, 1000)
    y = np.where(rng.random(1000) < 0.2, 1 - records.y, records.y)
    return (victim, Records(records.X, y), membership), {}


def careless(rng, share=0.3):
    """Labels of the non-members were taken with less care."""
    victim, records, membership = make_strangers(rng, 1000)
    wrong = (membership == 0) & (rng.random(1000) < share)
    return (victim, Records(records.X, np.where(wrong, 1 - records.y, records.y)), membership), {}


def slightly_careless(rng):
    return careless(rng, 0.15)


def make_years(rng, victim, make_labels, n=1200, n_columns=60):
    """Records of two years; the victim knows other records of the members' year."""
    X, membership = rng.normal(size=(n, n_columns)), rng.permutation(n) % 2
    others = rng.normal(size=(n // 2, n_columns))
    victim.fit(others, make_labels(others, 0))
    return (victim, Records(X, make_labels(X, 1 - membership)), membership), {}


def turned(rng):
    """The rule of the non-members is turned by 40 degrees."""

    def make_labels(X, later):
        angle = np.deg2rad(40) * later
        margin = 2 * (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1])
        return (margin + rng.logistic(size=len(X)) > 0).astype(int)

    return make_years(rng, LogisticRegression(), make_labels)


def risen(rng):
    """The target of the non-members has risen by 1.2 standard deviations."""

    def make_targets(X, later):
        return X[:, :5].sum(axis=1) + 2 * rng.normal(size=len(X)) + 1.2 * 3 * later

    return make_years(rng, Ridge(), make_targets)


def many_columns(rng, n=300, n_columns=60):
    """Linear models of other rows whose labels are noise, and whose answers give coefficients."""
    victim = clone(LINEAR_KINDS[rng.integers(len(LINEAR_KINDS))])
    X, y = rng.normal(size=(n + n // 2, n_columns)), rng.integers(0, 2, size=n + n // 2)
    if isinstance(victim, PoissonRegressor | Ridge):
        y = rng.poisson(1.0, size=len(y)).astype(float)
    victim.fit(X[n:], y[n:])
    return (victim, Records(X[:n], y[:n]), rng.permutation(n) % 2), {}


def shift(rng):
    victim, records, membership = make_strangers(rng, 1000)
    return (victim, Records(records.X + 0.5 * membership[:, None], records.y), membership), {}


def make_leak(rng, n=600):
    X, y = draw(rng, n)
    membership = rng.permutation(n) % 2
    return LARGE.fit(X[membership == 1], y[membership == 1]), Records(X, y), membership


def leak(rng):
    return make_leak(rng), {}


def coding(rng):
    victim, records, membership = make_leak(rng)
    return (victim, records, 1 - membership), {}


def outliers(rng, n=2000, n_outliers=20):
    """Records with a feature of their own, and a coin for a label."""
    X, y = draw(rng, n)
    rows = rng.choice(n, n_outliers, replace=False)
    own = np.zeros((n, n_outliers))
    own[rows, np.arange(n_outliers)] = 10
    y[rows] = rng.integers(0, 2, n_outliers)
    group = np.where(np.isin(np.arange(n), rows), "outlier", "rest")
    membership = rng.permutation(n) % 2
    records = Records(np.hstack([X[:, :1], own]), y, group=group)
    members = records[membership == 1]
    return (LogisticRegression().fit(members.X, members.y), records, membership), {"group": "group"}


def few_outliers(rng):
    return outliers(rng, n_outliers=8)


def draw_coarse(rng, n):
    """A table of five columns with few values, of which most records have equal ones."""
    X = np.minimum(rng.geometric(0.45, size=(n, 5)), 5).astype(float)
    return X, (X[:, 0] + 1.5 * rng.normal(size=n) > 2).astype(int)


def make_coarse(rng, n, n_members):
    X, y = draw_coarse(rng, n)
    others = draw_coarse(rng, n // 2)
    membership = (rng.permutation(n) < n_members).astype(int)
    victim = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*others)
    return (victim, Records(X, y), membership), {}


def coarse(rng):
    return make_coarse(rng, 600, 300)


def coarse_few(rng):
    return make_coarse(rng, 1100, 100)


def copied(rng):
    """Four of ten non-members are copies of members, which the victim has memorized."""
    victim, records, membership = make_leak(rng)
    inside, outside = np.flatnonzero(membership == 1), np.flatnonzero(membership == 0)
    n_copied = 4 * min(len(inside), len(outside)) // 10
    rows = np.arange(len(records))
    rows[outside[:n_copied]] = inside[:n_copied]
    return (victim, Records(records.X[rows], records.y[rows]), membership), {}


def exported(rng):
    """A forest of neither side; the non-members were exported with fewer decimals."""
    X, y = draw(rng, 1500)
    X = X.round(4)
    victim = RandomForestClassifier(20, random_state=0).fit(X[1000:], y[1000:])
    X, y, membership = X[:1000].copy(), y[:1000], rng.permutation(1000) % 2
    X[membership == 0] = X[membership == 0].round(2)
    return (victim, Records(X, y), membership), {}


def turned_labels(rng):
    victim, records, membership = make_leak(rng)
    return (victim, Records(records.X, 1 - records.y), membership), {}


FOREST = RandomForestClassifier(25, random_state=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
LINEAR_KINDS = LogisticRegression(), LINEAR, Ridge(), PoissonRegressor(), LinearSVC()
NET = MLPClassifier((16,), max_iter=60, random_state=0)
# Victims of each kind, and how many rows they were trained on, in members.
KINDS = {
    "a forest": (FOREST, 1),
    "boosting": (HistGradientBoostingClassifier(max_iter=30, random_state=0), 1),
    "logistic regression": (LINEAR, 1),
    "neighbors": (KNeighborsClassifier(5), 1),
    "naive Bayes": (GaussianNB(), 1),
    "a net": (NET, 1),
    "a kernel": (SVC(random_state=0), 1),
    "a search": (GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, cv=3), 1),
    "ridge regression": (Ridge(), 1),
    "a forest of numbers": (RandomForestRegressor(25, random_state=0), 1),
    "labels alone": (LabelOnlyDefense(FOREST), 1),
    "rounded answers": (RoundingDefense(FOREST, decimals=1), 1),
    "soft labels": (SoftLabelDefense(FOREST, random_state=0), 1),
    "calibrated": (CalibratedClassifierCV(FOREST, cv=3), 1),
    "strongly regularized": (LogisticRegression(C=1e-4), 1),
    "hardly trained": (HistGradientBoostingClassifier(max_iter=2, random_state=0), 1),
    "four times the rows": (FOREST, 4),
    "a fifth of the rows": (FOREST, 0.2),
    "a service": (LINEAR, 1),
    "stored answers": (FOREST, 1),
    "another recipe": (FOREST, 1),
}


def make_sound(rng, kind, own, n=500):
    """A victim of one kind, trained on the members and others, or on none of the records."""
    model, share = KINDS[kind]
    membership = rng.permutation(n) % 2 == 1
    n_trained = int(share * membership.sum())
    X, y = draw(rng, n + n_trained)
    if model in (KINDS["ridge regression"][0], KINDS["a forest of numbers"][0]):
        y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))
    rows = np.flatnonzero(membership)[:n_trained] if own else []
    rows = np.append(rows, np.arange(n, n + n_trained - len(rows))).astype(int)
    victim, settings = clone(model).fit(X[rows], y[rows]), {}
    records = Records(X[:n], y[:n])
    if kind == "a service":
        victim, settings = CallableVictim(victim.predict_proba, [0, 1]), {"estimator": LINEAR}
    elif kind == "stored answers":
        records, victim = records.with_outputs(victim), None
    elif kind == "another recipe":
        settings = {"estimator": LINEAR}
    return (victim, records, membership.astype(int)), settings


def list_sound():
    """The condition of each kind of victim that knows none of the records, or the members."""
    for kind in KINDS:
        # It stays open if shadow models leak and the victim, which knows no record, does not.
        yield f"sound: {kind}", ("none, unknown", partial(make_sound, kind=kind, own=False))
    for kind in KINDS:
        yield f"own rows: {kind}", ("any", partial(make_sound, kind=kind, own=True))


# What is right, and how each condition is made.
CONDITIONS = {
    "independent rows": ("none", independent),
    "a group of 4": ("none", tiny_group),
    "people of 10 rows": ("none", people),
    "one person on both sides": ("none", straddler),
    "groups of 5": ("none", fives),
    "label noise": ("none", noise),
    "linear, many columns": ("none, unknown", many_columns),
    "label noise of one side": ("shift", careless),
    "15% label noise of one side": ("shift", slightly_careless),
    "a shift": ("shift", shift),
    "a turned rule": ("shift", turned),
    "a risen target": ("shift", risen),
    "a wrong coding": ("reversed", coding),
    "20 planted outliers": ("leak", outliers),
    "8 planted outliers": ("leak, unknown", few_outliers),
    "a clean leak": ("leak", leak),
    "a coarse table": ("none", coarse),
    "a coarse table, 1:10": ("none", coarse_few),
    "copies of four in ten": ("unknown, leak", copied),
    "fewer decimals of one side": ("shift", exported),
    "codes of labels turned": ("unknown", turned_labels),
    **dict(list_sound()),
}


def run(name, seed):
    start = time.perf_counter()
    rng = np.random.default_rng([seed, sum(name.encode())])
    problem, settings = CONDITIONS[name][1](rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_shadows = 8 if ":" in name else 16
        report = audit(*problem, shadows=n_shadows, fprs=(0.1, 0.01), random_state=seed, **settings)
    code, _ = judge(list_findings(report, LIMITS))
    return {
        "condition": name,
        "seed": seed,
        "evidence": report.evidence,
        "verdict": report.verdict,
        "code": code,
        "contradicts": contradicts(report),
        "stopped": report.checks["model and table"].finding == "stop",
        "warnings": [check.name for check in report.checks.values() if check.is_warning],
        "seconds": round(time.perf_counter() - start, 2),
    }


def contradicts(report):
    """Whether a headline without leakage stands above a table that shows some."""
    if report.evidence != "none":
        return False
    frame = report.to_frame().query("metric == 'auc' and status == 'ok'")
    m, n = frame["n_members"], frame["n_nonmembers"]
    z = (frame["estimate"] - 0.5) / np.sqrt((m + n + 1) / (12 * m * n))
    z = z[(m + n >= 10) & (report.people is None)]
    proven = bool((norm.sf(z) * len(frame) < 0.01).any())
    scopes = [] if report.disparity is None else report.disparity["scopes"]
    means = [group["mean"] for test in scopes for group in test["groups"]]
    return proven or any(mean > 0.5 for mean in means)


def show(rows):
    verdicts = ("leak", "none", "shift", "reversed", "unknown")
    print(f"{'':28s}{'right':14s}", *(f"{one:>9s}" for one in verdicts), end="")
    print(f"{'contradicts':>13s}{'stopped':>9s}{'code 0':>8s}{'1':>4s}{'4':>4s}{'seconds':>9s}")
    for name, (right, _) in CONDITIONS.items():
        own = [row for row in rows if row["condition"] == name]
        if not own:
            continue
        counts = Counter(row["evidence"] for row in own)
        codes = Counter(row["code"] for row in own)
        print(f"{name:28s}{right:14s}", *(f"{counts[one]:9d}" for one in verdicts), end="")
        print(f"{sum(row['contradicts'] for row in own):13d}", end="")
        print(f"{sum(row['stopped'] for row in own):9d}", end="")
        print(f"{codes[0]:8d}{codes[1]:4d}{codes[4]:4d}", end="")
        print(f"{np.mean([row['seconds'] for row in own]):9.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5 audits of each condition, not 60")
    parser.add_argument("--seeds", type=int, help="audits of each condition")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    arguments = parser.parse_args()
    n_seeds = arguments.seeds or (5 if arguments.quick else 60)
    FILE.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in FILE.open()] if FILE.exists() else []
    done = {(row["condition"], row["seed"]) for row in rows}
    wanted = [(name, seed) for seed in range(n_seeds) for name in arguments.only]
    missing = [job for job in wanted if job not in done]
    results = Parallel(arguments.jobs, return_as="generator_unordered")(
        delayed(run)(*job) for job in missing
    )
    with FILE.open("a") as file:
        for row in results:
            file.write(json.dumps(row) + "\n")
            file.flush()
            rows.append(row)
    show([row for row in rows if (row["condition"], row["seed"]) in set(wanted)])


if __name__ == "__main__":
    main()
