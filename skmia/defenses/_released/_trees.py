"""Numbers of the nodes of trees that no prediction uses."""

import json

import numpy as np

# What a node of histogram boosting holds of its training rows, and of bins, which growing uses.
_OF_HISTOGRAM_NODES = "count", "gain", "depth", "bin_threshold"
_OF_LIGHTGBM_TREES = (
    "internal_count",
    "internal_value",
    "internal_weight",
    "leaf_count",
    "leaf_weight",
    "split_gain",
)
_OF_XGBOOST_TREES = "sum_hessian", "loss_changes", "base_weights"


def strip_tree(tree, decimals=None):
    """Set to 0 what a compiled tree of scikit-learn does not predict with, in place.

    With ``decimals``, values of its leaves are rounded.
    """
    for numbers in (tree.impurity, tree.n_node_samples, tree.weighted_n_node_samples):
        numbers[:] = 0
    leaves = tree.children_left < 0
    tree.value[~leaves] = 0
    if decimals is not None:
        is_classifier = np.max(tree.n_classes) > 1
        rounded = _round_shares if is_classifier else np.round
        tree.value[leaves] = rounded(tree.value[leaves], decimals)


def _round_shares(shares, decimals):
    """Rounded shares that still add to 1: the largest takes the rest."""
    rounded = np.round(shares, decimals)
    most = rounded.argmax(axis=-1)[..., None]
    rest = 1 - rounded.sum(axis=-1, keepdims=True)
    largest = np.take_along_axis(rounded, most, axis=-1) + rest
    np.put_along_axis(rounded, most, np.round(largest, decimals), axis=-1)
    return rounded


def strip_histogram_nodes(nodes, decimals=None):
    """Set to 0 what nodes of histogram boosting do not predict with, in place."""
    for name in _OF_HISTOGRAM_NODES:
        nodes[name] = 0
    nodes["value"][nodes["is_leaf"] == 0] = 0
    if decimals is not None:
        nodes["value"] = np.round(nodes["value"], decimals)


def strip_bins(mapper):
    """Take out the edges between bins of numbers, in place; edges of categories are used."""
    mapper.random_state = None
    mapper.n_bins_non_missing_[:] = 0
    mapper.bin_thresholds_ = [
        edges if categorical else edges[:0]
        for edges, categorical in zip(mapper.bin_thresholds_, mapper.is_categorical_, strict=True)
    ]


def strip_booster(booster, decimals=None):
    """Set to 0 what trees of XGBoost do not predict with, in place."""
    settings = booster.save_config()
    stored = json.loads(bytes(booster.save_raw("json")))
    for tree in _list_trees(stored["learner"]["gradient_booster"]):
        if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
            continue  # leaves of several outputs are in other places
        for name in _OF_XGBOOST_TREES:
            tree[name] = np.zeros(len(tree[name])).tolist()
        if decimals is not None:
            is_leaf = np.array(tree["left_children"]) < 0
            values = np.array(tree["split_conditions"], dtype=np.float64)
            values[is_leaf] = np.round(values[is_leaf], decimals)
            tree["split_conditions"] = values.tolist()
    booster.load_model(bytearray(json.dumps(stored), "ascii"))
    booster.load_config(settings)


def strip_lightgbm(booster, decimals=None):
    """Set to 0 what trees of LightGBM do not predict with, and drop the ranges of the columns."""
    lines = booster.model_to_string(num_iteration=-1).split("\n")
    booster.model_from_string("\n".join(_strip_line(line, decimals) for line in lines))


def _strip_line(line, decimals):
    name, _, numbers = line.partition("=")
    if name in _OF_LIGHTGBM_TREES:
        return f"{name}={' '.join('0' for _ in numbers.split())}"
    if name == "feature_infos":
        return f"{name}={' '.join('none' for _ in numbers.split())}"
    if name == "leaf_value" and decimals is not None:
        return f"{name}={' '.join(repr(round(float(one), decimals)) for one in numbers.split())}"
    # Sizes of the trees would be wrong, and LightGBM finds the trees without them.
    return "" if name == "tree_sizes" else line


def _list_trees(stored):
    """Trees of a booster, which one with dropout keeps one level deeper."""
    model = stored.get("gbtree", stored).get("model", {})
    return model.get("trees", ())
