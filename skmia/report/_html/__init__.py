"""What the page is made of: its template, style and script, its drawings and its advice."""
