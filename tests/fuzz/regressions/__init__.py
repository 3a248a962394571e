"""Programs that failed once."""
