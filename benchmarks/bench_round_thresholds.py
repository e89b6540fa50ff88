"""Why thresholds are moved at random and not to round numbers.

Thresholds of random forests as they are (midpoints), moved uniformly between two training values,
and moved to a multiple of the largest power of ten that has one there, at random if it has several.
A round threshold says that no multiple of a larger power of ten lies in the gap. Prints the mean
AUC of SplitThresholdAttack with its standard error over halves, and the TPR at 1% FPR; for round
thresholds, as the attack takes them by itself, as uniform draws, and as round.

    python benchmarks/bench_round_thresholds.py [--tables FOLDER] [--halves 5]
"""

import argparse
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from bench_released_file import FIRST_SEED, list_models, read_tables
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skmia import Records
from skmia.attacks import SplitThresholdAttack
from skmia.defenses import _released, move_thresholds
from skmia.metrics import tpr_at_fpr_score
from skmia.victims import _split_thresholds

MODELS = "RandomForest", "RandomForest l10"
TABLES = "Law School", "Adult", "normal"
POWERS = 10.0 ** np.arange(8, -9, -1)
list_gaps = _split_thresholds._list_gaps


def find_grids(low, high):
    """The largest power of ten with a multiple in [low, high), its first multiple, how many."""
    power, first, count = np.zeros((3, len(low)))
    for step in POWERS:
        start = np.ceil(np.round(low / step, 9))
        size = np.ceil(np.round(high / step, 9)) - start
        new = (size > 0) & (power == 0)
        power[new], first[new], count[new] = step, start[new], size[new]
    return power, first, count


class RoundDraws:
    """Draws round numbers where a generator draws uniformly."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def uniform(self, low, high):
        power, first, count = find_grids(low, high)
        drawn = (first + np.floor(self._rng.random(len(low)) * count)) * power
        return np.where(power > 0, drawn, low)


def list_gaps_of_round(values, event, thresholds, known):
    """Gaps around thresholds with the likelihood of round draws."""
    lower, upper, _ = list_gaps(values, event, thresholds, known)
    power, _, count = find_grids(values[lower], values[upper])
    multiple = thresholds[event[lower]] / np.where(power > 0, power, 1)
    fits = (power > 0) & (np.abs(multiple - np.round(multiple)) < 1e-6)
    return lower, upper, np.where(fits, 1 / np.maximum(count, 1), 0) + 1e-12


def move_to_round(model, X, seed):
    with patch.object(_released, "check_random_state", RoundDraws):
        return move_thresholds(model, X, random_state=seed)


def measure_half(model, X, y, seed):
    """AUC and TPR for each way to move thresholds and to attack them."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:1000]
    member = rng.permutation(1000) < 500
    candidates = Records(X[rows], y[rows])
    members = candidates[member]
    fitted = clone(model).fit(members.X, members.y)
    uniform = move_thresholds(fitted, members.X, random_state=seed)
    rounded = move_to_round(fitted, members.X, seed)
    found = {}
    for name, victim, least, gaps in (
        ("midpoints", fitted, _split_thresholds._LEAST_EXPLAINED, list_gaps),
        ("uniform", uniform, _split_thresholds._LEAST_EXPLAINED, list_gaps),
        ("round", rounded, _split_thresholds._LEAST_EXPLAINED, list_gaps),
        ("round, as uniform", rounded, 2, list_gaps),
        ("round, as round", rounded, 2, list_gaps_of_round),
    ):
        with (
            patch.object(_split_thresholds, "_LEAST_EXPLAINED", least),
            patch.object(_split_thresholds, "_list_gaps", gaps),
        ):
            attack = SplitThresholdAttack(victim).fit(candidates)
        scores = attack.score_samples(candidates)
        rate = tpr_at_fpr_score(member, scores, max_fpr=0.01, on_unresolvable="ignore")
        found[name] = roc_auc_score(member, scores), rate
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--halves", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of thresholds that were moved
    tables = read_tables(None)
    if options.tables is not None:
        tables |= read_tables(options.tables)
    is_first = True
    for table in (name for name in TABLES if name in tables):
        for name in MODELS:
            seeds = range(FIRST_SEED, FIRST_SEED + options.halves)
            runs = [measure_half(list_models()[name], *tables[table], seed) for seed in seeds]
            if is_first:
                print(f"| table | model | {' | '.join(runs[0])} |\n{'|---' * (len(runs[0]) + 2)}|")
                is_first = False
            cells = [table, name]
            for title in runs[0]:
                auc, rate = np.array([run[title] for run in runs]).T
                error = auc.std(ddof=1) / np.sqrt(len(auc))
                cells.append(f"{auc.mean():.3f} ({error:.3f}), {rate.mean():.3f}")
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
