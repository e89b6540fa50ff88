"""What a served model of trees says of its training data if its thresholds are found by queries.

For each model and table, several random halves of 1,000 candidates are members. Prints the mean AUC
and TPR at 1% FPR of QueriedThresholdAttack for several numbers of queries, the standard deviation
of the AUC over halves, the AUC that the attack predicts, that of permuted bits, the numbers of
thresholds and the share of them that candidates explain, and the AUC of the loss, which takes one
query per candidate. With --decimals, the service rounds its probabilities.

    python benchmarks/bench_served_model.py [--tables FOLDER] [--halves 5] [--candidates 1000]
        [--queries 1000 5000 20000 40000] [--models RandomForest] [--decimals 2]

FOLDER is that of bench_released_file.py. Columns of Law School have few distinct values, and the
attack leaves them out by itself: those with 20 or more are named to it.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from bench_released_file import draw_half, list_models, read_tables
from sklearn.metrics import roc_auc_score

from skmia.attacks import QueriedThresholdAttack, ThresholdAttack
from skmia.metrics import tpr_at_fpr_score
from skmia.victims import CallableVictim

# Settings were chosen on halves of other seeds, and halves of the files have others as well.
FIRST_SEED = 2000
FEWEST_VALUES = 20
MODELS = ("RandomForest", "RandomForest l10", "ExtraTrees l10", "DecisionTree", "GradientBoosting")
MODELS += ("HistGB", "XGBoost")


def serve(victim, decimals):
    """The model as a service, which can round."""

    def answer(rows):
        proba = victim.predict_proba(rows)
        return proba if decimals is None else proba.round(decimals)

    return CallableVictim(answer, victim.classes_, batch_size=50_000)


def choose_columns(X):
    """None where some column has many distinct values, as the attack does it by itself."""
    n_distinct = np.array([len(np.unique(column)) for column in X.T])
    if n_distinct.max() >= len(X) / 4:
        return None
    return np.flatnonzero(n_distinct >= FEWEST_VALUES).tolist()


def attack_half(half, n_queries, seed, decimals):
    """Numbers of one attack with so many queries."""
    victim = serve(half.victim, decimals)
    attack = QueriedThresholdAttack(
        victim, max_queries=n_queries, columns=choose_columns(half.candidates.X), random_state=seed
    )
    start = process_time()
    scores = attack.fit(half.candidates).score_samples(half.candidates)
    seconds = process_time() - start
    permuted = np.random.default_rng(seed).permutation(half.member)
    loss = ThresholdAttack(victim).fit(half.candidates).score_samples(half.candidates)
    return {
        "AUC": roc_auc_score(half.member, scores),
        "TPR": tpr_at_fpr_score(half.member, scores, max_fpr=0.01, on_unresolvable="ignore"),
        "expected": attack.expected_auc_,
        "permuted": roc_auc_score(permuted, scores),
        "thresholds": attack.n_thresholds_,
        "explained": attack.explained_,
        "loss": roc_auc_score(half.member, loss),
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--names", nargs="+", default=["normal", "Adult", "Law School"])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--queries", type=int, nargs="+", default=[1000, 5000, 20_000, 40_000])
    parser.add_argument("--decimals", type=int)
    options = parser.parse_args()
    titles = ["AUC", "sd", "TPR", "expected", "permuted", "thresholds", "explained", "loss"]
    print(f"| {' | '.join(['table', 'model', 'queries', *titles, 'seconds'])} |")
    print("|---" * (len(titles) + 4) + "|")
    models, tables = list_models(), read_tables(None)
    tables |= {} if options.tables is None else read_tables(options.tables)
    for table in [name for name in options.names if name in tables]:
        for name in [name for name in options.models if name in models]:
            seeds = range(FIRST_SEED, FIRST_SEED + options.halves)
            halves = [
                draw_half(models[name], *tables[table], seed, options.candidates, 0.0)
                for seed in seeds
            ]
            for n_queries in options.queries:
                runs = pd.DataFrame(
                    [
                        attack_half(half, n_queries, seed, options.decimals)
                        for half, seed in zip(halves, seeds, strict=True)
                    ]
                )
                numbers = runs.mean().to_dict() | {"sd": runs["AUC"].std()}
                digits = {"thresholds": ".0f", "seconds": ".1f"}
                cells = [
                    format(numbers[title], digits.get(title, ".3f"))
                    for title in [*titles, "seconds"]
                ]
                print(f"| {' | '.join([table, name, str(n_queries), *cells])} |", flush=True)


if __name__ == "__main__":
    main()
