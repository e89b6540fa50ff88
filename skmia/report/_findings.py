"""What was measured on a run: the third of the four values of an audit."""

from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True, eq=False)
class Findings:
    """What was measured on the victim and on its shadow models, and the outcomes of the checks.

    Attributes
    ----------
    numbers : DataFrame
        One row for each attack, part of the records and metric.
    power : dict or None
        AUC of the best attack by the number of its shadow models.
    disparity : dict or None
        Whether groups are exposed unequally.
    person_level : dict or None
        How well people with several records are found, and who is exposed most.
    checks : dict of str to Check
        Outcomes of the checks so far, by name.
    """

    numbers: pd.DataFrame
    power: dict | None = None
    disparity: dict | None = None
    person_level: dict | None = None
    checks: dict = field(default_factory=dict)

    def of(self, name):
        """The finding of a check; None if it has none or did not run."""
        return self.checks[name].finding if name in self.checks else None

    @property
    def baseline(self):
        return self.of("blind baseline")

    @property
    def difficulty(self):
        return self.of("difficulty")

    @property
    def drift(self):
        return self.of("drift")

    @property
    def duplicates(self):
        return self.of("duplicates")

    @property
    def permutation(self):
        return self.of("permuted membership")

    @property
    def controls(self):
        """Results of the controls that ran, by kind."""
        found = {kind: self.of(f"{kind} control") for kind in ("positive", "negative")}
        return {kind: control for kind, control in found.items() if control is not None}
