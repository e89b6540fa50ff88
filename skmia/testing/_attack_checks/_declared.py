"""An attack needs what it declares, and nothing else."""

from functools import partial

from sklearn.frozen import FrozenEstimator

from ..._core.kinds import is_regressor
from ..._core.needs import ACCESS, BOTH, KNOWN, Needs
from ..._core.outputs import KINDS, Outputs
from ..._core.query import query, query_victim, unwrap
from ..._core.records import Records
from ...signals import what_to_keep
from ._helpers import (
    BATCH,
    AnsweringClassifier,
    AnsweringRegressor,
    asks_fitted,
    asks_fitted_as_declared,
    expect,
    expect_close,
    expect_refusal,
    fresh,
    get_collaborator,
    get_plain_state,
    needs_membership,
)

_SMALLEST = 1e-12


def _bits(attack, membership):
    """Return what the attack declares that fit takes."""
    return membership if attack.needs().known == BOTH else None


def _score_declared(attack, records, membership):
    return attack.fit(records, _bits(attack, membership)).score_samples(records)


def _expect_works(attack, records, membership, expected, what):
    """The attack runs, and where scores are expected gives them."""
    try:
        scores = _score_declared(attack, records, membership)
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"The attack does not declare that it needs {what}: {error}"
        ) from error
    if expected is not None:
        claim = f"Without {what}, which it does not declare, the attack must give the same scores"
        expect_close(scores, expected, claim, relative=BATCH)


def _expect_refused(attack, records, membership, what):
    claim = f"An attack that declares that it needs {what}, without it,"
    score = partial(_score_declared, attack, records, membership)
    expect_refusal(score, (TypeError, ValueError), "", claim)


@asks_fitted
def check_attack_needs(attack, records, membership):
    """What needs() returns are words that audits know; asking changes nothing."""
    own = fresh(attack)
    before = get_plain_state(own)
    needs = own.needs()
    expect(isinstance(needs, Needs), f"needs() must return skmia.base.Needs; got {needs!r}.")
    same = get_plain_state(own).keys() == before.keys()
    expect(same, "needs() must not set an attribute.")
    wrong = sorted((needs.reads - set(KINDS)) | (needs.access - set(ACCESS)))
    expect(not wrong, f"needs() has unknown words: {wrong}.")
    kept = needs.keeps | needs.uses
    words = {what if isinstance(what, str) else what[0] for what in kept}
    wrong = sorted(words - {"auto", "outputs", "models", "gradients"})
    expect(not wrong, f"keeps or uses of needs() has unknown words: {wrong}.")
    expect(needs.known in KNOWN, f"known of needs() must be one of {KNOWN}; got {needs.known!r}.")
    holds = (needs.known == BOTH) == needs_membership(attack)
    expect(holds, f"The tags and known={needs.known!r} must agree on whether fit needs membership.")
    after = attack.needs()
    expect(after == needs, f"needs() must be the same after fit; got {after} instead of {needs}.")


def _convert_answers(answers, kind):
    """Return answers as another kind of model would give them; None where they hold too little."""
    if answers.kind == kind:
        return answers
    if kind == "label" and answers.kind != "value":
        return Outputs(answers.classes[answers.values.argmax(axis=1)], answers.classes, "label")
    if kind == "decision" and answers.kind in ("proba", "logits"):
        return Outputs(answers.log_proba(), answers.classes, "decision")
    return None


def check_attack_reads(attack, records, membership):
    """Kinds of answers that it does not declare are refused; those that it declares are read."""
    needs, victim = attack.needs(), get_collaborator(attack, "victim")
    if needs.access or (victim is None and "outputs" not in records.fields):
        return
    answers = query(victim, records)
    for kind in ("decision", "label"):
        shown = _convert_answers(answers, kind)
        if shown is None or kind == answers.kind:
            continue
        stored, own = _store(attack, records, kind)
        if kind not in needs.reads:
            what = f"answers of the kinds {sorted(needs.reads)} and gets {kind!r}"
            _expect_refused(own, stored, membership, what)
        elif not needs.keeps:  # which came from models of the victim's kind
            _expect_works(own, stored, membership, None, f"more than answers of kind {kind!r}")


def _store(attack, records, kind=None):
    """Return records with stored answers, and the attack without a victim of its own."""
    victim = get_collaborator(attack, "victim")
    own = fresh(attack).set_params(victim=None)

    def store(some):
        answers = query(victim, some)
        return some.with_fields(
            outputs=answers if kind is None else _convert_answers(answers, kind)
        )

    for name, value in own.get_params(deep=False).items():
        if isinstance(value, Records):
            own.set_params(**{name: store(value)})
    return store(records), own


@asks_fitted_as_declared
def check_attack_access(attack, records, membership):
    """Access to the victim that it declares is needed, and no other is."""
    victim = get_collaborator(attack, "victim")
    if victim is None or not hasattr(victim, "predict"):
        return
    access, expected = attack.needs().access, attack.score_samples(records)
    stored, own = _store(attack, records)
    if "queries" in access:
        _expect_refused(own, stored, membership, "queries")
    elif not access:
        _expect_works(own, stored, membership, expected, "queries beyond stored answers")
    kind = AnsweringRegressor if is_regressor(unwrap(victim)) else AnsweringClassifier
    own = fresh(attack).set_params(victim=FrozenEstimator(kind(unwrap(victim))))
    if access & {"gradients", "layers", "file"}:
        _expect_refused(own, records, membership, "the inside of the victim")
    elif query_victim(victim, records[:1].X).kind != "logits":  # which only their owner knows
        _expect_works(own, records, membership, expected, "the inside of the victim")


@asks_fitted_as_declared
def check_attack_keeps(attack, records, membership):
    """What it declares of shadow models is needed, and nothing else is."""
    pool = unwrap(get_collaborator(attack, "shadows"))
    if not hasattr(pool, "signals_"):
        return  # no pool, or one that each fit retrains
    if pool.n_records_ != len(records) or not (pool.locate(records) >= 0).all():
        return
    needs, expected = attack.needs(), attack.score_samples(records)
    for what in sorted({what_to_keep(signal) for signal in pool.keeps}, key=str):
        answers = pool.to_answers().without(what, records)
        if answers is None:
            continue
        less = pool.with_answers(answers)
        own, lost = fresh(attack), f"{what!r} of the shadow models"
        own.set_params(shadows=FrozenEstimator(less))
        # Outputs follow from models, so a pool without outputs has no models either.
        gone = {"outputs", "models"} if what == "outputs" else {what}
        if gone & needs.keeps:
            _expect_refused(own, records, membership, lost)
        else:
            same = None if gone & needs.uses else expected
            _expect_works(own, records, membership, same, lost)


def check_attack_lacks(attack, records, membership):
    """A parameter that holds records and is left out is named, or the attack runs without it."""
    for name, value in attack.get_params(deep=False).items():
        if not isinstance(value, Records):
            continue
        own = fresh(attack).set_params(**{name: None})
        if name in own.needs().lacks:
            bits = _bits(own, membership)
            what = f"fit without {name}, which the attack declares that it lacks,"
            expect_refusal(partial(own.fit, records, bits), ValueError, name, what)
        else:
            _expect_works(own, records, membership, None, f"the parameter {name}")
