"""Who wrote the digit? Attribute inference of del Grosso (2023), figure 3.8.

    python benchmarks/pendigits_attributes.py --data FOLDER

trains nets on more and more digits, written by 44 people and given to the net with the writer, and
guesses the writer of its members and of other digits by the four criteria. It writes
benchmarks/results/pendigits_attributes.csv, a row for each net, criterion and kind of record, and
prints the means. FOLDER holds pendigits.csv.gz.

    python benchmarks/pendigits_attributes.py --data FOLDER --paths [--nets 5]

has both halves of the figure with the sizes and settings of the authors' code: 33 points of the
path of the pen (66 numbers) and the writer, 150 epochs with a squared error. It writes
pendigits_paths.csv, a row for each net and series; nets that are there are not trained again.
FOLDER holds pendigits_raw.npz.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from bench_squared_error import Distance, SquaredDistance
from literature_nets import make_pendigits_net
from published import annotate
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

from skmia import Records
from skmia.attacks import AttributeInferenceAttack, ThresholdAttack
from skmia.leakage.bounds import bounded_loss_success_bound

SIZES = (50, 100, 200, 500, 1000, 2000, 4000)
N_NETS, N_ASKED, N_REFERENCES = 5, 500, 3000
CRITERIA = ("softmax", "accuracy", "loss", "gradient")
WRITER = slice(16, 60)
PATH_SIZES = (100, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 4000, 8000)
N_POINTS, N_ATTACKED, THRESHOLD = 33, 100, 0.8


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
            victim = net.fit(X[rows[:n_members]], y[rows[:n_members]])
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


def read_paths(folder):
    """Points at equal distances along the path of the pen, in [0, 1], and the writer."""
    stored = np.load(folder / "pendigits_raw.npz")
    rows = []
    for path in np.split(stored["xy"].astype(float), np.cumsum(stored["n_points"], dtype=int)[:-1]):
        steps = np.hypot(*np.diff(path, axis=0).T)
        way = np.append(0, np.cumsum(steps + 1e-9))  # the pen may rest
        where = np.linspace(0, way[-1], N_POINTS)
        points = np.column_stack([np.interp(where, way, column) for column in path.T])
        points -= points.min(axis=0)
        rows.append((points / max(points.max(), 1)).ravel())
    writer = np.eye(44, dtype=np.float32)[stored["writer"].astype(int) - 1]
    return np.column_stack([rows, writer]).astype(np.float32), stored["digit"].astype(np.int64)


def play_paths(X, y, n_members, seed):
    """Value of each series of both halves of the figure, for one net."""
    rows = np.random.default_rng(seed).permutation(len(X))
    members, others = rows[:n_members], rows[n_members:][:2992]
    torch.manual_seed(seed)
    settings = {"max_epochs": 150, "batch_size": 50, "lr": 5e-3, "criterion": SquaredDistance}
    settings["predict_nonlinearity"] = partial(torch.softmax, dim=1)
    victim = make_pendigits_net(X.shape[1], **settings).fit(X[members], y[members])
    asked = np.concatenate([members, others])
    inside = np.arange(len(asked)) < n_members
    records = Records(X[asked], y[asked]).with_outputs(victim)
    distance = -ThresholdAttack(signal=Distance()).fit(records).score_samples(records)
    gap = distance[~inside].mean() - distance[inside].mean()
    sure = ThresholdAttack(signal="max_softmax").fit(records).score_samples(records) >= THRESHOLD
    yield "success of softmax response (SR)", (1 + sure[inside].mean() - sure[~inside].mean()) / 2
    yield "lower bound (LB)", bounded_loss_success_bound(max(gap, 0), 2)
    yield "accuracy (Acc)", records["outputs"].is_correct(records.y)[~inside].mean()
    attacked = Records(X[members[:N_ATTACKED]], y[members[:N_ATTACKED]])
    writer = 66 + attacked.X[:, -44:].argmax(axis=1)  # the column that is hidden
    for criterion in CRITERIA:
        attack = AttributeInferenceAttack(
            victim, slice(66, 110), criterion=criterion, baseline=DummyClassifier()
        )
        guesses = attack.fit(records).predict(attacked)
        yield f"attribute inference: {criterion}", np.mean(guesses == writer)


def run_paths(folder, out, n_nets):
    X, y = read_paths(folder)
    path = out / "pendigits_paths.csv"
    for seed in range(n_nets):
        for n_members in PATH_SIZES:
            kept = pd.read_csv(path) if path.exists() else pd.DataFrame([], columns=["n", "seed"])
            if ((kept["n"] == n_members) & (kept["seed"] == seed)).any():
                continue
            facts = {"n": n_members, "seed": seed}
            table = [
                {**facts, "series": series, "value": value}
                for series, value in play_paths(X, y, n_members, seed)
            ]
            table = annotate(path.name, pd.DataFrame(table).round(4))
            table.to_csv(path, mode="a", header=not path.exists(), index=False)
            print(table.to_string(index=False), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--paths", action="store_true")
    parser.add_argument("--nets", type=int, default=5)
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    if options.paths:
        run_paths(options.data, options.out, options.nets)
        return
    table = pd.DataFrame(run(options.data)).round(4)
    table.to_csv(options.out / "pendigits_attributes.csv", index=False)
    groups = table.groupby(["kind", "criterion", "n_members"])["success"]
    print(groups.mean().unstack().round(3).to_string())
    print("baseline", table.groupby("kind")["baseline"].mean().round(3).to_dict())
    print(f"chance {1 / 44:.3f}")


if __name__ == "__main__":
    main()
