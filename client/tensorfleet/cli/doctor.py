"""`tensorfleet doctor`: missing parts of TensorFlow that a program, graph or checkpoint uses."""

from tensorfleet.run.doctor import main as main, parser as parser
