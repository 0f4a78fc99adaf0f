"""What one run of the program works with: settings, file, models and tools, built here and joined."""
