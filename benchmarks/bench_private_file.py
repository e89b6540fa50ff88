"""What the file of a logistic regression gives away with and without differential privacy.

A small table on which a logistic regression leaks: 50 members among 100 candidates with 20 normal
features. Prints, for each epsilon, the accuracy on other rows and AUCs, means over seeds with their
standard errors: StationarityAttack on the weights of the file, the loss, LiRA with shadow models
that are trained in the same way, and the largest AUC that the guarantee allows to any attack,
exp(epsilon) / (1 + exp(epsilon)) + delta.

    python benchmarks/bench_private_file.py [--seeds 10] [--models 8]
"""

import argparse
import warnings

import numpy as np
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from skorch import NeuralNetClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, StationarityAttack, ThresholdAttack
from skmia.defenses import DPSGDClassifier

N_CANDIDATES, N_FEATURES, N_TEST, DELTA = 100, 20, 1000, 1e-3
TRAININGS = {
    "none": {"noise_multiplier": 0.0, "max_grad_norm": np.inf},
    "8": {"target_epsilon": 8.0},
    "1": {"target_epsilon": 1.0},
}


def make_net(n_features, n_classes):
    """Logistic regression as a net."""
    return NeuralNetClassifier(
        torch.nn.Linear(n_features, n_classes),
        criterion=torch.nn.CrossEntropyLoss,
        batch_size=25,
        max_epochs=60,
        lr=0.5,
        train_split=None,
        verbose=0,
    )


def read_weights(model):
    """The weights of a net as a logistic regression of scikit-learn without a penalty."""
    layer = model.estimator_.module_
    weight, bias = (part.detach().numpy().astype(np.float64) for part in layer.parameters())
    linear = LogisticRegression(C=1e6)
    linear.classes_, linear.n_features_in_ = model.classes_, weight.shape[1]
    linear.coef_, linear.intercept_ = np.diff(weight, axis=0), np.diff(bias)
    linear.n_iter_ = np.ones(1, dtype=int)
    return linear


def measure(model, seed, n_models):
    """Accuracy and AUCs of one random half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_CANDIDATES + N_TEST, N_FEATURES)).astype(np.float32)
    y = (X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    member = rng.permutation(N_CANDIDATES) < N_CANDIDATES // 2
    records = Records(X, y)
    candidates, test = records[:N_CANDIDATES], records[N_CANDIDATES:]
    members = candidates[member]
    victim = model.set_params(random_state=seed).fit(members.X, members.y)
    pool = ShadowPool(model, n_models, random_state=seed).fit(candidates)
    attacks = (
        StationarityAttack(read_weights(victim), random_state=0),
        ThresholdAttack(victim),
        LiRA(victim, pool),
    )
    scores = [one.fit(candidates).score_samples(candidates) for one in attacks]
    return [victim.score(test.X, test.y), *(roc_auc_score(member, one) for one in scores)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--models", type=int, default=8, help="shadow models")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print("| epsilon | accuracy | weights | loss | LiRA | at most |")
    print("|---" * 6 + "|")
    for epsilon, settings in TRAININGS.items():
        model = DPSGDClassifier(make_net, target_delta=DELTA, classes=[0, 1], **settings)
        runs = np.array([measure(model, seed, options.models) for seed in range(options.seeds)])
        errors = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        cells = [f"{m:.3f} ({e:.3f})" for m, e in zip(runs.mean(axis=0), errors, strict=True)]
        most = "1" if epsilon == "none" else f"{min(expit(float(epsilon)) + DELTA, 1):.3f}"
        print(f"| {' | '.join([epsilon, *cells, most])} |", flush=True)


if __name__ == "__main__":
    main()
