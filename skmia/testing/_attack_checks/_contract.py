"""What scikit-learn expects of any estimator: parameters, clones, fitting, pickling."""

import inspect
import pickle
import random
from functools import partial

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..._core.copies import is_fitted
from ..._core.query import query_victim, unwrap
from ..._core.randomness import preserved_randomness, seed_everything
from ..._core.records import Records
from ._helpers import (
    asks_fitted,
    choose_half,
    expect,
    expect_close,
    expect_refusal,
    fitted,
    fresh,
    get_collaborator,
    get_plain_state,
    ways_to_fit,
)

_READS_RECORDS = ("score_samples", "decision_function", "predict", "predict_proba")


def check_attack_init_only_assigns(attack, records, membership):
    """The constructor stores its parameters as they are and does nothing else."""
    params = attack.get_params(deep=False)
    signature = inspect.signature(type(attack)).parameters
    defaults = {name: signature[name].default for name in params}
    needed = {name: params[name] for name in params if defaults[name] is inspect.Parameter.empty}
    for given in (params, {**defaults, **needed}):
        made = type(attack)(**given)
        for name, value in given.items():
            expect(
                getattr(made, name, None) is value,
                f"__init__ must assign the parameter {name!r} as it is; it changed or copied it.",
            )
        further = sorted(set(vars(made)) - set(params))
        expect(not further, f"__init__ must only assign its parameters; it also set {further}.")


def check_attack_get_set_params(attack, records, membership):
    """Each parameter that get_params lists can be set; an unknown one is refused."""
    attack = clone(attack)
    for name, value in attack.get_params(deep=False).items():
        holds = attack.set_params(**{name: value}) is attack and getattr(attack, name) is value
        expect(holds, f"set_params({name}=...) must set the parameter and return the attack.")
    try:
        attack.set_params(no_such_parameter=1)
    except ValueError:
        return
    raise AssertionError("set_params must raise ValueError for an unknown parameter.")


def check_attack_validates_parameters(attack, records, membership):
    """A parameter of the wrong type is refused by fit with its name."""
    constraints = getattr(attack, "_parameter_constraints", {})
    for name in sorted(attack.get_params(deep=False)):
        if constraints.get(name) == "no_validation":
            continue
        bad = fresh(attack).set_params(**{name: object()})
        fit, errors = partial(bad.fit, records, membership), (ValueError, TypeError)
        expect_refusal(fit, errors, name.lower(), f"{name}=object()")


@asks_fitted
def check_attack_clones(attack, records, membership):
    """A clone is unfitted, shares frozen models and records, and scores the same once fitted."""
    copy = clone(attack)
    fitted_state = set(vars(copy)) - set(copy.get_params(deep=False))
    expect(not fitted_state, f"A clone must be unfitted; it has {sorted(fitted_state)}.")
    for name, value in attack.get_params(deep=False).items():
        holds = not isinstance(value, FrozenEstimator | Records) or getattr(copy, name) is value
        expect(holds, f"clone must not copy the frozen model or records of parameter {name!r}.")
    scores = copy.fit(records, membership).score_samples(records)
    claim = "A fitted clone must score like the original"
    expect_close(scores, attack.score_samples(records), claim)


def check_attack_spares_fitted_models(attack, records, membership):
    """A clone keeps a fitted victim and pool, and setting parameters of theirs changes a copy."""
    for name in ("victim", "shadows"):
        value = unwrap(get_collaborator(attack, name))
        if not hasattr(value, "get_params") or not is_fitted(value):
            continue
        own = clone(attack).set_params(**{name: value})
        holds = getattr(clone(own), name) is value
        expect(holds, f"clone must keep a fitted {name} as it is, not copied or unfitted.")
        parameters = value.get_params(deep=False)
        for inner in list(parameters)[:1]:
            own.set_params(**{f"{name}__{inner}": parameters[inner]})
            holds = getattr(own, name) is not value and is_fitted(value)
            what = f"set_params({name}__{inner}=...)"
            expect(holds, f"{what} must not change the fitted {name}, but set it on a copy.")


def check_attack_tags(attack, records, membership):
    """The attack is a binary classifier whose X is not a matrix."""
    tags = attack.__sklearn_tags__()
    expect(is_classifier(attack), "An attack must be a classifier; inherit from BaseAttack.")
    expect(not tags.input_tags.two_d_array, "The tags must say that X is not a matrix.")
    expect(not tags.classifier_tags.multi_class, "The tags must say that there are two classes.")


def check_attack_fit_returns_self(attack, records, membership):
    """The method fit returns the attack, with and without membership."""
    for bits in ways_to_fit(attack, membership):
        own = fresh(attack)
        expect(own.fit(records, bits) is own, "fit must return the attack itself.")


def _hash_collaborators(params):
    """Hash of what parameters hold; the victim and other models are asked instead."""
    plain = {
        name: get_plain_state(unwrap(value)) if hasattr(value, "get_params") else value
        for name, value in params.items()
    }
    return joblib.hash(plain)


def check_attack_fit_keeps_parameters(attack, records, membership):
    """The parameters are after fit and scoring what they were, and so is what is in them."""
    attack = fresh(attack)
    params = attack.get_params(deep=False)
    victim = params.get("victim")
    victim = victim if hasattr(victim, "predict") else None  # a generator cannot be asked
    before = _hash_collaborators(params)
    answers = None if victim is None else query_victim(victim, records.X).values
    attack.fit(records, membership).score_samples(records)
    for name, value in params.items():
        expect(getattr(attack, name) is value, f"fit must not replace the parameter {name!r}.")
    same = _hash_collaborators(params) == before
    expect(same, "fit must not change what its parameters hold.")
    if victim is not None:
        same = np.array_equal(query_victim(victim, records.X).values, answers)
        expect(same, "fit must not change the victim: its answers are others now.")


