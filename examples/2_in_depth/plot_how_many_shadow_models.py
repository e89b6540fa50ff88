"""
How many shadow models?
=======================

Training shadow models is nearly all of the cost of an audit. This example shows how to measure on
your own data whether more of them help, without training additional models: each model of a pool is
treated as the victim in turn, and attacked with the first 4, 8, 16, ... of the others.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skmia import ShadowPool, audit
from skmia.attacks import RMIA, LiRA
from skmia.datasets import load_sklearn
from skmia.model_selection import power_curve

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer shadow models and victims

# %%
# One pool is enough. The model is a forest for handwritten digits.

N_MODELS, N_TARGETS = (16, 4) if FAST else (64, 8)
FPR = 0.02  # with 900 non-members, 0.01 cannot be resolved

records = load_sklearn("digits")
forest = RandomForestClassifier(20 if FAST else 50, random_state=0)
pool = ShadowPool(forest, N_MODELS, random_state=0).fit(records)

# %%
# LiRA estimates a distribution for each record and needs many models for this. Its parameter
# ``gap`` controls how much it borrows from other records. RMIA compares means.

attacks = {
    "LiRA": LiRA(shadows=pool),
    "LiRA, each record by itself": LiRA(shadows=pool, variance="conjugate"),
    "RMIA": RMIA(shadows=pool),
}
curves = {
    name: power_curve(attack, records, n_targets=N_TARGETS, max_fprs=[FPR])
    for name, attack in attacks.items()
}

_, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for name, curve in curves.items():
    groups = curve.groupby("n_estimators")
    for ax, column in zip(axes, ("auc", f"tpr_at_fpr_{FPR:g}"), strict=True):
        means, errors = groups[column].mean(), 2 * groups[column].sem()
        ax.errorbar(
            means.index, means, yerr=errors, marker="o", capsize=3, label=name
        )
        ax.set_title(
            "AUC" if column == "auc" else f"TPR at an FPR of {FPR:g}",
            fontsize=10,
        )
for ax in axes:
    ax.set_xscale("log", base=2)
    ax.set_xticks(means.index, means.index)
    ax.set_xlabel("shadow models")
    ax.spines[["top", "right"]].set_visible(False)
axes[1].legend(frameon=False)
plt.show()

# %%
# Bars are two standard errors over models that were treated as the victim. An attack that borrows
# from other records gains little after 8 models; an attack that does not borrow needs many models.

for name, curve in curves.items():
    print(f"{name}: AUC")
    print(
        curve.groupby("n_estimators")["auc"].mean().round(3).to_string(), "\n"
    )

# %%
# An audit does this by itself
# ----------------------------
# With ``shadows="auto"``, the default, an audit doubles the pool as long as the expected gain of
# the next doubling exceeds the standard deviation between single models, and reports what it
# measured. ``time_budget`` limits the time.

membership = (
    np.random.default_rng(0).permutation(len(records)) < len(records) // 2
)
members = records[membership]
victim = RandomForestClassifier(20 if FAST else 50, random_state=1).fit(
    members.X, members.y
)
report = audit(
    victim, records, membership, fprs=[FPR], file=False, random_state=0
)
print(
    f"{report.settings['n_shadows']} shadow models were trained. Treated "
    "as the victim:"
)
for step in report.growth["steps"]:
    print(
        f"{step['n_shadows']:3d}: {step['attack']} has a TPR of "
        f"{step['power']:.2f}"
    )
