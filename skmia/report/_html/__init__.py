"""Parts of the page: its template, style and script, its drawings and its advice."""
