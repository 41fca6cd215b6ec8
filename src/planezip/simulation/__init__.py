"""Event-driven simulation of plans and online policies (paper IV); timelines for Perfetto."""

from planezip.simulation.machine import OnlineMachine
from planezip.simulation.perfetto import perfetto
from planezip.simulation.simulator import Simulator

__all__ = ["OnlineMachine", "Simulator", "perfetto"]
