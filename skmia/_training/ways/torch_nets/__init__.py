"""Many skorch nets trained in one program.

Done: NeuralNetClassifier, NeuralNetBinaryClassifier and NeuralNetRegressor, alone or at the end of
a Pipeline; any module that torch.func can vectorize (perceptrons have a faster path of their own),
Dropout and buffers included; SGD, Adam, AdamW, RMSprop and Adagrad; any criterion; train_split;
torch's DataLoader with shuffle, batch_size and drop_last; rows in arrays and tensors. Zeros of
one-hot columns are neither stored nor multiplied by.

Left to the ordinary path, with a reason: callbacks that act on the training, overridden methods,
warm_start, compile, other datasets, iterators and samplers, several parameter groups, tables and
sparse matrices, recurrent nets, convolutions and more than two million weights on a CPU, Dropout on
a GPU, other random draws in the forward pass, and whatever differs from the ordinary path in the
first steps of two models.
"""

from .way import TorchNetsWay

__all__ = ["TorchNetsWay"]
