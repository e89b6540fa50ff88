"""The disparity experiments of O'Dell (2023): the full membership game on Adult and Law School.

Writes the numbers of every round and group, and prints the tests, the correlation and the time.

    python benchmarks/bench_odell.py --data FOLDER [--tables law_school adult] [--rounds 200]

It also writes the tests of the thesis beside their printed values, odell_tests.csv and
odell_pairs.csv; ``--show`` writes these two from the kept rounds. The folder holds adult.csv.gz
and law_school.csv.gz (the table with five races, as in the R package fairml), one row a person.
"""

import argparse
import os
import resource
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from literature_nets import make_small_net
from published import annotate
from xgboost import XGBClassifier

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.disparity import DisparityTest, GroupGuesses
from skmia.games import membership_game

RESULTS = Path(__file__).parent / "results"
TABLES = {
    # name: label, positive class, group, columns that are no features
    "adult": ("income", ">50K", "race", ["split", "fnlwgt"]),
    "law_school": ("bar", True, "race1", []),
}

PRINTED = {"law_school": ("7.3", "7.4"), "adult": ("7.5", "7.6")}  # tables of the thesis


def load(folder, name):
    label, positive, group, dropped = TABLES[name]
    table = pd.read_csv(Path(folder) / f"{name}.csv.gz").drop(columns=dropped)
    y, people = (table.pop(label) == positive).astype(np.int64), table[group]
    X = pd.get_dummies(table, dtype=float)
    X = np.array((X - X.mean()) / X.std(), np.float32)
    return Records(X, y.to_numpy(), group=people.to_numpy(str))


def play(records, options):
    net = make_small_net(records.X.shape[1], max_epochs=options.epochs)
    pool = ShadowPool(net, 5, design="independent", store="outputs", temperatures=(1.0,))
    attack = ShadowAttack(
        shadows=pool,
        attack_estimator=XGBClassifier(n_estimators=100, n_jobs=1),
        features=["correctness"],
        per_class=False,
    )
    return membership_game(
        net,
        attack,
        records,
        groups="group",
        n_rounds=options.rounds,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=1,
        return_guesses=True,
    )


def to_table(game):
    """One row for each round and group, and one for all records of the round."""
    names = {"vulnerability": "vulnerability", "tpr": "tpr", "fpr": "fpr", "gap": "gap"}
    parts = {new: game[f"group_{old}"].stack(future_stack=True) for old, new in names.items()}
    by_group = pd.DataFrame(parts).reset_index()
    everyone = pd.DataFrame({name: game[name] for name in ("vulnerability", "tpr", "fpr")})
    everyone["gap"] = game["train_score"] - game["test_score"]
    everyone["round"], everyone["group"] = everyone.index, "all"
    table = pd.concat([everyone[by_group.columns], by_group])
    return table.sort_values("round", kind="stable", ignore_index=True)


def processor_seconds():
    get_reusable_executor().shutdown(wait=True)  # children are counted once they have ended
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def describe(table):
    everyone = table.query("group == 'all'")
    worst = everyone["gap"].abs()
    print(f"overall vulnerability {everyone['vulnerability'].mean():.5f}")
    print(f"negative gaps {np.mean(everyone['gap'] < 0):.3f}")
    print(f"guesses all alike {np.mean(everyone['vulnerability'] == 0):.3f}")
    print(
        f"correlation with the worst case {np.corrcoef(everyone['vulnerability'], worst)[0, 1]:.3f}"
    )
    wide = table.query("group != 'all'").pivot(index="round", columns="group")
    print(wide["gap"].mean().rename("gap").round(4).to_string())


def compare(records, game, seed):
    """Test whether the groups are exposed alike; equal rows are permuted together."""
    guesses = GroupGuesses(
        game["guesses"], game["membership"], records["group"], records.fingerprint
    )
    for correction in ("fdr_bh", "holm"):
        test = DisparityTest(correction=correction, n_permutations=9999, random_state=seed)
        test.fit(guesses)
        print(test.summary())
    print(test.pairwise_.round(5).to_string())


def save_tests(results):
    """The tests of the thesis on the kept rounds, beside what it prints."""
    tests, pairs = [], []
    for name, (overall, by_pair) in PRINTED.items():
        path = results / f"odell_{name}.csv"
        if not path.exists():
            continue
        rounds = pd.read_csv(path).query("group != 'all'")
        wide = rounds.pivot(index="round", columns="group", values="vulnerability")
        test = DisparityTest(correction="fdr_bh").fit(wide)
        line = {"table": overall, "data": name, "F": test.anova_statistic_}
        tests.append({**line, "p": test.anova_pvalue_, "rounds": test.n_rounds_})
        for row in test.pairwise_.itertuples():
            pair = {"table": by_pair, "pair": f"{row.group} - {row.other}", "t": row.t_statistic}
            pair |= {"p": row.t_pvalue, "p_corr": row.t_pvalue_adjusted}
            pairs.append({**pair, "reject_null": row.t_pvalue_adjusted <= 0.01})
    for name, rows in (("odell_tests.csv", tests), ("odell_pairs.csv", pairs)):
        annotate(name, pd.DataFrame(rows)).to_csv(results / name, index=False, float_format="%.6g")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--tables", nargs="+", default=["law_school", "adult"], choices=TABLES)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.results.mkdir(exist_ok=True)
    for name in () if options.show else options.tables:
        records = load(options.data, name)
        before, start = processor_seconds(), perf_counter()
        game = play(records, options)
        wall = perf_counter() - start
        used = processor_seconds() - before
        table = to_table(game)
        table.round(6).to_csv(options.results / f"odell_{name}.csv", index=False)
        print(f"{name}: {records}")
        print(f"{wall:.0f} s, {used:.0f} s of processor time; load {os.getloadavg()[0]:.1f}")
        describe(table)
        compare(records, game, options.seed)
    save_tests(options.results)


if __name__ == "__main__":
    main()
