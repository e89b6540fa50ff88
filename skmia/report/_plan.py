"""The attacks that an audit runs, and the shadow models that they share."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from .._core.asking import refuse_class, unwrap
from .._core.needs import ACCESS
from .._core.sklearn import (
    N_JOBS,
    HasMethods,
    StrOptions,
    validate_parameter_constraints,
    validate_params_of,
)
from .._core.tokens import TokenOutputs
from ..attacks import RMIA, AnalyticLiRA, LiRA, StackedAttack, ThresholdAttack
from ..base import is_open, list_keeps, needs_of, offer_of, parts_of, settings_of_pool, why_not
from ..shadow import ShadowPool
from ..signals import Correctness, auto_of, kinds_of
from ..victims import get_kind, is_linear_model, is_trainable
from ._pool_size import AUTO, SIZES
from ._victim import is_recipe

_SIGNAL_OF = {"decision": "hinge", "label": "correctness"}

# A model in the victim's place leaves with its complement, so two models must remain.
_FEWEST_FOR_STACK = 4

# If the outputs of all shadow models take more bytes than this, they are not kept.
LARGEST_OUTPUTS = 1_000_000_000

# Kinds of answers from whose signal in a pool it does not follow which of them are correct.
_WITH_CORRECTNESS = ("proba", "logits", "decision")

_NAMES = {
    "scaled_logit": "class probabilities",
    "hinge": "decision values",
    "correctness": "labels",
}


class Request(NamedTuple):
    """The victim, its outputs, and the parameters of the shadow models."""

    victim: object
    outputs: object
    estimator: object
    shadows: object
    batched: object
    n_jobs: object
    verbose: int
    shadow_seed: int
    attack_seed: int
    checkpoint: object = None
    stand_in: object = None  # what takes the place of an unknown recipe, if it was looked for

    @property
    def chooses_size(self):
        return isinstance(self.shadows, str) and self.shadows == AUTO

    @property
    def trains_pool(self):
        return self.chooses_size or isinstance(self.shadows, Integral)

    @property
    def size_of_pool(self):
        """Initial number of shadow models; 0 without a pool."""
        if self.chooses_size:
            return SIZES[1]
        if self.trains_pool:
            return self.shadows
        pool = unwrap(self.shadows)
        return len(getattr(pool, "membership_", ())) or getattr(pool, "n_estimators", 0)

    @property
    def most_models(self):
        """Maximum number of models of a pool that is trained here."""
        return SIZES[-1] if self.chooses_size else self.shadows

    @property
    def is_compared(self):
        """Whether the accuracy of a pool that is trained here is compared with the victim's."""
        may_differ = self.estimator is not None or is_recipe(self.victim)
        return self.trains_pool and may_differ and self.outputs.kind in _WITH_CORRECTNESS

    @property
    def model(self):
        """The estimator that is cloned for each shadow model."""
        return unwrap(self.victim) if self.estimator is None else unwrap(self.estimator)


class Plan(NamedTuple):
    """What is known about the attacks before the first of them runs."""

    attacks: dict  # those that can run
    keeps: frozenset  # what the common pool must keep; empty if no attack needs a pool
    notes: list  # a sentence on each attack that cannot run


def default_attacks(request):
    """One attack of each kind: on the loss alone, in closed form, and relative to shadow models."""
    signal = _SIGNAL_OF.get(request.outputs.kind, "loss")
    attacks = {f"threshold ({signal})": ThresholdAttack(signal=signal)}
    is_given = request.estimator is not None or is_recipe(request.victim)
    analytic = AnalyticLiRA(estimator=request.model if is_given else None)
    if is_linear_model(request.model) and why_not(analytic, _make_offer(request)) is None:
        attacks["AnalyticLiRA"] = analytic
    attacks["LiRA"] = LiRA()
    if request.outputs.kind == "label":
        return attacks  # the others compare probabilities
    attacks["RMIA"] = RMIA()
    if request.size_of_pool >= _FEWEST_FOR_STACK:
        attacks["StackedAttack"] = StackedAttack()
    return attacks


def choose_attacks(attacks, request):
    """Return the default attacks, or the given ones after checking them."""
    if isinstance(attacks, str) and attacks == "default":
        return default_attacks(request)
    if not hasattr(attacks, "items"):
        refuse_class(attacks, "attack")
        got = repr(attacks) if isinstance(attacks, str) else type(attacks).__name__
        raise TypeError(f'attacks must be "default" or map names to unfitted attacks; got {got}.')
    if not attacks:
        raise ValueError("attacks must name at least one attack; got none.")
    for name, attack in attacks.items():
        _check_attack(name, attack)
    return {str(name): clone(attack) for name, attack in attacks.items()}


