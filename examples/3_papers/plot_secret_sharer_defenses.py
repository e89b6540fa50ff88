"""
When a secret is memorized, and what prevents it (Carlini et al. 2019)
======================================================================

Carlini et al. insert a secret into the training text of a model and ask when it is memorized, and
which defenses prevent it. They find that it is memorized early, before the model has learned the
rest of the text, so that stopping early does not help; that regularization does not help either;
that removing secrets works for those that are recognized; and that only training with differential
privacy works for all. This example repeats the four experiments with a small net that reads
character by character.

The text consists of scikit-learn's descriptions of data sets. The full version trains 22 nets in
about ten minutes on one core.
"""

import os
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn.datasets
import torch
from opacus import PrivacyEngine
from opacus.layers import DPGRU
from torch import nn

from skmia.memorization import (
    CanaryFormat,
    Exposure,
    TorchSequenceModel,
    insert_canaries,
    log_perplexity,
)

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # few lines, epochs and digits
N_DIGITS, N_REPEATS, N_EPOCHS, N_LINES = (
    (2, 1, 2, 40) if FAST else (4, 3, 30, None)
)
N_INSERTIONS, DELTA = 12, 1e-3
torch.set_num_threads(1)

# %%
# The text
# --------
# Every tenth line is held out to measure how well a net predicts new text.

NAMES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud")
text = "\n".join(
    getattr(sklearn.datasets, f"load_{name}")().DESCR for name in NAMES
)
lines = [
    line.strip().lower()
    for line in text.splitlines()
    if len(line.strip()) > 10
]
lines = [line for line in dict.fromkeys(lines) if line.isascii()][:N_LINES]
aside, lines = (
    lines[::10],
    [line for number, line in enumerate(lines) if number % 10],
)
ALPHABET = "".join(
    sorted(set("".join([*lines, *aside, "the random number is 0123456789"])))
)
START = len(ALPHABET)
secrets = CanaryFormat(
    "the random number is " + "#" * N_DIGITS, "0123456789", alphabet=ALPHABET
)


def encode(some):
    return [
        np.array([ALPHABET.index(character) for character in line])
        for line in some
    ]


def bits_per_character(model, some):
    bits = sum(log_perplexity(model, line[None])[0] for line in encode(some))
    return bits / sum(map(len, some))


# %%
# The training
# ------------
# All nets have one recurrent layer of 64 units, in a version that has gradients of single lines. A
# private net is trained with clipped gradients and noise; its unit of privacy is a line, so that a
# secret that stands in twelve lines has twelve times the budget.


