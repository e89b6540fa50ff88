"""How well the attacks tell members from non-members, over several victims.

Two problems: digits with an overfit forest, and a Purchase-like table with a neural net that was
trained to memorize. Prints the mean over victims and the standard deviation between them.

    python benchmarks/bench_strength.py digits [--shadows 64] [--victims 12] [--jobs 2]
    python benchmarks/bench_strength.py baskets [--shadows 16] [--victims 3] [--jobs 2]
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skmia import ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ThresholdAttack
from skmia.datasets import load_digits, make_membership_problem
from skmia.metrics import tpr_at_fpr_score

FPRS = (0.01, 0.001)


def digits_problem():
    return load_digits(), RandomForestClassifier(100)


def baskets_problem():
    from _nets import make_net

    records, _ = make_membership_problem(
        20_000, n_features=600, n_classes=100, kind="baskets", random_state=0
    )
    return records, make_net(records.X.shape[1], 128, len(np.unique(records.y)))


def attacks_over(pool):
    return {
        "ThresholdAttack": ThresholdAttack(),
        "LiRA": LiRA(None, pool),
        'LiRA(variance="example")': LiRA(None, pool, variance="example"),
        'LiRA(variance="pooled")': LiRA(None, pool, variance="pooled"),
        "LiRA(online=False)": LiRA(None, pool, online=False),
        "RMIA": RMIA(None, pool),
        "RMIA(temperature=1)": RMIA(None, pool, temperature=1.0),
        "RMIA(online=False)": RMIA(None, pool, online=False),
        "CalibratedAttack": CalibratedAttack(None, pool),
    }


def attack_one_victim(records, model, attacks, seed):
    rows = np.arange(len(records))
    members, _ = train_test_split(rows, train_size=0.5, stratify=records.y, random_state=seed)
    membership = np.isin(rows, members).astype(int)
    victim = clone(model)
    if "random_state" in victim.get_params():
        victim.set_params(random_state=seed)
    victim.fit(records.X[members], records.y[members])
    answered = records.with_outputs(victim)
    correct = answered["outputs"].is_correct(records.y)
    gap = correct[members].mean(), correct[membership == 0].mean()
    rates = {}
    for name, attack in attacks.items():
        scores = attack.fit(answered).score_samples(answered)
        tprs = [
            tpr_at_fpr_score(membership, scores, max_fpr=fpr, on_unresolvable="ignore")
            for fpr in FPRS
        ]
        rates[name] = [roc_auc_score(membership, scores), *tprs]
    return rates, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=["digits", "baskets"])
    parser.add_argument("--shadows", type=int, default=64)
    parser.add_argument("--victims", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    records, model = digits_problem() if options.problem == "digits" else baskets_problem()
    start = perf_counter()
    pool = ShadowPool(model, options.shadows, n_jobs=options.jobs, random_state=0, verbose=1)
    attacks = attacks_over(FrozenEstimator(pool.fit(records)))
    seconds = perf_counter() - start
    results = [attack_one_victim(records, model, attacks, seed) for seed in range(options.victims)]
    train, test = np.mean([gap for _, gap in results], axis=0)
    print(
        f"{options.problem}: {len(records)} records, {options.shadows} shadows in {seconds:.0f} s"
    )
    print(f"{options.victims} victims, accuracy {train:.3f} on members, {test:.3f} on others")
    print(f"{'attack':28s}{'AUC':>15s}{'TPR @ 1% FPR':>16s}{'TPR @ 0.1% FPR':>16s}")
    for name in attacks:
        values = np.array([rates[name] for rates, _ in results])
        cells = zip(values.mean(axis=0), values.std(axis=0), strict=True)
        print(f"{name:28s}" + "".join(f"   {mean:.3f} ± {std:.3f}" for mean, std in cells))


if __name__ == "__main__":
    main()
