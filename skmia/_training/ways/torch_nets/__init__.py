"""Many skorch nets trained in one program.

Supported: NeuralNetClassifier, NeuralNetBinaryClassifier and NeuralNetRegressor, alone or at the
end of a Pipeline; any module that torch.func can vectorize, including Dropout and buffers, with a
faster path for perceptrons; SGD, Adam, AdamW, RMSprop and Adagrad, with parameter groups; any
criterion; train_split; the callbacks LRScheduler, GradientNormClipping and EarlyStopping, and those
that only record; torch's DataLoader with shuffle, batch_size and drop_last; rows in arrays and
tensors. Zeros of one-hot columns are neither stored nor multiplied.

Nets with any of the following are trained one by one, and the plan gives the reason: other
callbacks that act on the training, and schedules that depend on losses;
overridden methods, warm_start, compile, other datasets, iterators and samplers, tables and sparse
matrices, recurrent nets, convolutions or more than two million weights on a CPU, Dropout on a GPU,
other random draws in the forward pass, and anything else that changes the first training steps of
two models.
"""

from .way import TorchNetsWay

__all__ = ["TorchNetsWay"]