class Reader(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embedding = nn.Embedding(START + 1, 32)
        self.recurrent = DPGRU(32, 64, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(64, START + 1)

    def forward(self, tokens):
        return self.output(
            self.dropout(self.recurrent(self.embedding(tokens))[0])
        )


def measure(net, canary, epoch, **named):
    """Exposure of the canary, and bits per character of new text."""
    mode = net.training
    model = TorchSequenceModel(net.eval(), start_token=START)
    line = {
        **named,
        "epoch": epoch,
        "exposure": Exposure(model, secrets).fit().exposure(canary[0]),
        "bits_aside": bits_per_character(model, aside),
    }
    net.train(mode)
    return line


def train(
    training,
    canary,
    seed,
    *,
    name,
    dropout=0.0,
    weight_decay=0.0,
    epsilon=None,
):
    """Train a net and measure it after each fifth epoch; after the last one
    if it is private."""
    torch.manual_seed(seed)
    net = Reader(dropout)
    rate = 5e-3 if epsilon is None else 1e-2
    optimizer = torch.optim.AdamW(
        net.parameters(), lr=rate, weight_decay=weight_decay
    )
    tokens = [
        torch.as_tensor(np.concatenate([[START], line]))
        for line in encode(training)
    ]
    tokens = nn.utils.rnn.pad_sequence(
        tokens, batch_first=True, padding_value=START
    )
    rows = torch.utils.data.TensorDataset(tokens)
    batches = torch.utils.data.DataLoader(rows, batch_size=16, shuffle=True)
    trained = net
    if epsilon is not None:
        trained, optimizer, batches = (
            PrivacyEngine().make_private_with_epsilon(
                module=net,
                optimizer=optimizer,
                data_loader=batches,
                target_epsilon=epsilon,
                target_delta=DELTA,
                epochs=N_EPOCHS,
                max_grad_norm=1.0,
            )
        )
    found = []
    for epoch in range(1, N_EPOCHS + 1):
        for (x,) in batches:
            if len(x) == 0:
                continue
            answers = trained(x[:, :-1]).flatten(0, 1)
            loss = nn.functional.cross_entropy(
                answers, x[:, 1:].flatten(), ignore_index=START
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (
            epoch == N_EPOCHS
            or (epsilon is None and epoch % 5 == 0)
            or (not epsilon and epoch < 5)
        ):
            found.append(
                measure(net, canary, epoch, setting=name, repeat=seed)
            )
    return found


def sanitize(training):
    """Leave out lines that hold a number as long as the secret."""
    return [
        line for line in training if not re.search(rf"\d{{{N_DIGITS}}}", line)
    ]


# %%
# The settings
# ------------
# Each net is trained on the text with a canary of its own in twelve more lines.

SETTINGS = {
    "plain": {},
    "dropout 0.5": {"dropout": 0.5},
    "weight decay 0.1": {"weight_decay": 0.1},
    "weight decay 1": {"weight_decay": 1.0},
    "private, epsilon 10": {"epsilon": 10.0},
    "private, epsilon 1": {"epsilon": 1.0},
    "private, epsilon 1/12": {"epsilon": 1 / N_INSERTIONS},
}
if FAST:
    SETTINGS = {
        name: SETTINGS[name] for name in ("plain", "private, epsilon 10")
    }
results = []
for repeat in range(N_REPEATS):
    canary = secrets.decode(secrets.sample(random_state=repeat))
    training = insert_canaries(
        lines, canary, N_INSERTIONS, random_state=repeat
    )
    for name, settings in SETTINGS.items():
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # what opacus has to say about secure generators
            results += train(training, canary, repeat, name=name, **settings)
    results += train(sanitize(training), canary, repeat, name="sanitized")
results = pd.DataFrame(results)

# %%
# The results
# -----------
# The exposure is in bits. A canary that was never inserted has 1.44 on average.

last = results[results["epoch"] == N_EPOCHS]
table = last.groupby("setting", sort=False)[["exposure", "bits_aside"]].agg(
    ["mean", "std"]
)
print(
    f"at most {secrets.n_candidates} candidates, "
    f"{np.log2(secrets.n_candidates):.1f} bits"
)
print(table.round(2).to_string())
by_epoch = results[results["setting"] == "plain"].groupby("epoch")
by_epoch = by_epoch[["exposure", "bits_aside"]].mean()
print(by_epoch.round(2).to_string())

# %%
# The figure
# ----------

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.plot(by_epoch.index, by_epoch["exposure"], "o-", color="#D55E00")
left.axhline(np.log2(secrets.n_candidates), color="gray", lw=0.8)
left.set(xlabel="Epochs", title="A plain net", ylim=(0, None))
left.set_ylabel("Exposure (bits)", color="#D55E00")
other = left.twinx()
other.plot(by_epoch.index, by_epoch["bits_aside"], "s--", color="#0072B2")
other.set_ylabel("Bits per character of new text", color="#0072B2")
names = list(table.index)
right.barh(names, table["exposure", "mean"], color="lightgray")
right.plot(
    last["exposure"],
    [names.index(name) for name in last["setting"]],
    "k.",
    ms=5,
)
right.axvline(np.log2(secrets.n_candidates), color="gray", lw=0.8)
right.axvline(np.log2(np.e), color="gray", lw=0.8, ls=":")
right.invert_yaxis()
right.set(xlabel="Exposure (bits) after the last epoch", title="Defenses")
for ax in (left, right):
    ax.spines["top"].set_visible(False)
plt.show()

# %%
# With three nets for each setting:
#
# * *The number is memorized early.* After ten epochs, the exposure is at its maximum of 13.3 bits
#   in every net, while the prediction of new text improves until the twentieth epoch.
# * *Regularization does not help*: dropout and two strengths of weight decay leave all of the
#   exposure.
# * *Sanitization works* if the number is recognized: no exposure is left.
# * *Training with differential privacy helps*, and costs 0.8 to 1.6 bits per character of new text
#   with an ``epsilon`` of 10 and 1. The number stands in twelve lines, so the budget for it is
#   twelve times that of a line: with ``epsilon=1`` a line, 4 bits are exposed, and with
#   ``epsilon=10`` one of three numbers is still the least perplexing of all. With
#   ``epsilon=1/12`` the exposure is that of chance, and nothing of the text is learned.
