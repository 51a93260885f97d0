"""`tensorfleet doctor`: what a program, a graph or a checkpoint needs, and is missing here."""

from tensorfleet.run.doctor import main as main, parser as parser
