"""Both tables of Pedersen (2022) on generators, with hospital stays of the same shape.

    python benchmarks/bench_mode_collapse.py --data FOLDER [--seeds 2]

The tables of the slides are drawn from MIMIC-III and are not public. Here, each is a part of
Diabetes 130-US Hospitals (diabetes130.csv.gz in FOLDER) with as many rows, as many columns and the
same share of the rare class. Writes pedersen_mode_collapse.csv, a row for each generator;
generators that are there are not trained again.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from published import annotate
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skmia.synthetic import DPWassersteinGAN, PrivacyLoss, rare_class_rate

NUMBERS = ["time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications"]
NUMBERS += ["number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses"]
DRUGS = ["metformin", "repaglinide", "nateglinide", "glimepiride", "glipizide", "glyburide"]
DRUGS += ["pioglitazone", "rosiglitazone", "acarbose", "insulin", "change", "diabetesMed"]
DIED = [11, 13, 14, 19, 20, 21]  # codes of discharge: died, or to a hospice
# Number, rows, share of the rare class in training and in the test, its name, columns.
TABLES = {
    1: (2085, 0.0628, 0.0604, "died", NUMBERS[:6] + ["age", "sex", "black", "urgent", "referred"]),
    2: (2119, 0.234, 0.259, "died", NUMBERS + ["age", "sex", "urgent"] + DRUGS),
    3: (1719, 0.0303, 0.0297, "readmitted", NUMBERS[:6]),
}
LEVELS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4)
N_ITER, BATCH = 800, 200


def read_stays(folder):
    """First stays of people, with columns of numbers, and both labels."""
    table = pd.read_csv(folder / "diabetes130.csv.gz", keep_default_na=False, low_memory=False)
    table = table.drop_duplicates("patient_nbr")
    made = table[NUMBERS].astype(float)
    made["age"] = table["age"].str.extract(r"(\d+)", expand=False).astype(float)
    made["sex"] = table["gender"] == "Female"
    made["black"] = table["race"] == "AfricanAmerican"
    made["urgent"] = table["admission_type_id"] <= 2
    made["referred"] = table["admission_source_id"] <= 3
    made[DRUGS] = ~table[DRUGS].isin(["No"])
    made["died"] = table["discharge_disposition_id"].isin(DIED)
    made["readmitted"] = table["readmitted"] == "<30"
    return made.astype(float)


def draw(stays, number):
    """Training and test rows in [0, 1], the label last, with the printed shares of the label.

    The numbers of steps between the ends of each column come last: all columns hold whole numbers.
    """
    n_rows, *shares, label, columns = TABLES[number]
    rng = np.random.default_rng(number)
    low, high = stays[columns].min(), stays[columns].max()
    left = {value: rng.permutation(np.flatnonzero(stays[label] == value)) for value in (1, 0)}
    for share in shares:
        n_rare = round(share * n_rows)
        rows = [left[1][:n_rare], left[0][: n_rows - n_rare]]
        left = {1: left[1][n_rare:], 0: left[0][n_rows - n_rare :]}
        part = stays.iloc[rng.permutation(np.concatenate(rows))]
        yield np.column_stack([(part[columns] - low) / (high - low), part[label]])
    yield np.append(high - low, 1)


def measure(train, test, made):
    loss = PrivacyLoss(n_permutations=0, random_state=0).fit(train, test, made)
    auc = 0.5
    if 0 < made[:, -1].mean() < 1:
        model = LogisticRegression(max_iter=1000).fit(made[:, :-1], made[:, -1])
        auc = roc_auc_score(test[:, -1], model.predict_proba(test[:, :-1])[:, 1])
    return {
        "utility": auc,
        "rare_percent": 100 * rare_class_rate(train[:, -1], made[:, -1], label=1.0).synthetic,
        "train_resemblance": loss.train_accuracy_.mean,
        "test_resemblance": loss.test_accuracy_.mean,
        "privacy_loss": loss.statistic_,
    }


def run(train, test, steps, level, seed):
    # With the same seeds, generators of one table differ in nothing but the size of the noise.
    settings = {"batch_size": BATCH, "max_iter": N_ITER, "random_state": seed}
    gan = DPWassersteinGAN(noise_multiplier=level, noise_seed=seed, **settings).fit(train)
    noise = float(gan.history_["noise"].median()) if level else 0.0
    made = (gan.sample(len(train), random_state=seed) * steps).round() / steps
    return {"noise": noise, **measure(train, test, made)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stays, path = read_stays(options.data), options.out / "pedersen_mode_collapse.csv"
    plan = product(range(options.seeds), TABLES, LEVELS)
    for seed, number, level in plan:
        kept = pd.read_csv(path) if path.exists() else pd.DataFrame([], columns=["seed"])
        cell = {"dataset": number, "sigma_dp": level, "seed": seed}
        if np.logical_and.reduce([kept.get(key) == value for key, value in cell.items()]).any():
            continue
        start = time.process_time()
        row = cell | run(*draw(stays, number), level, seed)
        print(f"{time.process_time() - start:.1f} s", row, flush=True)
        table = annotate(path.name, pd.concat([kept, pd.DataFrame([row])], ignore_index=True))
        table.to_csv(path, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
