"""What the training of a victim adds to its final answers, with and without shadow models.

Boosted trees are trained on a random half of the records, and a net whose states after some epochs
are kept. Prints the mean AUC over victims, with its standard error: of the log odds at the end, of
their gain over the training, of a logistic regression on all ten values (cross-validated, of known
members), and of LiRA with shadow models on the final and on the stored gain.

    python benchmarks/bench_trajectories.py --data FOLDER [--victims 6] [--shadows 16]

The folder of the data holds adult.csv.gz, the table of the UCI repository with a header.
"""

import argparse
from copy import deepcopy

import numpy as np
from _victims import read_adult
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.signals import Trajectories, Trajectory

N_TIMES = 10
COLUMNS = ("log odds at the end", "their gain", "learned of all", "LiRA, end", "LiRA, gain")


def attack_boosted(model, records, inside, n_shadows, seed):
    """AUC of each column for boosted trees."""
    members = records[inside]
    victim = model.fit(members.X, members.y)
    found = attack_without_shadows(victim, N_TIMES, records, inside)
    gain = Trajectory(N_TIMES)
    pool = ShadowPool(model, n_shadows, signals=("auto", gain), random_state=seed).fit(records)
    for signal in ("auto", gain):
        attack = LiRA(victim, shadows=pool, signal=signal).fit(records)
        found.append(roc_auc_score(inside, attack.score_samples(records)))
    return found


def attack_net(records, inside, seed):
    """AUC of each column without shadow models for a net of 100 epochs."""
    net, states = MLPClassifier((128,), learning_rate_init=0.003, random_state=seed), []
    members = records[inside]
    for epoch in range(1, 101):
        net.partial_fit(members.X, members.y, classes=np.unique(records.y))
        states += [deepcopy(net)] if epoch % (100 // N_TIMES) == 0 else []
    found = attack_without_shadows(net, tuple(states[:-1]), records, inside)
    return [*found, np.nan, np.nan]


def attack_without_shadows(victim, checkpoints, records, inside):
    scores = [
        ThresholdAttack(victim, signal=signal).fit(records).score_samples(records)
        for signal in ("scaled_logit", Trajectory(checkpoints))
    ]
    learned = make_pipeline(
        Trajectories(victim, checkpoints), StandardScaler(), LogisticRegression(max_iter=1000)
    )
    membership = inside.astype(int)
    learned = cross_val_predict(learned, records, membership, method="decision_function")
    return [roc_auc_score(inside, one) for one in (*scores, learned)]


def draw_half(n_records, seed):
    inside = np.zeros(n_records, dtype=bool)
    inside[np.random.default_rng(seed).permutation(n_records)[: n_records // 2]] = True
    return inside


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--victims", type=int, default=6)
    parser.add_argument("--shadows", type=int, default=16)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    digits, (X, income) = Records(X / 16, y), read_adult(options.data, 4000)
    adult = Records(StandardScaler().fit_transform(X), income)
    boosted = GradientBoostingClassifier(max_depth=4, random_state=0)
    histograms = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    print(f"| victim | {' | '.join(COLUMNS)} |")
    print("|---" * (1 + len(COLUMNS)) + "|")
    for name, records, model in (
        ("digits, 50 rounds of histograms", digits, histograms),
        ("Adult, 50 rounds of histograms", adult, histograms),
        ("Adult, 100 rounds of depth 4", adult, boosted),
        ("Adult, net of 100 epochs", adult, None),
    ):
        found = []
        for seed in range(options.victims):
            inside = draw_half(len(records), seed)
            if model is None:
                found.append(attack_net(records, inside, seed))
            else:
                found.append(attack_boosted(model, records, inside, options.shadows, seed))
        mean = np.mean(found, axis=0)
        error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
        cells = ["-" if np.isnan(a) else f"{a:.3f} ({b:.3f})" for a, b in zip(mean, error)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