def check_attack_fit_is_idempotent(attack, records, membership):
    """A second fit on the same records changes nothing."""
    attack = fitted(attack, records, membership)
    scores, offset = attack.score_samples(records), attack.offset_
    attack.fit(records, membership)
    expect_close(attack.score_samples(records), scores, "A second fit must give the same scores")
    expect_close(attack.offset_, offset, "A second fit must give the same offset_")


@asks_fitted
def check_attack_forgets_earlier_fits(attack, records, membership):
    """Nothing is left of records that the attack was fitted on before."""
    half, expected = choose_half(membership), attack
    attack = fitted(attack, records[half], membership[half]).fit(records, membership)
    claim = "An attack that was fitted on other records before must give the same {}"
    scores = attack.score_samples(records)
    expect_close(scores, expected.score_samples(records), claim.format("scores"))
    expect_close(attack.offset_, expected.offset_, claim.format("offset_"))


@asks_fitted
def check_attack_fitted_attributes(attack, records, membership):
    """What fit adds for users ends in an underscore."""
    further = set(vars(attack)) - set(attack.get_params(deep=False))
    wrong = sorted(name for name in further if not name.endswith("_") and name[0] != "_")
    expect(not wrong, f"Attributes that fit sets must end in an underscore; got {wrong}.")


def check_attack_needs_fit(attack, records, membership):
    """Before fit each method raises NotFittedError."""
    attack = fresh(attack)
    calls = [(name, (records,)) for name in _READS_RECORDS if hasattr(attack, name)]
    for name, arguments in [*calls, ("score", (records, membership))]:
        call = partial(getattr(attack, name), *arguments)
        expect_refusal(call, NotFittedError, "fit", f"{name} before fit")


@asks_fitted
def check_attack_pickles(attack, records, membership):
    """A pickled attack, fitted or not, comes back as the same attack."""
    unfitted = pickle.loads(pickle.dumps(fresh(attack)))
    scores = attack.score_samples(records)
    for own, claim in (
        (pickle.loads(pickle.dumps(attack)), "A fitted attack must score the same once unpickled"),
        (unfitted.fit(records, membership), "An unpickled attack must fit to the same scores"),
    ):
        expect_close(own.score_samples(records), scores, claim)
        expect(own.offset_ == attack.offset_, f"{claim}; its offset_ is another.")


def check_attack_leaves_its_input_alone(attack, records, membership):
    """Neither records nor membership are changed by fitting or scoring."""
    mine, bits = pickle.loads(pickle.dumps(records)), np.array(membership)
    before = joblib.hash(pickle.loads(pickle.dumps(mine)))
    attack = fitted(attack, mine, bits)
    for name in _READS_RECORDS:
        if hasattr(attack, name):
            getattr(attack, name)(mine)
    attack.score(mine, bits)
    expect(np.array_equal(bits, membership), "fit and score must not change the membership.")
    same = joblib.hash(pickle.loads(pickle.dumps(mine))) == before
    expect(same, "An attack must not change the records.")


def check_attack_scoring_keeps_its_state(attack, records, membership):
    """Scoring changes nothing in the fitted attack."""
    attack = fitted(attack, records, membership)
    names, before = set(vars(attack)), joblib.hash(get_plain_state(attack))
    scores = attack.score_samples(records)
    attack.predict(records[:2])
    further = sorted(set(vars(attack)) - names)
    expect(not further, f"Scoring must set no attribute; it set {further}.")
    same = joblib.hash(get_plain_state(attack)) == before
    expect(same, "Scoring must not change the fitted attack.")
    again = attack.score_samples(records)
    expect_close(again, scores, "Scores must not depend on what was scored before")


def _global_states():
    key, *rest = np.random.get_state()[1:]  # noqa: NPY002
    return key.tolist(), rest, random.getstate()


@asks_fitted
def check_attack_is_reproducible(attack, records, membership):
    """Equal random_state, equal scores; the global generators are not touched."""
    # Elsewhere than the first fit, which may have left the generators where each fit leaves them.
    with preserved_randomness():
        seed_everything(87_431)  # no seed of an attack
        before = _global_states()
        second = fitted(attack, records, membership)
        scores = [own.score_samples(records) for own in (attack, second)]
        untouched = _global_states() == before
    expect_close(scores[1], scores[0], "Two fits with one random_state must give the same scores")
    expect_close(second.offset_, attack.offset_, "Two fits must give the same offset_")
    expect(untouched, "An attack must not touch the global random generators.")


def check_attack_n_jobs(attack, records, membership):
    """The number of jobs changes no number."""
    if "n_jobs" not in attack.get_params(deep=False):
        return
    attacks = (fresh(attack).set_params(n_jobs=n_jobs) for n_jobs in (1, 2))
    one, two = (own.fit(records, membership).score_samples(records) for own in attacks)
    expect_close(two, one, "n_jobs=2 must give the same scores as n_jobs=1")


def check_attack_unfitted_victim(attack, records, membership):
    """A victim that is not fitted is refused with the advice to fit it."""
    victim = get_collaborator(attack, "victim")
    if victim is None:
        return
    victim = clone(unwrap(victim))
    try:
        check_is_fitted(victim)  # where it learns nothing in fit, such as a CallableVictim
    except NotFittedError:
        fit = partial(fresh(attack).set_params(victim=victim).fit, records, membership)
        expect_refusal(fit, NotFittedError, "fit it", "An unfitted victim")
