"""Time left as an audit says it, against the time that was left.

Each case is audited with its defaults, and what is drawn in the terminal is kept with the time.
Printed are, from a tenth of the clock on, the share of moments at which the time that was said is
within 1/2 and 2 of the true one, the share at which the true one lies between it and the most that
was said, up to this factor, the shares of moments at which a most or nothing was said,
the smallest and largest ratio, the longest time at which the bar stood, and what it ended with.
Moments with less than two seconds left are not counted, for times are written in whole seconds.
With --processor, clocks count the seconds that the processor works: what a machine that has nothing
else to do would show.

    python benchmarks/bench_time_left.py                  # all cases
    python benchmarks/bench_time_left.py forest bayes     # some of them
    python benchmarks/bench_time_left.py forest --moments # and each moment
"""

import argparse
import io
import re
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skmia import audit
from skmia._core import progress, provenance

# Within these ratios a time is told rightly.
WITHIN = 0.5, 2.0
# Share of the clock from which on it is told, and the last seconds, of which no ratio is taken.
FROM, LAST = 0.1, 2.0


class ProcessorClock:
    """Clocks that stand while the processor does other work."""

    monotonic = perf_counter = process_time = staticmethod(time.process_time)


class Terminal(io.StringIO):
    """A terminal that keeps what is drawn, and when."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def isatty(self):
        return True

    def write(self, text):
        self.drawn.append((time.monotonic(), text))
        return len(text)


def make_probe(scale):
    X, y = make_classification(
        int(10_000 * scale), 256, n_informative=40, n_classes=10, random_state=0
    )
    return LogisticRegression(max_iter=200), X, y


def make_texts(scale):
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng, n = np.random.default_rng(0), int(10_000 * scale)
    words = np.array([f"w{k}" for k in range(1_000)])
    y = rng.integers(2, size=n)
    weights = 1.0 / np.arange(1, 1_001)
    tilted = weights * np.exp(rng.normal(size=(2, 1_000)) * 0.3)
    tilted /= tilted.sum(axis=1, keepdims=True)
    texts = [" ".join(rng.choice(words, 60, p=tilted[label])) for label in y]
    return LogisticRegression(max_iter=200), TfidfVectorizer().fit_transform(texts), y


def make_boosting(scale):
    X, y = make_classification(int(100_000 * scale), 50, n_informative=20, random_state=0)
    return HistGradientBoostingClassifier(random_state=0), X, y


def make_bayes(scale):
    rng, n_classes = np.random.default_rng(0), 1_000
    centers = rng.normal(size=(n_classes, 30))
    y = np.repeat(np.arange(n_classes), int(10 * max(1, scale)))
    return GaussianNB(), centers[y] + rng.normal(size=(len(y), 30)), y


def make_large_forest(scale):
    X, y = make_classification(int(2_000 * scale), 20, n_informative=10, random_state=0)
    return RandomForestClassifier(500, random_state=0), X, y


def make_small_forest(scale):
    X, y = make_classification(int(2_000 * scale), 20, n_informative=10, random_state=0)
    return RandomForestClassifier(50, random_state=0), X, y


def make_neighbors(scale):
    X, y = make_classification(int(10_000 * scale), 30, n_informative=10, random_state=0)
    return KNeighborsClassifier(15), X, y


def make_regression_trees(scale):
    X, y = make_regression(int(3_000 * scale), 15, n_informative=8, noise=30, random_state=0)
    return ExtraTreesRegressor(100, random_state=0), X, y


def make_perceptron(scale):
    import torch
    from skorch import NeuralNetClassifier

    X, y = make_classification(int(20_000 * scale), 50, n_informative=20, random_state=0)
    torch.manual_seed(0)

    def module():
        return torch.nn.Sequential(torch.nn.Linear(50, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))

    settings = {"max_epochs": 10, "lr": 0.1, "train_split": None, "verbose": 0}
    net = NeuralNetClassifier(module, criterion=torch.nn.CrossEntropyLoss, **settings)
    return net, X.astype(np.float32), y.astype(np.int64)


CASES = {
    "probe": make_probe,
    "texts": make_texts,
    "boosting": make_boosting,
    "bayes": make_bayes,
    "forest": make_large_forest,
    "small": make_small_forest,
    "perceptron": make_perceptron,
    # Kinds by which no constant of the estimate was set.
    "neighbors": make_neighbors,
    "regression": make_regression_trees,
}

_DRAWN = re.compile(
    r"(\d+)%\s+(.*?)\s+([\d:]+) passed(?:, about ([\d:]+) left(?:, ([\d:]+) at most)?)?"
)


def _as_seconds(text):
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


def listen(model, X, y):
    """Audit a model; return what was drawn as (seconds, percent, stage, word, seconds left)."""
    rng = np.random.default_rng(1)
    inside = np.zeros(len(y), dtype=bool)
    inside[rng.permutation(len(y))[: len(y) // 2]] = True
    model.fit(X[inside], y[inside])
    terminal, usual = Terminal(), sys.stderr
    sys.stderr, start = terminal, time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = audit(
                model,
                train=(X[inside], y[inside]),
                held_out=(X[~inside], y[~inside]),
                random_state=0,
                verbose=1,
            )
    finally:
        sys.stderr = usual
    whole, moments = time.monotonic() - start, []
    for when, text in terminal.drawn:
        found = _DRAWN.search(text)
        if found is not None:
            percent, what, _, least, most = found.groups()
            least = np.nan if least is None else _as_seconds(least)
            most = least if most is None else _as_seconds(most)
            moments.append((when - start, int(percent), what, least, most))
    done = [text.strip() for _, text in terminal.drawn if "done" in text]
    return whole, moments, done, report


def judge(whole, moments):
    """Share of the moments within the limits, the ratios, the longest stand, and the last state."""
    told = [one for one in moments if one[0] >= FROM * whole and whole - one[0] >= LAST]
    shares = [(least / (whole - when), most / (whole - when)) for when, *_, least, most in told]
    least, most = np.array(shares).reshape(-1, 2).T
    ratios = least
    stands, since, last = [0.0], 0.0, -1
    for when, percent, *_ in moments:
        if percent != last:
            since, last = when, percent
        stands.append(when - since)
    return {
        "seconds": whole,
        "within": np.mean((ratios >= WITHIN[0]) & (ratios <= WITHIN[1])),
        "true": np.mean((most >= WITHIN[0]) & (least <= WITHIN[1])),
        "ranges": np.mean(most > least),
        "silent": np.mean(np.isnan(ratios)),
        "least": np.nanmin(ratios, initial=np.inf),
        "most": np.nanmax(ratios, initial=0.0),
        "stands": max(stands),
        "end": moments[-1][1] if moments else 0,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    parser.add_argument("--processor", action="store_true", help="count the processor's seconds")
    parser.add_argument("--moments", action="store_true", help="print each moment")
    options = parser.parse_args()
    if options.processor:
        for module in (progress, provenance, sys.modules[__name__]):
            module.time = ProcessorClock
    print(
        f"{'case':12s} seconds  within  true    most  silent  said/true      stood    end  models"
    )
    for name in options.cases or CASES:
        whole, moments, done, report = listen(*CASES[name](options.scale))
        found = judge(whole, moments)
        print(
            f"{name:12s} {found['seconds']:6.1f}s  {found['within']:5.0%} {found['true']:5.0%}  "
            f"{found['ranges']:6.0%}  {found['silent']:6.0%}  "
            f"{found['least']:.2f} to {found['most']:5.2f}  {found['stands']:5.1f}s  "
            f"{found['end']:4d}%  {report.settings['n_shadows']}",
            flush=True,
        )
        if options.moments:
            for when, percent, what, least, most in moments:
                told = f"{least:.0f} to {most:.0f} of {whole - when:.1f}"
                print(f"    {when:6.1f}s  {percent:3d}%  {told:24s} {what}")
            print(*(f"    {line}" for line in done), sep="\n")
            print("   ", report.seconds, flush=True)


if __name__ == "__main__":
    main()
