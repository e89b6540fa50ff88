"""How well attacks tell members from non-members: kinds of victims, pools of 4 to 64 models.

Each victim is a fresh model that is trained on a random half of the records and is in no pool. Its
pool of K models is a random draw of its own out of one larger pool. The script prints the mean over
victims of the AUC and of the TPR at FPRs of 1% and 0.1%, and the paired differences, with standard
errors, to two attacks of a few lines that are written here and to the first form of LiRA with the
most models. Every number goes to a CSV file.

    python benchmarks/bench_strength.py --data FOLDER [--kinds digits adult ...]
        [--models 4 8 16 64] [--victims 12] [--attacks "LiRA()" "RMIA()"] [--design paired]
        [--null] [--checkpoint FOLDER] [--output benchmarks/results/strength.csv]

With --null, the training sets of the models and of the victims are replaced by drawn ones of which
the models know nothing: every AUC has to be 1/2.

The kinds are in `_victims.py`. The folder of the data holds adult.csv.gz, diabetes130.csv.gz,
law_school.csv.gz and pendigits.csv.gz (UCI repository, fairml), fashion_mnist.npz and
cifar100_10k.npz.
"""

import argparse
import copy
from pathlib import Path

import numpy as np
import pandas as pd
from _victims import KINDS
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Outputs, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, StackedAttack, ThresholdAttack
from skmia.metrics import tpr_at_fpr_score

MEASURES = {"AUC": None, "TPR at 1%": 0.01, "TPR at 0.1%": 0.001}
UNIT = {"paired": 2, "balanced": 8, "independent": 1}
ATTACKS, BY_HAND = {}, {}

# LiRA with variances shrunk to their mean and gaps as they are.
FIRST_LIRA = 'LiRA(variance="conjugate")'


# Attacks: a function of a frozen pool that returns an attack


def attack(name):
    def register(make):
        ATTACKS[name] = make
        return make

    return register


attack("threshold")(lambda pool: ThresholdAttack())
attack("LiRA()")(lambda pool: LiRA(None, pool))
attack(FIRST_LIRA)(lambda pool: LiRA(None, pool, variance="conjugate"))
attack('LiRA(variance="trend")')(lambda pool: LiRA(None, pool, variance="trend"))
attack('LiRA(likelihood="normal")')(lambda pool: LiRA(None, pool, likelihood="normal"))
attack('LiRA(variance="pooled")')(lambda pool: LiRA(None, pool, variance="pooled"))
attack("LiRA(online=False)")(lambda pool: LiRA(None, pool, online=False))
attack("RMIA()")(lambda pool: RMIA(None, pool))
attack("RMIA(criterion=0.01)")(lambda pool: RMIA(None, pool, criterion=0.01))
attack('RMIA(criterion="roc_auc")')(lambda pool: RMIA(None, pool, criterion="roc_auc"))
attack("RMIA(temperature=1)")(lambda pool: RMIA(None, pool, temperature=1.0))
attack("RMIA(temperature=2)")(lambda pool: RMIA(None, pool, temperature=2.0))
attack("RMIA(online=False)")(lambda pool: RMIA(None, pool, online=False))
attack('RMIA(online=False, a="auto")')(lambda pool: RMIA(None, pool, online=False, a="auto"))
attack('RMIA(online=False, a="auto", criterion=0.01)')(
    lambda pool: RMIA(None, pool, online=False, a="auto", criterion=0.01)
)
attack("CalibratedAttack()")(lambda pool: CalibratedAttack(None, pool))
attack("StackedAttack()")(lambda pool: StackedAttack(None, pool, random_state=0))

attack("StackedAttack(boosted=False)")(lambda pool: StackedAttack(None, pool, boosted=False))


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
    drawn = copy.copy(pool.first(len(models)))
    drawn.membership_, drawn.outputs_ = pool.membership_[models], pool.outputs_[models]
    drawn.signals_, drawn._model_steps = pool.signals_[:, :, models], pool._model_steps[models]
    drawn._n_inside = drawn.membership_.sum(axis=0)
    return drawn, models


def draw_null(pool, rng):
    """Replace the training sets of a pool by drawn pairs; return the membership of a victim."""
    size, n_records = pool.membership_.shape
    first = rng.random((size // 2, n_records)) < 0.5
    pool.membership_ = np.stack([first, ~first], axis=1).reshape(size, n_records)
    pool._n_inside = pool.membership_.sum(axis=0)
    return rng.permutation(n_records) < n_records // 2


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
                membership = draw_null(drawn, rng)
            results = {
                hand: function(of_victims[:, victim], of_pool[:, models], drawn.membership_)
                for hand, function in BY_HAND.items()
            }
            usable = np.ones(len(records), dtype=bool)
            for title in options.attacks:
                one = ATTACKS[title](FrozenEstimator(drawn)).fit(answered)
                results[title] = one.score_samples(answered)
                usable &= one.can_judge(answered)
            for title, scores in results.items():
                values = measure(membership[usable], scores[usable])
                rows.append((name, options.design, size, victim, title, *values))
    return pd.DataFrame(rows, columns=["kind", "design", "models", "victim", "attack", *MEASURES])


def print_gains(wide, reference, size=None):
    """Print differences to a reference with as many models, or with `size` models."""
    titles, sizes = (wide.index.unique(level) for level in ("attack", "models"))
    name = reference if size is None else f"{reference} with {size} models"
    print(f"\n| minus {name} | {' | '.join(f'{one} models' for one in sizes)} |")
    print("|---" * (1 + len(sizes)) + "|")
    for title in titles:
        cells = []
        for k in sizes:
            gain = wide.loc[title, k] - wide.loc[reference, size or k]
            error = gain.std() / np.sqrt(len(gain))
            parts = zip(gain.mean(), error, strict=True)
            cells.append(", ".join(f"{mean:+.3f} ± {se:.3f}" for mean, se in parts))
        print(f"| {title} | " + " | ".join(cells) + " |")


def cell(values):
    return " ".join(f"{value:.3f}".replace("0.", ".", 1) for value in values)


def print_kind(table):
    """Print means over victims, and differences to the attacks by hand with standard errors."""
    wide = table.set_index(["attack", "models", "victim"])[list(MEASURES)]
    sizes = table["models"].unique()
    print(f"| attack | {' | '.join(f'{size} models' for size in sizes)} |")
    print("|---" * (1 + len(sizes)) + "|")
    for title in table["attack"].unique():
        print(f"| {title} | " + " | ".join(cell(wide.loc[title, k].mean()) for k in sizes) + " |")
    for hand in BY_HAND:
        print_gains(wide, hand)
    if FIRST_LIRA in table["attack"].unique():
        print_gains(wide, FIRST_LIRA, max(sizes))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--models", nargs="+", type=int, default=[4, 8, 16, 64])
    parser.add_argument("--victims", type=int, default=12)
    parser.add_argument("--pool", type=int, default=96, help="models of the larger pool")
    parser.add_argument("--design", choices=list(UNIT), default="paired")
    parser.add_argument("--null", action="store_true", help="training sets that models do not know")
    parser.add_argument("--data", type=Path, default=".")
    parser.add_argument("--checkpoint")
    parser.add_argument("--output")
    options = parser.parse_args()
    tables = []
    for name in options.kinds:
        tables.append(run_kind(name, options))
        if options.output:
            pd.concat(tables).to_csv(options.output, index=False, float_format="%.5f")
        print_kind(tables[-1])


if __name__ == "__main__":
    main()
