"""
Memorization of wrong labels
============================

One in ten digits has a wrong label, which a net can fit only by memorizing it. The attack
identifies nearly all of these digits and few of the others, and rounding the predictions does not
protect them.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from skorch import NeuralNetClassifier
from torch import nn

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import load_sklearn
from skmia.metrics import advantage_interval, auc_interval
from skmia.shadow import RecordSignalsDisplay

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer shadow models, epochs and processes
N_SHADOWS, N_EPOCHS, N_JOBS = (4, 10, 1) if FAST else (32, 100, 2)

torch.set_num_threads(
    1
)  # the net is small: more threads would wait for each other

# %%
# The records
# -----------
# torch requires float32 features and integer labels. They are converted once, before the records
# are made, because records are recognized by their content. A field states which labels are wrong;
# neither the net nor the attack uses it.

digits = load_sklearn("digits")
rng = np.random.default_rng(0)
wrong = rng.random(len(digits)) < 0.1
labels = np.where(
    wrong, (digits.y + rng.integers(1, 10, len(digits))) % 10, digits.y
)
X, y = np.float32(digits.X / 16), labels.astype(np.int64)

records = Records(X, y, wrong=wrong)
membership = rng.permutation(len(records)) % 2
print(records)

# %%
# The victim
# ----------
# The module ends in logits, and skorch applies the softmax if probabilities are needed. The module
# is passed as a class, so that every shadow model creates a new one. ``train_split=None`` trains on
# all rows: skorch's default would hold back a fifth of the members.


class Net(nn.Sequential):
    def __init__(self, n_hidden):
        super().__init__(
            nn.Linear(64, n_hidden), nn.ReLU(), nn.Linear(n_hidden, 10)
        )


net = NeuralNetClassifier(
    Net,
    module__n_hidden=128,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=0.01,
    batch_size=128,
    max_epochs=N_EPOCHS,
    train_split=None,
    verbose=0,
)
torch.manual_seed(0)
inside = membership == 1
net.fit(X[inside], y[inside])
print(f"accuracy on members     {net.score(X[inside], y[inside]):.3f}")
print(f"accuracy on non-members {net.score(X[~inside], y[~inside]):.3f}")

# %%
# skmia queries the logits of such a net. In float32 the probability of a confident prediction
# rounds to 1, and only the logits still show differences between very confident predictions.

asked = records.with_outputs(net)
print(asked["outputs"])

# %%
# The attack
# ----------
# 32 shadow nets are trained, each on a random half of the records. They are seeded one by one, and
# the global generator of torch is restored afterwards.

pool = ShadowPool(
    net, n_estimators=N_SHADOWS, n_jobs=N_JOBS, random_state=0
).fit(records)
attack = LiRA(shadows=pool).fit(asked)
simple = ThresholdAttack().fit(asked)
for name, one in {"loss threshold": simple, "LiRA": attack}.items():
    auc, low, high = auc_interval(membership, one.score_samples(asked))
    print(f"{name:15s} AUC {auc:.3f} [{low:.3f}, {high:.3f}]")

# %%
# Over all records the attack is mediocre. Among the records with a wrong label it identifies nearly
# all members.

guesses = attack.predict(asked)
for name, chosen in {"right label": ~wrong, "wrong label": wrong}.items():
    estimate, low, high = advantage_interval(
        membership[chosen], guesses[chosen]
    )
    print(
        f"{name} ({chosen.sum():4d} records): advantage {estimate:.2f} "
        f"[{low:.2f}, {high:.2f}]"
    )

# %%
# Signals of the shadow models
# ----------------------------
# For every record the pool holds the signal of the shadow models that were trained on it (IN) and
# of those that were not (OUT): the log odds of the label. For a usual digit the two groups overlap,
# and the victim's output reveals nothing. For a wrong label they are far apart.

shown = {
    "usual digit, member": np.flatnonzero(inside & ~wrong)[0],
    "usual digit, non-member": np.flatnonzero(~inside & ~wrong)[0],
    "wrong label, member": np.flatnonzero(inside & wrong)[0],
    "wrong label, non-member": np.flatnonzero(~inside & wrong)[0],
}
chosen = asked[list(shown.values())]
_, axes = plt.subplots(
    2, 2, figsize=(8, 5), sharex=True, layout="constrained"
)
RecordSignalsDisplay.from_pool(pool, chosen, names=list(shown), axes=axes)
plt.show()

# %%
# Effect of rounding
# ------------------
# Suppose that the net's owner publishes probabilities with two decimals, or only the predicted
# label. ``Outputs`` holds predictions that were collected in any way.

proba = net.predict_proba(X)
published = {
    "logits": asked["outputs"],
    "2 digits": Outputs(proba.round(2), classes=net.classes_),
    "label only": Outputs(
        proba.argmax(axis=1), classes=net.classes_, kind="label"
    ),
}
for name, outputs in published.items():
    known = records.with_fields(outputs=outputs)
    if outputs.kind == "label":
        guesser = ThresholdAttack(signal="correctness").fit(known)
    else:
        guesser = LiRA(shadows=pool).fit(known)
    found = guesser.predict(known)
    parts = [
        advantage_interval(membership[k], found[k]).estimate
        for k in (~wrong, wrong)
    ]
    print(
        f"{name:10s} advantage {parts[0]:.2f} right labels, {parts[1]:.2f} "
        "wrong labels"
    )

# %%
# The wrong labels leak in each of these outputs: the net repeats a wrong label only if it was
# trained on it.
