"""Implementations that are right but under a narrow condition, written before the spaces of cases were read."""

from blind_alterations import again_columns, again_systems, columns, further, later_columns, later_systems, systems
from blind_alterations.record import BLIND

__all__ = ["BLIND", "again_columns", "again_systems", "columns", "further", "later_columns", "later_systems", "systems"]
