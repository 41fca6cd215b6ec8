"""Event-driven simulation of a plan (paper IV) and its timeline for Perfetto."""

from planezip.simulation.perfetto import perfetto
from planezip.simulation.simulator import Simulator

__all__ = ["Simulator", "perfetto"]
