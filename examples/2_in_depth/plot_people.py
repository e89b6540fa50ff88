"""
People with many rows
=====================

Tables of visits, purchases or games contain several rows of each person, and either all rows of a
person are in the training set or none is. This example shows what this changes: how shadow models
are trained, how wide the intervals must be, and how much better an attack on people is than an
attack on single rows.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, attack_people
from skmia.metrics import auc_interval

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer people and shadow models

# %%
# The people are simulated: all rows of a person share a random offset. The field ``group_by`` of
# the records names the person of each row.

N_PEOPLE, N_ROWS, N_SHADOWS = (80, 10, 8) if FAST else (200, 10, 32)

rng = np.random.default_rng(0)
person = np.repeat(np.arange(N_PEOPLE), N_ROWS)
own = rng.normal(size=(N_PEOPLE, 60))
X = rng.normal(size=(len(person), 60)) + own[person]
y = (X[:, 0] + 2 * rng.normal(size=N_PEOPLE)[person] > 0).astype(int)
is_in = rng.permutation(N_PEOPLE)[person] < N_PEOPLE // 2

model = LogisticRegression(max_iter=500).fit(X[is_in], y[is_in])

# %%
# Shadow models
# -------------
# Without the field, the rows of a person are split between both halves. A shadow model without a
# row then has about half of the person's other rows in its training set, unlike the audited model.
# For this model the difference is small; for one that memorizes people it need not be.

aucs = {}
for name, fields in (
    ("dealt row by row", {}),
    ("dealt by person", {"group_by": person}),
):
    records = Records(X, y, **fields)
    pool = ShadowPool(model, N_SHADOWS, random_state=0).fit(records)
    attack = RMIA(model, pool).fit(records)
    aucs[name] = auc_interval(
        is_in, attack.score_samples(records), groups=person
    )
    print(f"shadow models {name}: AUC {aucs[name].estimate:.3f}")

# %%
# Intervals
# ---------
# The scores of a person's rows are correlated, so an interval that treats them as independent is
# too narrow. Pass the persons as ``groups``; an audit does so for records with the field.

scores = attack.score_samples(records)
aucs["the same, rows taken as independent"] = auc_interval(is_in, scores)

# %%
# People
# ------
# An attacker who knows several rows of a person adds up their scores.

found = attack_people(attack, records)
is_member = is_in[np.searchsorted(person, found.people)]
aucs["evidence about a person"] = auc_interval(is_member, found.scores)

_, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for place, (estimate, low, high) in enumerate(aucs.values()):
    ax.errorbar(
        estimate,
        place,
        xerr=[[estimate - low], [high - estimate]],
        fmt="o",
        capsize=3,
    )
ax.axvline(0.5, color="0.8", zorder=0)
ax.set_yticks(range(len(aucs)), aucs)
ax.set_ylim(len(aucs) - 0.5, -0.5)
ax.set_xlabel("AUC with its 95% interval")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# If rows are treated as independent, the interval of the same scores is too narrow (third line).
# People are identified with more certainty than rows (last line), so the number for people is the
# one to compare with a limit.

table = {
    name: [round(part, 3) for part in interval]
    for name, interval in aucs.items()
}
for name, (estimate, low, high) in table.items():
    print(
        f"{name:36s} {estimate:.3f} [{low:.3f}, {high:.3f}], width "
        f"{high - low:.3f}"
    )
