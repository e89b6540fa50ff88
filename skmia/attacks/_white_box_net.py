"""Net of the white-box attack; imported only if torch is installed."""

import numpy as np
import torch
from torch import nn

from .._core.threads import on_one_thread

_DROPOUT = 0.2


def _component(n_in):
    """Return two layers that reduce one kind of input to 64 features."""
    return nn.Sequential(
        nn.Linear(n_in, 128),
        nn.ReLU(),
        nn.Dropout(_DROPOUT),
        nn.Linear(128, 64),
        nn.ReLU(),
        nn.Dropout(_DROPOUT),
    )


class GradientComponent(nn.Module):
    """Component whose first layer applies the same four filters to each unit's gradient."""

    def __init__(self, n_out, n_in):
        super().__init__()
        self.filters = nn.Conv2d(1, 4, (1, n_in))
        self.component = _component(4 * n_out)

    def forward(self, gradient):
        filtered = torch.relu(self.filters(gradient[:, None]))
        return self.component(filtered.flatten(1))


class WhiteBoxNet(nn.Module):
    """Net with one component per kind of input, followed by an encoder."""

    def __init__(self, shapes):
        super().__init__()
        self.components = nn.ModuleList(
            GradientComponent(*shape) if len(shape) == 2 else _component(*shape) for shape in shapes
        )
        self.encoder = nn.Sequential(
            nn.Linear(64 * len(shapes), 256),
            nn.ReLU(),
            nn.Linear(256, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, parts):
        found = [component(part) for component, part in zip(self.components, parts, strict=True)]
        return self.encoder(torch.cat(found, dim=1)).squeeze(1)


class WhiteBoxModel:
    """Net with standardized inputs, trained with Adam on the cross-entropy."""

    def __init__(self, device):
        self.device = torch.device(device)

    def _scale(self, collected):
        return [
            torch.as_tensor(((part - mean) / std).astype(np.float32))
            for part, mean, std in zip(collected, self.means, self.stds, strict=True)
        ]

    def fit(self, collected, membership, learning_rate, batch_size, n_epochs):
        self.means = [part.mean(axis=0) for part in collected]
        self.stds = [np.where(part.std(axis=0) > 0, part.std(axis=0), 1) for part in collected]
        self.net = WhiteBoxNet([part.shape[1:] for part in collected]).to(self.device)
        parts, target = self._scale(collected), torch.as_tensor(membership.astype(np.float32))
        optimizer = torch.optim.Adam(self.net.parameters(), lr=learning_rate)
        loss_of = nn.BCEWithLogitsLoss()
        self.net.train()
        with on_one_thread():
            for _ in range(n_epochs):
                for rows in torch.randperm(len(target)).split(batch_size):
                    optimizer.zero_grad()
                    logit = self.net([part[rows].to(self.device) for part in parts])
                    loss_of(logit, target[rows].to(self.device)).backward()
                    optimizer.step()
        self.net.eval()
        return self

    @torch.no_grad()
    def log_odds(self, collected, batch_size=4096):
        parts = self._scale(collected)
        found = [
            self.net([part[rows].to(self.device) for part in parts]).cpu()
            for rows in torch.arange(len(parts[0])).split(batch_size)
        ]
        return torch.cat(found).numpy().astype(np.float64)
