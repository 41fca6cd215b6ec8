"""Trains a model within a byte budget: profiles, plans, and runs the plan."""

from planezip.session.session import Session

__all__ = ["Session"]
