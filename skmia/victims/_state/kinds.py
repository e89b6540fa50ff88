"""Kinds of stored arrays, by the name of the attribute that holds them."""

_NAMES = {
    "rows": (
        "X_ X_fit_ X_train_ _fit_X _raw_data centroid_ centroids_ cluster_centers_ data "
        "init_centroids_ subcluster_centers_ support_vectors_ training_data_"
    ),
    "values": (
        "X_max_ X_min_ X_thresholds_ _y categories_ data_max_ data_min_ feature_infos "
        "max_abs_ quantiles_ statistics_ vocabulary_ y_ y_train_ y_thresholds_"
    ),
    "thresholds": "bin_midpoints bin_threshold borders num_threshold split_conditions threshold",
    "edges": "bin_edges_ bin_thresholds_ cut_values knots node_bounds",
    "counts": (
        "category_count_ class_count_ count counts_ feature_count_ internal_count leaf_count "
        "leaf_weights n_node_samples n_samples_seen_ weighted_n_node_samples"
    ),
    "covers": (
        "cover gain impurity internal_weight leaf_weight loss_changes split_gain sum_hess "
        "sum_hessian"
    ),
    "leaf values": "base_weights internal_value leaf_value leaf_values value values",
    "seeds": "_random_seed _seed _seeds random_seed random_state seed seeds",
    "per-record": (
        "_distances_fit_X_ _lrd _sample_weight _single_linkage_tree_ _x_scores _y_scores "
        "affinity_matrix_ children_ core_distances_ core_sample_indices_ dist_ dist_matrix_ "
        "dissimilarity_matrix_ eigenvectors_ embedding_ idx_array in_danger_indices inlier_mask_ "
        "label_distributions_ labeled_iter_ labels_ negative_outlier_factor_ "
        "oob_decision_function_ oob_prediction_ ordering_ predecessor_ probabilities_ "
        "raw_support_ reachability_ row_labels_ rows_ sample_indices_ support_ transduction_ "
        "x_scores_ y_scores_"
    ),
    "labels": "_class_map _classes classes_",
    "structure": (
        "_n_features_outs _transformer_to_input_indices bitset_idx decision_type default_left "
        "depth feature feature_idx idx_end idx_start is_categorical is_leaf iteration_indptr left "
        "left_child left_children missing_go_to_left parents right right_child right_children "
        "split_feature split_indices split_type"
    ),
    "names": (
        "_feature_names_in _other_params estimator_params feature_names feature_names_in_ "
        "feature_types"
    ),
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def get_kind_of_array(name):
    """Return the kind of an array in an attribute, key or field with this name."""
    return _KIND_OF.get(name, "other")
