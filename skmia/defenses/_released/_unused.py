"""State of fitted estimators that none of their predictions uses."""

# In any estimator of scikit-learn: scores, histories and answers of the fit, and its generators.
_ANYWHERE = (
    "_best_coefs _best_intercepts _ewa_cost _ewa_cost_min _ewa_inertia _ewa_inertia_min "
    "_feature_subsample_rng _n_samples _n_samples_bootstrap _optimizer _random_seed _random_state "
    "_rng _sample_weight _seeds best_loss_ best_score_ best_validation_score_ bound_ "
    "coef_path_ coefs_paths_ costs_ criterion_ cv_alphas_ cv_results_ cv_values_ dual_gap_ error_ "
    "estimator_errors_ inertia_ inlier_mask_ kl_divergence_ labeled_iter_ "
    "log_marginal_likelihood_value_ loglike_ loss_ loss_curve_ lower_bound_ lower_bounds_ "
    "mse_path_ negative_outlier_factor_ oob_decision_function_ oob_improvement_ oob_prediction_ "
    "oob_score_ oob_scores_ outliers_ raw_covariance_ raw_location_ raw_support_ "
    "reconstruction_err_ reconstruction_error_ refit_time_ stress_ train_score_ transduction_ "
    "validation_score_ validation_scores_"
).split()

# In estimators of these classes, because others predict with what they call the same.
_IN_CLASSES = {
    "AffinityPropagation": "affinity_matrix_ cluster_centers_indices_ labels_",
    "BaseDiscreteNB": "category_count_ class_count_ feature_all_ feature_count_",
    "BaseSGD": "_expanded_class_weight",
    "BernoulliRBM": "h_samples_",
    "Birch": "dummy_leaf_ labels_ root_",
    "GaussianNB": "class_count_",
    "GaussianProcessRegressor": "y_train_",
    "HDBSCAN": "_raw_data",
    "Isomap": "embedding_",
    "LogisticRegressionCV": "scores_",
    "MeanShift": "labels_",
    "MinCovDet": "dist_ support_",
    "MiniBatchDictionaryLearning": "_A _B",
    "MiniBatchKMeans": "_counts",
    "MiniBatchNMF": "_components_denominator _components_numerator",
    "NeighborhoodComponentsAnalysis": "random_state_",
    "Nystroem": "component_indices_",
    "_BaseKMeans": "labels_",
    "_PLS": "_x_scores _y_scores x_scores_ y_scores_",
}

# Their predictions or samples draw with the seed.
_DRAWING = {"BaseMixture", "BernoulliRBM", "DummyClassifier", "_BaseNMF", "PatchExtractor"}


def _names_of_classes(kind):
    return {base.__name__ for base in kind.__mro__ if base.__module__.startswith("sklearn.")}


def get_unused(estimator):
    """Names of attributes that no prediction of a fitted estimator uses.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator of scikit-learn.

    Returns
    -------
    names : list of str
    """
    kinds = _names_of_classes(type(estimator))
    own = [name for kind in kinds for name in _IN_CLASSES.get(kind, "").split()]
    return [name for name in {*_ANYWHERE, *own} if name in vars(estimator)]


def draws_with_seed(estimator):
    """Whether an estimator needs its seed after it was fitted."""
    return bool(_names_of_classes(type(estimator)) & _DRAWING)
