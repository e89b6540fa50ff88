"""Attacks on regressors of several targets against the best single target and the sum of all.

python benchmarks/bench_vector_answers.py [--sets 4] [--victims 5] [--models 16]

For each kind of model, shadow models and victims are trained on random halves of a few tables. An
attack then reads all targets at once, each target alone, and, by hand, adds the scores of the
single targets. Writes benchmarks/results/vector_answers.csv and .md.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, LiRA
from skmia.metrics import tpr_at_fpr_score

RESULTS = Path(__file__).parent / "results"
RATE = 0.01
N_ERRORS = 2.0  # of a paired difference, beyond which it counts
UNITS = np.array([1.0, 10.0, 0.1, 3.0])


def make_table(rng, n_records=400, n_features=20):
    """Four targets in several units, with errors that are correlated."""
    X = rng.normal(size=(n_records, n_features))
    slopes = rng.normal(size=(n_features, len(UNITS))) / np.sqrt(n_features)
    noise = rng.normal(size=(n_records, 1)) + rng.normal(size=(n_records, len(UNITS)))
    return X, (X @ slopes + np.tanh(X[:, : len(UNITS)]) + noise / np.sqrt(2)) * UNITS


def make_wide_table(rng):
    """Targets of nearly as many features as a model has training records."""
    return make_table(rng, n_features=80)


def make_series(rng, n_records=120, n_lags=24, n_steps=10):
    """Ten steps of autoregressive series, to be predicted from the steps before."""
    steps = rng.normal(size=(n_records, 30 + n_lags + n_steps))
    for place in range(2, steps.shape[1]):
        steps[:, place] += 1.2 * steps[:, place - 1] - 0.4 * steps[:, place - 2]
    return steps[:, 30 : 30 + n_lags], steps[:, 30 + n_lags :]


NET = MLPRegressor(hidden_layer_sizes=(40,), max_iter=150, learning_rate_init=0.01)
KINDS = {
    "ridge regression": (Ridge(1.0), make_wide_table),
    "random forest": (RandomForestRegressor(20), make_table),
    "perceptron": (make_pipeline(StandardScaler(), NET), make_table),
    "nearest neighbors": (KNeighborsRegressor(5), make_table),
    "decision tree": (DecisionTreeRegressor(min_samples_leaf=3), make_table),
    "boosted trees": (
        MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=30)),
        make_table,
    ),
    "forecast of ten steps": (LinearRegression(), make_series),
    "chain of trees": (RegressorChain(DecisionTreeRegressor(min_samples_leaf=5)), make_table),
    "extra trees": (ExtraTreesRegressor(20, min_samples_leaf=3), make_table),
}
ATTACKS = {"LiRA": LiRA, "RMIA": RMIA}


def draw_halves(n_records, n_models, n_victims, rng):
    """Training sets of complementary pairs of shadow models, then of victims."""
    sets = []
    for number in range(n_models // 2 + n_victims):
        half = rng.permutation(n_records) < n_records // 2
        sets += [half, ~half] if number < n_models // 2 else [half]
    return np.array(sets)


def train_all(recipe, X, Y, sets):
    """Answers of one model for each training set, of shape (n_sets, n, n_targets)."""
    answers = []
    for seed, rows in enumerate(sets):
        model = clone(recipe)
        names = [name for name in model.get_params() if name.endswith("random_state")]
        model.set_params(**dict.fromkeys(names, seed)).fit(X[rows], Y[rows])
        answers.append(model.predict(X))
    return np.array(answers)


def score_victims(attack, answers, sets, Y, n_models):
    """Scores of each victim by the pool of the other models."""
    kind = "values" if Y.ndim == 2 else "value"
    records = Records.from_ids(np.arange(len(Y)), Y)
    pool = ShadowPool.from_outputs(answers[:n_models], sets[:n_models], records, kind=kind)
    for own in answers[n_models:]:
        asked = records.with_fields(outputs=Outputs(own, kind=kind))
        yield attack(None, pool).fit(asked).score_samples(asked)


def attack_table(recipe, make, seed, options):
    """AUC and TPR of each way of reading the targets of one table."""
    rng = np.random.default_rng(seed)
    X, Y = make(rng)
    sets = draw_halves(len(X), options.models, options.victims, rng)
    answers, rows = train_all(recipe, X, Y, sets), []
    for name, attack in ATTACKS.items():
        settings = sets, Y, options.models
        read = {"joint": list(score_victims(attack, answers, *settings))}
        for k in range(Y.shape[1]):
            own = answers[..., k], sets, Y[:, k], options.models
            read[f"target {k}"] = list(score_victims(attack, *own))
        single = [scores for way, scores in read.items() if way != "joint"]
        read["sum"] = list(np.sum(single, axis=0))
        for way, victims in read.items():
            for victim, scores in enumerate(victims):
                members = sets[options.models + victim]
                tpr = tpr_at_fpr_score(members, scores, max_fpr=RATE, on_unresolvable="ignore")
                rows.append((name, way, seed, victim, roc_auc_score(members, scores), tpr))
    return rows


def compare(frame):
    """Joint reading against the best single target and the sum, with errors of the differences."""
    rows = []
    for (kind, attack), part in frame.groupby(["kind", "attack"], sort=False):
        row = {"kind": kind, "attack": attack}
        for metric in ("auc", "tpr"):
            table = part.pivot(index=["table", "victim"], columns="way", values=metric)
            singles = table.filter(like="target ")
            best = singles[singles.mean().idxmax()]
            row[f"{metric}_joint"] = table["joint"].mean()
            for name, other in (("best", best), ("sum", table["sum"])):
                away = table["joint"] - other
                error = max(away.std(ddof=1) / np.sqrt(len(away)), 1e-12)
                row[f"{metric}_{name}"] = other.mean()
                row[f"{metric}_{name}_z"] = away.mean() / error
        rows.append(row)
    return pd.DataFrame(rows)


def tell(found, options):
    """The comparison as a table of Markdown."""
    lines = [
        "| model | attack | AUC joint | best target | sum | TPR at 1% joint | best target | sum |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found.to_dict("records"):
        cells = [row["kind"], row["attack"]]
        for metric in ("auc", "tpr"):
            cells.append(f"{row[f'{metric}_joint']:.3f}")
            for name in ("best", "sum"):
                z = row[f"{metric}_{name}_z"]
                cells.append(f"{row[f'{metric}_{name}']:.3f} ({z:+.1f})")
        lines.append(f"| {' | '.join(cells)} |")
    z = found.filter(like="_z").to_numpy()
    return "\n".join(
        [
            "# Several targets at once",
            "",
            f"`bench_vector_answers.py`: {options.sets} tables of each kind, {options.victims} "
            f"victims for each, {options.models} shadow models. In parentheses: the joint reading "
            "minus the other, in standard errors of the paired differences. The best target is the "
            "one with the largest mean, which an attacker does not know.",
            "",
            *lines,
            "",
            f"The joint reading is below another by more than {N_ERRORS:g} standard errors in "
            f"{int((z < -N_ERRORS).sum())} of {z.size} comparisons.",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4)
    parser.add_argument("--victims", type=int, default=5)
    parser.add_argument("--models", type=int, default=16)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    columns, rows = ["kind", "attack", "way", "table", "victim", "auc", "tpr"], []
    for kind, (recipe, make) in KINDS.items():
        for seed in range(options.sets):
            rows += [(kind, *row) for row in attack_table(recipe, make, 100 + seed, options)]
        print(kind, flush=True)
    frame = pd.DataFrame(rows, columns=columns)
    text = tell(compare(frame), options)
    frame.round(5).to_csv(RESULTS / "vector_answers.csv", index=False)
    (RESULTS / "vector_answers.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
