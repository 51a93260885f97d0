"""Python functions as functions of graphs: `Defun`, calls, functional control flow."""
