"""
Comparing 22 attacks at a low false positive rate (Carlini et al. 2022)
=======================================================================

Balanced accuracy can hide whether an attack identifies any member reliably. Carlini et al. (2022)
therefore compare attacks by their true positive rate at a false positive rate of 0.1%, next to the
balanced accuracy, and the two columns disagree. This example repeats the comparison with attacks of
this package, on one net over a table like Purchase-100.

The full version trains the victim and 32 shadow models on 10,000 records each, in about a quarter
of an hour on one core.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from skorch import NeuralNetClassifier
from torch import nn

from skmia import ShadowPool
from skmia.attacks import (
    RMIA,
    CalibratedAttack,
    DiversityAttack,
    LiRA,
    MorganAttack,
    RenyiAttack,
    ShadowAttack,
    ThresholdAttack,
    VulnerableRecordsAttack,
)
from skmia.attacks.white_box import (
    EnsembleAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
)
from skmia.datasets import make_membership_problem
from skmia.metrics import MembershipRocDisplay, operating_point

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer records, models and attacks
N_RECORDS, N_FEATURES, N_CLASSES = (
    (600, 60, 5) if FAST else (20_000, 600, 100)
)
N_SHADOWS, N_EPOCHS, N_HIDDEN = (4, 10, 16) if FAST else (32, 30, 128)
MAX_FPR = 0.01 if FAST else 0.001

# %%
# The victim
# ----------
# The victim is a net with one hidden layer, trained on half of the records. Ten thousand
# non-members are just enough for a false positive rate of 0.1%, which allows ten false positives.

records, membership = make_membership_problem(
    N_RECORDS,
    n_features=N_FEATURES,
    n_classes=N_CLASSES,
    kind="baskets",
    random_state=0,
)


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Linear(N_FEATURES, N_HIDDEN),
            nn.Tanh(),
            nn.Linear(N_HIDDEN, N_CLASSES),
        )


net = NeuralNetClassifier(
    Net,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=1e-3,
    max_epochs=N_EPOCHS,
    iterator_train__shuffle=True,
    train_split=None,
    verbose=0,
)
torch.manual_seed(0)
members = records[membership == 1]
victim = net.fit(
    members.X.copy(), members.y
)  # torch wants arrays that it may write to
right = records.with_outputs(victim)["outputs"].is_correct(records.y)
print(
    f"{right[membership == 1].mean():.3f} of the members are classified "
    "correctly, and"
)
print(
    f"{right[membership == 0].mean():.3f} of {np.sum(membership == 0):,} "
    "non-members"
)

# %%
# The shadow models
# -----------------
# Each shadow model is trained on a random half of the records. All attacks that use shadow models
# share them.

shadows = ShadowPool(net, N_SHADOWS, store="outputs", random_state=0).fit(
    records
)

# %%
# The attacks
# -----------
# The attacks need different access, which no comparison can make fair. *Answers*: a query of the
# victim. *Shadow models*: data of the same kind, and the means to train. *Members*: some known
# members and non-members; scores are cross-fitted, so that each record is judged by an attack that
# was not fitted on it. *Weights*: the victim itself.

ATTACKS = {
    "true class (gap)": (
        "answers",
        ThresholdAttack(victim, signal="correctness"),
    ),
    "loss (Yeom)": ("answers", ThresholdAttack(victim, signal="loss")),
    "entropy": ("answers", ThresholdAttack(victim, signal="entropy")),
    "modified entropy (Song)": (
        "answers",
        ThresholdAttack(victim, signal="modified_entropy"),
    ),
    "shadow models (Shokri)": (
        "shadow models",
        ShadowAttack(victim, shadows, random_state=0),
    ),
    "calibrated (Watson)": (
        "shadow models",
        CalibratedAttack(victim, shadows),
    ),
    "midpoint (Sablayrolles)": (
        "shadow models",
        CalibratedAttack(
            victim, shadows, reference="midpoint", signal="loss"
        ),
    ),
    "attack R (Ye)": (
        "shadow models",
        CalibratedAttack(victim, shadows, reference="rank"),
    ),
    "LiRA": ("shadow models", LiRA(victim, shadows)),
    "LiRA, pooled variance": (
        "shadow models",
        LiRA(victim, shadows, variance="pooled"),
    ),
    "LiRA, offline": ("shadow models", LiRA(victim, shadows, online=False)),
    "RMIA": ("shadow models", RMIA(victim, shadows)),
    "RMIA, offline": ("shadow models", RMIA(victim, shadows, online=False)),
    "Mahalanobis": (
        "members, weights",
        MahalanobisAttack(victim, random_state=0),
    ),
}
if not FAST:
    ATTACKS |= {
        "Merlin (Jayaraman)": (
            "answers",
            ThresholdAttack(victim, signal="merlin"),
        ),
        "Morgan (Jayaraman)": (
            "members",
            MorganAttack(victim, random_state=0),
        ),
        "vulnerable records (Long)": (
            "shadow models",
            VulnerableRecordsAttack(victim, shadows, random_state=0),
        ),
        "diversity": ("members", DiversityAttack(victim, random_state=0)),
        "Renyi divergence": ("members", RenyiAttack(victim, random_state=0)),
        "gradient norm": (
            "weights",
            ThresholdAttack(victim, signal="gradient_norm_w"),
        ),
        "gradient statistics": (
            "members, weights",
            GradientAttack(victim, random_state=0),
        ),
        "layer outputs": (
            "members, weights",
            LayerOutputsAttack(victim, random_state=0),
        ),
        "ensemble": (
            "members, weights",
            EnsembleAttack(victim, max_iter=50, cv=2, random_state=0),
        ),
        "white-box (Nasr)": (
            "members, weights",
            WhiteBoxAttack(victim, max_iter=10, cv=2, random_state=0),
        ),
    }


# %%
# Two measures
# ------------
# The thresholds of the balanced accuracy were chosen on one half of the records and are used on the
# other. The rates have 95% intervals.


def balanced_accuracy(scores):
    """Accuracy on each half with the threshold that is best on the other
    half."""
    halves = StratifiedKFold(2, shuffle=True, random_state=0).split(
        records.X, membership
    )
    accuracies = []
    for known, judged in halves:
        cuts = np.unique(scores[known])
        cuts = cuts[:: max(1, len(cuts) // 500)]
        tprs, fprs = (
            1
            - np.searchsorted(
                np.sort(scores[known][membership[known] == bit]), cuts
            )
            / total
            for bit, total in zip(
                (1, 0), np.bincount(membership[known])[::-1], strict=True
            )
        )
        guess = scores[judged] >= cuts[np.argmax(tprs - fprs)]
        accuracies.append(balanced_accuracy_score(membership[judged], guess))
    return np.mean(accuracies)


rows, curves = [], {}
for name, (needs, attack) in ATTACKS.items():
    scores = attack.fit(records, membership).score_samples(records)
    point = operating_point(
        membership, scores, max_fpr=MAX_FPR, on_unresolvable="ignore"
    )
    curves[name] = scores
    rows.append(
        {
            "attack": name,
            "needs": needs,
            "balanced_accuracy": balanced_accuracy(scores),
            "auc": roc_auc_score(membership, scores),
            "tpr": point.tpr,
            "tpr_low": point.tpr_low,
            "tpr_high": point.tpr_high,
            "fpr": point.fpr,
        }
    )
table = pd.DataFrame(rows).sort_values("tpr", ascending=False)
print(f"\nTPR at a false positive rate of at most {MAX_FPR:.1%}")
print(table.to_string(index=False, float_format="{:.4f}".format))

# %%
# Logarithmic axes separate the attacks; on linear axes most curves would overlap.

figure, ax = plt.subplots(figsize=(6.5, 5), layout="constrained")
shown = (
    "LiRA",
    "RMIA",
    "calibrated (Watson)",
    "shadow models (Shokri)",
    "loss (Yeom)",
)
MembershipRocDisplay.from_predictions(
    membership, {name: curves[name] for name in shown}, max_fpr=MAX_FPR, ax=ax
)
ax.set_title("Five attacks on one net")

# %%
# Disagreement of the measures
# ----------------------------
# The figure shows the rank of each attack by both measures. An attack that ranks high by balanced
# accuracy and low by the other measure distinguishes typical members and non-members, and cannot
# identify a single one with certainty.

ranks = (
    table[["balanced_accuracy", "tpr"]]
    .rank(ascending=False, method="min")
    .astype(int)
)
ranks.index = table["attack"]
print(
    ranks.rename(
        columns={"balanced_accuracy": "by balanced accuracy", "tpr": "by TPR"}
    )
)
plt.show()
