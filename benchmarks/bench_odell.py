"""The disparity experiments of O'Dell (2023): the full membership game on Adult and Law School.

Writes the numbers of every round and group, and prints the tests, the correlation and the time.

    python benchmarks/bench_odell.py --data FOLDER [--tables law_school adult] [--rounds 200]

It also writes the tests of the thesis beside their printed values, odell_tests.csv and
odell_pairs.csv; ``--show`` writes these two from the kept rounds. The folder holds adult.csv.gz
and law_school.csv.gz (the table with five races, as in the R package fairml), one row a person.

    python benchmarks/bench_odell.py --data FOLDER --tables law_school --batch-size 8 --seed 0

plays with another size of batches, which the thesis does not state. Its rounds are kept in
odell_batches.csv as they end, so that an interrupted run continues; rounds that are there are not
played again.
"""

import argparse
import os
import resource
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
import torch
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

BATCHES = "odell_batches.csv"
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


def split(records, rng):
    """Training, test and reference rows of a round; equal rows are in the same part."""
    _, person = np.unique(records.fingerprint, return_inverse=True)
    order = np.argsort(rng.permutation(person.max() + 1)[person], kind="stable")
    return [
        rng.permutation(part) for part in np.split(order, (np.array([4, 8]) * len(order)) // 10)
    ]


def halve(rows, y, rng):
    """Rows in an order of which the first half has the labels of the second, as in a ShadowPool."""
    rows = rng.permutation(rows)
    rows = rows[np.argsort(y[rows], kind="stable")]
    return np.concatenate([rng.permutation(rows[::2]), rng.permutation(rows[1::2])])


def train_together(X, y, rows, options, seed):
    """Whether each of many nets is right about each record, of shape (nets, records).

    They are the nets of play(), all trained in one loop: net k on the records rows[k]. Of two
    logits only the difference counts; its weights are moved by both, so twice as far.
    """
    generator = torch.Generator().manual_seed(seed)
    n_nets, n_rows = rows.shape
    bound, rate = 10**-0.5, 0.01

    def draw(*shape):
        return bound * (2 * torch.rand(*shape, generator=generator) - 1)

    first, shift = draw(n_nets, X.shape[1], 8), draw(n_nets, 1, 8)
    last, level = (draw(2, n_nets, *shape).diff(dim=0)[0] for shape in ((8, 1), (1, 1)))
    for _ in range(options.epochs):
        for batch in torch.randperm(n_rows, generator=generator).split(options.batch_size):
            known = rows[:, batch]
            x = X[known]
            hidden = torch.baddbmm(shift, x, first).relu_()
            error = torch.baddbmm(level, hidden, last).sigmoid_()
            error.sub_(y[known].unsqueeze(2)).div_(len(batch))
            back = error * last.mT * (hidden > 0)
            last.baddbmm_(hidden.mT, error, alpha=-2 * rate)
            level.sub_(error.sum(dim=1, keepdim=True), alpha=2 * rate)
            first.baddbmm_(x.mT, back, alpha=-rate)
            shift.sub_(back.sum(dim=1, keepdim=True), alpha=rate)
    right = [
        (((X @ first[k] + shift[k]).relu() @ last[k] + level[k]) > 0).ravel() == (y > 0)
        for k in range(n_nets)
    ]
    return torch.stack(right).numpy()


def guess(right, member):
    """Guesses "member" for a wrong and for a right answer, by trees that shadow models taught."""
    counts = [[np.sum(member & ~right), np.sum(member & right)]]
    counts.insert(0, [np.sum(~member & ~right), np.sum(~member & right)])
    trees = XGBClassifier(n_estimators=100, n_jobs=1)
    trees.fit([[0], [1], [0], [1]], [0, 0, 1, 1], sample_weight=np.ravel(counts))
    return trees.predict([[0], [1]]).astype(bool)


def play_together(name, options):
    """Rounds with another size of batches, a block at a time; blocks that are kept are left out."""
    path, records = options.results / BATCHES, None
    facts = {"table": name, "batch_size": options.batch_size, "seed": options.seed}
    for start in range(0, options.rounds, options.block):
        kept = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=[*facts, "round"])
        same = np.logical_and.reduce([kept[key] == value for key, value in facts.items()])
        if start in set(kept.loc[same, "round"]):
            continue
        begun, records = process_time(), load(options.data, name) if records is None else records
        rng = np.random.default_rng([options.seed, start])
        parts = [split(records, rng) for _ in range(options.block)]
        halves = [halve(part[2], records.y, rng) for part in parts for _ in range(5)]
        half = min(map(len, halves)) // 2
        sizes = min(len(part[0]) for part in parts)
        X, y = torch.tensor(records.X), torch.from_numpy(records.y).float()
        of_victims, of_shadows = (
            train_together(X, y, torch.from_numpy(np.array(rows)), options, seed)
            for rows, seed in (
                ([part[0][:sizes] for part in parts], 2 * start + 1_000_000 * options.seed),
                ([one[:half] for one in halves], 2 * start + 1 + 1_000_000 * options.seed),
            )
        )
        rows = []
        for k, (train, test, _) in enumerate(parts):
            own = slice(5 * k, 5 * k + 5)
            bits = np.concatenate([of_shadows[i][halves[i]] for i in range(own.start, own.stop)])
            member = np.concatenate([np.arange(len(one)) < half for one in halves[own]])
            flagged = guess(bits, member)[of_victims[k].astype(int)]
            for group in ("all", *np.unique(records["group"])):
                ours = (records["group"] == group) | (group == "all")
                of_train, of_test = (part[ours[part]] for part in (train[:sizes], test))
                found, gap = (
                    values[of_train].mean() - values[of_test].mean()
                    for values in (flagged, of_victims[k])
                )
                rows.append({**facts, "round": start + k, "group": group})
                rows[-1] |= {"vulnerability": found, "gap": gap}
        table = pd.DataFrame(rows).round(6)
        table.to_csv(path, mode="a", header=not path.exists(), index=False)
        print(f"{facts} rounds from {start}: {process_time() - begun:.0f} s", flush=True)


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
        test = DisparityTest.from_table(wide, correction="fdr_bh")
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
    parser.add_argument("--batch-size", type=int, help="if not given, 128 and the full game")
    parser.add_argument("--block", type=int, default=100, help="rounds trained and kept together")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.results.mkdir(exist_ok=True)
    if options.batch_size:
        for name in options.tables:
            play_together(name, options)
        return
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
