"""Models under attack: services, and white-box access."""

from .._core import name_by_room
from .._core.augmentation import Augmentation, random_crops, random_flips
from .._core.weight_average import WeightAverage
from ._boosters import (
    OBLIVIOUS,
    is_catboost,
    is_lightgbm,
    is_xgboost,
    load_catboost,
    load_lightgbm,
    query_stages,
    read_booster_file,
)
from ._capabilities import (
    PARTS_OF_FILES,
    get_access,
    get_kind,
    has_file,
    is_trainable,
    read_training_weights,
)
from ._class_densities import (
    count_density_coefficients,
    open_class_rows,
    read_answer_equations,
    why_no_densities,
)
from ._column_numbers import list_column_numbers
from ._inner_models import SCORES, TRANSFORMED_TARGET, InnerModel, iter_inner_models
from ._known_values import (
    NUMBER,
    TEXT,
    KnownColumn,
    UnknownColumnValues,
    complete_column,
    count_features,
    drop_cut_values,
    list_column_choices,
    list_feature_names,
    list_known_columns,
    list_unknown_values,
    match_features,
    normalize_value,
    order_columns,
    takes_texts,
)
from ._linear_model import LinearModel, is_linear_model
from ._model_features import BOOSTED, FORESTS, HISTOGRAMS, check_labels, find_model, read_features
from ._multioutput import JointOutputs, OneOutput
from ._node_equations.read import read_further_columns, read_node_equations
from ._onnx import OnnxClassifier as OnnxClassifier
from ._onnx import OnnxRegressor as OnnxRegressor
from ._onnx import read_onnx_file
from ._queried_thresholds import (
    MOST_PASSED,
    SearchedColumn,
    SearchedTable,
    bisect_thresholds,
    get_slack,
)
from ._queried_thresholds import FoundThresholds as FoundThresholds
from ._recovered import (
    bound_errors,
    count_coefficients_of_answers,
    recover_model,
    spread_gradients,
    why_not_recovered,
)
from ._resampling import SELECTS, is_sampler, judge_sampler
from ._service import CallableVictim
from ._split_thresholds import (
    SplitEvents,
    ThresholdAllowance,
    climb_tree,
    read_split_thresholds,
    replay_samples,
)
from ._state import ModelState as ModelState
from ._state import StoredArray as StoredArray
from ._state import StoredEstimator as StoredEstimator
from ._state import read_state
from ._stationarity import (
    decide_by_margins,
    estimate_gradients,
    has_edge,
    is_machine,
    read_further_gradients,
    read_gradients,
)
from ._sufficient_statistics import has_stored_sums, read_stored_sums
from ._training_function import FunctionClassifier
from ._tree_leaves import has_leaves, iter_leaves
from ._white_box import WhiteBox as WhiteBox
from ._white_box import open_white_box
from ._white_box._base import check_layers

__all__ = [
    "Augmentation",
    "CallableVictim",
    "FunctionClassifier",
    "JointOutputs",
    "OneOutput",
    "WeightAverage",
    "open_white_box",
    "read_booster_file",
    "read_onnx_file",
    "read_state",
]

name_by_room(__name__)
