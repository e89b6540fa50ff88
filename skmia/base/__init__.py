"""Base classes of attacks, their declared needs, and how they are connected to a victim."""

from .._core import name_by_room
from .._core.needs import Needs
from .._core.needs import Offer as Offer
from .._core.query import query
from ._attack import BaseAttack, PosteriorMixin, best_threshold
from ._choose_by_power import (
    PowerChoice,
    choose_by_power,
    compare_by_power,
    compute_auc_of_sorted,
    compute_tpr,
    measure_models,
    measure_pseudo_victims,
    score_pseudo_victims,
    sort_sides,
)
from ._connect import (
    align_victim,
    connect,
    fit_own_pools,
    get_own_pools,
    get_pool,
    give_population,
    has_own_victim,
    is_open,
    list_keeps,
    needs_of,
    offer_of,
    open_pool,
    parts_of,
    set_victim,
    settings_of_pool,
    takes_victim,
    why_not,
)
from ._cross_fitting import assign_folds, cross_fit, judge_records, learns, score
from ._pool_attack import (
    Comparison,
    PoolAttack,
    PoolReader,
    TooFewModelsError,
    check_repeatable,
    compare_with,
    find_judged,
    get_neutral,
    list_models,
    list_repeatable,
    rate_threshold,
    score_in_place,
    treats_models_as_victims,
)
from ._supervised import LearnedAttack, SupervisedAttack

__all__ = [
    "BaseAttack",
    "Comparison",
    "LearnedAttack",
    "Needs",
    "PoolAttack",
    "SupervisedAttack",
    "connect",
    "query",
]

name_by_room(__name__)
