"""What `benchmark_gpu.py` measures, in each framework: a case is a function that makes so many iterations.

Each framework is imported where its cases are made, as its process has no other. Iterations are queued, and
the last one is waited for, as training does.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[int], None]

PRODUCTS = {
    "matmul_1024_float32": (1024, "float32"),
    "matmul_4096_float32": (4096, "float32"),
    "matmul_4096_float16": (4096, "float16"),
}
IMAGES = (32, 56, 56, 64)
ROWS = (4096, 1000)
ELEMENTS = 10_000_000
BYTES = 100 << 20
RNN = (64, 256)
"""Batch, and units of the LSTM."""


def flops(name: str) -> float | None:
    """Floating-point operations of an iteration, for cases whose rate is told in TFLOP/s."""
    if name in PRODUCTS:
        return 2.0 * PRODUCTS[name][0] ** 3
    if name == "conv_3x3":
        count, height, width, channels = IMAGES
        return 2.0 * count * height * width * 9 * channels**2
    return None


def _normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def _classes(count: int) -> Any:
    return np.random.default_rng(7).integers(0, 10, count)


class TensorFleet:
    """Graphs on GPU:0 of a session, run as callables without fetches; the device is waited for at the end."""

    def __init__(self, device: str) -> None:
        import tensorfleet as tf

        self.tf, self.on_gpu = tf, device == "gpu"

    @property
    def version(self) -> str:
        return importlib.metadata.version("tensorfleet")

    def case(self, name: str) -> Run:
        tf = self.tf
        with tf.Graph().as_default():
            if name.startswith("transfer"):
                return self._transfer(name)
            with tf.device("/gpu:0" if self.on_gpu else "/cpu:0"):
                op = getattr(self, f"_{name.partition('_')[0]}")(name)
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            step = session.make_callable(tf.group(op))

        def run(count: int) -> None:
            for _ in range(count):
                step()
            self._wait()

        return run

    def _wait(self) -> None:
        if self.on_gpu:
            import cupy

            cupy.cuda.Device(0).synchronize()

    def _variable(self, value: Any) -> Any:
        return self.tf.Variable(value, trainable=False)

    def _matmul(self, name: str) -> Any:
        size, dtype = PRODUCTS[name]
        a = self._variable(_normal(size, size).astype(dtype))
        return self.tf.matmul(a, a)

    def _conv(self, name: str) -> Any:
        tf = self.tf
        x, kernel = self._variable(_normal(*IMAGES)), self._variable(_normal(3, 3, 64, 64))
        y = tf.nn.conv2d(x, kernel, 1, "SAME")
        return y if name == "conv_3x3" else tf.gradients(y, [x, kernel])

    def _elementwise(self, name: str) -> Any:
        x = self._variable(_normal(ELEMENTS))
        return self.tf.tanh(x * 2.0 + 1.0) * x

    def _softmax(self, name: str) -> Any:
        return self.tf.nn.softmax(self._variable(_normal(*ROWS)))

    def _overhead(self, name: str) -> Any:
        return self._variable(_normal(2)) + 1.0

    def _lstm(self, name: str) -> Any:
        tf = self.tf
        batch, units = RNN
        cell = tf.nn.rnn_cell.LSTMCell(units)
        x = self._variable(_normal(batch, units))
        output, _ = cell(x, cell.zero_state(batch, tf.float32))
        return tf.gradients(output, [x, *cell.trainable_variables])

    def _train(self, logits: Any, labels: Any) -> Any:
        tf = self.tf
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        return tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)

    def _mlp(self, name: str) -> Any:
        tf = self.tf
        hidden = tf.layers.dense(self._variable(_normal(100, 784)), 100, tf.nn.relu)
        return self._train(tf.layers.dense(hidden, 10), self._variable(_classes(100)))

    def _lenet(self, name: str) -> Any:
        tf = self.tf
        x = self._variable(_normal(100, 28, 28, 1))
        for filters in (32, 64):
            x = tf.layers.conv2d(x, filters, 5, padding="same", activation=tf.nn.relu)
            x = tf.layers.max_pooling2d(x, 2, 2)
        x = tf.layers.dense(tf.layers.flatten(x), 1024, tf.nn.relu)
        return self._train(tf.layers.dense(x, 10), self._variable(_classes(100)))

    def _resnet20(self, name: str) -> Any:
        tf = self.tf

        def conv(x: Any, filters: int, stride: int = 1, size: int = 3) -> Any:
            x = tf.layers.conv2d(x, filters, size, stride, padding="same", use_bias=False)
            return tf.layers.batch_normalization(x, training=True)

        x = tf.nn.relu(conv(self._variable(_normal(128, 32, 32, 3)), 16))
        for filters in (16, 32, 64):
            for block in range(3):
                stride = 2 if filters > 16 and block == 0 else 1
                short = conv(x, filters, stride, 1) if stride == 2 else x
                x = tf.nn.relu(conv(tf.nn.relu(conv(x, filters, stride)), filters) + short)
        return self._train(tf.layers.dense(tf.reduce_mean(x, [1, 2]), 10), self._variable(_classes(128)))

    def _transfer(self, name: str) -> Run:
        tf = self.tf
        value = np.zeros(BYTES // 4, np.float32)
        with tf.device("/gpu:0" if self.on_gpu else "/cpu:0"):
            if name == "transfer_to_device":
                fed = tf.placeholder(tf.float32, value.shape)
                step = tf.Session().make_callable(tf.group(tf.negative(fed)), [fed])
                call = functools.partial(step, value)
            else:
                held = self._variable(value)
                session = tf.Session()
                session.run(held.initializer)
                call = session.make_callable(tf.identity(held))

        def run(count: int) -> None:
            for _ in range(count):
                call()
            self._wait()

        return run


class Torch:
    """PyTorch, eager."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, "cuda" if device == "gpu" else "cpu"

    @property
    def version(self) -> str:
        return str(self.torch.__version__)

    def case(self, name: str) -> Run:
        step = getattr(self, f"_{name.partition('_')[0]}")(name)

        def run(count: int) -> None:
            for _ in range(count):
                step()
            if self.device == "cuda":
                self.torch.cuda.synchronize()

        return run

    def _tensor(self, value: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(value)).to(self.device)

    def _matmul(self, name: str) -> Any:
        size, dtype = PRODUCTS[name]
        a = self._tensor(_normal(size, size).astype(dtype))
        return lambda: self.torch.matmul(a, a)

    def _conv(self, name: str) -> Any:
        torch = self.torch
        count, height, width, channels = IMAGES
        x, kernel = self._tensor(_normal(count, channels, height, width)), self._tensor(_normal(64, 64, 3, 3))
        if name == "conv_3x3":
            return lambda: torch.nn.functional.conv2d(x, kernel, padding=1)
        ones = self._tensor(np.ones((count, channels, height, width), np.float32))

        def gradients() -> None:
            torch.nn.grad.conv2d_input(x.shape, kernel, ones, padding=1)
            torch.nn.grad.conv2d_weight(x, kernel.shape, ones, padding=1)

        return gradients

    def _elementwise(self, name: str) -> Any:
        x = self._tensor(_normal(ELEMENTS))
        return lambda: self.torch.tanh(x * 2.0 + 1.0) * x

    def _softmax(self, name: str) -> Any:
        x = self._tensor(_normal(*ROWS))
        return lambda: self.torch.softmax(x, 1)

    def _overhead(self, name: str) -> Any:
        x = self._tensor(_normal(2))
        return lambda: x + 1.0

    def _lstm(self, name: str) -> Any:
        torch = self.torch
        batch, units = RNN
        cell = torch.nn.LSTMCell(units, units).to(self.device)
        x = self._tensor(_normal(batch, units)).requires_grad_()
        state = self._tensor(np.zeros((batch, units), np.float32))

        def step() -> None:
            output, _ = cell(x, (state, state))
            torch.autograd.grad(output.sum(), [x, *cell.parameters()])

        return step

    def _train(self, model: Any, x: Any, labels: Any) -> Any:
        torch = self.torch
        model = model.to(self.device).train()
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
        x, labels = self._tensor(x), self._tensor(labels)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(x), labels).backward()
            optimizer.step()

        return step

    def _mlp(self, name: str) -> Any:
        nn = self.torch.nn
        model = nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
        return self._train(model, _normal(100, 784), _classes(100))

    def _lenet(self, name: str) -> Any:
        nn = self.torch.nn
        parts = []
        for before, filters in ((1, 32), (32, 64)):
            parts += [nn.Conv2d(before, filters, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        model = nn.Sequential(*parts, nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10))
        return self._train(model, _normal(100, 1, 28, 28), _classes(100))

    def _resnet20(self, name: str) -> Any:
        nn = self.torch.nn

        def conv(before: int, filters: int, stride: int = 1, size: int = 3) -> Any:
            layer = nn.Conv2d(before, filters, size, stride, padding=size // 2, bias=False)
            return nn.Sequential(layer, nn.BatchNorm2d(filters))

        class Block(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self, before: int, filters: int, stride: int) -> None:
                super().__init__()
                self.first, self.second = conv(before, filters, stride), conv(filters, filters)
                self.short = conv(before, filters, stride, 1) if stride == 2 else nn.Identity()

            def forward(self, x: Any) -> Any:
                return nn.functional.relu(self.second(nn.functional.relu(self.first(x))) + self.short(x))

        blocks, before = [], 16
        for filters in (16, 32, 64):
            for block in range(3):
                blocks.append(Block(before, filters, 2 if filters > 16 and block == 0 else 1))
                before = filters
        ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
        return self._train(
            nn.Sequential(conv(3, 16), nn.ReLU(), *blocks, *ends), _normal(128, 3, 32, 32), _classes(128)
        )

    def _transfer(self, name: str) -> Any:
        host = self.torch.zeros(BYTES // 4)
        if name == "transfer_to_device":
            return lambda: host.to(self.device, copy=True)
        held = host.to(self.device)
        return lambda: held.to("cpu", copy=True)


class Jax:
    """JAX, compiled by XLA; kernels, an LSTM and an MLP step alone."""

    def __init__(self, device: str) -> None:
        import jax

        self.jax = jax
        jax.config.update("jax_platforms", "cuda" if device == "gpu" else "cpu")

    @property
    def version(self) -> str:
        return str(self.jax.__version__)

    def case(self, name: str) -> Run | None:
        make = getattr(self, f"_{name.partition('_')[0]}", None)
        if make is None:
            return None
        step: Callable[[], Any] = make(name)

        def run(count: int) -> None:
            found = None
            for _ in range(count):
                found = step()
            self.jax.block_until_ready(found)

        return run

    def _compiled(self, function: Callable[..., Any], *values: Any) -> Any:
        compiled = self.jax.jit(function)
        placed = [self.jax.numpy.asarray(value) for value in values]
        return lambda: compiled(*placed)

    def _matmul(self, name: str) -> Any:
        size, dtype = PRODUCTS[name]
        return self._compiled(lambda a: a @ a, _normal(size, size).astype(dtype))

    def _conv(self, name: str) -> Any:
        jax = self.jax

        def conv(x: Any, kernel: Any) -> Any:
            forms = ("NHWC", "HWIO", "NHWC")
            return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=forms)

        function = conv if name == "conv_3x3" else jax.grad(lambda x, k: conv(x, k).sum(), (0, 1))
        return self._compiled(function, _normal(*IMAGES), _normal(3, 3, 64, 64))

    def _elementwise(self, name: str) -> Any:
        return self._compiled(lambda x: self.jax.numpy.tanh(x * 2.0 + 1.0) * x, _normal(ELEMENTS))

    def _softmax(self, name: str) -> Any:
        return self._compiled(self.jax.nn.softmax, _normal(*ROWS))

    def _overhead(self, name: str) -> Any:
        return self._compiled(lambda x: x + 1.0, _normal(2))

    def _lstm(self, name: str) -> Any:
        jax, (batch, units) = self.jax, RNN

        def output(x: Any, kernel: Any, bias: Any) -> Any:
            state = jax.numpy.zeros((batch, units))
            gates = jax.numpy.concatenate([x, state], 1) @ kernel + bias
            i, j, f, o = jax.numpy.split(gates, 4, 1)
            cell = jax.nn.sigmoid(f + 1.0) * state + jax.nn.sigmoid(i) * jax.numpy.tanh(j)
            return (jax.nn.sigmoid(o) * jax.numpy.tanh(cell)).sum()

        values = _normal(batch, units), _normal(2 * units, 4 * units), _normal(4 * units)
        return self._compiled(jax.grad(output, (0, 1, 2)), *values)

    def _mlp(self, name: str) -> Any:
        jax = self.jax
        x, labels = jax.numpy.asarray(_normal(100, 784)), jax.numpy.asarray(_classes(100))
        state = [
            [_normal(784, 100) * 0.05, _normal(100), _normal(100, 10) * 0.05, _normal(10)],
            [np.zeros(shape, np.float32) for shape in ((784, 100), (100,), (100, 10), (10,))],
        ]

        def loss(weights: Any) -> Any:
            hidden = jax.nn.relu(x @ weights[0] + weights[1])
            shares = jax.nn.log_softmax(hidden @ weights[2] + weights[3])
            return -shares[jax.numpy.arange(100), labels].mean()

        @jax.jit  # type: ignore[misc]
        def update(state: Any) -> Any:
            weights, speeds = state
            speeds = [0.9 * s + g for s, g in zip(speeds, jax.grad(loss)(weights), strict=True)]
            return [[w - 0.01 * s for w, s in zip(weights, speeds, strict=True)], speeds]

        def step() -> Any:
            nonlocal state
            state = update(state)
            return state

        return step


FRAMEWORKS: dict[str, Callable[[str], Any]] = {"tensorfleet": TensorFleet, "torch": Torch, "jax": Jax}
CASES = (
    *PRODUCTS,
    *("conv_3x3", "conv_3x3_gradients", "elementwise_10M", "softmax_4096x1000", "lstm_step_64x256"),
    *("mlp_step", "lenet_step", "resnet20_step", "overhead_one_addition"),
    *("transfer_to_device", "transfer_from_device"),
)
