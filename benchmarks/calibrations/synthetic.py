"""Promises of skmia.synthetic."""

import numpy as np
import pandas as pd

from skmia.synthetic import (
    CopyTest,
    NearestNeighborAdversarialAccuracy,
    PrivacyLoss,
    audit_table,
    excess_risk,
)
from skmia.synthetic._table._measure import measure_utility

from ._registry import promise

DESIGNS = ("equal", "grid of 16 points", "shifted by 1.5", "half copies", "copies, blurred by 0.3")


def draw_tables(rng, n_rows, design):
    """Real rows and synthetic rows of two columns."""
    if design.startswith("grid"):
        return rng.integers(4, size=(2, n_rows, 2)).astype(float)
    real, synthetic = rng.normal(size=(2, n_rows, 2))
    if design.startswith("shifted"):
        synthetic[:, 0] += 1.5
    elif design.startswith("half"):
        synthetic[: n_rows // 2] = real[: n_rows // 2]
    elif design.startswith("copies"):
        synthetic = real + 0.3 * synthetic
    return real, synthetic


@promise(
    "Two standard errors of the adversarial accuracy of few rows cover its expectation",
    nominal=0.93,
    designs={
        f"{design}, {n} rows of each kind": {"design": design, "n_rows": n}
        for design in DESIGNS
        for n in (4, 16, 64)
    },
    n_trials=300,
)
def adversarial_accuracy_of_few_rows(rng, n_trials, design, n_rows):
    found = []
    for _ in range(n_trials):
        real, synthetic = draw_tables(rng, n_rows, design)
        found.append(NearestNeighborAdversarialAccuracy().fit(real).evaluate(synthetic))
    means = np.array([accuracy.mean for accuracy in found])
    errors = np.array([accuracy.standard_error for accuracy in found])
    return int(np.sum(np.abs(means - means.mean()) <= 1.96 * errors)), n_trials


@promise(
    "The interval of `PrivacyLoss` of few rows covers its expectation",
    nominal=0.93,
    designs={
        f"{design}, {n} rows of each table": {"design": design, "n_rows": n}
        for design in DESIGNS
        for n in (4, 16, 64)
    },
    n_trials=300,
)
def privacy_loss_of_few_rows(rng, n_trials, design, n_rows):
    found = []
    for _ in range(n_trials):
        train, synthetic = draw_tables(rng, n_rows, design)
        test = draw_tables(rng, n_rows, design)[0]
        found.append(PrivacyLoss(n_permutations=0).fit(train, test, synthetic))
    mean = np.mean([loss.statistic_ for loss in found])
    return sum(loss.interval_[0] <= mean <= loss.interval_[1] for loss in found), n_trials


@promise(
    "The interval of `excess_risk` covers the risk, or there is none",
    nominal=0.95,
    designs={
        f"{n} attacks and {m} controls with success rates {p:g} and {p0:g}": {
            "sizes": (n, m),
            "rates": (p, p0),
        }
        for n, m, p, p0 in (
            (500, 500, 0.1, 0.1),
            (500, 500, 0.95, 0.95),
            (500, 50, 0.95, 0.95),
            (100, 100, 0.95, 0.95),
            (100, 100, 0.99, 0.9),
            (30, 30, 0.1, 0.1),
        )
    },
    n_trials=4000,
)
def excess_risk_interval(rng, n_trials, sizes, rates):
    truth, inside = (rates[0] - rates[1]) / (1 - rates[1]), 0
    for _ in range(n_trials):
        s, c = rng.binomial(sizes, rates)
        found = excess_risk(int(s), sizes[0], int(c), sizes[1])
        covers = found.low <= truth + 1e-12 and truth <= found.high
        inside += bool(covers or np.isnan(found.risk))
    return inside, n_trials


def draw_people(rng, n_rows):
    """Rows of three numbers, two of which are whole, and a category."""
    numbers = rng.normal(size=(n_rows, 3))
    numbers[:, 1:] = (2 * numbers[:, 1:]).round()
    return pd.DataFrame(numbers.round(2)).add_prefix("n").assign(k=rng.choice(list("abcd"), n_rows))


def copy_rows(made, real, share, blur=0.0):
    """The synthetic rows with copies of the first training rows in place of the first of them."""
    k = round(share * len(real))
    copied = real[:k].assign(n0=real["n0"][:k] + blur)
    return pd.concat([copied, made[k:]], ignore_index=True)


@promise(
    "`audit_table` says that fresh rows leak",
    nominal=0.05,
    side="at most",
    designs={f"{n} rows of each table": {"n_rows": n} for n in (40, 200)},
    n_trials=60,
)
def alarms_of_tables(rng, n_trials, n_rows):
    alarms = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_people(rng, n_rows) for _ in range(3))
        alarms += audit_table(real, made, holdout, random_state=seed).evidence == "leak"
    return alarms, n_trials


