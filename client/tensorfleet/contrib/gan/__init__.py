"""`tf.contrib.gan`: generative adversarial networks, their losses and their training."""

import typing as _typing

from tensorfleet.contrib.adversarial.building import (
    acgan_model as acgan_model,
    cyclegan_model as cyclegan_model,
    gan_model as gan_model,
    infogan_model as infogan_model,
    stargan_model as stargan_model,
)
from tensorfleet.contrib.adversarial.losses_of_models import (
    cyclegan_loss as cyclegan_loss,
    gan_loss as gan_loss,
    stargan_loss as stargan_loss,
)
from tensorfleet.contrib.adversarial.training import (
    RunTrainOpsHook as RunTrainOpsHook,
    gan_train as gan_train,
    gan_train_ops as gan_train_ops,
    get_joint_train_hooks as get_joint_train_hooks,
    get_sequential_train_hooks as get_sequential_train_hooks,
    get_sequential_train_steps as get_sequential_train_steps,
)
from tensorfleet.contrib.adversarial.tuples import (
    ACGANModel as ACGANModel,
    CycleGANLoss as CycleGANLoss,
    CycleGANModel as CycleGANModel,
    GANLoss as GANLoss,
    GANModel as GANModel,
    GANTrainOps as GANTrainOps,
    GANTrainSteps as GANTrainSteps,
    InfoGANModel as InfoGANModel,
    StarGANModel as StarGANModel,
)
from tensorfleet.contrib.gan import (
    estimator as estimator,
    eval as eval,
    features as features,
    losses as losses,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("estimator", "eval", "features", "losses"))
