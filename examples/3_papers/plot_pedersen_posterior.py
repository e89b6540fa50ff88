"""
The posterior probability of membership, and what soft labels take from it (Pedersen 2022)
==========================================================================================

Pedersen's attacker compares the probability that a victim gives to the label of a record with the
probabilities by models that were trained on the record and by models that were not. The share of
the first density in the sum of both is the posterior probability of membership. Figure 5.3 of the
slides groups records by this prediction and compares it with the share of members in each group: an
attack whose predictions are right on average is calibrated. Another figure shows how soft labels
move the predictions. This example repeats both on handwritten digits.

The full version trains some 500 models and 400 sub-models in about two minutes on one core.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.datasets import load_sklearn
from skmia.defenses import SoftLabelDefense
from skmia.games import DensityAttack

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"  # fewer digits and models
N_DIGITS, N_SHADOWS, N_VICTIMS, N_GROUPS = (
    (400, 8, 2, 10) if FAST else (None, 64, 20, 100)
)
ALPHAS = (np.inf, 0.0) if FAST else (np.inf, 1.0, 0.0)
MODELS = {
    "extra trees": ExtraTreesClassifier(5 if FAST else 30),
    "linear": LogisticRegression(tol=1e-3, max_iter=1000),
}

# %%
# Digits with wrong labels
# ------------------------
# A fifth of the labels is wrong, as in the slides.

digits = load_sklearn("digits")[:N_DIGITS]
rng = np.random.default_rng(0)
wrong = rng.random(len(digits)) < 0.2
y = np.where(
    wrong, (digits.y + rng.integers(1, 10, len(digits))) % 10, digits.y
)
records = Records(digits.X / 16, y)

# %%
# The attack
# ----------
# Shadow models and victims are trained alike, each on a random half of the records. With soft
# labels the attacker knows of the defense and trains shadow models with it. The densities are
# normal, as in the slides.


def predict_membership(classifier):
    """Predicted probabilities of membership, and membership, for each victim
    and record."""
    pool = ShadowPool(classifier, N_SHADOWS, random_state=0).fit(records)
    attack = DensityAttack(shadows=pool)
    predicted, members = [], np.zeros((N_VICTIMS, len(records)), dtype=bool)
    for k, inside in enumerate(members):
        chosen = np.random.default_rng(1000 + k).permutation(len(records))[
            : len(records) // 2
        ]
        inside[chosen] = True
        seeded = clone(classifier)
        if "random_state" in seeded.get_params():
            seeded.set_params(random_state=k)
        victim = seeded.fit(records.X[inside], records.y[inside])
        attack.set_params(victim=victim)
        predicted.append(attack.fit(records).predict_proba(records)[:, 1])
    return np.array(predicted), members


results = {}
for kind, model in MODELS.items():
    for alpha in ALPHAS:
        hard = np.isinf(alpha)
        name = "hard labels" if hard else f"alpha {alpha:g}"
        results[kind, name] = predict_membership(
            model
            if hard
            else SoftLabelDefense(model, alpha=alpha, random_state=0)
        )

# %%
# Predicted and actual probabilities
# ----------------------------------
# All predictions of all victims are sorted and divided into groups of equal size. A calibrated
# attack has as many members in a group as it predicts. The error is the mean absolute difference
# over the groups; ``by chance`` is what it would be if the predictions were right.


def calibrate(predicted, members):
    """Mean prediction and share of members of each group of nearby
    predictions."""
    order = np.argsort(predicted, axis=None)
    parts = np.array_split(order, N_GROUPS)
    means = [
        (
            predicted.ravel()[part].mean(),
            members.ravel()[part].mean(),
            len(part),
        )
        for part in parts
    ]
    return pd.DataFrame(means, columns=["predicted", "actual", "n"])


curves = {setting: calibrate(*result) for setting, result in results.items()}
rows = {}
for setting, curve in curves.items():
    p = curve["predicted"]
    rows[setting] = {
        "error": (curve["actual"] - p).abs().mean(),
        "by chance": np.sqrt(2 / np.pi * p * (1 - p) / curve["n"]).mean(),
        "largest prediction": p.max(),
        "members there": curve.loc[p.idxmax(), "actual"],
        "median, members": np.median(
            results[setting][0][results[setting][1]]
        ),
        "median, others": np.median(
            results[setting][0][~results[setting][1]]
        ),
    }
table = pd.DataFrame(rows).T.rename_axis(["model", "setting"])
print(table.round(3).to_string())

# %%
# The figure
# ----------
# On the right: for each record, the median prediction over the victims that were trained on it.

figure, axes = plt.subplots(
    len(MODELS), 2, figsize=(9, 7.5), layout="constrained"
)
colors = dict(
    zip(
        dict.fromkeys(name for _, name in results),
        ("black", "#0072B2", "#D55E00"),
    )
)
for (left, right), kind in zip(axes, MODELS, strict=True):
    left.plot([0, 1], [0, 1], color="gray", lw=0.8)
    for (owner, name), curve in curves.items():
        if owner != kind:
            continue
        left.plot(
            curve["predicted"],
            curve["actual"],
            ".",
            ms=4,
            color=colors[name],
            label=name,
        )
        predicted, members = results[kind, name]
        medians = pd.DataFrame(predicted).where(members).median()
        settings = {
            "bins": np.linspace(0, 1, 41),
            "histtype": "step",
            "color": colors[name],
        }
        right.hist(medians, label=name, **settings)
    left.set(
        title=f"{kind}: calibration",
        xlabel="Predicted probability of membership",
    )
    left.set(ylabel="Share of members")
    right.set(
        title=f"{kind}: members",
        xlabel="Median predicted probability",
        ylabel="Records",
    )
    left.legend(frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 64 shadow models and 20 victims:
#
# * *The predictions are right on average, up to 0.05.* They are too sure at both ends: groups with
#   a prediction below 0.1 have 12% to 23% of members for the linear model. Normal densities,
#   estimated from 32 models each, fall off faster than the predictions of models do. The distance
#   is two to three times what chance explains.
# * *Soft labels move the predictions for members towards one half*: the median falls from 1.00 to
#   0.73 for the trees. For the linear model it is 0.54 and 0.52, but the ninety records whose
#   median was near 1 are hidden.
# * *The largest prediction falls*: in the slides by 6.3 points at ``alpha=0``. Here it falls by
#   less than 0.1 points, and the share of members in that group by 0.3 points for the trees and 3
#   points for the linear model.