@promise(
    "`audit_table` cannot say anything of fresh rows of one population",
    nominal=0.02,
    side="at most",
    designs={f"{n} rows of each table": {"n_rows": n} for n in (200,)},
    n_trials=60,
)
def doubts_about_tables(rng, n_trials, n_rows):
    doubts = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_people(rng, n_rows) for _ in range(3))
        found = audit_table(real, made, holdout, random_state=seed).evidence
        doubts += found not in ("leak", "none")
    return doubts, n_trials


@promise(
    "`audit_table` finds copies",
    nominal=0.8,
    designs={
        "exact copies of 4% of 1,000 rows": {"share": 0.04, "blur": 0.0},
        "near copies of 10% of 1,000 rows": {"share": 0.1, "blur": 0.001},
    },
    n_trials=40,
)
def copies_in_tables(rng, n_trials, share, blur):
    found = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_people(rng, 1000) for _ in range(3))
        copied = copy_rows(made, real, share, blur)
        found += audit_table(real, copied, holdout, random_state=seed).evidence == "leak"
    return found, n_trials


def draw_visits(rng, n_people, rows):
    """Rows of people: columns that each of them has, and others that depend on the person."""
    counts = np.full(n_people, rows) if rows else 1 + rng.geometric(0.2, n_people)
    who = np.repeat(np.arange(n_people), counts)
    level = rng.normal(size=n_people)
    own = {"born": rng.integers(1940, 2005, n_people), "state": rng.choice(list("abc"), n_people)}
    own["income"] = np.exp(10 + level / 2).round()
    visits = pd.DataFrame({name: values[who] for name, values in own.items()})
    amount = np.exp(3 + level[who] + rng.normal(0, 0.5, len(who))).round(2)
    return visits.assign(amount=amount, kind=rng.choice(list("wxyz"), len(who)), who=who)


@promise(
    "`audit_table` says that rows of new persons leak or are of another population",
    nominal=0.05,
    side="at most",
    designs={
        f"{n} persons of {rows or '2 to 20'} rows{'' if named else ', not named'}": {
            "n_people": n,
            "rows": rows,
            "named": named,
        }
        for n, rows, named in (
            (60, 1, True),
            (40, 6, True),
            (40, 20, True),
            (60, 0, True),
            (60, 6, False),
            (40, 20, False),
        )
    },
    n_trials=60,
)
def alarms_about_persons(rng, n_trials, n_people, rows, named):
    alarms = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_visits(rng, n_people, rows) for _ in range(3))
        holdout["who"] += n_people
        made = made.drop(columns="who")
        if not named:
            real, holdout = (table.drop(columns="who") for table in (real, holdout))
        group_by = "who" if named else None
        report = audit_table(real, made, holdout, group_by=group_by, random_state=seed)
        alarms += report.evidence in ("leak", "shift")
    return alarms, n_trials


def draw_tables_of_persons(rng, n_people, rows, first=0):
    """Return persons and their visits as two tables, by the same law as rows of visits."""
    visits = draw_visits(rng, n_people, rows)
    visits["who"] += first
    own = visits.drop_duplicates("who")[["who", "born", "state", "income"]]
    return {"people": own, "visits": visits[["who", "amount", "kind"]]}


def copy_persons(tables, real, share, rng):
    """Return tables with copies of some persons under other names, whose amounts differ by 2%."""
    names = real["people"]["who"].to_numpy()
    chosen = rng.choice(names, int(share * len(names)), replace=False)
    renamed = dict(zip(chosen, 10**6 + np.arange(len(chosen)), strict=True))
    made = {}
    for name, table in real.items():
        copied = table[table["who"].isin(chosen)]
        copied = copied.assign(who=copied["who"].map(renamed))
        if "amount" in copied:
            copied["amount"] = (copied["amount"] * rng.normal(1, 0.02, len(copied))).round(2)
        made[name] = pd.concat([tables[name], copied], ignore_index=True)
    return made


