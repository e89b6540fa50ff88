"""What the file of the victim reveals in addition to its predictions."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from .._core.asking import unwrap
from ..attacks import ReleasedModelAttack
from ..base.parts import needs_of
from ..inspection import inspect_model
from ..victims.offers import has_file
from ._findings import Findings
from ._run import Run
from .checks import PermutationCheck
from .evidence import make_grounds
from .file_verdict import choose_file_evidence, keep_shared_checks, write_file_verdict
from .measure import COLUMNS, measure
from .text import describe_error
from .victim import is_recipe

# A smaller share may be rounding, or a row that a model counts in another way.
_FEWEST_OUTSIDERS = 0.005

# What changes the result for models of every kind.
_ALWAYS = (
    "Behind a service, the model only reveals its answers.",
    "A model of this kind that is trained on public records, with the labels that this model "
    "predicts, reveals little of these records.",
)

# What attacks may need of a model that only returns predictions. One with an optimum is of a kind
# that an attacker can train as well, which its predictions alone are compared with.
_OF_A_SERVICE = {"queries", "optimum"}


@dataclass(frozen=True, eq=False)
class FileFindings:
    """What the file of a model reveals, as measured by :func:`audit`.

    Attributes
    ----------
    attack : ReleasedModelAttack or None
        The fitted attack; None if no attack can read the file.
    scores : ndarray of shape (n,) or None
        Scores of the attack; higher means more likely a member.
    results : DataFrame
        Numbers of the attack, as in :meth:`AuditReport.to_frame`; empty without an attack.
    permutation : PermutationResult or None
        The numbers beside the same ones for a permuted membership.
    facts : dict
        ``n_records`` and ``n_members`` of the audit; ``answers_only``, whether its other attacks
        read the answers of the model alone, as those on a service do; ``n_rows``, the number of
        training rows by the file, or None; ``outsiders``, the share of them that is not among the
        members of the audit, or None; ``reason``, why the file was not attacked, or None;
        ``sources``, for each part of the attack ``name``, ``path`` (of the model inside the victim
        that it reads, empty for the victim itself), ``auc``, ``expected_auc``, ``n_equations`` and
        ``misfit``, or None where a part has none, and for stored values ``hits``, the shares of
        ``members`` and ``nonmembers`` with a stored value that is unlikely by chance; ``stores``
        and ``changes``, what the file stores of training rows and what would change it, as
        sentences.
    notes : list of str
        Warnings of the attack, and why parts of it could not read the file.
    grounds : Grounds
        What evidence and verdict rest on.

    See Also
    --------
    skmia.audit : Makes it, as ``report.file``.
    skmia.attacks.ReleasedModelAttack : The attack.
    """

    attack: Any
    scores: np.ndarray | None
    results: pd.DataFrame
    permutation: Any
    facts: dict
    notes: list
    grounds: Any

    @property
    def evidence(self) -> str:
        """Conclusion about the file, one of the words of :class:`AuditReport`."""
        return choose_file_evidence(self.grounds, self.facts)

    @property
    def verdict(self) -> str:
        """The same in words, after a headline."""
        return write_file_verdict(self.grounds, self.facts)


class FileRun(NamedTuple):
    """The attack on a file before its verdict."""

    attack: Any  # the fitted attack; None if no attack can read the file
    scores: np.ndarray | None
    found: Findings | None
    facts: dict
    notes: list


def attack_file(case, clock):
    """Attack the file of the victim, which takes no shadow models.

    Parameters
    ----------
    case : Case
    clock : Clock

    Returns
    -------
    run : FileRun or None
        None if it was not asked for, or the model has no file at hand: a service, or stored
        predictions.
    """
    victim = case.request.victim
    if not case.file or is_recipe(victim) or not has_file(victim):
        return None
    with clock("file"):
        return _run(case)


def examine_file(case, run, findings):
    """Draw the conclusion on a file.

    Parameters
    ----------
    case : Case
    run : FileRun or None
    findings : Findings
        Those on the answers, whose checks of records and membership hold here as well.

    Returns
    -------
    found : FileFindings or None
    """
    if run is None:
        return None
    attack, scores, found, facts, notes = run
    if found is None:
        nothing = make_grounds(pd.DataFrame(columns=list(COLUMNS)), None, {}, case.level, [])
        return FileFindings(None, None, nothing.results, None, facts, [], nothing)
    grounds = make_grounds(
        found.numbers, found.permutation, keep_shared_checks(findings.checks), case.level, [_NAME]
    )
    return FileFindings(attack, scores, found.numbers, found.permutation, facts, notes, grounds)


def _run(case):
    facts = {
        "n_records": len(case.records),
        "n_members": int(case.membership.sum()),
        "answers_only": all(needs_of(one).access <= _OF_A_SERVICE for one in case.attacks.values()),
        **dict.fromkeys(("n_rows", "outsiders", "reason")),
        "sources": [],
        **_describe_state(case.victim),
    }
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            attack, scores, known = _attack(case)
        found = _measure(case, attack, scores)
    except Exception as error:  # of whatever kind: the audit of the answers stands
        return FileRun(None, None, None, facts | {"reason": describe_error(error)}, [])
    facts |= known | {"sources": _list_sources(case, attack)}
    notes = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    notes += _list_left_out(attack.left_out_)
    return FileRun(attack, scores, found, facts, notes)


_NAME = ReleasedModelAttack.__name__


def _list_left_out(left_out):
    """Why parts were not read, those with the same reason together."""
    groups = {}
    for name, why in left_out.items():
        groups.setdefault((name.partition(" in ")[0], why), []).append(name)
    for (_, why), names in groups.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"The {names[0]}{more} were not read: {why}"


def _describe_state(victim):
    """What the file stores, and what would change it."""
    try:
        findings = inspect_model(victim).findings
    except Exception:  # of whatever kind: it is a help for readers, and no number
        findings = ()
    return {
        "stores": list(dict.fromkeys(one.stores for one in findings)),
        "changes": [*dict.fromkeys(change for one in findings for change in one.changes), *_ALWAYS],
    }


def _attack(case):
    """The fitted attack, its scores, and how many training rows are not among the records."""
    victim, n_members = FrozenEstimator(unwrap(case.request.victim)), int(case.membership.sum())
    attack = ReleasedModelAttack(
        victim,
        outsiders=0.0,
        prior=float(np.clip(n_members / len(case.records), 0.01, 0.99)),
        random_state=case.seeds["attacks"],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(attack).fit(case.queried)
    n_rows = inspect_model(victim).n_rows if fitted.n_rows_ is None else fitted.n_rows_
    outsiders = None if not n_rows else max(0.0, 1 - n_members / n_rows)
    if n_rows and outsiders > _FEWEST_OUTSIDERS:
        fitted, caught = attack.set_params(outsiders=outsiders).fit(case.queried), []
    for one in caught:  # of equations that contradict each other although no row is missing
        warnings.warn(one.message, one.category, stacklevel=2)
    scores = fitted.score_samples(case.queried)
    return fitted, scores, {"n_rows": n_rows, "outsiders": outsiders}


def _measure(case, attack, scores):
    guesses = scores > attack.offset_
    everything = {_NAME: np.ones(len(scores), dtype=bool)}
    run = Run({_NAME: attack}, {_NAME: attack}, {_NAME: scores}, {_NAME: guesses}, everything,
              everything, None, [])  # fmt: skip
    found = Findings(pd.DataFrame(measure(_NAME, scores, guesses, case), columns=list(COLUMNS)))
    check = PermutationCheck().ask(case, run, found)
    return Findings(found.numbers, checks={check.name: check})


def _list_sources(case, attack):
    sources = []
    for name, part in attack.parts_.items():
        scores = part.score_samples(case.queried)
        facts = {key: getattr(part, f"{key}_", None) for key in _FACTS}
        auc = float(roc_auc_score(case.membership, scores))
        name, _, path = name.partition(" in ")
        sources.append({"name": name, "path": path, "auc": auc, **facts})
        if name == "stored values" and not path:
            sources[-1]["hits"] = _count_hits(part, case.membership)
    return sources


def _count_hits(part, membership):
    """Shares of members and of non-members with a stored value that is unlikely by chance."""
    hit = np.zeros(len(membership), dtype=bool)
    hit[part.found_.index] = True
    member = membership == 1
    return {"members": float(hit[member].mean()), "nonmembers": float(hit[~member].mean())}


_FACTS = ("n_equations", "expected_auc", "misfit")
