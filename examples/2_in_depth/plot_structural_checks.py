"""
Structural checks and membership leakage
========================================

Research environments check the shape of a model before they release it: how many records share an
answer or a leaf, how many parameters there are, which settings were chosen. This example runs these
checks on seven models of one table, compares them with a membership attack, and applies a policy.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.disclosure import (
    Measurement,
    load_policy,
    recommend,
    structural_checks,
)
from skmia.metrics import auc_interval, operating_point
from skmia.victims import CallableVictim

# %%
# Seven models
# ------------
# Each model is trained on half of the records. The other half are the non-members.

X, y = load_breast_cancer(return_X_y=True)
records = Records(X, y)
rows, _ = train_test_split(
    np.arange(len(y)), test_size=0.5, stratify=y, random_state=0
)
membership = np.isin(np.arange(len(y)), rows)

models = {
    "logistic regression": LogisticRegression(max_iter=10_000),
    "tree": DecisionTreeClassifier(random_state=0),
    "tree, leaves of 20": DecisionTreeClassifier(
        min_samples_leaf=20, random_state=0
    ),
    "forest": RandomForestClassifier(random_state=0),
    "forest, leaves of 120": RandomForestClassifier(
        min_samples_leaf=120, random_state=0
    ),
    "extra trees": ExtraTreesClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
reports = {
    name: structural_checks(
        model.fit(X[membership], y[membership]),
        records,
        membership,
        decimals=3,
    )
    for name, model in models.items()
}
print(reports["extra trees"])

# %%
# Checks and leaks
# ----------------
# The table shows the share of members with fewer than ten members in their group, as a service with
# answers of three digits and as a file. It is NaN if the check does not apply.

table = pd.DataFrame(
    {
        "AUC": [
            report.membership.auc.estimate for report in reports.values()
        ],
        "k, service": [
            report.get("k", "service").n_records
            for report in reports.values()
        ],
        "k, file": [
            report.get("k", "file").n_records for report in reports.values()
        ],
        "smallest leaf": [
            report.get("smallest_leaf", "file").value
            for report in reports.values()
        ],
        "residual dof": [
            report.get("residual_dof", "file").value
            for report in reports.values()
        ],
        "rules": [
            report.get("rules", "file").status for report in reports.values()
        ],
    },
    index=list(reports),
)
print(table.round(3).to_string())

# %%
# As a service, the model whose members are easiest to identify (extra trees, whose answers to all
# members are certain) has no small group, and nearly half of the members are flagged for the
# logistic regression, which does not leak by this measurement.

_, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
places = np.arange(len(table))
auc = np.array([report.membership.auc for report in reports.values()])
ends = np.abs(auc[:, 1:] - auc[:, :1]).T
ax.errorbar(
    auc[:, 0], places, xerr=ends, fmt="o", capsize=3, label="membership AUC"
)
share = table["k, service"].to_numpy(dtype=float) / membership.sum()
ax.plot(
    share,
    places,
    "s",
    color="0.5",
    label="share of members in a group below ten",
)
ax.axvline(0.5, color="0.8", zorder=0)
ax.set_yticks(places, table.index)
ax.set_xlim(-0.05, 1.05)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(
    frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=2
)
plt.show()

# %%
# What a policy says
# ------------------
# A service rounds the answers to three digits. Here the numbers are those of the simplest attack on
# these answers. For a decision, use stronger attacks; a file reveals more than the answers. No
# attack with reference models was run here, so the policy does not recommend a release.

policy = load_policy("cautious")


def serve(model):
    """The model as a service, whose file is not at hand."""
    return CallableVictim(
        lambda X: model.predict_proba(X).round(3), model.classes_
    )


def measure(service):
    """AUC and TPR at a FPR of 0.01, at any confidence level."""
    scores = service.predict_proba(records.X)[np.arange(len(y)), y]

    def measure_auc(level):
        return auc_interval(membership, scores, confidence_level=level)

    def measure_tpr(level):
        point = operating_point(
            membership,
            scores,
            0.01,
            confidence_level=level,
            on_unresolvable="ignore",
        )
        return point.tpr, point.tpr_low, point.tpr_high

    return [
        Measurement("auc", measure_auc, n_records=len(y)),
        Measurement("tpr_at_fpr_01", measure_tpr, n_records=len(y)),
    ]


for name, model in models.items():
    service = serve(model)
    report = structural_checks(service, records, membership, decimals=3)
    found = recommend(policy, "service", measure(service), report.checks)
    print(f"{name}\n{found}\n")
