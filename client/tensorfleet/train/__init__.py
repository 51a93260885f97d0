"""Training: optimizers, learning-rate schedules, moving averages, replicas (`tf.train`)."""

from tensorfleet.train import adam, decay, device_setter, moving_averages, optimizer, optimizers, step_count

__all__ = ["adam", "decay", "device_setter", "moving_averages", "optimizer", "optimizers", "step_count"]
