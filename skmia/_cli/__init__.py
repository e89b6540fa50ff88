"""What is behind the command line."""
