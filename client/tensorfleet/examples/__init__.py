"""Example programs and the data they train on."""