def _check_attack(name, attack):
    for part in parts_of(attack):
        if hasattr(part, "_parameter_constraints"):
            validate_params_of(part)
    if not is_classifier(attack) or needs_of(attack) is None:
        raise TypeError(
            "attacks must map names to unfitted attacks on membership: attacks of skmia.attacks, "
            "or classifiers that combine them or Signals; "
            f"got {type(attack).__name__} under the name {name!r}."
        )


def make_plan(attacks, request, records):
    """Find out before anything is trained which attacks can run, and what they need."""
    offer = _make_offer(request)
    reasons = {name: why_not(attack, offer) for name, attack in attacks.items()}
    possible = {name: attack for name, attack in attacks.items() if reasons[name] is None}
    notes = [f"{name} was left out: {why}." for name, why in reasons.items() if why is not None]
    if not possible:
        raise ValueError(f"No attack can run on this victim. {' '.join(notes)}")
    keeps = frozenset().union(*(_list_keeps(attack, records) for attack in possible.values()))
    if keeps:
        _check_pool(request, records)
        keeps |= {Correctness()} if request.is_compared else set()
    return Plan(possible, keeps, notes)


def _make_offer(request):
    withheld, access = {}, {}
    if is_recipe(request.victim):
        held = {"tokens"} if isinstance(request.outputs, TokenOutputs) else set()
        withheld = dict.fromkeys(set(ACCESS) - held, "whose predictions alone are stored")
        access = {"access": frozenset(held)}
    why_none = _why_not_comparable(request)
    if why_none is not None:
        withheld["shadows"] = why_none
    size = request.outputs.values.size * 4
    if request.trains_pool and size * request.most_models > LARGEST_OUTPUTS:
        gigabytes = size * request.most_models / 1e9
        withheld["outputs"] = (
            f"which would take {gigabytes:.1f} GB for {request.most_models} models"
        )
    return offer_of(
        request.victim,
        kind=request.outputs.kind,
        keeps=None if request.trains_pool else getattr(unwrap(request.shadows), "keeps", None),
        trainable=why_none is None,
        withheld=withheld,
        **access,
    )


def _why_not_comparable(request):
    """Why no shadow models can be compared with the victim, or None."""
    kind, pool = request.outputs.kind, unwrap(request.shadows)
    signal = getattr(pool, "signal_", None)
    if request.trains_pool:
        if not is_trainable(request.model):
            return "which need the parameter estimator, because the victim cannot be trained"
        of_models = get_kind(request.model)
        if kind == "label" and of_models != "value":
            return None  # whatever else they return is reduced to labels
        signal = auto_of(of_models).name
    if signal is None or kind in kinds_of(signal):
        return None
    theirs = _NAMES.get(signal, "the predictions of a regressor")
    ours = _NAMES.get(auto_of(kind).name, "the predictions of a regressor")
    return f"which return {theirs}, and the victim returns {ours}"


def _list_keeps(attack, records):
    """What the common pool must keep for an attack."""
    keeps = set()
    for part in parts_of(attack):
        if is_open(part, "shadows"):
            keeps |= list_keeps(part, records)
    return frozenset(keeps)


def _check_pool(request, records):
    """Refuse an invalid number of shadow models, a value that is not a pool, and a foreign pool."""
    wanted = 'shadows must be "auto", an even number of models from 4 on, or a ShadowPool; got'
    if request.chooses_size:
        return
    if request.trains_pool:
        if request.shadows < 4 or request.shadows % 2:
            raise ValueError(f"{wanted} {request.shadows}.")
        return
    pool = unwrap(request.shadows)
    if not isinstance(pool, ShadowPool):
        raise TypeError(f"{wanted} {request.shadows!r}.")
    if hasattr(pool, "membership_"):
        pool.locate_usable(records)


def make_pool(request, keeps):
    """Return the unfitted pool that is trained here; one that grows keeps its models."""
    return ShadowPool(
        request.model,
        n_estimators=SIZES[0] if request.chooses_size else request.shadows,
        **settings_of_pool(keeps),
        output_kind="label" if request.outputs.kind == "label" else "auto",
        batched=request.batched,
        n_jobs=request.n_jobs,
        random_state=request.shadow_seed,
        verbose=request.verbose,
        checkpoint=request.checkpoint,
        warm_start=request.chooses_size and request.checkpoint is None,
    )


def prepare(attack, request):
    """Clone an attack, and give a seed to each part that has none."""
    attack, rng = clone(attack), np.random.RandomState(request.attack_seed)
    names = [name for name in attack.get_params() if name.split("__")[-1] == "random_state"]
    given = attack.get_params()
    for name in sorted(names):
        if given[name] is None:
            attack.set_params(**{name: rng.randint(np.iinfo(np.int32).max)})
    return attack


def check_pool_settings(caller, **settings):
    """Check parameters that a function passes to a pool, before it trains anything else."""
    constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "batched": ["boolean", StrOptions({"auto"})],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "controls": ["boolean"],
        "file": ["boolean"],
    }
    validate_parameter_constraints(constraints, settings, caller)