@promise(
    "`audit_table(keys=)` says that new persons of two tables leak or are of another population",
    nominal=0.05,
    side="at most",
    designs={f"100 persons of {rows or '2 to 20'} rows": {"rows": rows} for rows in (1, 5, 20, 0)},
    n_trials=100,
)
def alarms_about_persons_of_tables(rng, n_trials, rows):
    alarms = 0
    for seed in range(n_trials):
        tables = (draw_tables_of_persons(rng, 100, rows, 1000 * k) for k in range(3))
        real, made, holdout = tables
        report = audit_table(real, made, holdout, keys="who", random_state=seed)
        alarms += report.evidence in ("leak", "shift")
    return alarms, n_trials


@promise(
    "Persons of two tables, one in ten of whom is copied with noise, are found",
    nominal=0.5,
    side="at least",
    designs={
        f"300 persons of {rows} rows, by {way}": {"rows": rows, "way": way}
        for rows in (5, 20)
        for way in ("keys", "rows of visits")
    },
    n_trials=30,
)
def copied_persons_are_found(rng, n_trials, rows, way):
    """Rows of visits with the columns of persons are what a join without keys compares."""
    found = 0
    for seed in range(n_trials):
        real, fresh, holdout = (draw_tables_of_persons(rng, 300, rows, 1000 * k) for k in range(3))
        tables = real, copy_persons(fresh, real, 0.1, rng), holdout
        settings = {"keys": "who"}
        if way != "keys":
            tables = [one["visits"].merge(one["people"], on="who") for one in tables]
            settings = {"group_by": "who"}
        found += audit_table(*tables, **settings, random_state=seed).evidence == "leak"
    return found, n_trials


@promise(
    "The AUC of distances is higher for persons, one in ten of whom is copied, than for their rows",
    nominal=0.75,
    side="at least",
    designs={
        f"300 persons of {rows} rows, rows of visits alone": {"rows": rows} for rows in (5, 20)
    },
    n_trials=60,
)
def persons_have_a_higher_auc(rng, n_trials, rows):
    """Rows of visits alone, without what the other table says of their persons."""
    higher, name = 0, "membership by distances"
    for seed in range(n_trials):
        real, fresh, holdout = (draw_tables_of_persons(rng, 300, rows, 1000 * k) for k in range(3))
        tables = real, copy_persons(fresh, real, 0.1, rng), holdout
        visits = (one["visits"].drop(columns="who") for one in tables)
        of_persons, of_rows = (
            measured.results.loc[name, "estimate"]
            for measured in (
                audit_table(*tables, keys="who", random_state=seed),
                audit_table(*visits, random_state=seed),
            )
        )
        higher += of_persons > of_rows
    return higher, n_trials


def draw_kind(rng, n_rows, kind):
    """Rows of few categories, of categories and whole numbers, or of numbers of many digits."""
    # "alike": rows of a few hundred kinds of people, many of which are equal by chance, so that
    # copies of 1% are not found (0 of 8 tables of 10,000 rows).
    z = rng.normal(size=n_rows)
    if kind == "alike":
        kinds = np.random.default_rng(0).integers(0, 9, (300, 8))
        rows = kinds[np.minimum(rng.zipf(1.5, n_rows), 300) - 1]
        other = rng.integers(0, 9, rows.shape)
        return pd.DataFrame(np.where(rng.random(rows.shape) < 0.1, other, rows)).astype(str)
    if kind == "discrete":
        words = rng.choice(list("abcd"), (5, n_rows), p=[0.5, 0.3, 0.15, 0.05])
        return pd.DataFrame(dict(zip("pqrst", words)))
    words = rng.choice(list("abcdefg"), (4, n_rows))
    table = pd.DataFrame(dict(zip("pqrs", words))).assign(age=rng.integers(18, 90, n_rows))
    if kind == "mixed":
        return table.assign(hours=np.round(40 + 10 * z))
    return table.assign(
        hours=np.round(40 + 10 * z),
        income=np.exp(10 + 0.6 * z).round(2),
        bmi=rng.normal(26, 4, n_rows).round(1),
    )


