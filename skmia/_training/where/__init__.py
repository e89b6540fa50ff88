"""Workers that run tasks: processes of this machine, or a cluster."""
