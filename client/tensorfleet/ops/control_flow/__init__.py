"""Control dependencies, conditionals, loops."""
