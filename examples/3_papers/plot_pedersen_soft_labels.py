"""
Optimally soft labels (Pedersen 2022)
=====================================

A model that was trained on a record predicts its label with more confidence than models that were
not. Pedersen replaces the label by the predictions of such models, moved back toward the label by a
few of their standard deviations. In the published experiments, this makes models more private, most
of all at low false positive rates, and it helps if labels are wrong. This example repeats the
experiment on handwritten digits, a fifth of them with a wrong label, with two kinds of models, and
compares it with label smoothing and self-distillation.

The full version trains 50 models of two kinds in each of 10 settings, and 3,500 sub-models, in
about five minutes on one core.
"""

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import load_sklearn
from skmia.defenses import (
    LabelSmoothingDefense,
    SELENADefense,
    SoftLabelDefense,
)
from skmia.model_selection import leave_one_model_out

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer digits, models and settings
N_DIGITS, N_MODELS, N_TREES = (500, 4, 5) if FAST else (None, 50, 30)
ALPHAS = (np.inf, 0.0) if FAST else (np.inf, 4.0, 2.0, 1.0, 0.5, 0.0)
SMOOTHINGS = (0.3,) if FAST else (0.1, 0.3, 0.5)
SELENA = {"n_estimators": 5, "n_left_out": 2} if FAST else {}
MAX_FPRS = (0.02, 0.05, 0.1, 0.2, 0.5)

# %%
# Digits with wrong labels
# ------------------------
# Wrong labels are drawn once and kept. The models are not trained on the right labels, which are
# used to measure the accuracy on digits that a model was not trained on.

digits = load_sklearn("digits")[:N_DIGITS]
rng = np.random.default_rng(0)
wrong = rng.random(len(digits)) < 0.2
y = np.where(
    wrong, (digits.y + rng.integers(1, 10, len(digits))) % 10, digits.y
)
records = Records(digits.X / 16, y)
print(f"{wrong.sum()} of {len(digits)} labels are wrong")

# %%
# The settings
# ------------
# Trees without a limit memorize all their rows. A linear model cannot: it has 650 parameters for
# 900 rows. Each is trained on the original labels (``alpha=inf``), on soft labels, on the
# predictions of more sub-models (SELENA), and on smoothed labels.

MODELS = {
    "extra trees": ExtraTreesClassifier(N_TREES),
    "linear": LogisticRegression(tol=1e-3, max_iter=1000),
}


def settings(model, memory):
    """Name and classifier of each setting."""
    for alpha in ALPHAS:
        defense = SoftLabelDefense(model, alpha=alpha, memory=memory)
        yield (
            ("hard labels", model)
            if np.isinf(alpha)
            else (f"alpha {alpha:g}", defense)
        )
    yield "SELENA", SELENADefense(model, **SELENA)
    for smoothing in SMOOTHINGS:
        yield (
            f"smoothing {smoothing:g}",
            LabelSmoothingDefense(model, smoothing=smoothing),
        )


# %%
# The attack
# ----------
# An adaptive attacker trains shadow models with the defense. So does this example: it trains a pool
# of defended models, each on half of the records, in complementary pairs. Each model is treated as
# the victim in turn, and LiRA attacks it with the others. A pair is one way to split the records;
# all means and intervals are over such splits. The pools of all settings have the same splits and
# the same sub-models, which ``memory`` keeps, so that settings are compared split by split.
#
# If an attacker is shown a member and a non-member, the accuracy is the area under the ROC curve,
# A, and Pedersen's privacy is 2 (1 - A), at most 1. Records with a right and with a wrong label are
# also measured separately: one of the two models of a pair was trained on the record, and the last
# columns show how often it is the one that is more confident in the label. One half would reveal
# nothing.


