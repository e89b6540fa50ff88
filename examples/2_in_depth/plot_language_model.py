"""
Auditing a fine-tuned language model
====================================

A small transformer is fine-tuned on sentences that contain one code each. Some of them occur
several times in the training data. Signals of the model alone are compared with signals that use a
reference, and with shadow models that were fine-tuned in the same way.
"""

import copy
import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.metrics import RocCurveDisplay
from torch import nn

from skmia import audit
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.memorization import (
    FunctionSequenceVictim,
    SequenceVictim,
    TorchSequenceModel,
    token_records,
)
from skmia.signals.sequences import (
    MinK,
    MinKPlusPlus,
    ReferenceRatio,
    WindowVotes,
    ZlibRatio,
)

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer shadow models and steps
N_SHADOWS, N_STEPS = (4, 100) if FAST else (16, 300)

torch.set_num_threads(
    1
)  # the net is small: more threads would wait for each other

# %%
# The texts
# ---------
# Members and non-members are drawn from one distribution, so an attack cannot distinguish them by
# their words. Each text has a code of six digits, which a model can only memorize. Some codes are
# easier than others: they have one or two different digits.

NAMES = "ada ben cleo dan eva finn gail hugo ivo jon".split()
CITIES = "bern cork graz lyon nice oslo pisa riga".split()
WORDS = ["<start>", *NAMES, *CITIES, "from", "has", "code", *"0123456789"]
NUMBER = {word: number for number, word in enumerate(WORDS)}
START = NUMBER["<start>"]


def draw_text(rng):
    words = [rng.choice(NAMES)]
    if rng.random() < 0.5:  # so that lengths differ
        words += ["from", rng.choice(CITIES)]
    digits = rng.choice(
        list("0123456789"), rng.choice([1, 2, 10]), replace=False
    )
    return " ".join([*words, "has", "code", *rng.choice(digits, 6)])


def encode(text):
    return [NUMBER[word] for word in text.split()]


rng = np.random.default_rng(0)
texts = [draw_text(rng) for _ in range(300)]
names = np.array([f"text {number}" for number in range(300)])
membership = rng.permutation(300) % 2
repeated = rng.random(300) < 0.1
often = {
    tuple(encode(text))
    for text, many in zip(texts, repeated, strict=True)
    if many
}
records = token_records(
    [encode(text) for text in texts],
    text=texts,
    record_id=names,
    repeated=np.where(repeated, "10 times", "once"),
)
print(records)

# %%
# The model before
# ----------------
# A transformer of one layer, trained on other texts of the same kind.


class Transformer(nn.Module):
    def __init__(self, width=32, longest=16):
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(len(WORDS), width),
            nn.Embedding(longest, width),
        )
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.inner, self.outer = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        self.out = nn.Linear(width, len(WORDS))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        q, k, v = (
            self.qkv(self.norm(x))
            .unflatten(2, (6, -1))
            .transpose(1, 2)
            .chunk(3, dim=1)
        )
        seen = nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True
        )
        x = x + self.mix(seen.transpose(1, 2).flatten(2))
        return self.out(x + self.outer(self.inner(x).relu()))


def train(net, sequences, seed, n_steps, rate):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.tensor(token_records(sequences).X)
    before = nn.functional.pad(tokens[:, :-1], (1, 0), value=START).clamp(
        min=0
    )
    trained = [one for one in net.parameters() if one.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=rate)
    for _ in range(n_steps):
        rows = torch.randint(len(tokens), (64,), generator=generator)
        logits = net(before[rows]).transpose(1, 2)
        loss = nn.functional.cross_entropy(
            logits, tokens[rows], ignore_index=-1
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


torch.manual_seed(0)
others = [encode(draw_text(rng)) for _ in range(1000)]
base = train(Transformer(), others, seed=0, n_steps=2 * N_STEPS, rate=3e-3)
base.requires_grad_(False)

# %%
# Fine-tuning
# -----------
# A correction of low rank is added to each linear layer (LoRA), and nothing else is trained. Shadow
# models only need this function: each fine-tunes the same base model on its own half of the texts.


class LowRank(nn.Module):
    def __init__(self, linear, rank=8):
        super().__init__()
        self.linear = linear
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / rank)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x):
        return self.linear(x) + x @ self.down.T @ self.up.T


def fine_tune(sequences, seed):
    torch.manual_seed(seed)
    net = copy.deepcopy(base)
    for name in ("qkv", "mix", "inner", "outer", "out"):
        setattr(net, name, LowRank(getattr(net, name)))
    copies = [
        one
        for one in sequences
        for _ in range(10 if tuple(one) in often else 1)
    ]
    return TorchSequenceModel(
        train(net, copies, seed, N_STEPS // 3, 3e-3), start_token=START
    )


victim = FunctionSequenceVictim(fine_tune, random_state=0).fit(
    records.X[membership == 1]
)
before = SequenceVictim(TorchSequenceModel(base, start_token=START))

# %%
# The audit
# ---------
# The audit first checks whether a model of word counts, without access to the victim, can separate
# members from non-members. Here it must not, because both come from one distribution.

attacks = {
    "loss": ThresholdAttack(signal="loss"),
    "Min-K%": ThresholdAttack(signal=MinK()),
    "Min-K%++": ThresholdAttack(signal=MinKPlusPlus()),
    "zlib ratio": ThresholdAttack(signal=ZlibRatio()),
    "reference ratio": ThresholdAttack(signal=ReferenceRatio(before)),
    "window votes": ThresholdAttack(
        signal=WindowVotes(before, widths=(1, 2, 4))
    ),
    "LiRA": LiRA(),
    "RMIA": RMIA(),
}
report = audit(
    victim,
    records,
    membership,
    attacks=attacks,
    shadows=N_SHADOWS,
    group="repeated",
    fprs=(0.1,),
    random_state=0,
)
print(report.checks["blind baseline"].text)
frame = report.to_frame().query("metric == 'auc'")
print(
    frame.pivot_table(
        "estimate", "attack", "group", dropna=False, sort=False
    ).round(2)
)

# %%
# The exposed texts by name: those that occurred ten times come first.

order = np.argsort(-report.scores["LiRA"])[:10]
for row in order:
    print(
        f"{names[row]:9s} {records['repeated'][row]:8s} member: "
        f"{membership[row]}  {texts[row]}"
    )

# %%
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name in ("loss", "Min-K%++", "reference ratio", "LiRA"):
    RocCurveDisplay.from_predictions(
        membership, report.scores[name], name=name, ax=ax
    )
ax.set(title="One distribution, one victim")
plt.show()

# %%
# Signals of the victim alone cannot distinguish an easy text from a training text. The model before
# fine-tuning and the shadow models can.
