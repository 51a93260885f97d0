"""`tf.contrib.hooks`: hooks of sessions."""

from tensorfleet.train import ProfilerHook as ProfilerHook

__all__ = ["ProfilerHook"]
