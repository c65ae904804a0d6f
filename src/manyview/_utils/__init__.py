"""Threads, memory, files, text, progress: what several packages need and none owns."""
