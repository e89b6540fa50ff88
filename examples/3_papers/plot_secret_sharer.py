"""
The secret sharer (Carlini et al. 2019)
=======================================

A model of text is trained on lines that contain a secret, "the random number is 52176". Carlini et
al. insert such canaries on purpose and measure their exposure: by how many bits the model makes the
number easier to guess. This example does so with a small net that reads character by character and
with counts of short sequences of characters, and searches for the number.

The text consists of scikit-learn's descriptions of data sets. The full version trains 33 nets in
about five minutes on one core; the fast one only counts.
"""

import os
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn.datasets
from scipy import stats

from skmia.memorization import (
    CanaryFormat,
    Exposure,
    NGramModel,
    TorchSequenceModel,
    insert_canaries,
    log_perplexity,
    shortest_path_extraction,
)

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"  # no nets, shorter numbers
N_DIGITS, N_REPEATS, N_EPOCHS = (3, 2, 0) if FAST else (5, 4, 20)
INSERTIONS = (0, 1, 4, 16) if FAST else (0, 1, 2, 4, 8, 16, 32)
KINDS = ("n-gram",) if FAST else ("n-gram", "net")

# %%
# The text
# --------
# The text consists of lines of the descriptions. Some are held out to measure how well the models
# predict.

NAMES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud")
text = "\n".join(
    getattr(sklearn.datasets, f"load_{name}")().DESCR for name in NAMES
)
lines = [
    line.strip().lower()
    for line in text.splitlines()
    if len(line.strip()) > 10
]
lines = [line for line in dict.fromkeys(lines) if line.isascii()]
aside, lines = (
    lines[::10],
    [line for number, line in enumerate(lines) if number % 10],
)
ALPHABET = "".join(sorted(set("".join([*lines, *aside, "0123456789"]))))
START = len(ALPHABET)
print(
    f"{len(lines)} lines, {sum(map(len, lines))} characters, "
    f"{len(ALPHABET)} different ones"
)


def make_format(n_digits):
    return CanaryFormat(
        "the random number is " + "#" * n_digits,
        "0123456789",
        alphabet=ALPHABET,
    )


def encode(some):
    return [
        np.array([ALPHABET.index(character) for character in line])
        for line in some
    ]


# %%
# Two models
# ----------
# The counts use at most six characters. The net has one recurrent layer of 64 units.


def train_counts(training, seed):
    return NGramModel(6, n_tokens=START + 1).fit(encode(training))


