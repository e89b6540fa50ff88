"""Naive Bayes and discriminant analysis: the file, all answers of a service, shadow models.

    python benchmarks/bench_joint_answers.py [--seeds N] [--only KIND ...] [--shadows K]

Each cell has the AUC and the TPR at 1% FPR of 400 candidates, of whom 200 are members, means over
the victims with standard errors of the AUC, and for answers the AUC that the attack expects.
*Service* is JointAnswersAttack on answers of 4 decimals and as they are; *shadows* StackedAttack.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import sem
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import MomentsAttack, StackedAttack
from skmia.attacks.recovered import JointAnswersAttack
from skmia.metrics import tpr_at_fpr_score

N = 400
KINDS = {
    "QDA": (QuadraticDiscriminantAnalysis(), (5, 10, 15, 20)),
    "GaussianNB": (GaussianNB(), (20, 60, 100)),
    "LDA": (LinearDiscriminantAnalysis(), (20, 60, 100)),
    "BernoulliNB": (BernoulliNB(), (20, 60, 100)),
    "MultinomialNB": (MultinomialNB(), (20, 60, 100)),
}


def draw_classes(name, d, seed):
    """Records of two classes that overlap, and the membership of half of them."""
    rng = np.random.default_rng(seed)
    y, shift = rng.integers(2, size=N), 1.5 / np.sqrt(d)
    if name == "BernoulliNB":
        X = (rng.random((N, d)) < (0.3 + 0.4 * rng.random((2, d)) * shift)[y]).astype(float)
    elif name == "MultinomialNB":
        X = rng.poisson((1 + shift * rng.random((2, d)))[y]).astype(float)
    else:
        X = rng.normal(size=(N, d)) * (1 + 0.4 * shift * y[:, None]) + shift * y[:, None]
    return Records(X, y), np.isin(np.arange(N), rng.permutation(N)[: N // 2])


def list_attacks(victim, recipe, records, n_shadows):
    yield "file", MomentsAttack(victim, random_state=0), records
    answers = victim.predict_proba(records.X)
    for n_decimals in (16, 4, 3):
        outputs = Outputs(np.round(answers, n_decimals), victim.classes_, "proba")
        title = "service, exact" if n_decimals == 16 else f"service, {n_decimals}"
        attack = JointAnswersAttack(None, recipe, random_state=0)
        yield title, attack, records.with_fields(outputs=outputs)
    if n_shadows:
        pool = ShadowPool(recipe, n_shadows, random_state=0).fit(records)
        yield f"shadows, {n_shadows}", StackedAttack(victim, pool, random_state=0), records


def measure(name, d, n_seeds, n_shadows):
    recipe, found = KINDS[name][0], {}
    for seed in range(n_seeds):
        records, member = draw_classes(name, d, seed)
        victim = clone(recipe).fit(records.X[member], records.y[member])
        for column, attack, given in list_attacks(victim, recipe, records, n_shadows):
            rows = found.setdefault(column, [])
            try:
                scores = attack.fit(given).score_samples(given)
            except ValueError:
                continue  # of too few answers that are not rounded to 0 or 1
            expected = getattr(attack, "expected_auc_", np.nan)
            tpr = tpr_at_fpr_score(member, scores, max_fpr=0.01)
            rows.append((roc_auc_score(member, scores), tpr, expected))
    return {column: show(rows, n_seeds) for column, rows in found.items()}


def show(rows, n_seeds):
    if not rows:
        return "refused"
    auc, tpr, expected = np.mean(rows, axis=0)
    error = sem([row[0] for row in rows]) if len(rows) > 1 else np.nan
    said = "" if np.isnan(expected) else f", said {expected:.3f}"
    lost = f" ({n_seeds - len(rows)} refused)" if len(rows) < n_seeds else ""
    return f"{auc:.3f} ± {error:.3f}, {tpr:.3f}{said}{lost}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=[*KINDS], metavar="KIND")
    parser.add_argument("--shadows", type=int, default=8)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    is_first = True
    for name in options.only:
        for d in KINDS[name][1]:
            cells = measure(name, d, options.seeds, options.shadows)
            if is_first:
                print(f"| kind | d | {' | '.join(cells)} |\n|{'---|' * (len(cells) + 2)}")
                is_first = False
            print(f"| {name} | {d} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
