"""
Comparing two audits
====================

This example audits a random forest on the digits, increases ``min_samples_leaf``, audits it again,
and compares the two reports. An audit runs several attacks on a model, checks whether the results
can be trusted, and states a conclusion.
"""

# %%
# The first audit
# ---------------
#
# The forest is not fitted yet: the audit trains it on a random half of the digits, and shadow
# forests on other halves, until more of them do not change the result. The attacks do not know
# which digits are in which half.

import os

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from skmia import audit
from skmia.datasets import load_sklearn

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer digits, trees and shadow models
N_DIGITS, N_TREES, N_SHADOWS, N_JOBS = (
    (400, 10, 4, 1) if FAST else (1797, 100, "auto", 2)
)

records = load_sklearn("digits")[:N_DIGITS]
settings = {
    "shadows": N_SHADOWS,
    "fprs": (0.1, 0.02),
    "n_jobs": N_JOBS,
    "random_state": 0,
}
before = audit(
    RandomForestClassifier(N_TREES, random_state=0), records, **settings
)
print(before.verdict)

# %%
# A notebook displays the report, as this page does. ``before.save("folder")`` writes the same page
# as a file.

before

# %%
# Larger leaves
# -------------
#
# A forest whose leaves hold ten digits cannot memorize a single one. It is audited on the same
# split, with shadow forests of the same kind.

model = RandomForestClassifier(N_TREES, min_samples_leaf=10, random_state=0)
after = audit(model, records, before.membership, **settings)
print(after.verdict)
for name, report in {"before": before, "after": after}.items():
    rows = report.to_frame().query("scope == 'overall' and max_fpr == 0.02")
    print(
        f"{name}: accuracy on new digits "
        f"{report.performance['nonmembers']:.3f}, "
        f"TPR at 2% FPR {rows['estimate'].max():.3f}"
    )

# %%
# Larger leaves cost accuracy and remove most of what the attacks find at a low false positive rate.
# An attacker who can train forests of the same kind finds the rest, so this is a trade-off with
# accuracy and not a guarantee.

figure, rows = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for axes, (name, report) in zip(
    rows, {"as it is": before, "larger leaves": after}.items()
):
    report.plot(axes)
    axes[1].set_title(name)
plt.show()
