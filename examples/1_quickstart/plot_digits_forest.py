"""
Attacking a random forest
=========================

The forest classifies all training digits and 97% of unseen digits correctly. This example measures
how well an attacker can identify its training digits, with and without shadow models, and shows the
digits that are most exposed.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skmia import ShadowPool
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.datasets import load_sklearn
from skmia.metrics import (
    MembershipRocDisplay,
    ScoreDistributionDisplay,
    auc_interval,
    operating_point,
)

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer trees and shadow models
N_TREES, N_SHADOWS, N_JOBS = (15, 8, 1) if FAST else (100, 64, 2)

# %%
# The victim
# ----------
# A random half of the digits are the members, the records that the forest is trained on. Both
# halves together are the records under attack.

records = load_sklearn("digits")
membership = np.random.default_rng(0).permutation(len(records)) % 2
members, others = records[membership == 1], records[membership == 0]

victim = RandomForestClassifier(N_TREES, random_state=0).fit(
    members.X, members.y
)
print(f"accuracy on members     {victim.score(members.X, members.y):.3f}")
print(f"accuracy on non-members {victim.score(others.X, others.y):.3f}")

# %%
# Three attacks
# -------------
# The first attack treats a high confidence in the right label as a sign of membership. The other
# two compare each digit with itself: with the predictions of shadow models that were, and that were
# not, trained on it. Both use one pool of shadow models.

shadows = ShadowPool(
    victim, n_estimators=N_SHADOWS, n_jobs=N_JOBS, random_state=0
).fit(records)
attacks = {
    "loss threshold": ThresholdAttack(victim, signal="loss").fit(records),
    "RMIA": RMIA(victim, shadows=shadows).fit(records),
    "LiRA": LiRA(victim, shadows=shadows).fit(records),
}
for name, attack in attacks.items():
    auc, low, high = auc_interval(membership, attack.score_samples(records))
    print(f"{name:15s} AUC {auc:.3f} [{low:.3f}, {high:.3f}]")

# %%
# The left side of the ROC curve shows how many members are identified with almost no false
# positives. The axes are logarithmic for this reason. They begin at 10 false positives: lower rates
# cannot be measured with so few non-members.

MembershipRocDisplay.from_estimator(
    attacks, records, membership, max_fpr=0.02
)
plt.show()

# %%
# The threshold on the loss identifies almost no member there, because many non-members also have
# full confidence.
#
# A threshold without labels
# --------------------------
# ``score_samples`` needs no threshold, but a guess does. With ``target_fpr`` LiRA sets it so that
# 2% of the non-members are flagged. It does not use the membership of the victim for that: each
# shadow model is treated as the victim in turn.

careful = LiRA(victim, shadows=shadows, target_fpr=0.02).fit(records)
guesses = careful.predict(records)
print(f"TPR {guesses[membership == 1].mean():.3f}")
print(f"FPR {guesses[membership == 0].mean():.3f}, 0.02 requested")

ScoreDistributionDisplay.from_estimator(
    careful, records, membership, name="LiRA"
)
plt.show()

# %%
# The most exposed digits
# -----------------------
# A member is exposed if the prediction of the forest differs strongly from the predictions of
# forests that were not trained on it. These are digits that look unlike others of their class. The
# least exposed members look like most others, and the forest does not need them.

scores = attacks["LiRA"].score_samples(members)
order = np.argsort(-scores)
rows = {"most exposed": order[:10], "least exposed": order[::-1][:10]}

figure, axes = plt.subplots(2, 10, figsize=(9, 2.6), layout="constrained")
for line, (title, chosen) in zip(axes, rows.items(), strict=True):
    for ax, k in zip(line, chosen, strict=True):
        ax.imshow(members.X[k].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"“{members.y[k]}”", fontsize="medium")
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(title)
figure.suptitle("Members by their LiRA score, with their label")
plt.show()

# %%
# Intervals
# ---------
# ``operating_point`` returns the rates at one threshold with their intervals, and the realized
# false positive rate.

point = operating_point(
    membership, attacks["LiRA"].score_samples(records), max_fpr=0.02
)
print(
    f"TPR {point.tpr:.3f} [{point.tpr_low:.3f}, {point.tpr_high:.3f}] "
    f"at FPR {point.fpr:.3f} [{point.fpr_low:.3f}, {point.fpr_high:.3f}]"
)