def train_net(training, seed):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(START + 1, 32)
            self.recurrent = torch.nn.GRU(32, 64, batch_first=True)
            self.output = torch.nn.Linear(64, START + 1)

        def forward(self, tokens):
            return self.output(self.recurrent(self.embedding(tokens))[0])

    net = Reader()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    tokens = [
        torch.as_tensor(np.concatenate([[START], line]))
        for line in encode(training)
    ]
    for _ in range(N_EPOCHS):
        for rows in torch.randperm(len(tokens)).split(32):
            batch = [tokens[row] for row in rows]
            x = torch.nn.utils.rnn.pad_sequence(
                batch, batch_first=True, padding_value=START
            )
            loss = torch.nn.functional.cross_entropy(
                net(x[:, :-1]).flatten(0, 1),
                x[:, 1:].flatten(),
                ignore_index=START,
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return TorchSequenceModel(net, start_token=START)


TRAIN = {"n-gram": train_counts, "net": train_net}


def bits_per_character(model, some):
    bits = sum(log_perplexity(model, line[None])[0] for line in encode(some))
    return bits / sum(map(len, some))


# %%
# Exposure by number of insertions
# --------------------------------
# For each number of insertions, models are trained with one canary each. The exposure is exact: the
# rank among all numbers. The table also shows the two estimates from a sample, and the result of
# the search for the number.

secrets = make_format(N_DIGITS)


def play(kind, n_insertions, repeat):
    canary = secrets.decode(secrets.sample(random_state=repeat))
    training = insert_canaries(
        lines, canary, n_insertions, random_state=repeat
    )
    model = TRAIN[kind](training, repeat)
    exposure = Exposure(model, secrets).fit()
    settings = {
        "n_samples": min(2_000, secrets.n_candidates),
        "random_state": repeat,
    }
    sampled = Exposure(model, secrets, method="sampling", **settings).fit()
    extended = Exposure(
        model, secrets, method="skew_normal", **settings
    ).fit()
    found = shortest_path_extraction(
        model, secrets, max_nodes=secrets.n_candidates
    )
    tied = np.count_nonzero(
        exposure.log_perplexities_
        == exposure.log_perplexities_[secrets.position(canary)]
    )
    return {
        "kind": kind,
        "insertions": n_insertions,
        "repeat": repeat,
        "exposure": exposure.exposure(canary[0]),
        "tied": tied,
        "sampling": sampled.exposure(canary[0]),
        "sampling_low": sampled.exposure_interval(canary[0]).low,
        "skew_normal": extended.exposure(canary[0]),
        "ks_statistic": extended.ks_statistic_,
        "extracted": secrets.decode(found.sequences) == canary,
        "expanded": found.n_expanded,
        "bits_train": bits_per_character(model, lines[::5]),
        "bits_aside": bits_per_character(model, aside),
    }, model


games, models = [], {}
for kind in KINDS:
    for n_insertions in INSERTIONS:
        for repeat in range(N_REPEATS):
            line, models[kind, n_insertions] = play(
                kind, n_insertions, repeat
            )
            games.append(line)
games = pd.DataFrame(games)
groups = games.drop(columns="repeat").groupby(
    ["kind", "insertions"], sort=False
)
print(groups.mean().round(2).to_string())

# %%
# Cost of the search
# ------------------
# Evaluating all numbers takes one query per prefix. The search only queries the prefixes that may
# still be the best. The model was trained with a canary of each length.


def race(kind, n_digits):
    """Time and queries of both ways to the least perplexing number."""
    longer = make_format(n_digits)
    canary = longer.decode(longer.sample(random_state=1))
    model = TRAIN[kind](
        insert_canaries(lines, canary, INSERTIONS[-1], random_state=1), 1
    )
    start = perf_counter()
    result = shortest_path_extraction(model, longer, batch_size=1)
    seconds = perf_counter() - start
    line = {
        "kind": kind,
        "digits": n_digits,
        "search_s": seconds,
        "asked": result.n_expanded,
    }
    line["right"] = longer.decode(result.sequences) == canary
    line["beginnings"] = sum(10**length for length in range(n_digits))
    if n_digits <= ENUMERATED:
        start = perf_counter()
        bits = Exposure(model, longer).fit().log_perplexities_
        line["enumeration_s"] = perf_counter() - start
        same = np.isclose(bits.min(), result.log_perplexity[0], rtol=1e-6)
        assert same, "the search must find the minimum"
    return line


ENUMERATED = 4 if FAST else 6
LENGTHS = (3, 4, 9) if FAST else (3, 4, 5, 6, 9)
races = pd.DataFrame(
    [race(kind, n_digits) for kind in KINDS for n_digits in LENGTHS]
)
races["fewer_questions"] = races["beginnings"] / races["asked"]
races["faster"] = races["enumeration_s"] / races["search_s"]
print(races.round(3).to_string())

# %%
# The figure
# ----------

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
x = np.arange(len(INSERTIONS))
for kind, some in games.groupby("kind", sort=False):
    means = some.groupby("insertions")["exposure"].mean()
    (line,) = axes[0].plot(x, means, label=kind)
    at = [INSERTIONS.index(one) for one in some["insertions"]]
    axes[0].plot(
        at, some["exposure"], "o", ms=3, alpha=0.5, color=line.get_color()
    )
axes[0].axhline(np.log2(np.e), color="gray", lw=0.8, ls=":")
axes[0].axhline(np.log2(secrets.n_candidates), color="gray", lw=0.8)
axes[0].set_xticks(x, INSERTIONS)
axes[0].set(xlabel="Insertions", ylabel="Exposure (bits)", title="Exposure")
axes[0].legend(frameon=False)

kind, n_insertions = KINDS[-1], INSERTIONS[-2]
fitted = Exposure(
    models[kind, n_insertions], secrets, method="skew_normal", random_state=0
).fit()
axes[1].hist(fitted.log_perplexities_, 60, density=True, color="lightgray")
grid = np.linspace(*np.quantile(fitted.log_perplexities_, [0, 1]), 200)
axes[1].plot(grid, stats.skewnorm.pdf(grid, *fitted.skew_normal_))
axes[1].set(
    xlabel="Log-perplexity of candidates (bits)",
    title=f"{kind}, {n_insertions} insertions",
)

for kind, some in races.groupby("kind", sort=False):
    axes[2].plot(some["digits"], some["asked"], "o-", label=f"search, {kind}")
axes[2].plot(races["digits"], races["beginnings"], "k^", label="all prefixes")
axes[2].set(
    yscale="log",
    xlabel="Digits",
    ylabel="Queries of the model",
    title="Extraction",
)
axes[2].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With four models for each number of insertions:
#
# * A number that was not inserted has an exposure near 1.44 bits, as expected by chance.
# * The counts memorize a number that was inserted once; the net does so after 4 to 16 insertions,
#   although it predicts new lines nearly as well as its own (2.7 and 3.0 bits per character). The
#   counts show what overfitting looks like (0.5 and 3.3).
# * At the maximum, and only there, the search finds the number. It queries about as many prefixes
#   as the number has digits, and a few hundred if there is nothing to find.
# * A sample of 2,000 numbers shows only "at least 9 bits" from 4 insertions on. The extrapolation
#   continues to 65 bits, although the maximum is 16.6: it measures how far the canary is from the
#   other numbers, and no longer how many rank before it.
