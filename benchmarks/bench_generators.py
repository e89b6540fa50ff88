"""Resemblance, utility and privacy of generators of tables, on seven columns of Adult.

Each part trains generators that differ in their seed and saves a row of a CSV file for each:

* ``encoding``: numbers as they are or as blocks of values, small and wide nets, without noise;
* ``privacy``: noise levels of a private generator, with epsilon.

    python benchmarks/bench_generators.py --data FOLDER [--part encoding] [--out FOLDER]

A training takes one to two minutes of one core. ``--limit`` ends a call after so many trainings,
and the next call goes on. ``--summary`` prints the table of the results that are there.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
from skmia.synthetic import DPWassersteinGAN, PrivacyLoss, rare_class_rate

N_PEOPLE, N_COMPARED = 16_000, 2_000
FLAGS = ["male", "married", "gain", "income"]
LOWER = {"age": 17, "education": 1, "hours": 1, **dict.fromkeys(FLAGS, 0)}
UPPER = {"age": 90, "education": 16, "hours": 99, **dict.fromkeys(FLAGS, 1)}
SCHEMA = DeclaredSchema(
    {
        name: ValuesColumn([False, True])
        if name in FLAGS
        else NumberColumn(LOWER[name], UPPER[name], whole=True)
        for name in LOWER
    }
)
COMMON = {"batch_size": 500}
SMALL = {
    "critic_layers": (32,),
    "generator_layers": (32, 32),
    "n_latent": 8,
    "learning_rate": 2e-3,
}
WIDE = {
    "critic_layers": (64,),
    "generator_layers": (64, 64),
    "n_latent": 16,
    "learning_rate": 1e-3,
}

ENCODINGS = {
    "blocks, wide, 1,500 steps": (3, 1500, {**WIDE}),
    "blocks, wide": (3, 1000, {**WIDE}),
    "blocks, wide, spectral norms": (1, 1000, {**WIDE, "penalty": 0.0, "max_spectral_norm": 1.0}),
    "blocks, small": (1, 1000, {**SMALL}),
    "numbers, small": (3, 1000, {**SMALL, "columns": "number"}),
    "numbers, wide": (2, 1000, {**WIDE, "columns": "number"}),
}
LEVELS = (1.0, 3.0, 0.1, 0.3)
PRIVATE = {
    "bounds": {**WIDE, "critic_layers": (32,)},
    "bounds, spectral norms": {
        **WIDE, "critic_layers": (32,), "penalty": 0.0, "max_spectral_norm": 1.0
    },
}  # fmt: skip


def load(folder):
    """Three tables of people, with whole numbers and truth values."""
    table = pd.read_csv(Path(folder) / "adult.csv.gz")
    people = pd.DataFrame(
        {
            "age": table["age"],
            "education": table["education-num"],
            "hours": table["hours-per-week"],
            "male": table["sex"].astype(str).str.contains("Male"),
            "married": table["marital-status"].astype(str).str.contains("Married-civ"),
            "gain": table["capital-gain"] > 0,
            "income": table["income"].astype(str).str.contains(">50K"),
        }
    )
    for name in people.columns.drop(FLAGS):
        people[name] = people[name].clip(LOWER[name], UPPER[name]).astype(int)
    people = people.iloc[np.random.default_rng(0).permutation(len(people))]
    return [people[k * N_PEOPLE : (k + 1) * N_PEOPLE].reset_index(drop=True) for k in range(3)]


def scale(table):
    lower, upper = ([ends[name] for name in table] for ends in (LOWER, UPPER))
    return (table.to_numpy(dtype=float) - lower) / np.subtract(upper, lower)


def utility(table, test):
    """Area under the curve of a logistic regression of income, tested on real people."""
    if table["income"].nunique() < 2:
        return 0.5
    model = LogisticRegression().fit(scale(table)[:, :-1], table["income"])
    return roc_auc_score(test["income"], model.predict_proba(scale(test)[:, :-1])[:, 1])


def distance(table, real):
    """Mean total variation distance of the columns, from 0 to 1."""
    gaps = [
        table[name].value_counts(normalize=True).sub(
            real[name].value_counts(normalize=True), fill_value=0
        ).abs().sum() / 2
        for name in real
    ]  # fmt: skip
    return float(np.mean(gaps))


def measure(table, train, test):
    thin = [scale(part[:N_COMPARED]) for part in (train, test, table)]
    loss = PrivacyLoss(n_permutations=0, random_state=0).fit(*thin).result_["estimate"]
    return {
        "resemblance": loss["resemblance loss, test"],
        "privacy": loss["privacy loss"],
        "utility": utility(table, test),
        "gains": rare_class_rate(train["gain"], table["gain"], label=True).synthetic,
        "columns": distance(table, test),
    }


class Results:
    """Rows of a CSV file, saved one by one; what is there is not measured again."""

    def __init__(self, path, limit):
        self.path, self.limit = path, limit
        self.rows = pd.read_csv(path).to_dict("records") if path.exists() else []

    def lacks(self, **key):
        return self.limit > 0 and not any(
            all(row[name] == value for name, value in key.items()) for row in self.rows
        )

    def add(self, **row):
        self.limit -= 1
        self.rows.append(row)
        pd.DataFrame(self.rows).to_csv(self.path, index=False, float_format="%.6g")
        print(row, flush=True)


def run(results, tables, part, setting, level, seed, max_iter, **settings):
    key = {"part": part, "setting": setting, "level": level, "seed": seed}
    if not results.lacks(**key):
        return
    train, test, _ = tables
    noise = {"privacy": None, "lower": LOWER, "upper": UPPER}
    if level:
        noise = {"noise_multiplier": level, "schema": SCHEMA}
    gan = DPWassersteinGAN(
        max_iter=max_iter,
        random_state=seed,
        **COMMON,
        **noise,
        **settings,
    )
    start = process_time()
    made = gan.fit(train).sample(N_PEOPLE, random_state=seed)
    row = {
        **key,
        "steps": max_iter,
        "seconds": process_time() - start,
        "epsilon": gan.epsilon_,
    }
    row["noise"] = gan.history_["noise"].median() if level else 0.0
    results.add(**row, **measure(made, train, test))


def run_encoding(results, tables):
    if results.lacks(part="encoding", setting="other people"):
        key = {"part": "encoding", "setting": "other people", "level": 0.0, "seed": 0}
        nothing = dict.fromkeys(("seconds", "epsilon", "noise"), np.nan)
        results.add(**key, steps=0, **nothing, **measure(tables[2], *tables[:2]))
    for setting, (n_seeds, n_steps, settings) in ENCODINGS.items():
        for seed in range(n_seeds):
            run(results, tables, "encoding", setting, 0.0, seed, n_steps, **settings)


def run_privacy(results, tables):
    for seed in range(2):
        for level in LEVELS:
            for setting, settings in PRIVATE.items():
                run(results, tables, "privacy", setting, level, seed, 500, **settings)


PARTS = {"encoding": run_encoding, "privacy": run_privacy}


def summarize(rows):
    table = pd.DataFrame(rows).groupby(["part", "setting", "level"], sort=False)
    numbers = [
        "steps",
        "seconds",
        "epsilon",
        "noise",
        "resemblance",
        "privacy",
        "utility",
        "gains",
    ]
    means = table[[*numbers, "columns"]].mean()
    ends = table["resemblance"].agg(["size", "min", "max"])
    return pd.concat([means, ends], axis=1).round(4).to_string()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=".", help="folder with adult.csv.gz")
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--out", default="benchmarks/results")
    parser.add_argument("--limit", type=float, default=np.inf, help="trainings in this call")
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    results = Results(Path(arguments.out) / "generators.csv", arguments.limit)
    if not arguments.summary:
        torch.set_num_threads(1)
        tables = load(arguments.data)
        for part in arguments.part or PARTS:
            PARTS[part](results, tables)
    print(summarize(results.rows))


if __name__ == "__main__":
    main()
