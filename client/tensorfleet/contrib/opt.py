"""`tf.contrib.opt`: further optimizers, optimizers around others, and SciPy's."""

import typing as _typing

from tensorfleet.contrib.accumulated_gradients import (
    AGNCustomGetter as AGNCustomGetter,
    AGNOptimizer as AGNOptimizer,
)
from tensorfleet.contrib.adam_variants import (
    AdaMaxOptimizer as AdaMaxOptimizer,
    LazyAdamOptimizer as LazyAdamOptimizer,
    NadamOptimizer as NadamOptimizer,
)
from tensorfleet.contrib.elastic_averaging import (
    ElasticAverageCustomGetter as ElasticAverageCustomGetter,
    ElasticAverageOptimizer as ElasticAverageOptimizer,
)
from tensorfleet.contrib.external_optimizer import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
    ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from tensorfleet.contrib.full_matrix_optimizer import GGTOptimizer as GGTOptimizer
from tensorfleet.contrib.global_step_adam import (
    AdamGSOptimizer as AdamGSOptimizer,
    LazyAdamGSOptimizer as LazyAdamGSOptimizer,
)
from tensorfleet.contrib.model_averaging import (
    ModelAverageCustomGetter as ModelAverageCustomGetter,
    ModelAverageOptimizer as ModelAverageOptimizer,
)
from tensorfleet.contrib.regularized_adagrad import RegAdagradOptimizer as RegAdagradOptimizer
from tensorfleet.contrib.shampoo import ShampooOptimizer as ShampooOptimizer
from tensorfleet.contrib.sign_optimizers import (
    AddSignOptimizer as AddSignOptimizer,
    LARSOptimizer as LARSOptimizer,
    PowerSignOptimizer as PowerSignOptimizer,
    get_cosine_decay_fn as get_cosine_decay_fn,
    get_linear_decay_fn as get_linear_decay_fn,
    get_restart_decay_fn as get_restart_decay_fn,
)
from tensorfleet.contrib.weight_decay import (
    AdamWOptimizer as AdamWOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
    MomentumWOptimizer as MomentumWOptimizer,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from tensorfleet.contrib.wrapping_optimizers import (
    DropStaleGradientOptimizer as DropStaleGradientOptimizer,
    MovingAverageOptimizer as MovingAverageOptimizer,
    MultitaskOptimizerWrapper as MultitaskOptimizerWrapper,
    VariableClippingOptimizer as VariableClippingOptimizer,
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
