"""Base classes of attacks, their declared needs, and how they are connected to a victim."""

from .._core.needs import Needs, Offer
from .._core.validation import query
from ._attack import BaseAttack, best_threshold, get_judged
from ._cross_fitting import assign_folds, cross_fit, give_population, judge, learns, score
from ._parts import (
    connect,
    fit_own_pools,
    fit_without_threshold,
    get_own_pools,
    has_own_victim,
    is_open,
    needs_of,
    offer_of,
    parts_of,
    score_in_place,
    set_victim,
    settings_of_pool,
    takes_victim,
    why_not,
)
from ._pool_attack import (
    PoolAttack,
    TooFewModelsError,
    count_pseudo_victims,
    get_neutral,
    get_pool,
    list_repeatable,
    rate_threshold,
    treats_models_as_victims,
    warn_unlike,
)
from ._power import (
    PowerChoice,
    choose_by_power,
    compare_by_power,
    compute_auc,
    compute_tpr,
    measure_models,
    number_pairs,
    score_pseudo_victims,
    sort_sides,
)
from ._supervised import LearnedAttack, SupervisedAttack

__all__ = [
    "BaseAttack",
    "LearnedAttack",
    "Needs",
    "Offer",
    "PoolAttack",
    "SupervisedAttack",
    "connect",
    "needs_of",
    "query",
]
