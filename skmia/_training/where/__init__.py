"""Where tasks run: processes of this machine, or a cluster."""
