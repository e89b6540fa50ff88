"""Processor time and memory of default audits that are large in one way each, beside their limits.

A loop trains a clone of the victim for each shadow model that the audit trained, one by one, and
asks it about all records. An audit has to take at most three loops and 30 seconds, and at most 2 GB
above the table. Each case is a process of its own: linear probes, many classes, sparse texts,
boosting of many rows, a net, and forests of many trees. Prints a row for each case: seconds of
processor time of one fit and of the audit, loops, the largest memory above the table and what the
process held before, the phases that took most, what was left out, and whether both limits hold.

    OMP_NUM_THREADS=1 python benchmarks/every_audit_ends.py [--only probe text] [--quick]
        [--results results/every_audit_ends.md]

``--quick`` takes a tenth of the rows, of the classes and of the columns of texts.
"""

import argparse
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _processes import peak_memory, reset_peak
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skmia import Records, audit

MOST_BYTES, MOST_LOOPS, FURTHER_SECONDS = 2e9, 3, 30


def make_table(n, d, n_classes=2, seed=0, noise=2.0):
    """Rows around a center for each class, in single precision; each class has equally many."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, d)).astype(np.float32)
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= noise * d**0.25
    X += centers[y]
    return X, y


def make_texts(n, n_words, seed=0):
    """Rows of about a hundred words of a long-tailed vocabulary, weighted and of length 1."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(90, n) + 1
    words = np.minimum((n_words ** rng.random(lengths.sum())).astype(int) - 1, n_words - 1)
    rows = np.repeat(np.arange(n), lengths)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(n, n_words))
    X = X.multiply(np.log(n / (1 + np.bincount(X.indices, minlength=n_words)) + 1)).tocsr()
    X = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))).tocsr()
    score = X @ rng.normal(size=n_words) + 0.3 * rng.normal(size=n)
    return X, (score > np.median(score)).astype(int)


