"""Pages of reports: the frame, style and script that all of them share."""
