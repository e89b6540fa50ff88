"""How well attacks tell members from non-members: kinds of victims, pools of 4 to 64 models.

Each victim is a fresh model that is trained on a random half of the records and is in no pool. Its
pool of K models is a random draw of its own out of one larger pool. The script prints the mean over
victims of the AUC and of the TPR at FPRs of 1% and 0.1%, and the paired differences, with standard
errors, to the better of two attacks of a few lines that are written here, and of the stack to the
first form of LiRA with the most models. Every number goes to a CSV file.

    python benchmarks/bench_strength.py --data FOLDER [--kinds digits adult ...]
        [--models 4 8 16 64] [--victims 12] [--attacks "LiRA()" "RMIA()"] [--design paired]
        [--null] [--checkpoint FOLDER] [--output benchmarks/results/strength.csv]
    python benchmarks/bench_strength.py --tables benchmarks/results/strength.csv

With --null, the training sets of the models and of the victims are replaced by drawn ones of which
the models know nothing: every AUC has to be 1/2.

The kinds are in `_victims.py`. The folder of the data holds adult.csv.gz, diabetes130.csv.gz,
law_school.csv.gz and pendigits.csv.gz (UCI repository, fairml), fashion_mnist.npz and
cifar100_10k.npz.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from _victims import KINDS
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import skmia.attacks
from skmia import Outputs, ShadowPool
from skmia.metrics import tpr_at_fpr_score

MEASURES = {"AUC": None, "TPR at 1%": 0.01, "TPR at 0.1%": 0.001}
UNIT = {"paired": 2, "balanced": 8, "independent": 1}
BY_HAND, BEST = {}, "better by hand"

# LiRA with variances shrunk to their mean and gaps as they are.
FIRST_LIRA = 'LiRA(variance="conjugate")'
ATTACKS = ["LiRA()", FIRST_LIRA, "RMIA()", "StackedAttack()"]


def make_attack(title, pool):
    """Make an attack from its call."""
    attack = eval(title, vars(skmia.attacks))
    given = {"shadows": pool, "random_state": 0}
    return attack.set_params(**{name: given[name] for name in given.keys() & attack.get_params()})


# By hand: a function of the likelihoods of the label, of its log odds, and of the training sets


def by_hand(function):
    BY_HAND[function.__name__.replace("_", " ")] = function
    return function


@by_hand
def RMIA_by_hand(victim, shadows, inside):
    return np.log(victim[0] + 1e-12) - np.log(shadows[0].mean(axis=0) + 1e-12)


@by_hand
def LiRA_by_hand(victim, shadows, inside):
    into, out = np.where(inside, shadows[1], np.nan), np.where(inside, np.nan, shadows[1])
    log_in = norm.logpdf(victim[1], np.nanmedian(into, axis=0), np.nanstd(into))
    return log_in - norm.logpdf(victim[1], np.nanmedian(out, axis=0), np.nanstd(out))


# The measurement


def train(name, n_models, seed, design, options):
    records, model = KINDS[name](options.data)
    folder = options.checkpoint and Path(options.checkpoint) / f"{name}-{design}-{n_models}-{seed}"
    pool = ShadowPool(
        model, n_models, design=design, store="outputs", checkpoint=folder, random_state=seed
    )
    return records, pool.fit(records)


def read_label(pool, victims, records):
    """Likelihood and log odds of the label under each model; (2, n_models, n) of both pools."""
    if pool.classes_ is None:
        residuals = [one.outputs_ - records.y for one in (pool, victims)]
        spread = residuals[0][~pool.membership_].std()
        return [
            np.stack([norm.pdf(one, scale=spread), -np.log(np.abs(one) + 1e-12)])
            for one in residuals
        ]
    place = np.searchsorted(pool.classes_, records.y), np.arange(len(records))
    read = []
    for one in (pool, victims):
        values = one.outputs_.astype(np.float64)
        if one.output_kind_ == "logits":
            values = np.exp(log_softmax(values, axis=2))
        p = values[:, place[1], place[0]]
        read.append(np.stack([p, np.log(p + 1e-12) - np.log(1 - p + 1e-12)]))
    return read


def draw_pool(pool, size, unit, rng):
    """Draw pairs, or blocks, of the models of a pool; return them as a pool, and their numbers."""
    first = unit * rng.permutation(len(pool.membership_) // unit)[: size // unit]
    models = np.add.outer(first, np.arange(unit)).ravel()
    first = pool.first(len(models))
    answers = replace(
        first.to_answers(),
        membership=pool.membership_[models],
        outputs=pool.outputs_[models],
        signals=pool.signals_[:, :, models],
        steps=pool.to_answers().steps[models],
    )
    return first.with_answers(answers), models


def draw_null(pool, rng):
    """Return a pool with drawn pairs as training sets, and the membership of a victim."""
    size, n_records = pool.membership_.shape
    first = rng.random((size // 2, n_records)) < 0.5
    drawn = np.stack([first, ~first], axis=1).reshape(size, n_records)
    pool = pool.with_answers(replace(pool.to_answers(), membership=drawn))
    return pool, rng.permutation(n_records) < n_records // 2


def measure(membership, scores):
    return [
        roc_auc_score(membership, scores)
        if fpr is None
        else tpr_at_fpr_score(membership, scores, max_fpr=fpr, on_unresolvable="ignore")
        for fpr in MEASURES.values()
    ]


def run_kind(name, options):
    records, pool = train(name, options.pool, 0, options.design, options)
    _, victims = train(name, options.victims, 1, "independent", options)
    for membership in victims.membership_:
        differ = (pool.membership_ != membership).sum(axis=1)
        assert differ.min() > 0 and differ.max() < len(records), "a victim is in the pool"
    of_pool, of_victims = read_label(pool, victims, records)
    right = [Outputs(v, victims.classes_, victims.output_kind_) for v in victims.outputs_]
    sides = [of_victims[0][victims.membership_ == side].mean() for side in (True, False)]
    sizes = f"{len(records)} records, likelihood {sides[0]:.3f} / {sides[1]:.3f}"
    print(f"\n{name}: {sizes}", flush=True)
    rows = []
    for victim, membership in enumerate(victims.membership_):
        answered = records.with_fields(outputs=right[victim])
        for size in options.models:
            rng = np.random.default_rng([victim, size])
            drawn, models = draw_pool(pool, size, UNIT[options.design], rng)
            if options.null:
                drawn, membership = draw_null(drawn, rng)
            results = {
                hand: function(of_victims[:, victim], of_pool[:, models], drawn.membership_)
                for hand, function in BY_HAND.items()
            }
            usable = np.ones(len(records), dtype=bool)
            for title in options.attacks:
                one = make_attack(title, drawn).fit(answered)
                results[title] = one.score_samples(answered)
                usable &= one.can_judge(answered)
            for title, scores in results.items():
                values = measure(membership[usable], scores[usable])
                rows.append((name, options.design, size, victim, title, *values))
    return pd.DataFrame(rows, columns=["kind", "design", "models", "victim", "attack", *MEASURES])


def compare(attack, *rivals):
    """Paired differences to the best of some attacks, measure by measure; their standard errors."""
    gains = [attack[one] - max((rival[one] for rival in rivals), key=np.mean) for one in MEASURES]
    return np.array([[gain.mean(), gain.std() / np.sqrt(len(gain))] for gain in gains])


def find_differences(gains, side):
    """Where differences are above 0 (side 1), or below (-1), by two errors and in three digits."""
    means, errors = side * gains[..., 0], gains[..., 1]
    return (means > 2 * errors) & (means >= 0.0005)


def show(gains):
    """Differences and standard errors as a cell; those below 0 are in bold type."""
    parts = [f"{mean:+.3f} ± {error:.3f}".replace("0.", ".") for mean, error in gains]
    parts = ["0" if part[1:] == ".000 ± .000" else part for part in parts]
    below = find_differences(gains, -1)
    return ", ".join(f"**{part}**" if bad else part for part, bad in zip(parts, below, strict=True))


def print_tables(table):
    """Print how often attacks are above and below those by hand, differences, and means."""
    parts = table.set_index("victim").groupby(["kind", "attack", "models"], sort=False)
    values = {key: part[list(MEASURES)] for key, part in parts}
    kinds, titles, sizes = (table[name].unique() for name in ("kind", "attack", "models"))
    many, stack = max(sizes), "StackedAttack()"
    titles = [title for title in titles if title not in BY_HAND]

    def print_rows(title, columns, names, cell):
        print(f"\n{title}\n\n| {columns} | {' | '.join(f'{size} models' for size in sizes)} |")
        print("|---" * (columns.count("|") + 1 + len(sizes)) + "|")
        for name in names:
            print(f"| {' | '.join(name)} | {' | '.join(cell(*name, k) for k in sizes)} |")

    def gain(kind, title, k):
        return compare(values[kind, title, k], *(values[kind, hand, k] for hand in BY_HAND))

    def count(title, k):
        gains = np.array([gain(kind, title, k) for kind in kinds])
        return " / ".join(f"{find_differences(gains, side).sum()}" for side in (1, -1))

    n_cells = len(kinds) * len(MEASURES)
    heading = f"Of {n_cells} measures, above / below the better by hand by two standard errors:"
    print_rows(heading, "attack", [(title,) for title in titles], count)
    pairs = [(kind, title) for kind in kinds for title in titles if title != FIRST_LIRA]
    print_rows("Minus the better by hand:", "kind | attack", pairs, lambda *key: show(gain(*key)))
    if {stack, FIRST_LIRA} <= set(titles):
        print_rows(
            f"`{stack}` minus `{FIRST_LIRA}` with {many} models:",
            "kind",
            [(kind,) for kind in kinds],
            lambda kind, k: show(compare(values[kind, stack, k], values[kind, FIRST_LIRA, many])),
        )
    best = table[table["attack"].isin(BY_HAND)].groupby(["kind", "models", "attack"])
    best = best[list(MEASURES)].mean().groupby(["kind", "models"]).max()

    def mean(kind, title, k):
        return cell(best.loc[kind, k] if title == BEST else values[kind, title, k].mean())

    pairs = [(kind, title) for kind in kinds for title in (BEST, *titles) if title != FIRST_LIRA]
    print_rows("Means over victims:", "kind | attack", pairs, mean)


def cell(values):
    return " ".join(f"{value:.3f}".replace("0.", ".", 1) for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--attacks", nargs="+", default=ATTACKS)
    parser.add_argument("--models", nargs="+", type=int, default=[4, 8, 16, 64])
    parser.add_argument("--victims", type=int, default=12)
    parser.add_argument("--pool", type=int, default=96, help="models of the larger pool")
    parser.add_argument("--design", choices=list(UNIT), default="paired")
    parser.add_argument("--null", action="store_true", help="training sets that models do not know")
    parser.add_argument("--data", type=Path, default=".")
    parser.add_argument("--checkpoint")
    parser.add_argument("--output")
    parser.add_argument("--tables", nargs="+", help="files of numbers to print tables of")
    options = parser.parse_args()
    if options.tables:
        return print_tables(pd.concat(map(pd.read_csv, options.tables)))
    tables = []
    for name in options.kinds:
        tables.append(run_kind(name, options))
        if options.output:
            pd.concat(tables).to_csv(options.output, index=False, float_format="%.5f")
        print_tables(tables[-1])


if __name__ == "__main__":
    main()
