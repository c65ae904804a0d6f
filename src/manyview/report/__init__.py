"""Reports: a plain dict becomes one HTML page, which opens from disk and needs no network."""
