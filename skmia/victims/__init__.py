"""Models under attack: services, and white-box access."""

from .._core.augmentation import Augmentation, random_crops, random_flips
from .._core.weight_average import WeightAverage
from ._boosters import read_booster_file
from ._callable import CallableVictim
from ._function import FunctionClassifier
from ._joint_outputs import JointOutputs, OneOutput
from ._onnx import OnnxClassifier, OnnxRegressor, read_onnx_file
from ._queried_thresholds import FoundThresholds, bisect_thresholds
from ._state import ModelState, StoredArray, StoredEstimator, read_state
from ._white_box import WhiteBox, open_white_box

__all__ = [
    "Augmentation",
    "CallableVictim",
    "FoundThresholds",
    "FunctionClassifier",
    "JointOutputs",
    "ModelState",
    "OneOutput",
    "OnnxClassifier",
    "OnnxRegressor",
    "StoredArray",
    "StoredEstimator",
    "WeightAverage",
    "WhiteBox",
    "bisect_thresholds",
    "open_white_box",
    "random_crops",
    "random_flips",
    "read_booster_file",
    "read_onnx_file",
    "read_state",
]
