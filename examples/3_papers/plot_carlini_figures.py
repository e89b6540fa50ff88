"""
What the power of LiRA depends on (Carlini et al. 2022)
=======================================================

Carlini et al. (2022) show in a series of figures what a likelihood ratio attack needs: how many
shadow models, which statistic, how good a guess of the victim's training, and which records it
finds. This example repeats these figures with small nets: histograms of two records, ROC curves
online and offline, power by the number of models and by the statistic, power with shadow models
that were trained on other data or otherwise, and power on records that are unlike the rest.

The full version trains 400 nets in about three minutes of one core.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem
from skmia.metrics import membership_roc_curve, tpr_at_fpr_score
from skmia.model_selection import power_curve

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer records, models and epochs
N_RECORDS, N_SHADOWS, N_VICTIMS, N_EPOCHS = (
    (400, 8, 2, 5) if FAST else (4_000, 64, 12, 30)
)
MAX_FPR, N_FEATURES, N_CLASSES = (0.1, 30, 4) if FAST else (0.01, 100, 20)
warnings.simplefilter(
    "ignore", ConvergenceWarning
)  # a given number of epochs

# %%
# The records and the net
# -----------------------
# One population is divided into the records of the victims and as many others. Fifty of the records
# are outliers: their features are a permutation of the features of other records.

population, _ = make_membership_problem(
    2 * N_RECORDS,
    n_features=N_FEATURES,
    n_classes=N_CLASSES,
    kind="baskets",
    random_state=0,
)
records, others = population[:N_RECORDS], population[N_RECORDS:]
rng = np.random.default_rng(0)
unlike = np.arange(N_RECORDS) < 50
X = records.X.astype(np.float32)
X[unlike] = rng.permuted(X[unlike], axis=1)
records = Records(X, records.y)
others = Records(others.X.astype(np.float32), others.y)
net = MLPClassifier((64,), max_iter=N_EPOCHS, learning_rate_init=3e-3, tol=0)

victims, members = [], np.zeros((N_VICTIMS, N_RECORDS), dtype=bool)
for k, inside in enumerate(members):
    inside[
        np.random.default_rng(k).permutation(N_RECORDS)[: N_RECORDS // 2]
    ] = True
    victims.append(
        clone(net)
        .set_params(random_state=k)
        .fit(X[inside], records.y[inside])
    )
right = np.array([victim.predict(X) == records.y for victim in victims])
print(
    f"{right[members].mean():.3f} of members and "
    f"{right[~members].mean():.3f} of others right"
)


def make_pool(estimator, some, **settings):
    settings = {"n_estimators": N_SHADOWS, "random_state": 0, **settings}
    return ShadowPool(estimator, **settings).fit(some)


STATISTICS = ("auto", "entropy", "max_softmax")
pool = make_pool(net, records, signals=STATISTICS, store="models")

# %%
# Power of an attack
# ------------------
# AUC and true positive rate at a false positive rate of 1%, as means over the victims with the
# standard error of the mean.


def score(attack, k, among=slice(None)):
    """Scores of the records, and membership."""
    attack = clone(attack).set_params(victim=victims[k])
    some = records[np.arange(N_RECORDS)[among]]
    return attack.fit(some).score_samples(some), members[k][among]


def measure(attack, among=slice(None), max_fpr=MAX_FPR):
    """Mean and standard error of both numbers."""
    numbers = []
    for k in range(N_VICTIMS):
        scores, inside = score(attack, k, among)
        tpr = tpr_at_fpr_score(inside, scores, max_fpr=max_fpr)
        numbers.append([roc_auc_score(inside, scores), tpr])
    means, errors = (
        np.mean(numbers, axis=0),
        np.std(numbers, axis=0, ddof=1) / N_VICTIMS**0.5,
    )
    return pd.Series(
        [*means, *errors], index=["auc", "tpr", "auc_error", "tpr_error"]
    )


def compare(attacks):
    table = pd.DataFrame(
        {name: measure(attack) for name, attack in attacks.items()}
    ).T
    print(table.round(3).to_string(), "\n")
    return table


# %%
# Online, offline, and the statistic
# ----------------------------------
# The log odds of the label are nearly normal; other statistics are not.

online = LiRA(shadows=pool)
ways = compare(
    {
        "online": online,
        "offline": LiRA(shadows=pool, online=False),
        "confidence": LiRA(shadows=pool, signal="confidence"),
        "loss": LiRA(shadows=pool, signal="loss"),
        "entropy": LiRA(shadows=pool, signal="entropy"),
        "largest probability": LiRA(shadows=pool, signal="max_softmax"),
    }
)

# %%
# The number of shadow models
# ---------------------------
# Some models are treated as the victim in turn and attacked with the others. The published attack
# estimates the variance of each record or one for all; the default shrinks between the two.

VARIANCES = {
    "one for each record": {"variance": "example"},
    "one for all": {"variance": "pooled"},
    "shrunk (default)": {},
}
SIZES = [size for size in (8, 16, 32, 64) if size <= N_SHADOWS]
curves = {}
for name, settings in VARIANCES.items():
    attack = LiRA(shadows=pool, **settings)
    curve = power_curve(
        attack,
        records,
        n_estimators=SIZES,
        n_targets=N_VICTIMS,
        max_fprs=[MAX_FPR],
    )
    curves[name] = (
        curve[f"tpr_at_fpr_{MAX_FPR}"].groupby("n_estimators").mean()
    )
curves = pd.DataFrame(curves)
print(curves.round(3).to_string(), "\n")

# %%
# A wrong guess of the training, and other data
# ---------------------------------------------
# The attacker may only have other records of the same kind, or records of another kind, or may
# guess the width, the activation or the number of epochs wrong. With other records there are no IN
# models, so the attack is offline. Records of another kind are copies with a third of the features
# permuted.

strange = others.X.copy()
mixed = rng.choice(N_FEATURES, N_FEATURES // 3, replace=False)
strange[:, mixed] = rng.permuted(strange[:, mixed], axis=0)
wide = clone(net).set_params(hidden_layer_sizes=(256,))
steep = clone(net).set_params(activation="tanh")
longer = clone(net).set_params(max_iter=2 * N_EPOCHS)
with warnings.catch_warnings():
    # That the victim answers otherwise than such shadow models is the point.
    warnings.filterwarnings("ignore", "The signals of the victim")
    guesses = compare(
        {
            "same records, offline": LiRA(shadows=pool, online=False),
            "other records": LiRA(
                shadows=make_pool(net, others, store="models"), online=False
            ),
            "another kind of records": LiRA(
                shadows=make_pool(
                    net, Records(strange, others.y), store="models"
                ),
                online=False,
            ),
            "same training": online,
            "four times as wide": LiRA(shadows=make_pool(wide, records)),
            "another activation": LiRA(shadows=make_pool(steep, records)),
            "twice as many epochs": LiRA(shadows=make_pool(longer, records)),
        }
    )

# %%
# Records unlike the rest
# -----------------------
# Fifty records of a victim do not resolve a rate of 1%: the scores of all victims are compared with
# one threshold.

scores = np.array([score(online, k)[0] for k in range(N_VICTIMS)])
threshold = np.quantile(scores[~members], 1 - MAX_FPR)
found = {
    "unlike the rest": (scores >= threshold)[:, unlike][
        members[:, unlike]
    ].mean(),
    "all others": (scores >= threshold)[:, ~unlike][
        members[:, ~unlike]
    ].mean(),
}
false = {
    "unlike the rest": (scores >= threshold)[:, unlike][
        ~members[:, unlike]
    ].mean(),
    "all others": (scores >= threshold)[:, ~unlike][
        ~members[:, ~unlike]
    ].mean(),
}
print(
    pd.DataFrame({"members found": found, "false alarms": false})
    .round(3)
    .to_string()
)

# %%
# The figure
# ----------

figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
signals, inside = pool.signals_[0, 0], pool.membership_
record = int(np.argmax(unlike & right.any(axis=0)))
ordinary = int(np.flatnonzero(~unlike)[0])
for ax, row, name in zip(
    axes[0],
    (record, ordinary),
    ("A record unlike the rest", "An ordinary record"),
):
    for bit, label in (
        (inside[:, row], "trained on it"),
        (~inside[:, row], "not"),
    ):
        ax.hist(signals[bit, row], 12, density=True, alpha=0.5, label=label)
    ax.set(title=name, xlabel="Log odds of the label")
    ax.legend(frameon=False)
for name, attack in (
    ("online", online),
    ("offline", LiRA(shadows=pool, online=False)),
):
    values, bits = score(attack, 0)
    fpr, tpr, _ = membership_roc_curve(bits, values)
    axes[0, 2].plot(fpr, tpr, drawstyle="steps-post", label=name)
axes[0, 2].plot([1e-3, 1], [1e-3, 1], color="gray", lw=0.8, label="chance")
axes[0, 2].set(
    xscale="log",
    yscale="log",
    xlim=(1e-3, 1),
    ylim=(1e-3, 1),
    title="One victim",
)
axes[0, 2].set(xlabel="False positive rate", ylabel="True positive rate")
axes[0, 2].legend(frameon=False)
for name in curves:
    axes[1, 0].plot(curves.index, curves[name], "o-", label=name)
axes[1, 0].set(
    xscale="log", xlabel="Shadow models", ylabel=f"TPR at {MAX_FPR:.0%} FPR"
)
axes[1, 0].set_xticks(curves.index, curves.index)
axes[1, 0].minorticks_off()
axes[1, 0].legend(frameon=False, title="Variance")
for ax, table, title in (
    (axes[1, 1], ways, "Statistic"),
    (axes[1, 2], guesses, "Shadow models"),
):
    ax.barh(
        table.index,
        table["tpr"],
        xerr=2 * table["tpr_error"],
        color="lightgray",
        capsize=2,
    )
    ax.invert_yaxis()
    ax.set(title=title, xlabel=f"TPR at {MAX_FPR:.0%} FPR")
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 64 shadow models and twelve victims, where standard errors are at most 0.006:
#
# * *One variance for all records is better with fewer than 64 models*: 0.08 and 0.02 with 8 models,
#   0.12 and 0.12 with 64. The default shrinks each record's variance and gap, and with 8 models
#   finds as many members as either does with 64.
# * *The log odds are the best statistic*: 0.13, the confidence 0.13, the loss 0.12. Entropy and
#   largest probability, which ignore the label, find 0.06.
# * *Online and offline are similar*: not here. Offline finds 0.08 of the members, online 0.13.
# * *Shadow models trained on other records do as well*: not here. With disjoint records of the same
#   kind the attack finds 0.04, with the same records 0.08. The likely reason is that how hard a
#   record is for a model depends on which of its neighbors the model was trained on, and models for
#   which half of the records are the same resemble the victim there.
# * *Records of another kind are worse*: 0.02.
# * *A wrong guess of the training costs little*: another activation costs nothing, four times the
#   width (0.08) and twice as many epochs (0.09) cost a third.
# * *Records unlike the rest are found more easily*: 0.96 of them, with fewer false positives,
#   compared with 0.12 of all others.
