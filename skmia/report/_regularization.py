"""What keeps a model of each kind from memorizing its training records, in a sentence."""

import re

# By a part of the name of the class, the first that fits.
_KINDS = {
    "HistGradientBoosting|GradientBoosting|XGB|LGBM|CatBoost|AdaBoost|NGB": "Fewer and shallower "
    "trees, a smaller learning rate, or early stopping",
    "Isolation": "Fewer trees on smaller samples",
    "Bagging": "Larger leaves of its trees, or smaller samples for each of them (max_samples)",
    "Forest|ExtraTrees": "Larger leaves (min_samples_leaf), or smaller samples for each tree "
    "(max_samples)",
    "Tree": "Larger leaves (min_samples_leaf), or pruning (ccp_alpha)",
    "RadiusNeighbors": "A larger radius, without weights by distance",
    "Neighbors|KNN": "More neighbors (n_neighbors), without weights by distance",
    "NearestCentroid|Discriminant": "Shrinkage of the covariances, or fewer columns",
    "MLP|Neural|Torch|Keras|Tabular|NODE|ResNet": "Weight decay, early stopping, or a smaller net",
    "LinearSV": "A stronger penalty (a smaller C), or fewer columns",
    "NuSVC": "A larger nu, or a smoother kernel (a smaller gamma)",
    "SVC|SVR|SVM": "A stronger penalty (a smaller C), or a smoother kernel (a smaller gamma)",
    "GaussianProcessClassifier": "A smoother kernel, or fewer training rows",
    "GaussianProcess": "A larger noise level (alpha), or fewer training rows",
    "NB$|NaiveBayes": "More smoothing (var_smoothing, alpha), or fewer columns",
    "Voting|Stacking": "Fewer parts, each with a stronger penalty or larger leaves",
    "Logistic|Linear|Ridge|Lasso|Elastic|SGD|Perceptron|Passive|Regressor$|Regression$|Lars|Huber|"
    "OMP": "A stronger penalty, or fewer columns",
}
_OTHERS = "A simpler model, or a stronger penalty"


def advise_by_kind(name):
    """Return what makes a model of a class memorize less, or what holds for each kind.

    Of a net the name of its wrapper is known, such as NeuralNetClassifier.
    """
    return next((text for kind, text in _KINDS.items() if re.search(kind, name)), _OTHERS)
