"""Result of an unlearning game."""

from dataclasses import dataclass, field

import pandas as pd

_NAMES = {"population": "population", "ulira": "U-LiRA", "both": "both models"}
_SENTENCES = {
    "leak": "Leak: forgotten records can be distinguished from records that were never seen.",
    "reversed": (
        "Reversed: forgotten records are answered worse than records that were never seen, so "
        "they can be distinguished as well."
    ),
    "none": (
        "No evidence that forgotten records differ from records that were never seen, where "
        "models that forgot nothing are found."
    ),
}
_UNKNOWN = {
    "retraining": (
        "Unknown: the attacks find records that retrained models have not seen, so what they find "
        "says nothing about the unlearning."
    ),
    "no-op": (
        "Unknown: the attacks do not even find the records of models that forgot nothing. Use more "
        "models or records."
    ),
}


@dataclass(frozen=True, eq=False)
class UnlearningResult:
    """What attackers find of the records that models were to forget.

    Intervals and p-values are by Student's t distribution over the target models, which were
    trained and let forget independently; rows of a model do not count as independent.

    Attributes
    ----------
    evidence : {"leak", "reversed", "none", "unknown"}
        ``"leak"`` if an attack finds forgotten records beyond chance, after Holm's correction for
        the number of attacks. ``"reversed"`` if its scores are significantly the wrong way round:
        forgotten records are answered worse than records that were never seen. ``"unknown"`` if
        retrained models, as a control, are found at a level of 0.99, or if nothing is found and
        models that forgot nothing are not either. The attack ``"both"`` does not count.
    attacks : DataFrame
        A row for each attack on the forgotten records: ``auc``, ``auc_low``, ``auc_high``,
        ``pvalue``, ``pvalue_adjusted``, ``tpr``, ``tpr_low``, ``tpr_high`` (at the requested false
        positive rate, over the records of all targets) and ``evidence``.
    controls : DataFrame
        The same numbers of models that forgot nothing (``"no-op"``), and of models that were
        retrained without the forgotten records (``"retraining"``), and whether they were ``found``.
    retained : DataFrame
        AUC that separates the training records that stay from records that were never seen,
        ``before`` and ``after``, and its ``change``: columns ``auc``, ``low``, ``high``,
        ``pvalue``. A positive change means that unlearning has exposed them more.
    aucs : DataFrame of shape (n_targets, n_columns)
        The AUC of each target model, by state (``before``, ``after``, ``retrained``) and attack,
        and for the retained records.
    scores : Series
        Mean accuracy of the targets on records that they have never seen, or coefficient of
        determination of regressors, in each state.
    seconds : Series
        Mean seconds of a training, of the unlearning and of retraining.
    n_estimators, n_targets : int
        Numbers of shadow models and target models.
    n_forgotten, n_members : int
        Mean number of records that a model is to forget, and of its training records.
    n_unjudged : int
        Number of records without a shadow model that forgot them, or without one that has never
        seen them; they do not count.
    max_fpr, confidence_level : float
        Requested false positive rate of the TPRs, and level of all intervals.
    way : str
        What was played: the way of forgetting and the model.
    """

    evidence: str
    attacks: pd.DataFrame
    controls: pd.DataFrame
    retained: pd.DataFrame
    aucs: pd.DataFrame = field(repr=False)
    scores: pd.Series
    seconds: pd.Series = field(repr=False)
    n_estimators: int
    n_targets: int
    n_forgotten: int
    n_members: int
    n_unjudged: int
    max_fpr: float
    confidence_level: float
    way: str

    def summary(self) -> str:
        """Summarize the game in words and numbers.

        Returns
        -------
        text : str
        """
        lines = [
            f"Unlearning game: {self.way}",
            f"{self.n_targets} target models and {self.n_estimators} shadow models; each forgets "
            f"{self.n_forgotten:,} of {self.n_members:,} records",
            self._say_evidence(),
            "",
            f"{'':26}{'AUC':^22}TPR at {self.max_fpr:.3g} FPR",
            *self._list_attacks(),
            *self._list_controls(),
            *self._list_retained(),
            f"score on records never seen: before {self.scores['before']:.3f}, after "
            f"{self.scores['after']:.3f}, retrained {self.scores['retrained']:.3f}",
            f"intervals at {self.confidence_level:.6g}, over target models",
        ]
        if self.n_unjudged:
            lines.append(f"{self.n_unjudged:,} records without shadow models do not count")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _say_evidence(self):
        if self.evidence != "unknown":
            return _SENTENCES[self.evidence]
        found = self.controls.loc["retraining", "found"]
        failed = found.drop("both", errors="ignore").any()
        return _UNKNOWN["retraining" if failed else "no-op"]

    def _list_attacks(self):
        yield "forgotten records"
        for name, row in self.attacks.iterrows():
            yield f"{_line(_NAMES[name], row)}  {row['evidence']}"

    def _list_controls(self):
        for control, label in (("no-op", "nothing forgotten"), ("retraining", "retrained")):
            yield f"control: {label}"
            for name, row in self.controls.loc[control].iterrows():
                yield f"{_line(_NAMES[name], row)}  {'found' if row['found'] else 'not found'}"

    def _list_retained(self):
        yield "retained records"
        for name, row in self.retained.iterrows():
            sign = "+" if name == "change" else ""
            numbers = [format(row[column], f"{sign}.3f") for column in ("auc", "low", "high")]
            yield f"  {name:<24}{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def _line(name, row):
    auc, tpr = (
        f"{row[key]:.3f} [{row[f'{key}_low']:.3f}, {row[f'{key}_high']:.3f}]"
        for key in ("auc", "tpr")
    )
    return f"  {name:<24}{auc} {tpr}"
