"""Many skorch nets trained in one program.

Supported: NeuralNetClassifier, NeuralNetBinaryClassifier and NeuralNetRegressor, alone or at the
end of a Pipeline; any module, including Dropout, buffers and several inputs; SGD, Adam, AdamW,
RMSprop and Adagrad, with parameter groups; any criterion without weights; train_split; the
callbacks LRScheduler, GradientNormClipping, EarlyStopping and WeightAverage, and those that only
record; torch's DataLoader with shuffle, batch_size, drop_last and an Augmentation; rows in arrays
and tensors. Zeros of one-hot columns are neither stored nor multiplied.

There are three engines: perceptrons with the backward pass written out (``mlp.py``), and in
``engine.py`` modules that torch.func can vectorize, and all others, one net after the other in each
step. For convolutions, ``timing.py`` measures which of them takes the least time.

On a GPU, masks and changed images of all nets are functions of keys and counters
(``keyed_draws.py``, ``changed_batches.py``), validation losses are computed for all nets at once
(``validation.py``), the kernels of a whole step (``step.py``) are recorded where that saves time
(``cuda_graphs.py``), groups of nets are spread over several GPUs (``timing.py``), and all processes
multiply in the same precision (``precision.py``). Nothing of it changes a number on a CPU.

Nets with any of the following are trained one by one, and the plan gives the reason (settings in
``plan.py``, ``callbacks.py`` and ``optimizers.py``, modules in ``equality.py``): other
callbacks that act on the training, overridden methods other than those for a batch, warm_start,
compile, other datasets, iterators and samplers, tables and sparse matrices, more than two million
weights on a CPU, and anything else that changes the first training steps of two models.
"""

from .backend import TorchNetsWay

__all__ = ["TorchNetsWay"]
