"""Which attacks an audit runs, and the shadow models that they share."""

from numbers import Integral
from typing import NamedTuple

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ..attacks import RMIA, LiRA, ShadowAttack, ThresholdAttack
from ..attacks._pool_attack import find_pool
from ..base import BaseAttack
from ..shadow import ShadowPool
from ..victims import CallableVictim
from ..victims._query import unwrap

_SIGNAL_OF = {"decision": "hinge", "label": "correctness"}

# Class probabilities of all shadow models beyond this many bytes are not kept.
LARGEST_OUTPUTS = 1_000_000_000


class Request(NamedTuple):
    """What the user asked for and what the victim answers."""

    victim: object
    outputs: object
    estimator: object
    shadows: object
    batched: object
    n_jobs: object
    verbose: int
    shadow_seed: int
    attack_seed: int

    @property
    def trains_pool(self):
        return isinstance(self.shadows, Integral)

    @property
    def needs_wide_pool(self):
        """Whether the answers of all shadow models take too much memory."""
        outputs = self.outputs.values
        return self.trains_pool and outputs.size * 4 * self.shadows > LARGEST_OUTPUTS


def default_attacks(request):
    """One attack of each strength: without shadow models, learned, and relative to each record."""
    signal = _SIGNAL_OF.get(request.outputs.kind, "loss")
    attacks = {
        f"threshold ({signal})": ThresholdAttack(signal=signal),
        "ShadowAttack": ShadowAttack(random_state=request.attack_seed),
        "LiRA": LiRA(),
        "RMIA": RMIA(),
    }
    temperatures = getattr(unwrap(request.shadows), "temperatures_", None)
    if temperatures and RMIA().temperature not in temperatures:
        attacks["RMIA"] = RMIA(temperature=temperatures[0])
    return attacks


def choose_attacks(attacks, request):
    """The default attacks, or a mapping of names to unfitted attacks.

    Raises
    ------
    TypeError
        When it is something else.
    ValueError
        When it is empty.
    """
    if isinstance(attacks, str) and attacks == "default":
        return default_attacks(request)
    if not hasattr(attacks, "items"):
        got = repr(attacks) if isinstance(attacks, str) else type(attacks).__name__
        raise TypeError(f'attacks must be "default" or map names to unfitted attacks; got {got}.')
    if not attacks:
        raise ValueError("attacks must name at least one attack; got none.")
    for name, attack in attacks.items():
        if not isinstance(attack, BaseAttack):
            raise TypeError(
                "attacks must map names to unfitted attacks of skmia.attacks; "
                f"got {type(attack).__name__} under the name {name!r}."
            )
    return {str(name): clone(attack) for name, attack in attacks.items()}


def wants_pool(attack):
    """Whether an attack takes shadow models and brings none of its own."""
    parameters = attack.get_params(deep=False)
    return "shadows" in parameters and parameters["shadows"] is None


def find_obstacle(attack, request):
    """Why an attack cannot run on this victim, or None."""
    if not wants_pool(attack):
        return None
    kind = request.outputs.kind
    if kind == "label":
        return "the victim answers labels only, too little for shadow models"
    is_function = isinstance(unwrap(request.victim), CallableVictim)
    if is_function and request.estimator is None and request.trains_pool:
        return "the victim cannot be trained, and no estimator for shadow models was given"
    if not isinstance(attack, ShadowAttack):
        return None
    if kind in ("decision", "value"):
        return "the victim answers no class probabilities"
    if request.needs_wide_pool:
        gigabytes = request.outputs.values.size * 4 * request.shadows / 1e9
        return f"the answers of {request.shadows} shadow models would take {gigabytes:.1f} GB"
    if getattr(unwrap(request.shadows), "store", None) == "signals":
        return 'the shadow pool kept no class probabilities (store="outputs" keeps them)'
    return None


def make_pool(request, attacks, records):
    """The fitted pool that the attacks share, or None when no attack wants one."""
    wanting = [attack for attack in attacks.values() if wants_pool(attack)]
    if not wanting:
        return None
    if request.trains_pool and (request.shadows < 4 or request.shadows % 2):
        raise ValueError(
            "shadows must be an even number of models from 4 on, or a ShadowPool; got "
            f"{request.shadows}."
        )
    if not request.trains_pool and not hasattr(request.shadows, "fit"):
        raise TypeError(
            "shadows must be an even number of models from 4 on, or a ShadowPool; got "
            f"{request.shadows!r}."
        )
    if not request.trains_pool:
        return find_pool(request.shadows, records)
    temperatures = {getattr(attack, "temperature", 1.0) for attack in wanting}
    keeps_answers = any(isinstance(attack, ShadowAttack) for attack in wanting)
    pool = ShadowPool(
        unwrap(request.victim) if request.estimator is None else request.estimator,
        n_estimators=request.shadows,
        temperatures=tuple(sorted({1.0} | temperatures)),
        store="outputs" if keeps_answers else "signals",
        batched=request.batched,
        n_jobs=request.n_jobs,
        random_state=request.shadow_seed,
        verbose=request.verbose,
    )
    return pool.fit(records)


def connect(attack, victim, pool):
    """Give an attack the pool, and the victim itself where stored answers would not do."""
    if wants_pool(attack):
        attack.set_params(shadows=FrozenEstimator(pool))
        if attack.victim is None and pool.augment is not None:
            attack.set_params(victim=FrozenEstimator(unwrap(victim)))
    return attack
