"""Kernels: what computes each op type. Importing the package registers them all."""

from importlib import import_module

from tensorfleet.graph import op_def

# One line per family, sorted.
_FAMILIES: tuple[str, ...] = (
    "array.casting",
    "array.constants",
    "array.identity",
    "array.indexing",
    "array.joining",
    "array.linspace",
    "array.padding",
    "array.rearranging",
    "array.selection",
    "array.shaping",
    "array.slicing",
    "collective.collective_ops",
    "control_flow.control",
    "data_flow.accumulators",
    "data_flow.dataset_ops",
    "data_flow.iterators",
    "data_flow.lookup",
    "data_flow.partition",
    "data_flow.queue_ops",
    "data_flow.stacks",
    "data_flow.tensor_array",
    "functions.function_ops",
    "io.checkpoint",
    "io.logging",
    "io.script",
    "io.summary",
    "linalg.linalg",
    "linalg.matrix_parts",
    "math.add_n",
    "math.arithmetic",
    "math.comparison",
    "math.complex_numbers",
    "math.elementwise",
    "math.extrema",
    "math.matmul",
    "math.reduction",
    "math.scan",
    "math.segment",
    "math.special",
    "nn.activation",
    "nn.candidate_sampling",
    "nn.conv",
    "nn.cross_entropy",
    "nn.depthwise",
    "nn.local",
    "nn.norm",
    "nn.pool",
    "random.random_ops",
    "state.resource_variable_ops",
    "state.variable_ops",
    "text.regex",
    "text.hashing",
    "text.strings",
    "training.training_ops",
)

for _family in _FAMILIES:
    import_module(f"{__name__}.{_family}")
# A task knows all op types from the start: the first graph that comes does not wait for imports.
op_def.load()
