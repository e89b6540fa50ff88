"""What the unlearning game finds of each ready way of forgetting.

Digits with some wrong labels, random Fourier features and a logistic model trained by stochastic
gradient descent, all from scikit-learn. Prints a row for each way: the accuracy on records never
seen, AUC and TPR at 1% FPR of U-LiRA and of the population attack on the forgotten records, and the
change of the retained records' AUC, with 95% intervals over target models, and writes the table to
benchmarks/results/unlearning.md and .csv.

    python benchmarks/bench_unlearning.py [--models 64] [--targets 16] [--seed 0] [--only WAY ...]
        [--save]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from skmia import Records
from skmia.games import unlearning_game

RESULTS = Path(__file__).parent / "results"
WAYS = {
    "noop": "nothing forgotten",
    "noise": "noise of 0.3 standard deviations on the weights",
    "finetune": "fine-tuning on the rest, 10 epochs",
    "negative": "weight -1, then one epoch on the rest",
    "relabel": "random labels, then two epochs on the rest",
    "sisa": "SISA, 5 shards",
    "retrain": "retrained",
}
FORGET, WRONG, N_RECORDS = 0.3, 0.3, 1000


def make_records(seed):
    """Digits as random Fourier features, with a share of wrong labels."""
    rng = np.random.default_rng(seed)
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))[:N_RECORDS]
    features = RBFSampler(gamma=0.3, n_components=400, random_state=seed)
    wrong = rng.random(N_RECORDS) < WRONG
    labels = np.where(wrong, rng.integers(10, size=N_RECORDS), y[rows])
    return Records(features.fit_transform(X[rows] / 16), labels)


def make_model():
    return SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=40, tol=None)


def play(way, records, options):
    """Play a game and return its numbers as a row."""
    game = unlearning_game(
        make_model(),
        way,
        records,
        forget=FORGET,
        n_estimators=options.models,
        n_targets=options.targets,
        random_state=options.seed,
    )
    row = {"way": way, "evidence": game.evidence, "accuracy": game.scores["after"]}
    for attack in ("ulira", "population"):
        for name in ("auc", "auc_low", "auc_high", "tpr", "tpr_low", "tpr_high", "pvalue_adjusted"):
            row[f"{attack}_{name}"] = game.attacks.loc[attack, name]
    change = game.retained.loc["change"]
    row |= {"change": change["auc"], "change_low": change["low"], "change_high": change["high"]}
    return row


def show_interval(row, name, low, high, sign=""):
    numbers = (format(row[key], f"{sign}.3f") for key in (name, low, high))
    return "{} [{}, {}]".format(*numbers)


def to_markdown(rows):
    lines = [
        "| unlearning | accuracy | U-LiRA: AUC | TPR at 1% | population: AUC | TPR at 1% "
        "| change of AUC of retained records | evidence |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for _, row in rows.iterrows():
        cells = [WAYS[row["way"]], f"{row['accuracy']:.3f}"]
        for attack in ("ulira", "population"):
            for name in (f"{attack}_auc", f"{attack}_tpr"):
                cells.append(show_interval(row, name, f"{name}_low", f"{name}_high"))
        cells.append(show_interval(row, "change", "change_low", "change_high", "+"))
        lines.append(f"| {' | '.join([*cells, row['evidence']])} |")
    return "\n".join(lines)


def save(rows, options):
    """Put the rows in the place of older ones of the same ways, and write the table."""
    path = RESULTS / "unlearning.csv"
    if path.exists():
        rows = pd.concat([pd.read_csv(path), rows]).drop_duplicates("way", keep="last")
    order = rows["way"].map(list(WAYS).index).argsort()
    rows = rows.iloc[order].round(5)
    rows.to_csv(path, index=False)
    text = (
        f"# Unlearning\n\n{__doc__.partition('    python')[0].strip()}\n\n"
        f"{options.models} shadow models, {options.targets} target models, {N_RECORDS:,} records, "
        f"half of them members, {FORGET:.0%} of these forgotten, seed {options.seed}.\n\n"
        f"{to_markdown(rows)}\n"
    )
    (RESULTS / "unlearning.md").write_text(text, "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--targets", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--save", action="store_true", help="write the rows to results")
    options = parser.parse_args()
    records = make_records(options.seed)
    rows = []
    for way in options.only:
        rows.append(play(way, records, options))
        print(to_markdown(pd.DataFrame(rows[-1:])).splitlines()[-1], flush=True)
    if options.save:
        save(pd.DataFrame(rows), options)


if __name__ == "__main__":
    main()
