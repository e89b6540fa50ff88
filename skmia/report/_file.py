"""What the file of the victim reveals in addition to its predictions."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from .._core.budget import format_duration
from .._core.caches import clone_to_train
from .._core.kinds import is_regressor
from .._core.levels import Level
from .._core.progress import enter_stage
from .._core.provenance import LapWatch
from .._core.query import unwrap
from .._core.records import has_column
from .._core.targets import shape_targets
from .._core.text import count_nouns, inflect_word
from ..attacks import ReleasedModelAttack
from ..base import needs_of
from ..metrics import auc_interval
from ..victims import has_file, why_no_densities
from ._budget import make_budget
from ._case import AS_FILE, count_coefficients, is_recipe
from ._choice import mark_told
from ._evidence import make_grounds, measure_audit_level
from ._examine import Findings
from ._file_attack import fit_file_attack
from ._measure import COLUMNS, measure_attack
from ._pace import CONTROL_OF_FILE, MOST_OF_COLUMN, MOST_OF_CONTROL
from ._run import Run
from ._short_findings import ShortFindings
from ._text import name_unread
from ._verdict import (
    NO_CONTROL,
    choose_file_evidence,
    is_severe,
    keep_shared_checks,
    write_file_verdict,
)
from ._words import describe_with_class
from .checks import PermutationCheck

# Level of the interval that the expected AUC of the attack on a clone must lie in.
_CONTROL_LEVEL = 0.99

# Candidates with a larger leverage are counted, as by MomentsAttack.
_LEVERAGE = 0.1

# What changes the result for models of every kind.
_ALWAYS = (
    "A model of this kind that is trained on public records, with the labels that this model "
    "predicts, reveals little of these records.",
)

# What attacks may need of a model that only returns predictions. One with an optimum or with sums
# is of a kind that an attacker can train as well, which its predictions alone are compared with.
_OF_A_SERVICE = {"queries", "optimum", "sums"}


@dataclass(frozen=True, eq=False, repr=False)
class FileFindings(ShortFindings):
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
        that it reads, empty for the victim itself), ``auc``, ``expected_auc``, ``expected_tpr`` (at
        a false positive rate of 1%), ``n_equations``, ``misfit``, ``n_exposed`` and ``exposed_auc``
        (number and AUC of the candidates with a leverage above 0.1 in sums), or None where a part
        has none, and for stored values ``hits``, the shares of ``members`` and ``nonmembers`` with
        a stored value that is unlikely by chance; ``stores`` and ``changes``, what the file stores
        of training rows and what would change it, as sentences; ``ledger``, all numbers in the file
        that depend on the training data, as a list of ``place``, ``size`` and ``part``, which is
        None if no part of the attack reads them; ``expected_auc``, the AUC that follows from the
        parts, or None if one does not state it; ``obstacle``, the reason why the absence of a
        finding would not be informative, or None if everything was read, the strength of the attack
        is known and a model of the same recipe was attacked with it. That model is not trained
        where the leak is severe, whatever it would show; the reason then says so.
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
        return self._remember("_evidence", lambda: choose_file_evidence(self.grounds, self.facts))

    @property
    def verdict(self) -> str:
        """The same in words, after a headline."""
        return self._remember("_verdict", lambda: write_file_verdict(self.grounds, self.facts))

    @property
    def level(self) -> Level:
        """How much the file leaks, as :attr:`AuditReport.level`."""
        return self._remember("_level", lambda: measure_audit_level(self.grounds, self.evidence))


def attack_file(case, clock):
    """Attack the file of the victim, which takes no shadow models.

    Return file: without grounds; None if it was not asked for, or the model has no file at hand: a
    service, or stored predictions.
    """
    victim = case.request.victim
    if not case.file or is_recipe(victim) or not has_file(victim) or is_sequence_victim(victim):
        return None
    enter_stage(AS_FILE)
    with clock("file"):
        return _run_file_attack(case)


def is_sequence_victim(victim):
    """Return whether a victim is a model of texts, whose stored numbers no attack reads."""
    return getattr(unwrap(victim), "gives_tokens", False)


def list_unread_files(case):
    """Yield why the file of a model of texts is not attacked, as a note."""
    if case.file and is_sequence_victim(case.request.victim):
        yield (
            "The stored numbers of the model were not attacked: no attack reads those of a model "
            "of texts."
        )


def examine_audited_file(case, file, findings):
    """Give a file the grounds of its conclusion."""
    if file is None:
        return None
    checks, asked = {}, []
    if file.attack is not None:
        checks, asked = keep_shared_checks(findings.checks), [_NAME]
    grounds = make_grounds(file.results, file.permutation, checks, case.level, asked)
    return replace(file, grounds=grounds)


def _run_file_attack(case):
    facts = {
        "n_records": len(case.records),
        "n_members": int(case.membership.sum()),
        "answers_only": all(needs_of(one).access <= _OF_A_SERVICE for one in case.attacks.values()),
        **dict.fromkeys(("n_rows", "outsiders", "reason", "expected_auc")),
        "sources": [],
        "ledger": [],
        **_describe_state(case),
    }
    watch = LapWatch()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            attack, scores, known = fit_file_attack(case)
        seconds = watch.lap() / watch.load
        found = _measure_file_attack(case, attack, scores)
    except Exception as error:  # of whatever kind: the audit of the answers stands
        facts |= dict.fromkeys(("reason", "obstacle"), describe_with_class(error))
        return FileFindings(None, None, pd.DataFrame(columns=list(COLUMNS)), None, facts, [], None)
    facts |= known | {"sources": _list_part_results(case, attack)}
    facts |= _describe_state(case, _list_strengths(attack, facts["sources"]))
    facts |= {"ledger": attack.ledger_.to_dict("records"), "expected_auc": attack.expected_auc_}
    facts["obstacle"] = find_obstacle(case, attack, is_severe(found.numbers), seconds)
    notes = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    notes += _list_unread_parts(attack.left_out_)
    return FileFindings(attack, scores, found.numbers, found.permutation, facts, notes, None)


_NAME = ReleasedModelAttack.__name__


def _list_unread_parts(left_out):
    """Yield why parts were not read, those with the same reason together."""
    groups = {}
    for name, why in left_out.items():
        groups.setdefault((name.partition(" in ")[0], why), []).append(name)
    for (_, why), names in groups.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"The {names[0]}{more} were not read: {why}"


def _list_strengths(attack, sources):
    """Return the AUC of the attacks on parts of a file, by the name of their class."""
    found = {}
    for part, source in zip(attack.parts_.values(), sources, strict=True):
        name = type(getattr(part, "attack_", part)).__name__
        found[name] = max(found.get(name, 0.0), source["auc"])
    return found


def _describe_state(case, strengths=None):
    """Return what the file stores, and what would change it, first what the strongest attack reads.

    strengths: AUC of attacks by the name of their class; those of chance or less are alike.
    """
    try:
        findings = case.inspection.findings
    except Exception:  # of whatever kind: it is a help for readers, and no number
        findings = ()
    found = strengths or {}
    # Those with equal strengths keep their order.
    leaking = sorted(
        findings, key=lambda one: -max([0.5, *(found.get(name, 0.0) for name in one.attacks)])
    )
    return {
        "stores": list(dict.fromkeys(one.stores for one in findings)),
        "changes": [
            *dict.fromkeys(change for one in leaking for change in one.changes),
            _describe_service(case),
            *_ALWAYS,
        ],
    }


def _describe_service(case):
    """Say what the model would reveal behind a service."""
    n_answers, _ = count_coefficients(case.request, case.queried)
    if not n_answers:
        return "Behind a service, the model only reveals its answers."
    if why_no_densities(case.request.model) is None:
        return (
            "Behind a service, all answers together give the coefficients of its log odds, which "
            "reveal a part of what the sums in its file do; labels alone do not."
        )
    return (
        f"Behind a service, {count_nouns(n_answers, 'exact answer')} "
        f"{inflect_word(n_answers, 'gives', 'give')} the coefficients of the model, which "
        "reveal what they do in its file; labels alone do not."
    )


def _measure_file_attack(case, attack, scores):
    guesses, every = scores > attack.offset_, np.ones(len(scores), dtype=bool)
    of_run = ({_NAME: one} for one in (attack, attack, scores, guesses, every, every))
    run = Run(*of_run, None, [])
    found = Findings(
        pd.DataFrame(
            mark_told(measure_attack(_NAME, scores, guesses, case), {}), columns=list(COLUMNS)
        )
    )
    check = PermutationCheck().ask(case, run, found)
    return Findings(found.numbers, checks={check.name: check})


def _list_part_results(case, attack):
    sources, member = [], case.membership
    for name, part in attack.parts_.items():
        scores, hits = part.score_samples(case.candidates)[: len(member)], None
        name, _, path = name.partition(" in ")
        if name == "stored values" and not path:  # that are unlikely by chance
            hit = np.isin(np.arange(len(member)), part.found_.index)
            hits = {"members": float(hit[member].mean()), "nonmembers": float(hit[~member].mean())}
        facts = {key: getattr(part, f"{key}_", None) for key in _FACTS}
        facts |= {"name": name, "path": path, "auc": float(roc_auc_score(member, scores))}
        sources.append(facts | {"exposed_auc": _measure_exposed(case, part, scores), "hits": hits})
    return sources


_FACTS = ("n_equations", "expected_auc", "expected_tpr", "misfit", "n_exposed")


def _measure_exposed(case, part, scores):
    """Return AUC among the candidates of large leverage in sums, or None if one side has none."""
    leverage = getattr(part, "leverage_", ())
    if len(leverage) != len(case.candidates):  # of some of the records, or of none
        return None
    leverage = leverage[: len(scores)]
    exposed = leverage > _LEVERAGE
    sides = case.membership[exposed]
    return float(roc_auc_score(sides, scores[exposed])) if len(np.unique(sides)) == 2 else None


def find_obstacle(case, attack, has_found, seconds=0.0):
    """Why it would say nothing if the attack on a file found nothing, as a sentence, or None.

    has_found: whether it has found so much that no control could change the conclusion; seconds:
    what the attack has taken, which a control takes again.

    Return obstacle: None if the attack reads all that depends on the data, its expected strength is
    known, and the attack on a model of the same recipe is as strong as expected.
    """
    unread = name_unread(attack.ledger_.to_dict("records"))
    if unread is not None:
        return unread
    if attack.expected_auc_ is None:
        return f"It is not known how much {' and '.join(_list_silent(attack))} should reveal."
    if has_found:
        return NO_CONTROL
    if 2 * seconds > make_budget(case).seconds:
        return (
            "A model of the same recipe was not attacked, which would take as long again as the "
            f"attack on the file, {format_duration(seconds)}."
        )
    enter_stage(CONTROL_OF_FILE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _control(case)
    except Exception as error:  # of whatever kind: without a control nothing is known
        return f"A model of the same recipe could not be attacked: {describe_with_class(error)}"


def _list_silent(attack):
    """Return parts that read something and do not state how much is to be expected of it."""
    found = {}
    for name, part in attack.parts_.items():
        found.setdefault(name.partition(" in ")[0], []).append(getattr(part, "expected_auc_", None))
    return [name for name in dict.fromkeys(attack.ledger_["part"]) if None in found[name]]


def _control(case):
    """Attack a clone that was trained on a random half of the records, whoever was a member."""
    rng, queried = np.random.default_rng(case.seeds["checks"]), case.queried
    n_columns = int(np.prod(np.shape(queried.X)[1:], dtype=np.int64))
    n_most = max(MOST_OF_CONTROL, MOST_OF_COLUMN * n_columns)
    if len(queried) > n_most:
        queried = queried[np.sort(rng.choice(len(queried), n_most, replace=False))]
    n = len(queried)
    inside = rng.permutation(n) < n // 2
    own = queried[inside]
    model = clone_to_train(case.victim)
    y = shape_targets(model, own.X, own.y, has_column(own))
    model = model.fit(own.X) if y is None else model.fit(own.X, y)
    settings = {
        "max_bytes": case.max_bytes,
        "max_seconds": make_budget(case).max_seconds,
        "random_state": case.seeds["attacks"],
    }
    attack = ReleasedModelAttack(model, outsiders=0.0, **settings)
    if not is_regressor(unwrap(case.victim)) and np.ndim(own.y) == 1:
        is_known = np.isin(queried.y, own.y)  # a class that the half lacks is not
        queried, inside = queried[is_known], inside[is_known]
    scores = attack.fit(queried).score_samples(queried)
    found = auc_interval(inside.astype(int), scores, confidence_level=_CONTROL_LEVEL)
    expected = attack.expected_auc_
    if expected is not None and found.low <= expected <= found.high:
        return None
    stated = "unknown" if expected is None else f"{expected:.3f}"
    return (
        "The attack is not as strong as it should be: on a model of the same recipe it has an AUC "
        f"of {found.estimate:.3f} ({100 * _CONTROL_LEVEL:g}% interval [{found.low:.3f}, "
        f"{found.high:.3f}]); expected is {stated}."
    )
