"""
Searching for accuracy and leakage
==================================

This example compares models by leakage and accuracy, and tests whether a defense is better than a
simpler model. Leakage is one of the scores of a grid search.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.datasets import load_sklearn
from skmia.defenses import SoftLabelDefense, TopKDefense, evaluate_defense
from skmia.epsilon.canaries import mislabel
from skmia.metrics import PrivacyUtilityDisplay
from skmia.model_selection import (
    RememberTraining,
    best_below_leakage,
    make_leakage_scorer,
)

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer records, settings and shadow models

# %%
# The records are digits, a fifth of them with a wrong label, which a model can fit only by
# memorizing it.

records = load_sklearn("digits")
records = records[:400] if FAST else records
records, wrong = mislabel(records, len(records) // 5, random_state=0)
X, y = records.X, records.y
folds = StratifiedKFold(3, shuffle=True, random_state=0)
scoring = {
    "accuracy": "accuracy",
    "leakage": make_leakage_scorer(Records(X, y)),
}
limit = best_below_leakage(0.2)

# %%
# A simpler model
# ---------------
# The deeper the tree, the more of its records it memorizes. The search selects the most accurate
# tree whose leakage, the advantage of a threshold on the loss, is at most 0.2.

depths = [2, 4, 8] if FAST else [2, 3, 4, 5, 6, 8, 10, None]
trees = GridSearchCV(
    DecisionTreeClassifier(random_state=0),
    {"max_depth": depths},
    scoring=scoring,
    cv=folds,
    refit=limit,
).fit(X, y)
display = PrivacyUtilityDisplay.from_search(trees)
display.ax_.set_title("decision trees")
print("trees:", trees.best_params_)

# %%
# A defense
# ---------
# With soft labels, each record is trained with the labels that models trained without it would
# predict, moved toward its own label by alpha standard deviations. `RememberTraining` keeps what a
# candidate was trained on; without it, the scorer trains a clone of each to find out.

alphas = [0.0, 10.0] if FAST else [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0]
logistic = make_pipeline(
    MinMaxScaler(), LogisticRegression(C=10.0, max_iter=5000)
)
soft = GridSearchCV(
    RememberTraining(
        SoftLabelDefense(
            logistic,
            n_estimators=4 if FAST else 10,
            n_left_out=2,
            random_state=0,
        )
    ),
    {"estimator__alpha": alphas},
    scoring=scoring,
    cv=folds,
    refit=limit,
).fit(X, y)
display = PrivacyUtilityDisplay.from_search(soft)
display.ax_.set_title("soft labels")
print("soft labels:", soft.best_params_)

# %%
# An adaptive attack
# ------------------
# The search used a threshold on the loss. Before the final choice, the candidates are evaluated by
# shadow models trained in the same way, here on the wrong labels alone, and by an attack that uses
# only predicted labels, which the filter of outputs does not weaken.

candidates = {
    "logistic": logistic,
    "soft labels": soft.best_estimator_.estimator_,
    "top label": TopKDefense(logistic, k=1, renormalize=True),
}
evaluation = evaluate_defense(
    candidates,
    records,
    canaries=wrong,
    n_estimators=4 if FAST else 16,
    n_targets=2 if FAST else 8,
    max_fpr=0.1,
    random_state=0,
)
figures = [
    "test_accuracy",
    "auc",
    "advantage",
    "tpr_at_fpr",
    "label_advantage",
]
table = evaluation.to_frame()
print(table[figures].round(3).to_string())

# %%
# The figure shows the advantage of an attacker on records that can be fitted only by memorization.

_, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
places = np.arange(len(table))
for shift, name, label in (
    (-0.2, "advantage", "shadow models trained alike"),
    (0.2, "label_advantage", "predicted labels alone"),
):
    ax.bar(
        places + shift,
        table[name],
        0.36,
        yerr=table[f"{name}_se"],
        label=label,
        capsize=3,
    )
ax.set_xticks(places, table.index)
ax.set_ylabel("advantage on wrong labels")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
