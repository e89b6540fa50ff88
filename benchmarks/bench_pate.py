"""Accuracy and leakage of students of private votes (PATE), on real tables.

For each table and epsilon: the accuracy of the plain model and of students on further rows, means
over fits with standard errors; the AUC of RMIA, with shadow models that are students as well, on
students and on plain models, over all candidates of several victims; and the lower bound that
EpsilonAudit finds with a row that is replaced, which must not exceed epsilon.

    python benchmarks/bench_pate.py --tables FOLDER [--epsilons 1 2 4] [--victims 4] [--models 8]
        [--trials 200] [--only TABLE ...]

FOLDER holds adult.csv.gz, law_school.csv.gz and mnist.npz.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import RMIA
from skmia.defenses import PATEDefense
from skmia.epsilon import EpsilonAudit

N_PUBLIC, N_TEST, DELTA = 2000, 3000, 1e-5


def encode(table):
    """Return the columns as numbers; which categories there are counts as public."""
    return pd.get_dummies(table).to_numpy(dtype=np.float64)


def read_adult(folder):
    table = pd.read_csv(folder / "adult.csv.gz")
    y = (table["income"] == ">50K").to_numpy().astype(int)
    return encode(table.drop(columns=["income", "split"])), y


def read_law_school(folder):
    table = pd.read_csv(folder / "law_school.csv.gz")
    return encode(table.drop(columns="bar")), table["bar"].to_numpy().astype(int)


def read_mnist(folder):
    with np.load(folder / "mnist.npz") as found:
        images = found["x_train"].reshape(len(found["x_train"]), -1) / 255.0
        return PCA(40, random_state=0).fit_transform(images), found["y_train"].astype(int)


READERS = {"adult": read_adult, "law school": read_law_school, "MNIST, 40 components": read_mnist}


def measure_auc(model, records, options, rng):
    """Return the mean AUC of RMIA over victims, with its standard error."""
    found = []
    pool = ShadowPool(clone(model), options.models, random_state=0).fit(records)
    for _ in range(options.victims):
        member = rng.permutation(len(records)) < len(records) // 2
        members = records[member]
        victim = clone(model).fit(members.X, members.y)
        scores = RMIA(victim, pool).fit(records).score_samples(records)
        found.append(roc_auc_score(member, scores))
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))


def measure(name, folder, options):
    """Print the rows of one table."""
    X, y = READERS[name](folder)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    n_private = len(y) - N_PUBLIC - N_TEST
    records = Records(X[:n_private], y[:n_private])
    public, test = X[n_private:-N_TEST], Records(X[-N_TEST:], y[-N_TEST:])
    # A forest, whose answers tell its training rows.
    model, half = RandomForestClassifier(30, random_state=0), n_private // 2
    plain = clone(model).fit(X[:half], y[:half]).score(test.X, test.y)
    auc, error = measure_auc(model, records, options, rng)
    print(f"| {name} | none | {plain:.3f} | {auc:.3f} ({error:.3f}) | |", flush=True)
    for epsilon in options.epsilons:
        private = PATEDefense(
            model,
            public,
            n_teachers=100,
            target_epsilon=epsilon,
            target_delta=DELTA,
            n_answers=200,
            classes=np.unique(y),
        )
        scores = [
            clone(private).fit(X[:half], y[:half]).score(test.X, test.y)
            for _ in range(options.victims)
        ]
        auc, error = measure_auc(private, records, options, rng)
        few = clone(private).set_params(n_teachers=20, n_answers=20)
        audit = EpsilonAudit(few, n_trials=options.trials, neighbors="replace", random_state=0)
        bound = audit.fit(X[:1000], y[:1000]).epsilon_ if options.trials else float("nan")
        spread = np.std(scores, ddof=1) / np.sqrt(len(scores))
        print(
            f"| {name} | {epsilon:g} | {np.mean(scores):.3f} ({spread:.3f}) "
            f"| {auc:.3f} ({error:.3f}) | {bound:.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 2.0, 4.0])
    parser.add_argument("--victims", type=int, default=4)
    parser.add_argument("--models", type=int, default=8, help="shadow models")
    parser.add_argument("--trials", type=int, default=200, help="of EpsilonAudit; 0 for none")
    parser.add_argument("--only", nargs="+", choices=list(READERS), default=list(READERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of several fits on the same rows, which are meant here
    print("| table | epsilon | accuracy | AUC of RMIA | lower bound |\n|---|---|---|---|---|")
    for name in options.only:
        measure(name, options.tables, options)


if __name__ == "__main__":
    main()
