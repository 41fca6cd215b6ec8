"""From a trace and a capture to tables, plots and one page that anybody can read."""
