"""Clusters on Kubernetes, from a client's side. Everything here needs the package `kubernetes`."""
