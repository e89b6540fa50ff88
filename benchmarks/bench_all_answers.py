"""What the answers about all candidates say together: leaf means of a tree, votes of neighbors.

    python benchmarks/bench_all_answers.py [--seeds N] [--only leaves votes] [--sweeps N]

Neither is an attack of the package. *Leaves*: candidates with one answer of a regression tree share
a leaf, and the members among them have this mean, up to rounding. All subsets of up to 18
candidates are tried, and the share of those that fit is the score; larger leaves are one linear
equation. *Votes*: the k nearest members of every candidate have the votes that the service
answered; memberships are drawn by simulated annealing on the sum of the wrong votes. Beside each,
StackedAttack with 8 shadow models, and the sum of both; AUC and TPR at 1% FPR, means over victims.
"""

import argparse
import warnings

import numpy as np
from scipy.special import logit
from scipy.stats import sem
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

from skmia import Records, ShadowPool
from skmia.attacks import StackedAttack
from skmia.metrics import tpr_at_fpr_score

MOST = 18  # candidates of a leaf whose subsets are all tried


def solve_leaves(y, answers, fewest, n_decimals):
    """Log odds of membership from answers that are means of leaves."""
    scores = np.zeros(len(y))
    for answer in np.unique(answers):
        some = np.flatnonzero(answers == answer)
        away, k = y[some] - answer, len(some)
        if k > MOST:
            # The sum over members is 0: bits of 1/2 with one exact equation.
            size = away @ away
            scores[some] = -4 * away * away.sum() / 2 / (size - away**2)
            continue
        subsets = (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(bool)
        n_rows = subsets.sum(axis=1)
        fits = np.abs(subsets @ away) <= n_rows * 10.0**-n_decimals / 2 * 1.02 + 1e-9
        fits &= n_rows >= fewest
        if fits.any():
            share = subsets[fits].mean(axis=0)
            least = 0.5 / (fits.sum() + 1)
            scores[some] = logit(np.clip(share, least, 1 - least))
    return scores


def solve_votes(X, y, votes, k, n_sweeps, rng):
    """Log odds of membership from the votes of the k nearest members of each candidate."""
    n = len(y)
    order = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, : 8 * k + 10]
    labels, touched = y[order], [np.flatnonzero((order == j).any(axis=1)) for j in range(n)]
    bits, total, n_kept = rng.random(n) < 0.5, np.zeros(n), 0

    def count_wrong(rows):
        known = bits[order[rows]]
        nearest = known & (np.cumsum(known, axis=1) <= k)
        return np.abs((nearest * labels[rows]).sum(axis=1) - votes[rows]).sum()

    for sweep in range(n_sweeps):
        sharpness = min(3.0, 0.3 + 0.15 * sweep)
        for j in rng.permutation(n):
            before = count_wrong(touched[j])
            bits[j] ^= True
            more = count_wrong(touched[j]) - before
            if more > 0 and rng.random() >= np.exp(-sharpness * more):
                bits[j] ^= True
        if sweep >= n_sweeps // 2:
            total, n_kept = total + bits, n_kept + 1
    return np.log((total + 0.5) / (n_kept - total + 0.5))


def judge(member, victim, records, scores, seed):
    pool = ShadowPool(victim, 8, random_state=seed).fit(records)
    stack = StackedAttack(victim, pool, random_state=0).fit(records).score_samples(records)
    columns = {"all answers": scores, "8 shadow models": stack, "sum": scores + stack}
    return {
        name: (roc_auc_score(member, one), tpr_at_fpr_score(member, one, max_fpr=0.01))
        for name, one in columns.items()
    }


def attack_leaves(seed, fewest, n_decimals):
    rng, n = np.random.default_rng(seed), 400
    X = rng.normal(size=(n, 10))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.7 * rng.normal(size=n)
    member = np.isin(np.arange(n), rng.permutation(n)[: n // 2])
    model = DecisionTreeRegressor(min_samples_leaf=fewest, random_state=0)
    victim = model.fit(X[member], y[member])
    scores = solve_leaves(y, np.round(victim.predict(X), n_decimals), fewest, n_decimals)
    return judge(member, victim, Records(X, y), scores, seed)


def attack_votes(seed, k, n_sweeps):
    rng, n = np.random.default_rng(seed), 600
    X = rng.normal(size=(n, 6))
    y = (X[:, 0] + 0.8 * rng.normal(size=n) > 0).astype(int)
    member = np.isin(np.arange(n), rng.permutation(n)[: n // 2])
    victim = KNeighborsClassifier(k).fit(X[member], y[member])
    votes = np.rint(k * victim.predict_proba(X)[:, 1]).astype(int)
    return judge(member, victim, Records(X, y), solve_votes(X, y, votes, k, n_sweeps, rng), seed)


def show(title, rows):
    cells = []
    for name in rows[0]:
        auc, tpr = np.mean([row[name] for row in rows], axis=0)
        cells.append(f"{auc:.3f} ± {sem([row[name][0] for row in rows]):.3f}, {tpr:.3f}")
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only", nargs="*", default=["leaves", "votes"])
    parser.add_argument("--sweeps", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| victim | all answers | 8 shadow models | sum |\n|---|---|---|---|")
    seeds = range(options.seeds)
    if "leaves" in options.only:
        for n_decimals in (4, 6):
            for fewest in (2, 3, 5, 8):
                title = f"tree, {fewest} rows per leaf or more, {n_decimals} decimals"
                show(title, [attack_leaves(seed, fewest, n_decimals) for seed in seeds])
    if "votes" in options.only:
        for k in (3, 5, 10):
            title = f"{k} nearest neighbors"
            show(title, [attack_votes(seed, k, options.sweeps) for seed in seeds])


if __name__ == "__main__":
    main()