@promise(
    "Copies, or copies but one cell, are found in tables without copies",
    nominal=0.05,
    side="at most",
    designs={
        f"{kind}, {n:,} rows": {"kind": kind, "n_rows": n}
        for kind in ("discrete", "mixed", "continuous", "alike")
        for n in (200, 1000, 5000)
    },
    n_trials=100,
)
def alarms_of_copies(rng, n_trials, kind, n_rows):
    alarms = 0
    for seed in range(n_trials):
        tables = (draw_kind(rng, n_rows, kind) for _ in range(3))
        alarms += _finds_copies(*tables, seed)
    return alarms, n_trials


def _finds_copies(real, holdout, made, seed):
    """Whether a test of copies is significant at its share of the level of an audit."""
    found = CopyTest(random_state=seed).fit(real, holdout, made).result_["pvalue"]
    return bool(found["rare copies"] <= 0.0315 or found["copies but one cell"] <= 0.008)


@promise(
    "Copies are found in tables of many digits",
    nominal=0.95,
    designs={
        "10 of 1,000 rows": {"change": "none"},
        "the 5 rows of the largest incomes": {"change": "largest"},
        "10 of 1,000 rows with one cell changed": {"change": "cell"},
    },
    n_trials=100,
)
def few_copies(rng, n_trials, change):
    found = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_kind(rng, 1000, "continuous") for _ in range(3))
        copied = real.nlargest(5, "income") if change == "largest" else real[:10].copy()
        if change == "cell":
            for row in range(len(copied)):
                column = rng.integers(real.shape[1])
                copied.iloc[row, column] = made.iloc[rng.integers(1000), column]
        made = pd.concat([copied, made[len(copied) :]], ignore_index=True)
        found += _finds_copies(real, holdout, made, seed)
    return found, n_trials


@promise(
    "`audit_table` would say that a table of copies of a share of 10,000 rows leaks clearly",
    nominal=0.95,
    designs={
        f"{kind}, {share:.1%}": {"kind": kind, "share": share}
        for kind, share in (
            ("continuous", 0.1),
            ("continuous", 0.01),
            ("continuous", 0.001),
            ("alike", 0.1),
        )
    },
    n_trials=20,
)
def copied_shares_are_clear(rng, n_trials, kind, share):
    found = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_kind(rng, 10_000, kind) for _ in range(3))
        k = round(share * len(real))
        made = pd.concat([real[:k], made[k:]], ignore_index=True)
        pvalues = CopyTest(random_state=seed).fit(real, holdout, made).result_["pvalue"]
        # Rare copies beyond chance are at least clear.
        found += pvalues["rare copies"] <= 0.0315
    return int(found), n_trials


@promise(
    "`CopyTest` finds copies of its `smallest_share_` in rare rows",
    nominal=0.8,
    designs={f"{n:,} rows of each table": {"n_rows": n} for n in (300, 1500)},
    n_trials=300,
)
def smallest_share_of_copies(rng, n_trials, n_rows):
    found = 0
    for seed in range(n_trials):
        real, made, holdout = (draw_people(rng, n_rows) for _ in range(3))
        test = CopyTest(random_state=seed)
        share = test.fit(real, holdout, made).smallest_share_
        copied = copy_rows(made, real, share)
        found += test.fit(real, holdout, copied).pvalue_ <= 0.05
    return found, n_trials


@promise(
    "The interval of the quality of `audit_table` covers the similarity to the population",
    nominal=0.95,
    designs={f"{n} rows of each table": {"n_rows": n} for n in (100, 1000)},
    n_trials=200,
)
def quality_of_tables(rng, n_trials, n_rows):
    inside, population = 0, draw_people(rng, 10_000)
    for seed in range(n_trials):
        made, real = (draw_people(rng, n_rows) for _ in range(2))
        made["n0"] += 0.5
        settings = 0.95, np.random.RandomState(seed)
        truth = measure_utility(made, population, None, *settings)[0].loc["quality", "estimate"]
        found = measure_utility(made, real, None, *settings)[0].loc["quality"]
        inside += found["low"] <= truth <= found["high"]
    return int(inside), n_trials
