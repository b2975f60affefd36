"""What knows neither rows nor classes: checks and their messages, memory, threads, files."""
