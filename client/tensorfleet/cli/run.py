"""`tensorfleet run`: a program whose imports say `tensorflow`."""

from tensorfleet.run.program import main as main, parser as parser