def probe(scale, n=10_000):
    return LogisticRegression(max_iter=200), *make_table(n // scale, 512, 10)


def probe_wide(scale):
    """Fewer records for each column, whose equations take as long as nothing else."""
    return LogisticRegression(max_iter=200), *make_table(6_000 // scale, 900 // scale)


def probe_large(scale):
    return probe(scale, 60_000)


def probe_narrow(scale):
    return LogisticRegression(max_iter=200), *make_table(10_000 // scale, 256, 10)


def classes(scale):
    return LogisticRegression(max_iter=100), *make_table(10_000 // scale, 30, 1000 // scale)


def texts(scale, n_words=10_000):
    return LogisticRegression(), *make_texts(10_000 // scale, n_words // scale)


def texts_wide(scale):
    return texts(scale, 100_000)


def boosting(scale, n=100_000):
    return HistGradientBoostingClassifier(), *make_table(n // scale, 50)


def boosting_large(scale):
    return boosting(scale, 1_000_000)


def bayes(scale):
    return GaussianNB(), *make_table(10_000 // scale, 30, 1000 // scale)


def net(scale):
    import torch
    from skorch import NeuralNetClassifier

    class Perceptron(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(50, 128), torch.nn.Linear(128, 2)

        def forward(self, X):
            return torch.softmax(self.last(torch.relu(self.first(X))), -1)

    settings = {"max_epochs": 10, "lr": 0.05, "verbose": 0, "train_split": None}
    model = NeuralNetClassifier(Perceptron, batch_size=256, **settings)
    X, y = make_table(100_000 // scale, 50)
    return model, X, y.astype(np.int64)


def forest(scale, n=2_000):
    return RandomForestClassifier(500, random_state=0), *make_table(n // scale, 20)


def forest_large(scale):
    return forest(scale, 50_000)


_WIDE = texts, texts_wide, probe_narrow, probe, probe_wide
_SMALL = (*_WIDE, forest, bayes, net, boosting, classes)
CASES = {case.__name__: case for case in (*_SMALL, forest_large, probe_large, boosting_large)}


def choose_members(y):
    """A random half of each class, so that the model knows every label."""
    rng = np.random.default_rng(0)
    order = np.lexsort([rng.random(len(y)), y])
    starts = np.searchsorted(y[order], y[order])
    membership = np.empty(len(y), dtype=int)
    membership[order] = (np.arange(len(y)) - starts) % 2
    return membership


def describe_phases(seconds):
    spent = {part: second for part, second in seconds.items() if part != "total"}
    total = sum(spent.values())
    large = sorted(spent, key=spent.get, reverse=True)
    return ", ".join(f"{part} {spent[part]:.1f}" for part in large if spent[part] > total / 25)


def run_case(name, scale, with_file):
    warnings.simplefilter("ignore")
    model, X, y = CASES[name](scale)
    records, membership = Records(X, y), choose_members(y)
    n_bytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    members = records[membership == 1]
    start = time.process_time()
    victim = clone(model).fit(members.X, members.y)
    fit = time.process_time() - start
    start = time.process_time()
    victim.predict_proba(records.X)
    asked = time.process_time() - start
    before, start = reset_peak(), time.process_time()
    report = audit(victim, records, membership, file=with_file, random_state=0)
    seconds, memory = time.process_time() - start, peak_memory() - before
    n_models = report.settings["n_shadows"]
    limit = MOST_LOOPS * n_models * (fit + asked) + FURTHER_SECONDS
    left_out = [note for note in report.notes if "left out" in note or "not read" in note]
    reason = None if report.file is None else report.file.facts["reason"]
    left_out += [] if reason is None else [f"The file: {reason}"]
    words = f"{report.evidence} / {'-' if report.file is None else report.file.evidence}"
    cells = [
        f"{name} ({n_bytes / 1e6:.0f} MB)",
        f"{fit:.2f}",
        f"{seconds:.1f}",
        f"{seconds / (n_models * (fit + asked)):.1f} of {n_models}",
        f"{memory / 1e6:.0f}",
        describe_phases(report.seconds),
        words,
        " ".join(left_out) or "nothing",
        "pass" if memory <= MOST_BYTES else "FAIL",
        "pass" if seconds <= limit else f"FAIL ({limit:.0f})",
    ]
    print("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")


COLUMNS = (
    *("case (table)", "one fit, s", "audit, s", "loops", "memory above, MB", "phases, s"),
    *("evidence", "left out", "2 GB", "3 loops + 30 s"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"

_INTRODUCTION = (
    "# Every audit ends\n\nDefault audits that are large in one way each, in seconds of processor "
    "time on one thread. A loop is the training, and the answers, of as many models as the audit "
    "trained. Memory is what the audit took above what the process held before it, the table "
    "included. Limits: 2 GB, and 3 loops and 30 s. Made by `every_audit_ends.py`{}, {}.\n\n"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--without-file", action="store_true", help="attack the answers alone")
    parser.add_argument("--time-limit", type=float, default=3600, help="seconds for each case")
    parser.add_argument("--results", type=Path, help="file to write")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    if options.here:
        run_case(options.only[0], scale, not options.without_file)
        return
    print(HEAD, flush=True)
    rows = []
    for name in options.only:
        given = [*sys.argv[1:], "--only", name, "--here"]
        try:
            done = subprocess.run(
                [sys.executable, __file__, *given],
                capture_output=True,
                timeout=options.time_limit,
            )
            lines = [line for line in done.stdout.decode().splitlines() if line.startswith("| ")]
            why = f"exit code {done.returncode}: {done.stderr.decode().strip()[-200:]}"
        except subprocess.TimeoutExpired:
            lines, why = [], f"more than {options.time_limit:.0f} s"
        empty = " | ".join(["-"] * 6)
        rows += lines[-1:] or [f"| {name} | {empty} | {' '.join(why.split())} | FAIL | FAIL |"]
        print(rows[-1], flush=True)
    if options.results is not None:
        how = " --quick" if options.quick else ""
        text = _INTRODUCTION.format(how, f"Python {platform.python_version()}")
        options.results.write_text(f"{text}{HEAD}\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
