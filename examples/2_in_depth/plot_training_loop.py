"""
A training loop in plain PyTorch
================================

A convolutional net is trained by a custom loop, with a cosine schedule, weight decay, dropout and
random shifts. The loop becomes an estimator, so shadow models are trained like the victim, and
attacks can also query the shifted images that the net was trained on.
"""

import os
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.metrics import RocCurveDisplay
from skorch import NeuralNetClassifier
from skorch.callbacks import GradientNormClipping, LRScheduler
from torch import nn

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.datasets import load_sklearn
from skmia.metrics import auc_interval, operating_point
from skmia.victims import Augmentation, FunctionClassifier

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer shadow models and epochs
N_SHADOWS, N_EPOCHS = (4, 3) if FAST else (16, 40)

torch.set_num_threads(
    1
)  # the net is small: more threads would wait for each other

# %%
# The loop
# --------
# The loop takes images, their class indices and a seed, and returns the trained module. There are
# no other requirements.


def shifted(images, down, right):
    return torch.roll(images, (down, right), dims=(2, 3))


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.1),
            nn.Linear(512, 10),
        )


def train(X, y, seed):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    net, images, labels = Net(), torch.tensor(X), torch.tensor(y)
    optimizer = torch.optim.AdamW(
        net.parameters(), lr=0.005, weight_decay=1e-3
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_EPOCHS)
    for _ in range(N_EPOCHS):
        for rows in torch.randperm(len(images), generator=generator).split(
            64
        ):
            down, right = torch.randint(
                -1, 2, (2,), generator=generator
            ).tolist()
            batch = shifted(
                images[rows].view(-1, 1, 8, 8), down, right
            ).flatten(1)
            loss = nn.functional.cross_entropy(net(batch), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    return net


# %%
# The victim
# ----------
# ``FunctionClassifier`` turns the loop into an estimator. One in ten labels is wrong, so the net
# has something to memorize.

digits = load_sklearn("digits")
rng = np.random.default_rng(0)
wrong = rng.random(len(digits)) < 0.1
labels = np.where(
    wrong, (digits.y + rng.integers(1, 10, len(digits))) % 10, digits.y
)
records = Records(np.float32(digits.X / 16), labels.astype(np.int64))
membership = rng.permutation(len(records)) % 2
inside = membership == 1

victim = FunctionClassifier(train, random_state=0).fit(
    records.X[inside], records.y[inside]
)
print(
    "accuracy on members     "
    f"{victim.score(records.X[inside], records.y[inside]):.3f}"
)
print(
    "accuracy on non-members "
    f"{victim.score(records.X[~inside], records.y[~inside]):.3f}"
)

# %%
# Shadow models
# -------------
# The pool calls the loop with its own rows and seeds. For longer training, pass ``checkpoint=``, a
# folder from which an interrupted fit resumes. Here the models are kept and queried again with the
# shifts that the loop used: ``from_models`` creates a pool from trained models.


def shifts(records):
    images = torch.tensor(np.array(records.X)).view(-1, 1, 8, 8)
    return [
        Records(shifted(images, *by).flatten(1).numpy(), records.y)
        for by in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]


plain = ShadowPool(victim, N_SHADOWS, store="models", random_state=0).fit(
    records
)
several = ShadowPool.from_models(
    plain.estimators_, plain.membership_, records, augment=shifts
)

# %%
# The attacks
# -----------

attacks = {
    "loss threshold": ThresholdAttack(victim),
    "RMIA": RMIA(victim, plain),
    "LiRA": LiRA(victim, plain),
    "LiRA, five queries": LiRA(victim, several),
}
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name, attack in attacks.items():
    scores = attack.fit(records).score_samples(records)
    auc, low, high = auc_interval(membership, scores)
    tpr = operating_point(membership, scores, 0.05).tpr
    print(
        f"{name:18s} AUC {auc:.3f} [{low:.3f}, {high:.3f}], TPR at 5% FPR "
        f"{tpr:.3f}"
    )
    RocCurveDisplay.from_predictions(membership, scores, name=name, ax=ax)
ax.set(xscale="log", yscale="log", xlim=(0.01, 1), ylim=(0.01, 1))
plt.show()

# %%
# Querying several shifts helps, because the net was trained on them. Models that were trained on a
# cluster can be imported in the same way, or their logits with ``ShadowPool.from_outputs``.

# %%
# The same recipe in skorch
# -------------------------
# skmia does not know what happens inside a loop. The same recipe in skorch describes each step, so
# many shadow models can be trained at a time. A probe of a few steps decides whether that is
# faster. ``Augmentation`` makes the random shifts, with the generator of each net.


def shift(X, generator):
    down, right = torch.randint(
        -1, 2, (2,), generator=generator, device=generator.device
    )
    return shifted(X.view(-1, 1, 8, 8), int(down), int(right)).flatten(1)


net = NeuralNetClassifier(
    Net,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.AdamW,
    lr=0.005,
    optimizer__weight_decay=1e-3,
    batch_size=64,
    max_epochs=N_EPOCHS,
    train_split=None,
    iterator_train__shuffle=True,
    iterator_train__collate_fn=Augmentation(shift),
    callbacks=[
        LRScheduler("CosineAnnealingLR", T_max=N_EPOCHS),
        GradientNormClipping(1.0),
    ],
    verbose=0,
)
start = perf_counter()
together = ShadowPool(net, N_SHADOWS, random_state=0).fit(records)
print(
    f"{N_SHADOWS} shadow models in {perf_counter() - start:.0f} s: "
    f"{together.backend_reason_}"
)
scores = LiRA(victim, together).fit(records).score_samples(records)
auc, low, high = auc_interval(membership, scores)
print(f"LiRA               AUC {auc:.3f} [{low:.3f}, {high:.3f}]")
