"""Our method, whole: an ensemble of anchor graphs and its consensus. README.md beside this file is the map."""
