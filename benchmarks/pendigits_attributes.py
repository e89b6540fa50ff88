"""Who wrote the digit? Attribute inference of del Grosso (2023), figure 3.8.

    python benchmarks/pendigits_attributes.py --data FOLDER

trains nets on more and more digits, written by 44 people and given to the net with the writer, and
guesses the writer of its members and of other digits by the four criteria. It writes
benchmarks/results/pendigits_attributes.csv, a row for each net, criterion and kind of record, and
prints the means. FOLDER holds pendigits.csv.gz.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from literature_nets import make_pendigits_net
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skmia import Records
from skmia.attacks import AttributeInferenceAttack

SIZES = (50, 100, 200, 500, 1000, 2000, 4000)
N_NETS, N_ASKED, N_REFERENCES = 5, 500, 3000
CRITERIA = ("softmax", "accuracy", "loss", "gradient")
WRITER = slice(16, 60)


def read(folder):
    table = pd.read_csv(folder / "pendigits.csv.gz")
    pen = table.iloc[:, :16].to_numpy(np.float32) / 100
    writer = np.eye(44, dtype=np.float32)[table["writer"] - 1]
    return np.column_stack([pen, writer]), table["digit"].to_numpy(np.int64)


def run(folder):
    X, y = read(folder)
    order = np.random.default_rng(0).permutation(len(X))
    references, rest = order[:N_REFERENCES], order[N_REFERENCES:]
    attack = None
    for n_members in SIZES:
        for seed in range(N_NETS):
            rows = np.random.default_rng(seed).permutation(rest)
            members, others = rows[:n_members][:N_ASKED], rows[n_members:][:N_ASKED]
            torch.manual_seed(seed)
            n_epochs = int(np.clip(100_000 / n_members, 60, 400))
            net = make_pendigits_net(X.shape[1], max_epochs=n_epochs, batch_size=64)
            victim = FrozenEstimator(net.fit(X[rows[:n_members]], y[rows[:n_members]]))
            if attack is None:  # the baseline knows no victim: one fit serves all
                forest = RandomForestClassifier(200, random_state=0)
                attack = AttributeInferenceAttack(victim, WRITER, baseline=forest, random_state=0)
                attack.fit(Records(X[references], y[references]))
            for kind, asked in (("members", members), ("others", others)):
                records = Records(X[asked], y[asked])
                for criterion in CRITERIA:
                    table = attack.set_params(victim=victim, criterion=criterion).compare(records)
                    yield {
                        "n_members": n_members,
                        "seed": seed,
                        "accuracy_of_net": net.score(X[asked], y[asked]),
                        "kind": kind,
                        "criterion": criterion,
                        "success": table.loc["attack", "accuracy"],
                        "baseline": table.loc["baseline", "accuracy"],
                        "difference": table.loc["difference", "accuracy"],
                    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    table = pd.DataFrame(run(options.data)).round(4)
    table.to_csv(options.out / "pendigits_attributes.csv", index=False)
    groups = table.groupby(["kind", "criterion", "n_members"])["success"]
    print(groups.mean().unstack().round(3).to_string())
    print("baseline", table.groupby("kind")["baseline"].mean().round(3).to_dict())
    print(f"chance {1 / 44:.3f}")


if __name__ == "__main__":
    main()