def measure(classifier):
    """Quantities of each split, as columns."""
    pool = ShadowPool(
        classifier, N_MODELS, store="outputs", random_state=0
    ).fit(records)
    attack = LiRA(shadows=pool)
    power = leave_one_model_out(attack, records, max_fprs=MAX_FPRS)
    power["privacy"] = np.minimum(2 * (1 - power["auc"]), 1)
    right = pool.classes_[pool.outputs_.argmax(axis=2)] == digits.y
    power["accuracy"] = np.mean(right, axis=1, where=~pool.membership_)
    splits = power.groupby(power.index // 2).mean()
    first, second = pool.signals_[0, 0, ::2], pool.signals_[0, 0, 1::2]
    gap = np.where(pool.membership_[::2], first - second, second - first)
    believes = (gap > 0) + (gap == 0) / 2
    splits["believes_right"] = believes[:, ~wrong].mean(axis=1)
    splits["believes_wrong"] = believes[:, wrong].mean(axis=1)
    return splits.drop(columns=["n_members", "n_nonmembers"])


results = {}
for kind, model in MODELS.items():
    with tempfile.TemporaryDirectory() as memory:
        for name, classifier in settings(model, memory):
            results[kind, name] = measure(classifier)
results = pd.concat(results, names=["model", "setting", "split"])


def interval(values):
    """Mean over splits and its 95% interval."""
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    reach = student.ppf(0.975, len(values) - 1) * error
    return pd.Series(
        {"mean": mean, "low": mean - reach, "high": mean + reach}
    )


def show(values):
    """Print the interval of each column, one line per setting."""
    groups = values.groupby(["model", "setting"], sort=False)
    text = groups.agg(
        lambda some: "{mean:.3f} [{low:.3f}, {high:.3f}]".format(
            **interval(some)
        )
    )
    print(text.reset_index("setting").to_string(), "\n")


show(results[["accuracy", "privacy", "tpr_at_fpr_0.02", "tpr_at_fpr_0.2"]])
show(results[["auc", "believes_right", "believes_wrong"]])

# %%
# Comparison with hard labels
# ---------------------------
# All changes are relative to hard labels, within the same split.


def against_hard(change):
    """What ``change`` makes of the numbers of a setting and of hard labels,
    split by split."""
    others = results.drop("hard labels", level="setting")
    hard = results.xs("hard labels", level="setting")
    return change(
        others,
        hard.reindex(others.index.droplevel("setting")).set_axis(
            others.index
        ),
    )


show(against_hard(lambda some, hard: some - hard)[["privacy", "accuracy"]])

# %%
# "Most at low false positive rates" is a statement about shares: of the members that are identified
# with hard labels, the share that is no longer identified. The last column is the loss at a rate of
# 0.02 beyond the loss at 0.2.

rates = [f"tpr_at_fpr_{rate:g}" for rate in MAX_FPRS]
lost = against_hard(lambda some, hard: 1 - some[rates] / hard[rates])
lost["difference"] = lost["tpr_at_fpr_0.02"] - lost["tpr_at_fpr_0.2"]
show(lost[["tpr_at_fpr_0.02", "tpr_at_fpr_0.2", "difference"]])

# %%
# The figure
# ----------

groups = results.groupby(["model", "setting"], sort=False)
table = groups.apply(
    lambda some: some.apply(interval).T.rename_axis("quantity")
)
names = list(results.index.unique("setting"))
colors = [
    *plt.get_cmap("viridis")(np.linspace(0, 0.85, len(ALPHAS))),
    "#D55E00",
]
colors += ["gray"] * len(SMOOTHINGS)


def draw(ax, x, points, **style):
    """Means with their intervals."""
    reach = [points["mean"] - points["low"], points["high"] - points["mean"]]
    ax.errorbar(x, points["mean"], reach, capsize=2, **style)


figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), layout="constrained")
for line, kind in zip(axes, MODELS, strict=True):
    roc, *rest = line
    for name, color in zip(names, colors, strict=True):
        style = {
            "color": color,
            "ls": ":" if name.startswith("smoothing") else "-",
        }
        draw(roc, MAX_FPRS, table.loc[kind, name].loc[rates], **style)
        for ax, quantity in zip(rest, ("privacy", "accuracy"), strict=True):
            draw(
                ax,
                [name],
                table.loc[[(kind, name, quantity)]],
                fmt="o",
                color=color,
            )
            ax.set(title=f"{kind}: {quantity}")
            ax.tick_params(axis="x", rotation=90)
    roc.plot(MAX_FPRS, MAX_FPRS, "k-", lw=0.5)
    roc.set(
        xscale="log",
        yscale="log",
        title=f"{kind}: members found",
        ylim=(0.015, 1.2),
    )
    roc.set(
        xlabel="False positive rate (colors: see right)",
        ylabel="True positive rate",
    )
    for axis, ticks in (
        (roc.xaxis, MAX_FPRS),
        (roc.yaxis, (0.02, 0.05, 0.1, 0.2, 0.5, 1)),
    ):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 50 models per setting, where intervals reach about 0.01 to either side:
#
# * *Soft labels make models more private.* They do in every setting: from 0.00 to 0.34 for the
#   trees, and from 0.64 to 0.73 for the linear model. Label smoothing hardly does.
# * *The smaller alpha, the more private.* This holds on the whole for the trees, but not step by
#   step: ``alpha=1`` (0.23) is less private than ``alpha=2`` (0.25). For the linear model all
#   values of ``alpha`` are about equal.
# * *Most at low false positive rates.* This holds: with ``alpha=0`` trees leak 60% fewer members at
#   a rate of 0.02 and 30% fewer at 0.2, the linear model 33% and 13%. But everything that weakens
#   an attack costs it most there.
# * *Accuracy rises if labels are wrong.* It does, by 0.012 and 0.016 at ``alpha=4``. With smaller
#   values less is gained, and trees are slightly worse than with hard labels at ``alpha=0``: the
#   best setting for accuracy is not the best for privacy.
#
# Even at ``alpha=0`` trees are far from private. They also memorize soft labels, and predict for
# members the mean of the sub-models, which is more confident than their predictions for other
# records. A wrong label does not contribute to this mean, so members with a wrong label are
# identified by *less* confidence in it: the column ``believes_wrong`` falls from 1 to 0.31. It
# passes one half near ``alpha=0.5``, where the average over records would reveal nothing; LiRA
# judges each record separately and still identifies most.
