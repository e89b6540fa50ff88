"""Processor time of an audit that chooses its number of shadow models, and of one with 64.

For each kind of victim, and for each of several halves of its records, the default audit is
compared with the audit by a threshold on the loss, ShadowAttack, LiRA and RMIA on 64 shadow models.
Prints the ratio of the processor times, the verdicts, and the largest AUC and TPR at an FPR of 1%.
With --file, the default audit attacks the file of the model, too, and the other audit does not.
Asserts nothing.

    OMP_NUM_THREADS=1 python benchmarks/bench_audit_cost.py --data FOLDER [--kinds adult digits]
        [--victims 3] [--file]

The folder of the data holds adult.csv.gz, the table of the UCI repository with a header.
"""

import argparse
import time

import numpy as np
from bench_strength import read_adult
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, audit
from skmia.attacks import RMIA, LiRA, ShadowAttack, ThresholdAttack
from skmia.datasets import load_sklearn

KINDS = {
    "adult": lambda folder: (Records(*read_adult(folder, 3000)), RandomForestClassifier(100)),
    "logistic": lambda folder: (
        Records(*read_adult(folder, 3000)),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
    ),
    "digits": lambda folder: (load_sklearn("digits"), RandomForestClassifier(100)),
}

WITH_64 = {
    "shadows": 64,
    "attacks": {
        "threshold": ThresholdAttack(),
        "ShadowAttack": ShadowAttack(random_state=0),
        "LiRA": LiRA(),
        "RMIA": RMIA(),
    },
}


def measure(problem, **settings):
    start = time.process_time()
    report = audit(*problem, random_state=0, **settings)
    seconds = time.process_time() - start
    overall = report.to_frame().query("scope == 'overall'")
    aucs, tprs = overall.query("metric == 'auc'"), overall.query("max_fpr == 0.01")
    n_shadows = report.settings["n_shadows"]
    best = f"{aucs['estimate'].max():.3f} / {tprs['estimate'].max():.3f}"
    file = "" if report.file is None else f"; file: {report.file.evidence}"
    print(f"  {n_shadows:2d} models, {seconds:5.2f} s: {report.evidence}, {best}{file}", flush=True)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--victims", type=int, default=3)
    parser.add_argument("--file", action="store_true", help="the default audit attacks files, too")
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        records, model = KINDS[kind](arguments.data)
        ratios = []
        for victim in range(arguments.victims):
            membership = np.random.default_rng(victim).permutation(len(records)) % 2
            members = records[membership == 1]
            fitted = clone(model).fit(members.X, members.y)
            print(f"{kind}, victim {victim}")
            problem = fitted, records, membership
            chosen = measure(problem, file=arguments.file)
            ratios.append(chosen / measure(problem, file=False, **WITH_64))
        print(f"{kind}: {np.mean(ratios):.2f} of the processor time ({np.round(ratios, 2)})")


if __name__ == "__main__":
    main()
