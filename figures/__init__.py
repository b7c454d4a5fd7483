"""Bound against measurement, drawn; and the report page."""
