"""`tensorfleet run`: a program that imports `tensorflow`."""

from tensorfleet.run.program import main as main, parser as parser
