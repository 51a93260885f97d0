"""Clusters on Kubernetes as a client finds them. Everything here takes the package `kubernetes`."""
