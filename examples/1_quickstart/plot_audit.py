"""
An audit before and after
=========================

Is a forest leaking, and does a larger leaf help? An audit attacks a model in several ways, checks
whether its own numbers can be trusted, and says what it found. Two audits say what a change did.
"""

# %%
# The model as it is
# ------------------
#
# Nothing is fitted yet: the audit trains the forest on a random half of the digits, and shadow
# forests on other halves. The attacks are not told which digits are in which half.

import os

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from skmia import audit
from skmia.datasets import load_digits

fast = bool(os.environ.get("SKMIA_EXAMPLE_FAST"))
records = load_digits()
settings = {"shadows": 8 if fast else 32, "fprs": (0.1, 0.02), "n_jobs": 2, "random_state": 0}
before = audit(RandomForestClassifier(random_state=0), records, **settings)
print(before.verdict)

# %%
# In a notebook the report shows itself, and so it does here. ``before.save("folder")`` writes the
# same page as a file.

before

# %%
# Larger leaves
# -------------
#
# A forest whose leaves hold ten digits cannot learn a single one by heart. It is audited on the
# same split, with shadow forests made like it.

model = RandomForestClassifier(min_samples_leaf=10, random_state=0)
after = audit(model, records, before.membership, **settings)
print(after.verdict)
for name, report in {"before": before, "after": after}.items():
    rows = report.to_frame().query("scope == 'overall' and max_fpr == 0.02")
    print(
        f"{name}: accuracy on new digits {report.performance['nonmembers']:.3f}, "
        f"members found at 2% false accusations {rows['estimate'].max():.3f}"
    )

# %%
# The remedy costs accuracy, and takes away most of what is found while few others are accused.
# What is left is found by whoever can train forests like it: a number to weigh against the
# accuracy, not a cure.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (name, report) in zip(axes, {"as it is": before, "larger leaves": after}.items()):
    report.plot(ax)
    ax.set_title(name)
plt.show()
